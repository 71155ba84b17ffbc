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

const mail = (recipient: string, state: DeliverySummary["state"] = "sent", over: Partial<DeliverySummary> = {}) => ({
  ...{ channel: "email" as const, recipient, state, ...over },
});
const at = (destination: string, state: DeliverySummary["state"]) => ({ destination, state });
const failed = { state: "failed" } as const;
const risk = { destination: "mail" };

/** `what went wrong; how many were sent to whom`. */
const outcome = (deliveries: Partial<DeliverySummary>[]) => {
  const { exceptions, sent, sentTo } = outcomeOf(deliveries.map(delivery));
  return `${exceptions.map(({ destination, words }) => `${destination} ${words}`).join(", ")}; ${sent} to ${sentTo}`;
};

test.each<[string, Partial<DeliverySummary>[], string]>([
  [
    "all that was sent is one number",
    [{}, at("desk", "digested"), mail("a", "sent", risk), mail("b", "sent", risk)],
    "; 4 to ops,desk,mail",
  ],
  [
    "what went wrong is named, the worst first",
    [{ state: "muted" }, at("desk", "failed"), at("night", "held"), at("log", "sent")],
    "desk failed, night held, ops muted; 1 to log",
  ],
  ["a mailbox that failed hides none of the sent", [mail("a"), mail("b", "failed"), mail("c")], "ops failed; 2 to ops"],
  ["a resend stands for what failed", [{ ...failed, resentBy: "2" }, { purpose: "resend" }], "; 1 to ops"],
  [
    "a resend of the one mailbox that failed leaves those that were sent",
    [mail("a"), mail("b", "failed", { resentBy: "3" }), mail("b", "sent", { purpose: "bulk_resend" })],
    "; 2 to ops",
  ],
  [
    "a resend to the address in place of another stands for it",
    [mail("a", "failed", { resentBy: "2" }), mail("b", "sent", { purpose: "bulk_resend" })],
    "; 1 to ops",
  ],
  ["a resend that failed as well counts", [{}, { ...failed, purpose: "resend" }], "ops failed; 0 to "],
  [
    "a resend to the id that a group has now stands for it",
    [failed, { purpose: "resend", recipient: "-2", createdAt: 5 }],
    "; 1 to ops",
  ],
  [
    "several mailboxes that are open are counted, the worst first",
    [mail("a", "queued"), mail("b", "failed"), mail("c", "queued")],
    "ops 1 failed, 2 queued; 0 to ",
  ],
])("in a row, %s", (_name, deliveries, expected) => {
  expect(outcome(deliveries)).toBe(expected);
});

test("initials of two destinations are never alike", () => {
  const names = ["risk-mail", "desk", "deck", "Trading Desk 1", "Trading Desk 2", "ops"];
  expect(Object.values(initialsOf(names))).toEqual(["rm", "des", "dec", "td1", "td2", "op"]);
  expect(new Set(Object.values(initialsOf(["a", "a1", "a-1", "ab", "abc"]))).size).toBe(5);
});
