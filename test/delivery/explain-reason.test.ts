import { describe, expect, it } from "vitest";
import { reasonCodes } from "../../src/core/delivery.ts";
import type { DueDelivery } from "../../src/core/delivery-job.ts";
import {
  explainFallback,
  explainLateness,
  explainOutcome,
  explainReason,
  type LatenessContext,
} from "../../src/delivery/plan/explain-reason.ts";
import { newStatus } from "../../src/delivery/plan/health.ts";
import { vendors } from "../../src/vendors/index.ts";
import { dueDelivery, now } from "./due-delivery.ts";
import { mailTo, telegramTo } from "./engine-fixture.ts";
import { lost, minute, refused } from "./outcomes.ts";

const spam = {
  kind: "rejected",
  scope: "recipient",
  reason: "recipient_refused",
  detail: "The mail server refuses the recipient: 550 5.7.1 spam.",
} as const;

describe("reasons in messages to people", () => {
  it("are plain words for every code and channel, without a code of the network", () => {
    for (const reason of reasonCodes) {
      for (const { type: channel } of vendors) {
        expect(explainReason(reason, channel)).toMatch(/^[A-Za-z][A-Za-z ,']+$/);
        expect(explainReason(reason, channel)).not.toMatch(/\bE[A-Z]{4,}|_/);
      }
    }
  });

  it("leave out how a connection broke", () => {
    const broken = { ...refused, detail: "connect ECONNREFUSED 10.0.0.9:25" };
    expect(explainOutcome(broken, "email")).toBe("the mail server could not be reached");
    expect(explainFallback({ ...lost, detail: "(ECONNRESET)" }, telegramTo("desk"), "-1004")).toBe(
      "desk did not get it: Telegram did not answer",
    );
  });

  it("quote what the other side said when it refused, shortened", () => {
    const mail = mailTo("risk-mail", ["treasury@desk.example"]);
    expect(explainFallback(spam, mail, "treasury@desk.example")).toBe(
      "treasury@desk.example refused it (550 5.7.1 spam)",
    );
    expect(explainOutcome({ ...spam, detail: "x".repeat(500) }, "email")).toMatch(/\(x{119}…\)$/);
  });
});

const well = newStatus({ kind: "destination", name: "chat" }, now);

function late(changes: Partial<DueDelivery>, context: Partial<LatenessContext> = {}) {
  const delivery = dueDelivery(1, { receivedAt: now - 5 * minute, ...changes });
  const startedAt = now - 60 * minute;
  return explainLateness(delivery, { status: well, channel: "telegram", startedAt, now, ...context });
}

describe("how late a message is, and why", () => {
  it("is not said within the first minute, nor when the clock was set back", () => {
    expect(late({ receivedAt: now - minute + 1 })).toBeUndefined();
    expect(late({ receivedAt: now - minute })?.byMs).toBe(minute);
    expect(late({ receivedAt: now + minute })).toBeUndefined();
  });

  it("is not said of a resend: the person who asked for it knows", () => {
    expect(late({ purpose: "resend" })).toBeUndefined();
  });

  it.each([
    [
      "why the last try did not succeed, and no network's code",
      { lastReason: "connection_lost", lastDetail: "the connection broke (ECONNRESET)" } as const,
      "Telegram did not answer",
    ],
    ["that a try failed of which no code was kept", { lastDetail: "(ECONNRESET)" }, "the first try failed"],
    ["quiet hours", { state: "held" as const }, "quiet hours"],
    [
      "others that it waited for",
      { state: "held" as const, groupName: "g", dueAt: now - 2 * minute },
      "it waited for others",
    ],
    ["a hold until a person released it", { heldUntil: now - 2 * minute }, "it was held"],
    ["the first destination", { purpose: "fallback" as const, insteadOf: "desk" }, "desk could not take it"],
    ["the queue", {}, "queue"],
  ])("names %s", (_name, changes, why) => {
    expect(late(changes)).toEqual({ byMs: 5 * minute, why });
  });

  it("names what ails the destination when nothing was tried", () => {
    const down = { ...well, health: "down", reason: "(ECONNREFUSED)", reasonCode: "connect_failed" } as const;
    expect(late({}, { status: down, channel: "email" })?.why).toBe("the mail server could not be reached");
  });

  it("says that Tocsin was restarted only when it was, since the alert came", () => {
    expect(late({}, { startedAt: now - 4 * minute })?.why).toBe("Tocsin was restarted");
    expect(late({}, { startedAt: now - 5 * minute })?.why).toBe("queue");
  });
});
