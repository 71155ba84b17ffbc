import type { Command } from "commander";
import { gapsPanel } from "../contract/panels/gaps.ts";
import { AppError } from "../core/errors.ts";
import { type GapReport, type GapWindow, gapHistoryMs } from "../core/gaps.ts";
import { parseInstant } from "./options.ts";
import {
  addRelayOptions,
  connectRelay,
  type RelayConnection,
  type RelayFlags,
  type RelayRun,
} from "./relay/connect-relay.ts";
import { fromWire } from "./relay/from-wire.ts";
import { openReadOnly, whereIs } from "./relay/open-read-only.ts";
import type { GapsOnWire } from "./relay/relay-client.ts";
import { RelayUnreachable } from "./relay/relay-transport.ts";
import type { CliContext } from "./shell/context.ts";
import { drawPanel } from "./shell/draw-panel.ts";
import { addExamples, openOutput } from "./shell/output.ts";

/** `tocsin gaps`: alerts that should have arrived and did not, by the running relay or else by the log that it left. */
export function registerGaps(program: Command, context: CliContext): void {
  const command = program
    .command("gaps")
    .description("alerts that should have arrived and did not: the service's records compared with the log")
    .option("--since <time>", "ISO 8601, or e.g. -6h; seven days ago is the default, and the most", (text) =>
      parseInstant(text, context.now()),
    )
    .option("--until <time>", "default: now", (text) => parseInstant(text, context.now()))
    .option("--source <name>", "of the account of a source, instead of ALERTING_URL's")
    .action(async (options: RelayFlags & GapsOptions, self: Command) => {
      await showGaps({ context, flags: options, output: openOutput(context, self) }, options);
    });
  addExamples(addRelayOptions(command), "tocsin gaps", "tocsin gaps --since -6h --json", "tocsin gaps --source desk");
}

interface GapsOptions extends GapWindow {
  source?: string;
}

async function showGaps(run: RelayRun, { since, until, source }: GapsOptions): Promise<void> {
  const { context, output } = run;
  if ((since ?? 0) >= (until ?? context.now())) {
    const message = until === undefined ? "--since lies in the future" : "--since must be earlier than --until";
    throw new AppError("usage", message, {
      hint: "e.g. --since -6h, or --since -2d --until -1d",
    });
  }
  if (until !== undefined && until <= context.now() - gapHistoryMs) {
    throw new AppError("usage", "the service keeps records of seven days, and --until is before that", {
      hint: "e.g. --until -1d",
    });
  }
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
