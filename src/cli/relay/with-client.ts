import type { Said } from "../../contract/api.ts";
import type { Client } from "../../contract/client.ts";
import type { LogRoute } from "../../contract/log-answers.ts";
import type { StorePlace } from "../../core/store-place.ts";
import type { LeftLog } from "../../start/open-left.ts";
import { connectRelay, type RelayConnection, type RelayRun } from "./connect-relay.ts";
import { type RelayClient, RelayUnreachable } from "./relay-client.ts";

/**
 * The API for a command that reads: of the running relay, or, where none answers, of the database that it left, as far as the
 * log alone can answer; a note on stderr says so. All else then fails with `relay_unreachable`, and so does everything
 * with `--url` (the database here need not be that relay's) and where no relay has ever run.
 */
export async function withClient<T>(run: RelayRun, work: (client: RelayClient) => Promise<T>): Promise<T> {
  const relay = await connectRelay(run);
  const { logRoutes } = await import("../../contract/log-answers.ts");
  let left: Promise<LeftLog> | undefined;
  let hasAnswered = false;
  const askEither = (name: LogRoute) => async (asked: unknown) => {
    if (left === undefined) {
      try {
        const said = await ask(relay.client, name, asked);
        hasAnswered = true;
        return said;
      } catch (error) {
        if (hasAnswered || relay.isElsewhere || !(error instanceof RelayUnreachable)) throw error;
        left ??= openDatabase(run, relay, error);
      }
    }
    return ask((await left).answers, name, asked);
  };
  const ofLog = Object.fromEntries(logRoutes.map((name) => [name, askEither(name)]));
  try {
    return await work({ ...relay.client, ...ofLog });
  } finally {
    await left?.then(
      (log) => log.close(),
      () => {},
    );
  }
}

function ask<N extends LogRoute>(answers: Pick<Client, N>, name: N, asked: unknown): Promise<Said<N>> {
  return (answers[name] as unknown as (asked: unknown) => Promise<Said<N>>)(asked);
}

async function openDatabase(
  { context, output }: RelayRun,
  { client, loadConfig }: RelayConnection,
  failure: RelayUnreachable,
): Promise<LeftLog> {
  const [{ openLeft }, { DatabaseMissing }, { requireAlerting }, { findAccount }] = await Promise.all([
    import("../../start/open-left.ts"),
    import("../../store/open-read-only.ts"),
    import("../../config/upstream-env.ts"),
    import("../setup/find-account.ts"),
  ]);
  const config = await loadConfig();
  const accountOf = (source?: string) =>
    source === undefined ? requireAlerting(context.env) : findAccount(config, source).account;
  const publicUrl = config.server.publicUrl ?? client.url;
  const left = await openLeft(config, { ...context, publicUrl, accountOf }).catch((reason: unknown) => {
    // Without a database no relay has ever run here, so that nothing answers is the news.
    throw reason instanceof DatabaseMissing ? failure : reason;
  });
  await output.note(`${failure.message}; reading the database ${whereIs(config)} instead`);
  return left;
}

function whereIs({ dataDir, databaseUrl }: StorePlace): string {
  return databaseUrl === undefined ? `in ${dataDir}` : "of DATABASE_URL";
}
