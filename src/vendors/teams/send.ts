import type { Outcome } from "../../core/delivery.ts";
import type { ChannelCalls } from "../../core/ports/channel.ts";
import {
  type AnswerContext,
  classifyRefusal,
  describeAnswer,
  jsonObjectOf,
  rejected,
  unexpectedSuccess,
} from "../http/classify.ts";
import type { Answer } from "../http/exchange.ts";
import { createPostChannel, type HttpChannelOptions, parseDestinationUrl } from "../http/http-client.ts";
import { secretsOfUrl } from "../http/redact.ts";
import type { TeamsMessage } from "./render.ts";
import type { TeamsDestination } from "./vendor.ts";

/**
 * Workflows of Microsoft Teams. A workflow answers 202 before it posts the card, so what Teams says to the card stands
 * in the workflow's run history alone: the card must be right when it leaves.
 * @throws AppError `config_invalid` for an address or `allowInternal` that cannot be used.
 */
export function createTeamsChannel(
  destination: TeamsDestination,
  options: HttpChannelOptions,
): ChannelCalls<TeamsMessage> {
  const url = parseDestinationUrl(destination.url.reveal(), destination);
  return createPostChannel(url, {
    ...options,
    allowInternal: destination.allowInternal,
    secrets: secretsOfUrl(url),
    classify: classifyTeams,
    write: ({ body }) => ({ body }),
  });
}

/**
 * Source: https://learn.microsoft.com/azure/connectors/connectors-native-reqres (202 at once, or what the workflow
 * itself answers) and the codes of Azure Logic Apps, which runs the workflows: `{"error":{"code","message"}}`.
 */
export function classifyTeams(answer: Answer, context: AnswerContext): Outcome {
  const { status } = answer;
  const body = jsonObjectOf(answer);
  if (status >= 200 && status < 300) {
    const isTaken = status === 202 || answer.body.trim() === "" || body !== undefined;
    return isTaken ? { kind: "sent" } : unexpectedSuccess(answer, context, "202");
  }
  const code = (body?.error as { code?: unknown } | null | undefined)?.code;
  const detail = describeAnswer(answer, context);
  if (status === 404 || code === "WorkflowTriggerIsNotEnabled") {
    return rejected("destination", "gone", detail);
  }
  if (code === "MissingApiVersionParameter") {
    return rejected("destination", "address_invalid", `${detail}. The address was not copied whole`);
  }
  return classifyRefusal(answer, context, { repeatable: false });
}
