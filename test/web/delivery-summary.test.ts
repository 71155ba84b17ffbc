import { expect, test } from "vitest";
import type { DeliverySummary } from "../../src/core/ports/alert-log.ts";
import { initialsOf, outcomeOf } from "../../src/web/pages/delivery-chips.tsx";

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
  [
    "a resend of the one mailbox that failed leaves those that were sent",
    [mailTo("a"), mailTo("b", { state: "failed", resentBy: "3" }), mailTo("b", { purpose: "bulk_resend" })],
    { exceptions: [], sent: 2, sentTo: ["ops"] },
  ],
  [
    "a resend to the address in place of another stands for it",
    [mailTo("a", { state: "failed", resentBy: "2" }), mailTo("b", { purpose: "bulk_resend" })],
    { exceptions: [], sent: 1, sentTo: ["ops"] },
  ],
  [
    "a resend that failed as well is what counts",
    [{ state: "sent" }, { purpose: "resend", state: "failed" }],
    { exceptions: ["ops failed"], sent: 0, sentTo: [] },
  ],
  [
    "a resend to the id that a group has now stands for it",
    [{ state: "failed" }, { purpose: "resend", recipient: "-2", createdAt: 5 }],
    { exceptions: [], sent: 1, sentTo: ["ops"] },
  ],
  [
    "several mailboxes that are open are counted, the worst first",
    [mailTo("a", { state: "queued" }), mailTo("b", { state: "failed" }), mailTo("c", { state: "queued" })],
    { exceptions: ["ops 1 failed, 2 queued"], sent: 0, sentTo: [] },
  ],
])("in a row, %s", (_name, deliveries, expected) => {
  expect(outcome(deliveries)).toEqual(expected);
});

test("initials of two destinations are never alike", () => {
  const names = ["risk-mail", "desk", "deck", "Trading Desk 1", "Trading Desk 2", "ops"];
  expect(Object.values(initialsOf(names))).toEqual(["rm", "des", "dec", "td1", "td2", "op"]);
  expect(new Set(Object.values(initialsOf(["a", "a1", "a-1", "ab", "abc"]))).size).toBe(5);
});
