import type { ChannelCalls } from "../../core/ports/channel.ts";
import { createClassify, rejected } from "../http/classify.ts";
import { createPostChannel, type HttpChannelOptions, parseDestinationUrl, urlBelow } from "../http/http-client.ts";
import type { PagerdutyMessage } from "./render.ts";
import type { PagerdutyDestination } from "./vendor.ts";

/**
 * PagerDuty's Events API v2. A repeat joins the incident of the same `dedup_key`, so a retry after a 5xx is safe. A missing answer
 * is ambiguous, as everywhere. Every question would create an incident, so a probe only connects.
 * @throws AppError `config_invalid` for an unusable address or `allowInternal`.
 */
export function createPagerdutyChannel(
  destination: PagerdutyDestination,
  options: HttpChannelOptions,
): ChannelCalls<PagerdutyMessage> {
  const url = urlBelow(parseDestinationUrl(destination.server, destination), "v2/enqueue");
  const routingKey = destination.routingKey.reveal();
  return createPostChannel(url, destination, options, {
    secrets: [routingKey],
    classify: classifyPagerduty,
    write: ({ event }) => ({ body: JSON.stringify({ routing_key: routingKey, ...event }) }),
  });
}

/**
 * "Response Codes & Retry Logic" of https://developer.pagerduty.com/docs/events-api-v2/overview/ : 202, 400, 429, 5xx. The bodies
 * of 202 and 400 are from https://v2.developer.pagerduty.com/docs/send-an-event-events-api-v2 . For a 429 neither a body nor a
 * Retry-After is documented.
 */
export const classifyPagerduty = createClassify({
  repeatable: true,
  taken: (_answer, body) => (body?.status === "success" ? { kind: "sent" } : 'status "success"'),
  refused({ status, body, detail: said }) {
    const errors = Array.isArray(body?.errors) ? body.errors.filter((error) => typeof error === "string") : [];
    const detail = [said, ...errors].join(". ");
    const isWrongKey = [body?.message, ...errors].some((words) =>
      /'routing_key'|invalid (?:routing|integration) key/i.test(String(words)),
    );
    if (status === 400 && isWrongKey) return rejected("destination", "auth_failed", detail);
    if (status === 400) return rejected("message", "message_refused", detail);
    if (status !== 404) return undefined;
    return rejected("destination", "address_invalid", `${detail}. Is this the address of the Events API?`);
  },
});
