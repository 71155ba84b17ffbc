import { expect, test } from "vitest";
import type { DeliverySummary } from "../../src/core/ports/alert-log.ts";
import { outcomeOf, summariseDeliveries } from "../../src/web/pages/delivery-chips.tsx";

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

const mailTo = (recipient: string, over: Partial<DeliverySummary> = {}): Partial<DeliverySummary> => ({
  channel: "email",
  recipient,
  ...over,
});

const words = (deliveries: Partial<DeliverySummary>[]) =>
  summariseDeliveries(deliveries.map(delivery)).map(
    (summary) => `${summary.destination} ${summary.state}: ${summary.words}`,
  );

test.each<[string, Partial<DeliverySummary>[], string[]]>([
  ["one that is sent", [{}], ["ops sent: sent"]],
  ["one sent with others", [{ state: "digested" }], ["ops digested: sent in a digest"]],
  [
    "several mailboxes: the worst first",
    [mailTo("a"), mailTo("b", { state: "failed" }), mailTo("c")],
    ["ops failed: 1 failed, 2 sent"],
  ],
  ["a resend that went well", [{ state: "failed", resentBy: "2" }, { purpose: "resend" }], ["ops sent: sent"]],
  [
    "a resend of the one mailbox that failed",
    [mailTo("a"), mailTo("b", { state: "failed", resentBy: "3" }), mailTo("b", { purpose: "bulk_resend" })],
    ["ops sent: 2 sent"],
  ],
  [
    "a resend to the address that stands in place of another",
    [mailTo("a", { state: "failed", resentBy: "2" }), mailTo("b", { purpose: "bulk_resend" })],
    ["ops sent: sent"],
  ],
  ["a resend that failed as well", [{ state: "sent" }, { purpose: "resend", state: "failed" }], ["ops failed: failed"]],
  [
    "a resend to the id that a group has now",
    [{ state: "failed" }, { purpose: "resend", recipient: "-2", createdAt: 5 }],
    ["ops sent: sent"],
  ],
  [
    "a resend to two mailboxes",
    [
      mailTo("a", { state: "failed", resentBy: "2" }),
      mailTo("a", { purpose: "resend", createdAt: 5 }),
      mailTo("b", { purpose: "resend", createdAt: 5, state: "queued" }),
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

const outcome = (deliveries: Partial<DeliverySummary>[]) => {
  const { exceptions, sent, sentTo } = outcomeOf(deliveries.map(delivery));
  return { exceptions: exceptions.map(({ destination, words }) => `${destination} ${words}`), sent, sentTo };
};

test.each<[string, Partial<DeliverySummary>[], ReturnType<typeof outcome>]>([
  [
    "all that was sent is one number",
    [
      {},
      { destination: "desk", state: "digested" },
      mailTo("a", { destination: "mail" }),
      mailTo("b", { destination: "mail" }),
    ],
    { exceptions: [], sent: 4, sentTo: ["ops", "desk", "mail"] },
  ],
  [
    "what went wrong is named, the worst first",
    [
      { state: "muted" },
      { destination: "desk", state: "failed" },
      { destination: "night", state: "held" },
      { destination: "log" },
    ],
    { exceptions: ["desk failed", "night held", "ops muted"], sent: 1, sentTo: ["log"] },
  ],
  [
    "a mailbox that failed does not hide those that were sent",
    [mailTo("a"), mailTo("b", { state: "failed" }), mailTo("c")],
    { exceptions: ["ops failed"], sent: 2, sentTo: ["ops"] },
  ],
  [
    "a resend stands for what failed",
    [{ state: "failed", resentBy: "2" }, { purpose: "resend" }],
    { exceptions: [], sent: 1, sentTo: ["ops"] },
  ],
])("in a row, %s", (_name, deliveries, expected) => {
  expect(outcome(deliveries)).toEqual(expected);
});
