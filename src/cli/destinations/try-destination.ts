import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import type { TryResultOnWire } from "../relay/wire.ts";
import { withAge } from "../shell/age.ts";
import { terminalText } from "../shell/terminal-text.ts";

/** `tocsin destinations try`: what the destination says now. */
export async function tryDestination(run: RelayRun, name: string): Promise<void> {
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
