import { gapsPanel } from "../contract/panels/gaps.ts";
import { AppError } from "../core/errors.ts";
import { type GapReport, type GapWindow, gapHistoryMs } from "../core/gaps.ts";
import { command } from "./command.ts";
import { instant, text } from "./options.ts";
import { connectRelay, type RelayConnection, type RelayRun, relayOptions } from "./relay/connect-relay.ts";
import { fromWire } from "./relay/from-wire.ts";
import { openReadOnly, whereIs } from "./relay/open-read-only.ts";
import type { GapsOnWire } from "./relay/relay-client.ts";
import { RelayUnreachable } from "./relay/relay-transport.ts";
import { drawPanel } from "./shell/draw-panel.ts";

const options = {
  since: instant("ISO 8601, or e.g. -6h; seven days ago is the default, and the most"),
  until: instant("default: now"),
  source: text("of the account of a source, instead of ALERTING_URL's", { of: "name" }),
  ...relayOptions,
};

/** `tocsin gaps`: alerts that should have arrived and did not, by the running relay or else by the log that it left. */
export const gaps = command({
  name: "gaps",
  summary: "alerts that should have arrived and did not",
  says: "alerts that should have arrived and did not: the service's records compared with the log",
  options,
  check: ({ since = 0, until }, { context }) => {
    const now = context.now();
    if (since >= (until ?? now)) {
      const message = until === undefined ? "--since lies in the future" : "--since must be earlier than --until";
      return new AppError("usage", message, { hint: "e.g. --since -6h, or --since -2d --until -1d" });
    }
    if (until === undefined || until > now - gapHistoryMs) return undefined;
    return new AppError("usage", "the service keeps records of seven days, and --until is before that", {
      hint: "e.g. --until -1d",
    });
  },
  examples: ["tocsin gaps", "tocsin gaps --since -6h --json", "tocsin gaps --source desk"],
  run: showGaps,
});

interface GapsOptions extends GapWindow {
  source?: string;
}

async function showGaps({ since, until, source }: GapsOptions, run: RelayRun): Promise<void> {
  const { context, output } = run;
  const connection = await connectRelay(run);
  const report = await askRelay(run, connection, { since, until, source });
  await output.result(report, () => drawPanel(gapsPanel(fromWire<GapReport>(report)), output, context.now()));
}

async function askRelay(
  run: RelayRun,
  connection: RelayConnection,
  { source, ...window }: GapsOptions,
): Promise<GapsOnWire> {
  const { client, isElsewhere } = connection;
  try {
    // Needs no token: where none is known, that nobody answers is still the news.
    await client.isReady();
    return await client.checkGaps({ ...window, source });
  } catch (error) {
    if (!(error instanceof RelayUnreachable) || isElsewhere) throw error;
    return checkLeft(run, connection, { source, ...window }, error);
  }
}

/** By the log that the relay left, and the service that this machine is told of. */
async function checkLeft(
  { context, output }: RelayRun,
  { loadConfig }: RelayConnection,
  { source, ...window }: GapsOptions,
  unreachable: AppError,
): Promise<GapsOnWire> {
  const [{ requireAlerting }, { findAccount }] = await Promise.all([
    import("../config/upstream-env.ts"),
    import("./setup/subject.ts"),
  ]);
  const config = await loadConfig();
  const access = source === undefined ? requireAlerting(context.env) : findAccount(config, source).account;
  const store = await openReadOnly(config);
  await output.note(`${unreachable.message}; reading the database ${whereIs(config)} instead`);
  try {
    const [
      { createAlertingClient },
      { createGapCheck, gapCalls },
      { loadGapMemory },
      { readDowntimes },
      { viewGaps },
      { gapsView },
      { encode },
    ] = await Promise.all([
      import("../upstream/alerting-client.ts"),
      import("../watch/gaps/gap-check.ts"),
      import("../watch/gaps/gap-watch.ts"),
      import("../watch/running-times.ts"),
      import("../contract/make-views.ts"),
      import("../contract/views.ts"),
      import("../contract/encode.ts"),
    ]);
    const { now, random, sleep, signal } = context;
    const service = createAlertingClient({ ...access, now, random, sleep, ...gapCalls });
    const { known, offs, ends } = await loadGapMemory(store, now(), source);
    const memory = { known, save: async () => {} };
    const clock = { now, sleep };
    const check = createGapCheck({ service, store, clock, keptForMs: config.retention.maxAgeMs, source, memory });
    const downtimes = await readDowntimes(store, now());
    return encode(gapsView, viewGaps(await check.check({ ...window, downtimes, offs, ends }, signal)));
  } finally {
    await store.close();
  }
}
