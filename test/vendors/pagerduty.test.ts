import { afterEach, beforeEach, expect, it } from "vitest";
import type { ChannelCalls } from "../../src/core/ports/channel.ts";
import { Secret } from "../../src/core/secret.ts";
import type { PagerdutyMessage } from "../../src/vendors/pagerduty/render.ts";
import { createPagerdutyChannel } from "../../src/vendors/pagerduty/send.ts";
import { destinationBase } from "../support/destinations.ts";
import { createRendering } from "../support/rendering.ts";
import { sendContext } from "../support/send-context.ts";
import { createPagerdutyVendor, type PagerdutyVendor } from "../support/vendors/pagerduty-vendor.ts";

let vendor: PagerdutyVendor;
let channel: ChannelCalls<PagerdutyMessage>;
beforeEach(async () => {
  vendor = await createPagerdutyVendor();
  channel = open(vendor.routingKey);
});
afterEach(async () => {
  await channel.close();
  await vendor.close();
});

function open(routingKey: string) {
  return createPagerdutyChannel(
    {
      ...destinationBase("oncall"),
      type: "pagerduty",
      routingKey: new Secret(routingKey),
      server: vendor.origin,
      allowInternal: ["127.0.0.1"],
    },
    { now: Date.now },
  );
}

const rendering = createRendering();
const receivedAt = 1_763_700_000_000;

function eventOf(changes: Record<string, unknown> = {}): PagerdutyMessage {
  const facts = {
    title: "TVL of GHO fell below 1.10",
    severity: "critical" as const,
    status: "firing" as const,
    format: "json" as const,
    alertKey: "tvl:gho",
    source: "desk",
    token: "GHO",
    chain: "eth",
    metric: "tvl",
    value: "1.09",
    link: "https://desk.example/gho",
    fields: [{ name: "pool", value: "0xab" }],
    notes: [],
    ...changes,
  };
  const alert = { id: "01939d2f-0000-7000-8000-000000000001", seq: 1, origin: "hook" as const, receivedAt, facts };
  const document = rendering.composeAlert(alert, { now: receivedAt, purpose: "alert", possibleRepeat: false });
  const { title, severity, status } = facts;
  const url = "https://tocsin.example.com/alerts/1";
  const data = {
    type: "alert" as const,
    deliveryId: "d",
    at: receivedAt,
    alerts: [{ id: alert.id, receivedAt, title, severity, status, facts, url }],
    repeat: false,
    silent: false,
  };
  const [message] = rendering.renderDocument("pagerduty", document, { form: "rich", timeZone: "UTC", data });
  return message as PagerdutyMessage;
}

it("says in an event what the alert is, and where to read on", () => {
  const { event } = eventOf();
  expect(event).toMatchObject({
    event_action: "trigger",
    dedup_key: "tocsin:tvl:gho",
    client: "Tocsin",
    client_url: "https://tocsin.example.com/alerts/1",
    links: [{ href: "https://tocsin.example.com/alerts/1" }, { href: "https://desk.example/gho" }],
    payload: {
      source: "desk",
      severity: "critical",
      timestamp: "2025-11-21T04:40:00.000Z",
      component: "GHO",
      group: "eth",
      class: "tvl",
      custom_details: { value: "1.09", fields: { pool: "0xab" } },
    },
  });
  expect(event.payload.summary).toContain("TVL of GHO fell below 1.10");
});

it("makes one incident of a key, joins repeats to it, and resolves it", async () => {
  await channel.send(eventOf(), sendContext());
  await channel.send(eventOf(), sendContext());
  expect([...vendor.incidents]).toEqual([["tocsin:tvl:gho", "triggered"]]);
  await channel.send(eventOf({ fields: [{ name: "status", value: "acknowledged" }] }), sendContext());
  expect([...vendor.incidents]).toEqual([["tocsin:tvl:gho", "acknowledged"]]);
  await channel.send(eventOf({ status: "resolved" }), sendContext());
  expect([...vendor.incidents]).toEqual([["tocsin:tvl:gho", "resolved"]]);
});

it.each([
  ["critical", "critical"],
  ["warning", "warning"],
  ["info", "info"],
  ["unknown", "error"],
])("takes the severity %s for %s", (severity, expected) => {
  expect(eventOf({ severity }).event.payload.severity).toBe(expected);
});

it("keeps the keys and summaries of any length within what is taken, and keys apart", async () => {
  const long = "k".repeat(1_000);
  const [one, two] = [eventOf({ alertKey: `${long}1`, title: "t".repeat(300) }), eventOf({ alertKey: `${long}2` })];
  expect(await channel.send(one, sendContext())).toEqual({ kind: "sent" });
  expect(await channel.send(two, sendContext())).toEqual({ kind: "sent" });
  expect(vendor.incidents.size).toBe(2);
});

it("takes a refused integration key for the destination's fault, and says so without it", async () => {
  const wrong = open("canaryOtherRoutingKeyXXXXXXXXXXX");
  const outcome = await wrong.send(eventOf(), sendContext());
  await wrong.close();
  expect(outcome).toMatchObject({ kind: "rejected", scope: "destination", reason: "auth_failed" });
  expect(JSON.stringify(outcome)).not.toContain("canaryOther");
});
