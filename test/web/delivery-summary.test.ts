import { expect, test } from "vitest";
import type { DeliverySummary } from "../../src/core/store.ts";
import { summariseDeliveries } from "../../src/web/pages/delivery-chips.tsx";

function delivery(over: Partial<DeliverySummary>): DeliverySummary {
  return {
    id: "1",
    destination: "ops",
    channel: "telegram",
    recipient: "-1",
    route: "all",
    purpose: "alert",
    state: "sent",
    reason: "",
    createdAt: 0,
    ...over,
  };
}

const words = (deliveries: Partial<DeliverySummary>[]) =>
  summariseDeliveries(deliveries.map(delivery)).map(
    (summary) => `${summary.destination} ${summary.state}: ${summary.words}`,
  );

test.each<[string, Partial<DeliverySummary>[], string[]]>([
  ["one that is sent", [{}], ["ops sent: sent"]],
  ["one told with others", [{ state: "digested" }], ["ops digested: sent in a digest"]],
  [
    "several mailboxes: the worst first",
    [{ recipient: "a" }, { recipient: "b", state: "failed" }, { recipient: "c" }],
    ["ops failed: 1 failed, 2 sent"],
  ],
  ["a resend that went well", [{ state: "failed" }, { purpose: "resend" }], ["ops sent: sent"]],
  [
    "a resend that failed as well",
    [{ state: "sent" }, { purpose: "resend", state: "failed" }],
    ["ops failed: failed"],
  ],
  [
    "a resend to the id that a group has now",
    [{ state: "failed" }, { purpose: "resend", recipient: "-2", createdAt: 5 }],
    ["ops sent: sent"],
  ],
  [
    "a resend to two mailboxes",
    [
      { recipient: "a", state: "failed" },
      { recipient: "a", purpose: "resend", createdAt: 5 },
      { recipient: "b", purpose: "resend", createdAt: 5, state: "queued" },
    ],
    ["ops queued: 1 queued, 1 sent"],
  ],
  [
    "two destinations",
    [{ state: "muted" }, { destination: "mail", state: "held" }],
    ["ops muted: muted", "mail held: held"],
  ],
])("%s", (_name, deliveries, expected) => {
  expect(words(deliveries)).toEqual(expected);
});
