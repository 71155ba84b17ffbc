import type { Outcome } from "../../core/delivery.ts";
import type { ChannelCalls, SendContext } from "../../core/ports/channel.ts";
import { parseRetryAfter } from "../../ground/net/retry-after.ts";
import {
  type AnswerContext,
  createClassify,
  describeAnswer,
  jsonObjectOf,
  rateLimited,
  rejected,
} from "../http/classify.ts";
import type { Answer } from "../http/exchange.ts";
import {
  basicAuthOf,
  createHttpClient,
  type HttpChannelOptions,
  parseDestinationUrl,
  urlBelow,
} from "../http/http-client.ts";
import { createPictureRest } from "../http/picture-rest.ts";
import { secretsOfHeader, secretsOfUrl } from "../http/redact.ts";
import type { NtfyMessage } from "./render.ts";
import type { NtfyDestination } from "./vendor.ts";

/** With this priority or less phones make no sound. */
const silentPriority = 2;

/**
 * Publishes JSON to the root of an ntfy server. `sequence_id` is the delivery's id: since ntfy 2.16 a repeat replaces
 * the first message on the phone, and edits work. An older server ignores it. Then there is no `ref` and no edit.
 */
export function createNtfyChannel(
  destination: NtfyDestination,
  options: HttpChannelOptions,
): ChannelCalls<NtfyMessage> {
  const server = parseDestinationUrl(destination.server, destination);
  const auth = destination.token ? { authorization: `Bearer ${destination.token.reveal()}` } : basicAuthOf(server);
  const http = createHttpClient({
    ...options,
    allowInternal: destination.allowInternal,
    secrets: [...secretsOfUrl(server), destination.topic, ...Object.values(auth).flatMap(secretsOfHeader)],
  });
  const sendEither = createPictureRest(options.now);
  const publishAs = async (message: NtfyMessage, sequenceId: string, context: SendContext) => {
    const body = publishBody(message, destination.topic, sequenceId, context.silent);
    const headers = { ...auth, "content-type": "application/json" };
    return http.call({ url: urlBelow(server, ""), method: "POST", headers, body }, classifyNtfy, context);
  };
  const publish = ({ attach, ...message }: NtfyMessage, sequenceId: string, context: SendContext) => {
    const pictured = attach === undefined ? undefined : () => publishAs({ ...message, attach }, sequenceId, context);
    return sendEither(pictured, () => publishAs(message, sequenceId, context));
  };

  return {
    send: (message, context) => publish(message, context.deliveryId, context),
    edit: (ref, message, context) => publish(message, ref, context),
    probe: (_recipient, signal) =>
      http.ask({ url: urlBelow(server, "v1/health"), method: "GET", headers: auth }, classifyNtfyHealth, signal),
    close: () => http.close(),
  };
}

/** Source: ntfy's documentation of publishing and its list of error codes. */
export const classifyNtfy = createClassify({
  taken(_answer, body) {
    if (typeof body?.id !== "string") return "the message with its id";
    return typeof body.sequence_id === "string" ? { kind: "sent", ref: body.sequence_id } : { kind: "sent" };
  },
  refused({ answer, status, body, context, detail }) {
    if (status === 404)
      return rejected("destination", "address_invalid", `${detail}. Is this the address of an ntfy server?`);
    if (status === 400 && (body?.code === 40009 || body?.code === 40010))
      return rejected("destination", "address_invalid", detail);
    if (status !== 429 || body?.code !== 42908) return undefined;
    // The day's messages are used up. A retry each half minute would only be noise.
    return rateLimited(detail, parseRetryAfter(answer.headers["retry-after"], context.nowMs) ?? 15 * 60_000);
  },
});

function classifyNtfyHealth(answer: Answer, context: AnswerContext): Outcome {
  if (answer.status === 200 && jsonObjectOf(answer)?.healthy === true) {
    return { kind: "sent", note: "the server is healthy; the topic and token were not tried" };
  }
  const outcome = classifyNtfy(answer, context);
  if (outcome.kind !== "sent") return outcome;
  return { kind: "retry", reason: "bad_answer", detail: `${describeAnswer(answer, context)} (expected healthy)` };
}

function publishBody(message: NtfyMessage, topic: string, sequenceId: string, silent: boolean): string {
  return JSON.stringify({
    topic,
    title: message.title,
    message: message.text,
    priority: silent ? Math.min(message.priority, silentPriority) : message.priority,
    tags: message.tags,
    ...(message.click === undefined ? {} : { click: message.click }),
    // The name tells phones that the file is a picture.
    ...(message.attach === undefined ? {} : { attach: message.attach, filename: "chart.png" }),
    sequence_id: sequenceId,
  });
}
