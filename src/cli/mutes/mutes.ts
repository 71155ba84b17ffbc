import { type Command, InvalidArgumentError } from "commander";
import { addRelayOptions, type RelayFlags, type RelayRun } from "../relay/connect-relay.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples } from "../shell/examples.ts";
import { openOutput } from "../shell/output.ts";
import { parseDuration, parseInstant } from "../upstream/arguments.ts";
import type { AddOptions } from "./add-mute.ts";

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
    .option("--reason <text>", "why, for whoever wonders about the silence; required")
    .option("--dry-run", "only say how many of the last 24 h it would have muted")
    .action(async (options: RelayFlags & AddOptions, self: Command) => {
      const { addMute } = await import("./add-mute.ts");
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
      const { listMutes } = await import("./list-mutes.ts");
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
      const { removeMute } = await import("./remove-mute.ts");
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
