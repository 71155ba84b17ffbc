import { createHmac, createSecretKey } from "node:crypto";
import type { ChannelCalls } from "../../core/ports/channel.ts";
import type { Secret } from "../../core/secret.ts";
import { createClassify, rejected } from "../http/classify.ts";
import { basicAuthOf, createPostChannel, type HttpChannelOptions, parseDestinationUrl } from "../http/http-client.ts";
import { secretsOfHeader } from "../http/redact.ts";
import type { WebhookMessage } from "./render.ts";
import type { WebhookDestination } from "./vendor.ts";

/**
 * An outgoing webhook by Standard Webhooks. Every repeat of a delivery has the same `webhook-id`, so a 5xx is retried.
 * A missing answer is ambiguous, as some receivers ignore the id. `webhook-timestamp` is the moment of the attempt.
 */
export function createWebhookChannel(
  destination: WebhookDestination,
  options: HttpChannelOptions,
): ChannelCalls<WebhookMessage> {
  const url = parseDestinationUrl(destination.url, destination);
  const sign = destination.secret && createSigner(destination.secret);
  const headers = Object.entries(destination.headers).map(([name, value]) => [name.toLowerCase(), value.reveal()]);
  const credentials: Record<string, string> = { ...basicAuthOf(url), ...Object.fromEntries(headers) };
  return createPostChannel(url, destination, options, {
    secrets: [
      ...Object.values(credentials).flatMap(secretsOfHeader),
      ...(destination.secret ? [destination.secret.reveal(), destination.secret.reveal().replace(/^whsec_/, "")] : []),
    ],
    classify: classifyWebhook,
    write: ({ body }, { deliveryId: id }) => {
      const timestamp = Math.floor(options.now() / 1_000);
      // An object literal that begins with a spread is slow in Node 20: a microsecond or two for each name after it.
      const headers = {
        "webhook-id": id,
        ...credentials,
        "webhook-timestamp": String(timestamp),
        ...(sign && { "webhook-signature": sign(id, timestamp, body) }),
      };
      return { headers, body };
    },
  });
}

/** A 404 is retried: a receiver under deployment answers so. A 409 too: an earlier attempt is still at work. */
export const classifyWebhook = createClassify({
  repeatable: true,
  taken: () => ({ kind: "sent" }),
  refused({ status, detail }) {
    if (status === 405) return rejected("destination", "address_invalid", `${detail}. The address takes no POST`);
    if (status !== 404 && status !== 409) return undefined;
    const doubt = status === 404 ? ". Is the address right?" : "";
    return { kind: "retry", reason: "temporary_refusal", detail: `${detail}${doubt}` };
  },
});

/** Standard Webhooks 1.0: `v1,` and the base64 HMAC-SHA256 over `id.timestamp.body`. The key follows `whsec_`. */
export function createSigner(secret: Secret) {
  const key = createSecretKey(Buffer.from(secret.reveal().replace(/^whsec_/, ""), "base64"));
  return (id: string, timestampSeconds: number, body: string): string => {
    const mac = createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`, "utf8");
    return `v1,${mac.digest("base64")}`;
  };
}
