import { type Command, InvalidArgumentError } from "commander";
import {
  addedMutePanel,
  endedMutePanel,
  matchesNothing,
  mutesPanel,
  triedMutePanel,
} from "../contract/panels/mutes.ts";
import { AppError } from "../core/errors.ts";
import type { MutePreview } from "../core/operations.ts";
import type { Matcher, Mute } from "../core/rules.ts";
import { parseDuration, parseInstant } from "./options.ts";
import { openAlertLog } from "./relay/alert-log.ts";
import { addRelayOptions, connectRelay, type RelayFlags, type RelayRun } from "./relay/connect-relay.ts";
import { fromWire } from "./relay/from-wire.ts";
import type { CliContext } from "./shell/context.ts";
import { drawPanel } from "./shell/draw-panel.ts";
import { addExamples, openOutput } from "./shell/output.ts";

type BeginRun = (command: Command, flags: RelayFlags) => RelayRun;

/** `tocsin mutes …`: matching alerts are recorded and not sent, until a time. */
export function registerMutes(program: Command, context: CliContext): void {
  const mutes = program
    .command("mutes")
    .description("silence what matches for a while: it is stored and shown, and not sent");
  addExamples(mutes, "tocsin mutes list");
  const begin: BeginRun = (command, flags) => ({ context, flags, output: openOutput(context, command) });
  registerAdd(mutes, begin, context);
  registerList(mutes, begin);
  registerRemove(mutes, begin);
}

function registerAdd(mutes: Command, begin: BeginRun, context: CliContext): void {
  const command = mutes
    .command("add")
    .description("silence alerts that match, with an end")
    .requiredOption(
      "--match <matcher>",
      "field=value, or with != > >= < <= =~ !~, as in match of a route; several must all hold",
      collect,
    )
    .option("--for <duration>", "how long, e.g. 30m, 2h, 7d", parseWrittenDuration)
    .option("--until <time>", "or until when: ISO 8601", (text) => parseInstant(text, context.now()))
    .option("--reason <text>", "why, for those who wonder about the silence; required")
    .option("--dry-run", "only say how many of the last 24 h it would have muted")
    .action(async (options: RelayFlags & AddOptions, self: Command) => {
      await addMute(begin(self, options), options);
    });
  addExamples(
    addRelayOptions(command),
    "tocsin mutes add --match severity=info --match chain=eth,base --for 2h --reason 'pool migration'",
    "tocsin mutes add --match title=~TVL --dry-run",
    "tocsin mutes add --match 'value<5' --until 2026-11-22T08:00Z --reason 'known dust'",
  );
}

function registerList(mutes: Command, begin: BeginRun): void {
  const command = mutes
    .command("list")
    .description("active and coming mutes, those of the configuration among them")
    .option("--all", "also those that have ended")
    .action(async (options: RelayFlags & { all?: boolean }, self: Command) => {
      await listMutes(begin(self, options), options.all === true);
    });
  addExamples(addRelayOptions(command), "tocsin mutes list --all");
}

function registerRemove(mutes: Command, begin: BeginRun): void {
  const command = mutes
    .command("remove")
    .description("end a mute now; it stays in the list of the past ones")
    .argument("<id>", "id of the mute")
    .action(async (id: string, options: RelayFlags, self: Command) => {
      await removeMute(begin(self, options), id);
    });
  addExamples(addRelayOptions(command), "tocsin mutes remove 019aa5a0-7c3e-7d2a-9b1c-0242ac120002");
}

function collect(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** The relay reads it; here it is only refused early. */
function parseWrittenDuration(text: string): string {
  if (parseDuration(text) > 0) return text;
  throw new InvalidArgumentError("give a duration above zero, e.g. 2h");
}

interface AddOptions {
  match: string[];
  for?: string;
  /** Epoch milliseconds. */
  until?: number;
  /** Required unless `dryRun`. */
  reason?: string;
  /** Only says what it would have held. */
  dryRun?: boolean;
}

/** `tocsin mutes add`. What is wrong with a matcher is refused before the relay is asked for anything. */
async function addMute(run: RelayRun, options: AddOptions): Promise<void> {
  const { output, context } = run;
  const { match, until } = options;
  const matchers = await readMatch(match);
  if (options.dryRun === true) {
    const { client } = await connectRelay(run);
    const preview = await client.previewMute(match);
    await output.result(preview, () => drawPanel(triedMutePanel(matchers, fromWire(preview)), output, context.now()));
    return;
  }
  const reason = options.reason ?? "";
  if ((options.for === undefined) === (until === undefined)) {
    throw new AppError("usage", "a mute needs its end: either --for or --until", { hint: "e.g. --for 2h" });
  }
  if (until !== undefined && until <= context.now()) {
    throw new AppError("usage", `--until ${new Date(until).toISOString()} is in the past`);
  }
  if (reason.trim() === "") throw new AppError("usage", "a mute needs --reason: say in a few words why");
  const { client } = await connectRelay(run);
  const mute = await client.addMute({
    match,
    reason,
    ...(until === undefined ? { for: options.for } : { until: new Date(until).toISOString() }),
  });
  if (mute.preview !== null && matchesNothing(mute.preview)) {
    await output.note("warning: no alert of the last 24 h matches; see whether it names what you mean");
  }
  await output.result(mute, () => {
    const { preview, ...made } = fromWire<Mute & { preview?: MutePreview }>(mute);
    return drawPanel(addedMutePanel(made, preview), output, context.now());
  });
}

async function readMatch(match: string[]): Promise<Matcher[]> {
  const { parseMatch } = await import("../matching/read-match.ts");
  try {
    return parseMatch(match);
  } catch (error) {
    throw error instanceof AppError ? new AppError("usage", error.message, { cause: error }) : error;
  }
}

/** `tocsin mutes list`. */
async function listMutes(run: RelayRun, includeEnded: boolean): Promise<void> {
  const { output, context } = run;
  const log = await openAlertLog(run);
  try {
    const mutes = await log.listMutes(includeEnded);
    await output.result(mutes, () =>
      drawPanel(mutesPanel(fromWire<Mute[]>(mutes), context.now()), output, context.now(), { all: includeEnded }),
    );
  } finally {
    await log.close();
  }
}

/** `tocsin mutes remove`: matching alerts are sent again from now on; those it has silenced are not sent later. */
async function removeMute(run: RelayRun, id: string): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  await client.endMute(id);
  await output.result({ id, ended: true }, () => drawPanel(endedMutePanel, output, context.now()));
}
