import type { Outcome } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import type { Channel } from "../../core/ports/channel.ts";
import type { WebhookDestination } from "../../core/rules.ts";
import { expectKind } from "../expect-kind.ts";
import { type AnswerContext, classifyRefusal, describeAnswer } from "../http/classify.ts";
import type { Answer } from "../http/exchange.ts";
import {
  basicAuthOf,
  createHttpClient,
  type HttpChannelOptions,
  parseDestinationUrl,
} from "../http/http-client.ts";
import { secretsOfHeader, secretsOfUrl } from "../http/redact.ts";
import { createSigner } from "./standard-webhooks.ts";

/**
 * An outgoing webhook after Standard Webhooks: `webhook-id` is the delivery's id and the same for every repeat, so a
 * receiver that follows the standard does its work once; `webhook-timestamp` is the moment of this attempt. Hence a
 * 5xx is retried, while a silence is still ambiguous, for not every receiver looks at the id.
 * @throws AppError `config_invalid` for an address, secret, header or `allowInternal` that cannot be used.
 */
export function createWebhookChannel(destination: WebhookDestination, options: HttpChannelOptions): Channel {
  const url = parseDestinationUrl(destination.url, destination);
  const own = readHeaders(destination);
  const sign = destination.secret && createSigner(destination.secret, destination.definedAt);
  const credentials = { ...basicAuthOf(url), ...own };
  const http = createHttpClient({
    ...options,
    allowInternal: destination.allowInternal,
    secrets: [
      ...secretsOfUrl(url),
      ...Object.values(credentials).flatMap(secretsOfHeader),
      ...(destination.secret
        ? [destination.secret.reveal(), destination.secret.reveal().replace(/^whsec_/, "")]
        : []),
    ],
  });

  return {
    type: "webhook",
    send: async (message, context) => {
      const { body } = expectKind(message, "webhook");
      const id = context.deliveryId;
      const timestamp = Math.floor(options.now() / 1_000);
      const headers = {
        ...credentials,
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        ...(sign && { "webhook-signature": sign(id, timestamp, body) }),
      };
      return http.call({ url, method: "POST", headers, body }, classifyWebhook, context.signal);
    },
    probe: (_recipient, signal) => http.probeConnection(url, signal),
    close: () => http.close(),
  };
}

/**
 * A 404 is retried here: unlike at Slack or Discord it is what a receiver says that is just being deployed. So is a
 * 409, said while a former attempt with this id is still at work.
 */
export function classifyWebhook(answer: Answer, context: AnswerContext): Outcome {
  const { status } = answer;
  if (status >= 200 && status < 300) return { kind: "sent" };
  if (status === 404) {
    const detail = `${describeAnswer(answer, context)}. Is the address right?`;
    return { kind: "retry", reason: "temporary_refusal", detail };
  }
  if (status === 409) {
    return { kind: "retry", reason: "temporary_refusal", detail: describeAnswer(answer, context) };
  }
  if (status === 405) {
    const detail = `${describeAnswer(answer, context)}. The address takes no POST`;
    return { kind: "rejected", scope: "destination", reason: "address_invalid", detail };
  }
  return classifyRefusal(answer, context, { repeatable: true });
}

/** Set by this channel or by HTTP itself. */
const reservedHeaders = new Set([
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "webhook-id",
  "webhook-signature",
  "webhook-timestamp",
]);

function readHeaders(destination: WebhookDestination): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, secret] of Object.entries(destination.headers)) {
    const value = secret.reveal();
    const lower = name.toLowerCase();
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(lower))
      throw invalidHeader(destination, "a name that HTTP does not allow");
    if (reservedHeaders.has(lower)) throw invalidHeader(destination, `${lower}, which is set by Tocsin`);
    // CR and LF would begin a header or request of their own; beyond Latin-1 nothing can be sent as it stands.
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw invalidHeader(destination, `a value for ${lower} that HTTP does not allow`);
    headers[lower] = value;
  }
  return headers;
}

function invalidHeader(destination: WebhookDestination, what: string): AppError {
  return new AppError(
    "config_invalid",
    `${destination.definedAt}: "headers" of "${destination.name}" has ${what}`,
    {
      hint: "Use plain names and values of one line each.",
    },
  );
}
