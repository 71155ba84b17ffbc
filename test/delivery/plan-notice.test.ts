import { describe, expect, it } from "vitest";
import type { DestinationHealth, DestinationStatus } from "../../src/core/destination-status.ts";
import { newStatus } from "../../src/delivery/plan/health.ts";
import { planNotice } from "../../src/delivery/plan/plan-notice.ts";
import { now } from "./due-delivery.ts";

const minute = 60_000;

function status(
  health: DestinationHealth,
  notice?: Partial<NonNullable<DestinationStatus["notice"]>>,
): DestinationStatus {
  return {
    ...newStatus({ kind: "destination", name: "chat" }, now),
    health,
    notice: notice && { health: "down", at: now - minute, sent: true, over: false, ...notice },
  };
}

const saysWorse = (sent = true) => ({ says: "worse", notice: { at: now, sent, over: false } });

describe("notices about a destination", () => {
  it.each(["ok", "degraded"] as const)("nothing of one that was never bad: %s", (health) => {
    expect(planNotice(status(health), true, now)).toBeUndefined();
  });

  it.each(["down", "dead", "paused"] as const)("the first time it is %s", (health) => {
    expect(planNotice(status(health), true, now)).toMatchObject(saysWorse());
    expect(planNotice(status(health, { health }), true, now)).toBeUndefined();
  });

  it("again when it gets bad in another way, for that needs something else done", () => {
    expect(planNotice(status("dead", { health: "down" }), true, now)).toMatchObject(saysWorse());
  });

  it.each(["down", "paused"] as const)("nothing more when one that was dead is %s for a time", (health) => {
    expect(planNotice(status(health, { health: "dead" }), true, now)).toBeUndefined();
  });

  it("that it works again, once, and only once a message has shown it", () => {
    expect(planNotice(status("degraded", {}), true, now)).toBeUndefined();
    expect(planNotice(status("ok", {}), true, now)).toEqual({
      says: "better",
      notice: { health: "down", at: now - minute, sent: true, over: true },
    });
    expect(planNotice(status("ok", { over: true }), true, now)).toBeUndefined();
  });

  it("no more than one pair in ten minutes while it flaps", () => {
    const flapping = (agoMs: number) => status("down", { over: true, at: now - agoMs });
    expect(planNotice(flapping(9 * minute), true, now)).toBeUndefined();
    expect(planNotice(flapping(10 * minute), true, now)).toMatchObject(saysWorse());
  });

  it("is put on record once when there is nobody to notify, and sent as soon as there is", () => {
    expect(planNotice(status("down"), false, now)).toMatchObject(saysWorse(false));
    expect(planNotice(status("down", { sent: false }), false, now)).toBeUndefined();
    expect(planNotice(status("down", { sent: false }), true, now)).toMatchObject(saysWorse());
  });

  it("does not say that works again of which nobody knew that it did not", () => {
    const due = planNotice(status("ok", { sent: false }), true, now);
    expect(due?.says).toBeUndefined();
    expect(due?.notice.over).toBe(true);
  });
});
