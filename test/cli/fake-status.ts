import type { z } from "zod";
import type { statusView } from "../../src/contract/views/status.ts";
import { type CliRun, runTocsin } from "../support/cli.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startFakeService } from "../upstream/fake-service.ts";

type StatusOnWire = z.input<typeof statusView>;

const well: StatusOnWire = {
  relay: {
    version: "0.0.9",
    startedAt: "2026-11-21T12:00:00.000Z",
    uptimeMs: 60_000,
    stopping: false,
    ready: true,
    reasons: [],
    unreadableAlerts: 0,
    socketIsHeld: true,
  },
  alerts: { total: 0, kept: 0 },
  queue: { unrouted: 0, queued: 0, waiting: 0, sending: 0, held: 0, failed: 0, expired: 0 },
  relays: [],
  destinations: [],
  silence: [],
  disk: { databaseBytes: 4096, freeBytes: 1e9, full: false },
  retention: {},
  account: { serviceConfigured: false, canPutBack: false },
  sources: [],
  watches: [],
  troubles: [],
};

export type FakeStatus =
  | (Partial<Pick<StatusOnWire, "account" | "relays" | "troubles" | "watches" | "silence" | "canary">> & {
      relay?: Partial<StatusOnWire["relay"]>;
      disk?: Partial<StatusOnWire["disk"]>;
    })
  | undefined;

/**
 * Serves the status of a relay in a state that a real one is hard to bring into, and 404 for all else. Without a status
 * it is a relay from before `GET /api/status`. Returns its address.
 */
async function serveStatus(status: FakeStatus): Promise<string> {
  const relay = { ...well.relay, ...status?.relay };
  const disk = { ...well.disk, ...status?.disk };
  const answers: Record<string, [number, unknown]> = {
    "/readyz": [relay.ready ? 200 : 503, { data: { ready: relay.ready } }],
    ...(status && { "/api/status": [200, { data: { ...well, ...status, relay, disk } }] }),
  };
  const missing = { error: { code: "not_found", message: "There is no such page." } };
  const { url } = await startFakeService(({ target }) => {
    const [code, body] = answers[target] ?? [404, missing];
    return { status: code, json: body };
  });
  return url;
}

/** What a command says of a relay in this state, which runs on this machine. */
export async function runBeside(status: FakeStatus, argv: string[]): Promise<CliRun & { url: string; cwd: string }> {
  const url = await serveStatus(status);
  const cwd = makeTempFolder();
  const env = { DATA_DIR: cwd, PORT: new URL(url).port, ADMIN_TOKEN: "canary-admin-token-9f3b1c77aa" };
  return { ...(await runTocsin(argv, { env, cwd })), url, cwd };
}
