import { describe, expect, it } from "vitest";
import type { DestinationHealth, DestinationStatus } from "../../src/core/destination-status.ts";
import { newStatus } from "../../src/delivery/plan/health.ts";
import { planNotice } from "../../src/delivery/plan/plan-notice.ts";
import { now } from "./due-delivery.ts";

const minute = 60_000;

function status(
  health: DestinationHealth,
  announced?: Partial<NonNullable<DestinationStatus["announced"]>>,
): DestinationStatus {
  return {
    ...newStatus("chat", now),
    health,
    announced: announced && { health: "down", at: now - minute, told: true, over: false, ...announced },
  };
}

const tellWorse = (told = true) => ({ tell: "worse", announced: { at: now, told, over: false } });

describe("notices about a destination", () => {
  it.each(["ok", "degraded"] as const)("nothing of one that was never bad: %s", (health) => {
    expect(planNotice(status(health), true, now)).toBeUndefined();
  });

  it.each(["down", "dead", "paused"] as const)("the first time it is %s", (health) => {
    expect(planNotice(status(health), true, now)).toMatchObject(tellWorse());
    expect(planNotice(status(health, { health }), true, now)).toBeUndefined();
  });

  it("again when it gets bad in another way, for that needs something else done", () => {
    expect(planNotice(status("dead", { health: "down" }), true, now)).toMatchObject(tellWorse());
  });

  it("that it works again, once, and only once a message has shown it", () => {
    expect(planNotice(status("degraded", {}), true, now)).toBeUndefined();
    expect(planNotice(status("ok", {}), true, now)).toEqual({
      tell: "better",
      announced: { health: "down", at: now - minute, told: true, over: true },
    });
    expect(planNotice(status("ok", { over: true }), true, now)).toBeUndefined();
  });

  it("no more than one pair in ten minutes while it flaps", () => {
    const flapping = (agoMs: number) => status("down", { over: true, at: now - agoMs });
    expect(planNotice(flapping(9 * minute), true, now)).toBeUndefined();
    expect(planNotice(flapping(10 * minute), true, now)).toMatchObject(tellWorse());
  });

  it("is put on record once when nobody can be told, and told as soon as somebody can", () => {
    expect(planNotice(status("down"), false, now)).toMatchObject(tellWorse(false));
    expect(planNotice(status("down", { told: false }), false, now)).toBeUndefined();
    expect(planNotice(status("down", { told: false }), true, now)).toMatchObject(tellWorse());
  });

  it("does not say that works again of which nobody knew that it did not", () => {
    const due = planNotice(status("ok", { told: false }), true, now);
    expect(due?.tell).toBeUndefined();
    expect(due?.announced.over).toBe(true);
  });
});
