import { command, group } from "./command.ts";
import { text } from "./options.ts";
import { connectRelay, type RelayRun, relayOptions } from "./relay/connect-relay.ts";
import type { DestinationOnWire, RelayClient, TryResultOnWire } from "./relay/relay-client.ts";
import { withAge } from "./shell/amounts.ts";
import { terminalText } from "./shell/terminal-text.ts";

const named = { name: text("name of the destination") };

/** `tocsin destinations …`: what a person can do about a destination of the running relay. */
export const destinations = group({
  name: "destinations",
  summary: "ask a destination whether it works",
  says: "ask a destination of the running relay whether it works, or pause it (their list: tocsin status)",
  examples: ["tocsin destinations try desk", "tocsin destinations pause desk"],
  commands: [
    command({
      name: "try",
      says: "ask it now, without sending anything to people; when it works, what waits is sent. Exit status 1 when it does not",
      args: named,
      options: relayOptions,
      examples: ["tocsin destinations try desk"],
      run: tryDestination,
    }),
    command({
      name: "pause",
      says: "send nothing there until it is resumed: new alerts wait and do not expire, also over a restart; fallbacks, tests and single resends are sent",
      args: named,
      options: relayOptions,
      examples: ["tocsin destinations pause desk"],
      run: async ({ name }, run) => showChange(run, (client) => client.pauseDestination(name)),
    }),
    command({
      name: "resume",
      says: "send there again: what waited is sent now, as digests when it is much",
      args: named,
      options: relayOptions,
      examples: ["tocsin destinations resume desk"],
      run: async ({ name }, run) => showChange(run, (client) => client.resumeDestination(name)),
    }),
  ],
});

async function showChange(run: RelayRun, change: (client: RelayClient) => Promise<DestinationOnWire>): Promise<void> {
  const { client } = await connectRelay(run);
  const view = await change(client);
  await run.output.result(view, () => `${terminalText(describeChange(view, run.context.now()))}\n`);
}

function describeChange({ name, paused, counts }: DestinationOnWire, now: number): string {
  const waiting = (counts.queued ?? 0) + (counts.waiting ?? 0);
  if (paused === undefined) return `${name} is not paused${waiting === 0 ? "" : `; ${waiting} waiting go out now`}`;
  const rest = waiting === 0 ? "new alerts wait" : `${waiting} waiting`;
  return `${name} is paused since ${withAge(paused.at, now)}; ${rest}. Resume with: tocsin destinations resume ${name}`;
}

/** `tocsin destinations try`: what the destination says now. */
async function tryDestination({ name }: { name: string }, run: RelayRun): Promise<void> {
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
