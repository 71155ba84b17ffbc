import type { Command } from "commander";
import { addRelayOptions, connectRelay, type RelayFlags, type RelayRun } from "./relay/connect-relay.ts";
import type { TryResultOnWire } from "./relay/relay-client.ts";
import { withAge } from "./shell/amounts.ts";
import type { CliContext } from "./shell/context.ts";
import { addExamples, openOutput } from "./shell/output.ts";
import { terminalText } from "./shell/terminal-text.ts";

/** `tocsin destinations …`: what a person can do about a destination of the running relay. */
export function registerDestinations(program: Command, context: CliContext): void {
  const destinations = program
    .command("destinations")
    .description("ask a destination of the running relay whether it works (their list: tocsin status)");
  addExamples(destinations, "tocsin destinations try desk");
  const command = destinations
    .command("try")
    .description(
      "ask it at once, without sending anything to people; what waits goes out when it works. Exit status 1 when it does not",
    )
    .argument("<name>", "name of the destination")
    .action(async (name: string, flags: RelayFlags, self: Command) => {
      await tryDestination({ context, flags, output: openOutput(context, self) }, name);
    });
  addExamples(addRelayOptions(command), "tocsin destinations try desk");
}

/** `tocsin destinations try`: what the destination says now. */
async function tryDestination(run: RelayRun, name: string): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  await output.progress.update(`asking ${name}`);
  const result = await client.tryDestination(name);
  await output.result(result, () => `${terminalText(describe(result, context.now()))}\n`);
  if (result.result === "fails" || result.result === "parked") context.setExitStatus(1);
}

function describe({ destination, result, detail, nextTryAt, waiting }: TryResultOnWire, now: number): string {
  const next = nextTryAt === undefined ? "" : `; tried again by itself at ${withAge(nextTryAt, now)}`;
  const flows = waiting === 0 ? "" : `; ${waiting} waiting go out now`;
  const said = detail === "" ? "" : `: ${detail}`;
  switch (result) {
    case "works":
      return `${destination} works${said}${flows}`;
    case "answers":
      return `${destination} answers${said}; whether it takes messages the next one will show${flows}`;
    case "fails":
      return `${destination} does not work${said}${next}`;
    case "parked":
      return `${destination} was not asked: it wants silence until ${nextTryAt === undefined ? "later" : withAge(nextTryAt, now)}${said}`;
    default:
      return result satisfies never;
  }
}
