import { expect, it, onTestFinished } from "vitest";
import { createJourneyWorld, waitForState } from "../support/journey-world.ts";
import { createPagerdutyVendor } from "../support/vendors/pagerduty-vendor.ts";

it("triggers, acknowledges and resolves one incident by what a sender says of it, without a key of its own", async () => {
  const vendor = await createPagerdutyVendor();
  onTestFinished(vendor.close);
  const world = await createJourneyWorld({
    yaml: `
destinations:
  oncall: { type: pagerduty, routingKey: "\${KEY}", server: "${vendor.origin}", allowInternal: ["127.0.0.1"] }
routes:
  - { name: everything, to: [oncall] }
`,
  });
  const relay = await world.start({ TELEGRAM_CHAT_IDS: "", EMAIL_TO: "", KEY: vendor.routingKey });
  for (const [status, state] of [
    ["firing", "triggered"],
    ["acknowledged", "acknowledged"],
    ["resolved", "resolved"],
  ]) {
    const { ids } = await relay.post(JSON.stringify({ title: "TVL of GHO fell below 1.1", status }));
    for (const id of ids) await waitForState(relay, id, "sent");
    expect([...vendor.incidents.values()]).toEqual([state]);
  }
});
