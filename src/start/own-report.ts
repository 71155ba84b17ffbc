import { createHash } from "node:crypto";
import { hostname } from "node:os";
import type { Config } from "../config/config.ts";
import type { Operations, Readiness } from "../contract/operations.ts";
import type { RelayReport } from "../core/ports/relays.ts";
import { readVersion } from "../ground/version.ts";
import type { Accepting } from "./accepting.ts";

/** Reports to the other relays on the store who this relay is, and its state. */
export function createOwnReport(config: Config, { relayId, port, door, spool, clock }: Accepting) {
  let look = async (): Promise<void> => {};
  let last: Readiness = { ready: false, reasons: ["it is starting"] };
  let started = false;
  return {
    self: {
      id: relayId,
      name: config.server.relayName ?? hostname(),
      version: readVersion(),
      configuration: hashOf(config),
      startedAt: clock.now(),
    },
    /** The state as the former report's look found it: leases wait for a report, so it waits for nothing. */
    report(): RelayReport {
      void look();
      const { ready, reasons } = last;
      const spooled = spool && { spooled: spool.view().alerts };
      const hooks = Object.fromEntries(door.sources);
      return { started, ready, reasons, port, ...spooled, accepted: door.counters.alerts, hooks };
    },
    /** From now on `readiness` decides whether the relay is ready. `onReady` is called the first time that it is. */
    follow(readiness: Operations["readiness"], onReady: () => void): void {
      look = async () => {
        last = await readiness();
        if (!last.ready || started) return;
        started = true;
        onReady();
      };
      void look();
    },
  };
}

/** Secrets count as `***`. Place, port and log are left out, since they do not change what the relay does. */
function hashOf({
  server: _server,
  dataDir: _dataDir,
  databaseUrl: _database,
  databaseListenUrl: _listen,
  spool: _spool,
  configFile: _file,
  configHash: _hash,
  warnings: _warnings,
  logLevel: _level,
  ...config
}: Config): string {
  return createHash("sha256").update(JSON.stringify(config, withoutPlaces)).digest("hex");
}

/** A new comment in the file, or another folder, does not count. */
const withoutPlaces = (name: string, value: unknown) => (name === "definedAt" ? undefined : value);
