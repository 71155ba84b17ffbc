import type { ChannelCalls } from "../../core/ports/channel.ts";
import { createClassify, rejected } from "../http/classify.ts";
import { createPostChannel, type HttpChannelOptions, parseDestinationUrl, urlBelow } from "../http/http-client.ts";
import type { PagerdutyMessage } from "./render.ts";
import type { PagerdutyDestination } from "./vendor.ts";

/**
 * A repeat joins the incident of the same `dedup_key`, so a retry after a 5xx is safe. A probe only connects, as every
 * question would create an incident.
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
 * https://developer.pagerduty.com/docs/events-api-v2/overview/ ("Response Codes & Retry Logic") has the statuses,
 * https://v2.developer.pagerduty.com/docs/send-an-event-events-api-v2 the bodies. A 429 has neither a documented body
 * nor a Retry-After.
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
