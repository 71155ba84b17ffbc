import { beforeEach, expect, it, onTestFinished } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { PagerdutyMessage } from "../../src/vendors/pagerduty/render.ts";
import { createPagerdutyChannel } from "../../src/vendors/pagerduty/send.ts";
import { dataOf, fullFacts, makeAlert, makeContext, publicUrl } from "../rendering/sample.ts";
import { destinationBase } from "../support/destinations.ts";
import { createRendering } from "../support/rendering.ts";
import { sendContext } from "../support/send-context.ts";
import { createPagerdutyVendor, type PagerdutyVendor } from "../support/vendors/pagerduty-vendor.ts";

let vendor: PagerdutyVendor;
beforeEach(async () => {
  vendor = await createPagerdutyVendor();
});

async function send(message: PagerdutyMessage) {
  const base = { ...destinationBase("oncall"), type: "pagerduty" as const, allowInternal: ["127.0.0.1"] };
  const destination = { ...base, routingKey: new Secret(vendor.routingKey), server: vendor.origin };
  const channel = createPagerdutyChannel(destination, { now: Date.now });
  onTestFinished(() => channel.close());
  return channel.send(message, sendContext());
}

const rendering = createRendering({ publicUrl });

/** What an event says is in test/rendering/golden/pagerduty.txt. */
function eventOf(changes: object = {}): PagerdutyMessage {
  const alert = makeAlert({ facts: { ...fullFacts, ...changes } });
  const document = rendering.composeAlert(alert, makeContext());
  const options = { form: "rich", timeZone: "UTC", data: dataOf([alert]) } as const;
  const [message] = rendering.renderDocument("pagerduty", document, options);
  return message as PagerdutyMessage;
}

it("makes one incident of a key, joins repeats to it, and resolves it", async () => {
  await send(eventOf());
  await send(eventOf());
  expect([...vendor.incidents]).toEqual([["tocsin:usdc-tvl", "triggered"]]);
  await send(eventOf({ fields: [{ name: "status", value: "acknowledged" }] }));
  expect([...vendor.incidents]).toEqual([["tocsin:usdc-tvl", "acknowledged"]]);
  await send(eventOf({ status: "resolved" }));
  expect([...vendor.incidents]).toEqual([["tocsin:usdc-tvl", "resolved"]]);
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
  expect(await send(eventOf({ alertKey: `${long}1`, title: "t".repeat(300) }))).toEqual({ kind: "sent" });
  expect(await send(eventOf({ alertKey: `${long}2` }))).toEqual({ kind: "sent" });
  expect(vendor.incidents.size).toBe(2);
});
