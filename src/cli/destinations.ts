import { changedDestinationPanel, triedDestinationPanel } from "../panels/destinations.ts";
import { group } from "./command.ts";
import { text } from "./options.ts";
import { question } from "./relay/question.ts";

const args = { name: text("name of the destination") };

const change = (what: "pause" | "resume", says: string) =>
  question({
    name: what,
    says,
    args,
    examples: [`tocsin destinations ${what} desk`],
    of: `${what}Destination`,
    ask: (client, { name }) => client[`${what}Destination`]({ name }),
    show: changedDestinationPanel,
  });

export const destinations = group({
  name: "destinations",
  summary: "ask a destination whether it works",
  says: "ask a destination of the running relay whether it works, or pause it (tocsin status lists them)",
  examples: ["tocsin destinations try desk", "tocsin destinations pause desk"],
  commands: [
    question({
      name: "try",
      says: "ask it now, without sending anything to people; when it works, what waits is sent. Exit status 1 when it does not",
      args,
      examples: ["tocsin destinations try desk"],
      of: "tryDestination",
      async ask(client, { name }, { output, context }) {
        await output.progress.update(`asking ${name}`);
        const tried = await client.tryDestination({ name });
        if (tried.result === "fails" || tried.result === "parked") context.setExitStatus(1);
        return tried;
      },
      show: triedDestinationPanel,
    }),
    change(
      "pause",
      "send nothing there until it is resumed: alerts wait and do not expire; fallbacks, tests and single resends are sent",
    ),
    change("resume", "send there again: what waited is sent now, as digests when there are many"),
  ],
});
