import { describe, expect, it } from "vitest";
import type { DueDelivery } from "../../src/core/delivery-job.ts";
import { newStatus } from "../../src/delivery/plan/health.ts";
import { explainLateness, type LatenessContext } from "../../src/delivery/plan/lateness.ts";
import { dueDelivery, now } from "./due-delivery.ts";

const minute = 60_000;
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
