import { beforeEach, expect, it } from "vitest";
import type { PagerdutyMessage } from "../../src/vendors/pagerduty/render.ts";
import { type HttpVendorOf, setUpHttp } from "../conformance/http-vendors.ts";
import { dataOf, fullFacts, makeAlert, makeContext, publicUrl } from "../rendering/sample.ts";
import { createRendering } from "../support/rendering.ts";
import { sendContext } from "../support/send-context.ts";

let vendor: HttpVendorOf<"pagerduty">;
let send: (message: PagerdutyMessage) => Promise<object>;
beforeEach(async () => {
  const { open, ...world } = await setUpHttp("pagerduty");
  vendor = world.vendor;
  const channel = await open();
  send = (message) => channel.send(message, sendContext());
});

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
