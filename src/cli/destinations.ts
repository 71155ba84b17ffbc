import type { Command } from "commander";
import { addRelayOptions, connectRelay, type RelayFlags, type RelayRun } from "./relay/connect-relay.ts";
import type { DestinationOnWire, TryResultOnWire } from "./relay/relay-client.ts";
import { withAge } from "./shell/amounts.ts";
import type { CliContext } from "./shell/context.ts";
import { addExamples, openOutput } from "./shell/output.ts";
import { terminalText } from "./shell/terminal-text.ts";

/** `tocsin destinations …`: what a person can do about a destination of the running relay. */
export function registerDestinations(program: Command, context: CliContext): void {
  const destinations = program
    .command("destinations")
    .description("ask a destination of the running relay whether it works, or pause it (their list: tocsin status)");
  addExamples(destinations, "tocsin destinations try desk", "tocsin destinations pause desk");
  const command = destinations
    .command("try")
    .description(
      "ask it now, without sending anything to people; when it works, what waits is sent. Exit status 1 when it does not",
    )
    .argument("<name>", "name of the destination")
    .action(async (name: string, flags: RelayFlags, self: Command) => {
      await tryDestination({ context, flags, output: openOutput(context, self) }, name);
    });
  addExamples(addRelayOptions(command), "tocsin destinations try desk");
  for (const change of ["pause", "resume"] as const) {
    const changing = destinations
      .command(change)
      .description(changes[change])
      .argument("<name>", "name of the destination")
      .action(async (name: string, flags: RelayFlags, self: Command) => {
        await changeDestination({ context, flags, output: openOutput(context, self) }, name, change);
      });
    addExamples(addRelayOptions(changing), `tocsin destinations ${change} desk`);
  }
}

const changes = {
  pause:
    "send nothing there until it is resumed: new alerts wait and do not expire, also over a restart; fallbacks, tests and single resends are sent",
  resume: "send there again: what waited is sent now, as digests when it is much",
};

async function changeDestination(run: RelayRun, name: string, change: "pause" | "resume"): Promise<void> {
  const { client } = await connectRelay(run);
  const view = await (change === "pause" ? client.pauseDestination(name) : client.resumeDestination(name));
  await run.output.result(view, () => `${terminalText(describeChange(view, run.context.now()))}\n`);
}

function describeChange({ name, paused, counts }: DestinationOnWire, now: number): string {
  const waiting = (counts.queued ?? 0) + (counts.waiting ?? 0);
  if (paused === undefined) return `${name} is not paused${waiting === 0 ? "" : `; ${waiting} waiting go out now`}`;
  const rest = waiting === 0 ? "new alerts wait" : `${waiting} waiting`;
  return `${name} is paused since ${withAge(paused.at, now)}; ${rest}. Resume with: tocsin destinations resume ${name}`;
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
