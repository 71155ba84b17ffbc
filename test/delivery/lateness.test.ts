import { describe, expect, it } from "vitest";
import type { DueDelivery } from "../../src/core/store.ts";
import { newStatus } from "../../src/delivery/health.ts";
import { explainLateness } from "../../src/delivery/lateness.ts";
import { dueDelivery, now } from "./due-delivery.ts";

const minute = 60_000;
const well = newStatus("chat", now);

function late(changes: Partial<DueDelivery>, status = well) {
  return explainLateness(dueDelivery(1, { receivedAt: now - 5 * minute, ...changes }), status, now);
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
    ["why the last try did not succeed", { lastDetail: "nobody listens" }, "nobody listens"],
    ["quiet hours", { state: "held" as const }, "quiet hours"],
    ["the first destination", { purpose: "fallback" as const, insteadOf: "desk" }, "desk could not take it"],
    ["the queue", {}, "other messages were before it, or Tocsin was not running"],
  ])("names %s", (_name, changes, why) => {
    expect(late(changes)).toEqual({ byMs: 5 * minute, why });
  });

  it("names what ails the destination when nothing was tried", () => {
    expect(late({}, { ...well, health: "down", reason: "connection refused" })?.why).toBe(
      "connection refused",
    );
  });
});
