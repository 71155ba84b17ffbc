import { field, readHttpUrl, secretly } from "../../ground/shape/field.ts";
import { Refusal } from "../../ground/shape/refusal.ts";
import { allowInternal, type SecretUrlDestination, secretUrlVendor, type Vendor } from "../vendor.ts";
import { renderTeams, type TeamsMessage } from "./render.ts";

/** A workflow that begins with "When a Teams webhook request is received". */
export type TeamsDestination = SecretUrlDestination & { type: "teams" };

/** Without a signature, as in Teams' former connectors, a workflow answers 401. */
function readWorkflowUrl(value: unknown): string | Refusal {
  const url = readHttpUrl(value);
  if (url instanceof Refusal || new URL(url).searchParams.get("sig")) return url;
  return new Refusal(
    "is not the address of a workflow: it has no sig= (it is not shown)",
    'copy the whole address of a workflow that begins with "When a Teams webhook request is received", ' +
      "set to be triggered by anyone",
  );
}

export const teams = {
  ...secretUrlVendor("teams"),
  can: { edits: false, answers: false, plainForm: true, joinsByKey: false },
  words: {
    otherSide: "Teams",
    repairs: {
      auth_failed: "let anyone trigger the workflow, and copy its whole address again, with its sig=",
      gone: "turn the workflow on again, or make a new one and use its address",
      message_refused: "let the workflow post the card as it comes, as the template for webhook alerts does",
    },
  },
  options: { url: secretly(field(readWorkflowUrl, {})), allowInternal },
  // https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using : 4 in a
  // second, 60 in 30 seconds. Half of the latter: nobody sees when a workflow fails because Teams slows it down.
  pace: { perSecond: 4, perMinute: 60 },
  render: (document, times, { form }) => [renderTeams(document, times, form)],
  readableText: ({ text }: TeamsMessage) => text,
  open: async (destination: TeamsDestination, options) =>
    (await import("./send.ts")).createTeamsChannel(destination, options),
} satisfies Vendor;
