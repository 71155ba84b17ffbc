import { createHash } from "node:crypto";
import { hostname } from "node:os";
import type { Config } from "../config/config.ts";
import type { Operations, Readiness } from "../contract/operations.ts";
import type { RelayReport } from "../core/ports/relays.ts";
import { readVersion } from "../ground/version.ts";
import type { Accepting } from "./accepting.ts";

/** Tells the other relays on its store who this relay is, and how it is. */
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
    /** How it was when the report before this one was asked for: leases wait for a report, so it waits for nothing. */
    report(): RelayReport {
      void look();
      const { ready, reasons } = last;
      const spooled = spool && { spooled: spool.view().alerts };
      const hooks = Object.fromEntries(door.sources);
      return { started, ready, reasons, port, ...spooled, accepted: door.counters.alerts, hooks };
    },
    /** From now on it is ready when this says so; `onReady` is called when it is for the first time. Until then it starts. */
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

/** Secrets write themselves as `***`; where it runs, on which port, and what it logs is no matter of what it does. */
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

/** A comment more in the file, or another folder, changes nothing. */
const withoutPlaces = (name: string, value: unknown) => (name === "definedAt" ? undefined : value);
