import type { DestinationView, TryResult } from "../contract/operations.ts";
import { changedDestinationPanel, triedDestinationPanel } from "../contract/panels/destinations.ts";
import { command, group } from "./command.ts";
import { text } from "./options.ts";
import { connectRelay, type RelayRun, relayOptions } from "./relay/connect-relay.ts";
import { fromWire } from "./relay/from-wire.ts";
import type { DestinationOnWire, RelayClient } from "./relay/relay-client.ts";
import { drawPanel } from "./shell/draw-panel.ts";

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
      run: async ({ name }, run) => showChange(run, (client) => client.pauseDestination({ name })),
    }),
    command({
      name: "resume",
      says: "send there again: what waited is sent now, as digests when it is much",
      args: named,
      options: relayOptions,
      examples: ["tocsin destinations resume desk"],
      run: async ({ name }, run) => showChange(run, (client) => client.resumeDestination({ name })),
    }),
  ],
});

async function showChange(run: RelayRun, change: (client: RelayClient) => Promise<DestinationOnWire>): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  const view = await change(client);
  await output.result(view, () =>
    drawPanel(changedDestinationPanel(fromWire<DestinationView>(view)), output, context.now()),
  );
}

/** `tocsin destinations try`: what the destination says now. */
async function tryDestination({ name }: { name: string }, run: RelayRun): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  await output.progress.update(`asking ${name}`);
  const result = await client.tryDestination({ name });
  await output.result(result, () =>
    drawPanel(triedDestinationPanel(fromWire<TryResult>(result)), output, context.now()),
  );
  if (result.result === "fails" || result.result === "parked") context.setExitStatus(1);
}
