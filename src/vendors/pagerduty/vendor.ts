import { createHash } from "node:crypto";
import { z } from "zod";
import type { Destination } from "../../core/rules.ts";
import { Secret } from "../../core/secret.ts";
import { field, httpUrl, oneOf, optional, secretly } from "../../ground/shape/field.ts";
import { Refusal, referTo } from "../../ground/shape/refusal.ts";
import { allowInternal, hostOf, type Vendor } from "../vendor.ts";
import { type PagerdutyMessage, renderPagerduty } from "./render.ts";

export type PagerdutyDestination = Destination & { type: "pagerduty" } & ReturnType<typeof build>;

/** "API Access URLs" of https://support.pagerduty.com/docs/service-regions */
const servers = { us: "https://events.pagerduty.com", eu: "https://events.eu.pagerduty.com" };

const options = z.object({
  routingKey: secretly(field(readRoutingKey, {})).describe('a reference to the key of an integration "Events API v2"'),
  region: oneOf(["us", "eu"]).prefault("us").describe("`us`, or `eu` for accounts in the EU"),
  server: optional(httpUrl, "another address of the Events API", "that of the region"),
  allowInternal,
});

/** 32 letters and digits (https://developer.pagerduty.com/docs/events-api-v2/trigger-events/). Never shown. */
function readRoutingKey(value: unknown): string | Refusal {
  if (typeof value === "string" && /^[A-Za-z0-9]{32}$/.test(value.trim())) return value.trim();
  return new Refusal(
    value === undefined || value === null
      ? "is missing"
      : "is not an integration key of 32 characters (it is not shown)",
    `write ${referTo("PAGERDUTY_ROUTING_KEY")}; it is the key of an integration "Events API v2" of the service`,
  );
}

function build({ routingKey, region, server, allowInternal = [] }: z.infer<typeof options>) {
  return { routingKey: new Secret(routingKey), server: server ?? servers[region], allowInternal };
}

export const pagerduty = {
  type: "pagerduty",
  can: { edits: false, answers: false, plainForm: true, joinsByKey: true, informsPrograms: true, carries: "facts" },
  words: { otherSide: "PagerDuty", reasons: { auth_failed: "PagerDuty refused the integration key" } },
  options: options.shape,
  build,
  addresses: ({ routingKey }: PagerdutyDestination) => [`pagerduty ${routingKey.reveal()}`],
  shownRecipients: ({ server }: PagerdutyDestination) => [hostOf(server)],
  describe: ({ server }: PagerdutyDestination) => `incidents at ${hostOf(server)}`,
  secrets: ({ routingKey }: PagerdutyDestination) => [routingKey],
  // PagerDuty limits each routing key, over all its destinations.
  paceKey: ({ routingKey }: PagerdutyDestination) =>
    `pagerduty:${createHash("sha256").update(routingKey.reveal()).digest("hex").slice(0, 16)}`,
  // The documents give no number. PagerDuty's support says 120 a minute for each key:
  // https://community.pagerduty.com/forum/t/which-rate-limit-of-rest-api-is-correct/3322
  pace: { perMinute: 120 },
  probeProves: "connection",
  render: (document, times, { form, data }) => [renderPagerduty(document, times, form, data)],
  readableText: ({ event }: PagerdutyMessage) =>
    `${event.event_action}: ${event.payload.summary}\n\n${event.payload.custom_details.text}`,
  open: async (destination: PagerdutyDestination, options) =>
    (await import("./send.ts")).createPagerdutyChannel(destination, options),
} satisfies Vendor;
