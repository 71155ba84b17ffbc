import type { ChannelCalls } from "../../core/ports/channel.ts";
import { createClassify, rejected } from "../http/classify.ts";
import { createPostChannel, type HttpChannelOptions, parseDestinationUrl } from "../http/http-client.ts";
import type { TeamsMessage } from "./render.ts";
import type { TeamsDestination } from "./vendor.ts";

/** A workflow answers 202 before it posts the card. Only the workflow's run history shows a refused card. */
export function createTeamsChannel(
  destination: TeamsDestination,
  options: HttpChannelOptions,
): ChannelCalls<TeamsMessage> {
  const url = parseDestinationUrl(destination.url.reveal(), destination);
  return createPostChannel(url, destination, options, { classify: classifyTeams, write: ({ body }) => ({ body }) });
}

/** https://learn.microsoft.com/azure/connectors/connectors-native-reqres and the codes of Azure Logic Apps */
export const classifyTeams = createClassify({
  taken: (answer, body) =>
    answer.status === 202 || answer.body.trim() === "" || body !== undefined ? { kind: "sent" } : "202",
  refused({ status, body, detail }) {
    const code = (body?.error as { code?: unknown } | null | undefined)?.code;
    if (status === 404 || code === "WorkflowTriggerIsNotEnabled") return rejected("destination", "gone", detail);
    if (code !== "MissingApiVersionParameter") return undefined;
    return rejected("destination", "address_invalid", `${detail}. The address was not copied whole`);
  },
});
