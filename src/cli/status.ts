import type { Config } from "../config/config.ts";
import { lineOf } from "../config/shape/problem-list.ts";
import { AppError } from "../core/errors.ts";
import { databasePlace } from "../ground/net/database-place.ts";
import { readVersion } from "../ground/version.ts";
import { RelayUnreachable } from "../http/call-relay.ts";
import type { RelayStatus } from "../panels/status.ts";
import { type RelayClient, type RelayRun, readConfigOrPlace } from "./relay/connect-relay.ts";
import { question } from "./relay/question.ts";

export const status = question({
  name: "status",
  summary: "health of the relay and of each destination",
  says: "what is true now: the relay, its log, disk, each destination; exit status 1 when it does not run or is not ready",
  examples: ["tocsin status", "tocsin status --json --url https://alerts.example.com"],
  of: "readStatus",
  async ask(client, _, run): Promise<RelayStatus> {
    const { context, flags } = run;
    // The data in this machine's DATA_DIR may be those of another relay.
    const { config, mistakes = [] } = flags.url === undefined ? await readConfigOrPlace(context) : {};
    const said = await askRelay(client, run);
    const publicUrl = said === undefined ? config?.server.publicUrl : said.account.publicUrl;
    const ready = said?.relay.ready ?? false;
    if (!ready) context.setExitStatus(1);
    return {
      ...(said ?? (config && (await readLeft(run, config)))),
      ...{ version: readVersion(), hook: `${publicUrl ?? client.url}/hooks/***`, url: client.url, publicUrl },
      dataDir: config?.databaseUrl === undefined ? config?.dataDir : undefined,
      database: config?.databaseUrl && `PostgreSQL ${databasePlace(config.databaseUrl.reveal())}`,
      ...(mistakes.length > 0 && { mistakes: mistakes.map(lineOf) }),
      ...{ running: said !== undefined, ready },
    };
  },
  show: async (said) => (await import("../panels/status.ts")).statusPanel(said),
  json: (answer, { version, hook, url, publicUrl, dataDir, database, running, ready, mistakes }) => {
    const { alerts, queue, disk, destinations = [] } = answer;
    // The parts `alerts`, `queue` and `disk` in one, under the names that scripts know.
    const store = {
      alerts: alerts?.total,
      kept: alerts?.kept,
      oldestReceivedAt: alerts?.oldestReceivedAt,
      lastReceivedAt: alerts?.lastReceivedAt,
      unrouted: queue?.unrouted,
      oldestUnroutedAt: queue?.oldestUnroutedAt,
      databaseBytes: disk?.databaseBytes,
      freeBytes: disk?.freeBytes,
      diskFull: disk?.full,
    };
    const own = { version, hook, url, publicUrl, dataDir, database, running, ready, mistakes };
    return { ...own, ...answer, store, destinations };
  },
});

/** Undefined, with a note, where no relay answers. */
async function askRelay(client: RelayClient, { output }: RelayRun) {
  try {
    return await client.readStatus();
  } catch (error) {
    if (!(error instanceof RelayUnreachable)) throw error;
    await output.note(error.message);
    return undefined;
  }
}

/** The data that a stopped relay has left. Undefined, with a note, where it cannot be read. */
async function readLeft({ output, context }: RelayRun, config: Config) {
  const [{ readLeftStatus }, { DatabaseMissing }] = await Promise.all([
    import("../start/open-left.ts"),
    import("../store/open-read-only.ts"),
  ]);
  try {
    return await readLeftStatus(config, context.now);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // No relay has run here yet: that nothing answers is enough.
    if (!(error instanceof DatabaseMissing)) await output.note(error.message);
    return undefined;
  }
}
