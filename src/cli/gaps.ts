import type { Command } from "commander";
import { AppError } from "../core/errors.ts";
import {
  describeCrossings,
  describeLoss,
  describeTurn,
  describeUnknown,
  describeValues,
  describeWhen,
  type GapWindow,
  gapHistoryMs,
  summarizeGaps,
} from "../core/gaps.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import {
  addRelayOptions,
  connectRelay,
  type RelayConnection,
  type RelayFlags,
  type RelayRun,
} from "./relay/connect-relay.ts";
import { openReadOnly, whereIs } from "./relay/open-read-only.ts";
import type { GapsOnWire } from "./relay/relay-client.ts";
import { RelayUnreachable } from "./relay/relay-transport.ts";
import { toSeconds, withAge } from "./shell/amounts.ts";
import { parseInstant } from "./shell/arguments.ts";
import type { CliContext } from "./shell/context.ts";
import { addExamples, joinSections, type Output, openOutput } from "./shell/output.ts";
import { terminalText } from "./shell/terminal-text.ts";

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
  await output.result(report, () => formatGaps(report, output, context.now()));
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
    return await client.checkGaps(window, source);
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
      { gapsToWire },
    ] = await Promise.all([
      import("../upstream/alerting-client.ts"),
      import("../watch/gaps/gap-check.ts"),
      import("../watch/gaps/gap-watch.ts"),
      import("../watch/running-times.ts"),
      import("../web/api/to-wire.ts"),
    ]);
    const { now, random, sleep, signal } = context;
    const service = createAlertingClient({ ...access, now, random, sleep, ...gapCalls });
    const { known, offs, ends } = await loadGapMemory(store, now(), source);
    const memory = { known, save: async () => {} };
    const clock = { now, sleep };
    const check = createGapCheck({ service, store, clock, keptForMs: config.retention.maxAgeMs, source, memory });
    const downtimes = await readDowntimes(store, now());
    return gapsToWire(await check.check({ ...window, downtimes, offs, ends }, signal));
  } finally {
    await store.close();
  }
}

function formatGaps(report: GapsOnWire, output: Output, now: number): string {
  const { since, until, downtimes, missing, outages, unknown, freshMs, recordEveryMs } = report;
  const every = recordEveryMs === undefined ? "" : ` shorter than ${formatDuration(recordEveryMs)}`;
  return joinSections([
    `${output.style("bold", `${summarizeGaps(report)}.`)}\nBetween ${withAge(since, now)} and ${withAge(until, now)} the records show ${describeCrossings(report)}.`,
    missing.length === 0 ? "" : formatMissing(missing, output),
    outages.length === 0 ? "" : `Outages:\n${outages.map((one) => terminalText(describeOutage(one))).join("\n")}`,
    downtimes.length === 0 ? "" : `Tocsin did not run:\n${downtimes.map(describeDowntime).join("\n")}`,
    unknown.length === 0
      ? ""
      : `It cannot tell:\n${unknown.map((one) => terminalText(`- ${describeUnknown(one)}`)).join("\n")}`,
    `Crossings${every} cannot be seen. An alert may be on its way for ${formatDuration(freshMs)}. Missing alerts are listed here, not sent.`,
  ]);
}

function describeOutage({ fromAt, toAt, ...outage }: GapsOnWire["outages"][number]): string {
  return `- ${describeWhen(Date.parse(fromAt), Date.parse(toAt))}: ${describeLoss(outage)}`;
}

function describeDowntime({ fromAt, toAt, asleep, restored }: GapsOnWire["downtimes"][number]): string {
  const lasted = formatDuration(Date.parse(toAt) - Date.parse(fromAt));
  const more = asleep
    ? " (the machine was asleep, or its clock was set)"
    : restored
      ? " (not in the log: it was restored from a backup)"
      : "";
  return `- ${toSeconds(fromAt)} for ${lasted}${more}`;
}

function formatMissing(missing: GapsOnWire["missing"], output: Output): string {
  return output.table(
    [{ title: "verdict", keep: true }, { title: "alert" }, { title: "when" }, { title: "value" }, { title: "why" }],
    missing.map((one) => [
      one.verdict,
      describeTurn(one),
      describeWhen(Date.parse(one.fromAt), Date.parse(one.toAt)),
      describeValues(one),
      one.reason,
    ]),
  );
}
