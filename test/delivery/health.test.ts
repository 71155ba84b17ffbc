import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import type { DestinationHealth, DestinationStatus } from "../../src/core/destination-status.ts";
import { isProbed, judgeOutcome, judgeProbe, newStatus, tryAgainNow } from "../../src/delivery/plan/health.ts";
import { planNotice } from "../../src/delivery/plan/plan-notice.ts";
import { now } from "./due-delivery.ts";
import { flood, hour, lost, refused } from "./outcomes.ts";

const settings = defaultDeliverySettings();
const before = now - hour;
const sent: Outcome = { kind: "sent" };
const flooded = flood(1);
const moved: Outcome = { ...refused, reason: "address_moved", movedTo: "-1007" };
const rejected = (scope: "message" | "recipient" | "destination" | "account"): Outcome => ({
  kind: "rejected",
  scope,
  reason: "kicked",
  detail: "kicked",
});

const wasBad = (health: DestinationHealth, failures: number, more: Partial<DestinationStatus> = {}) => ({
  ...newStatus({ kind: "destination", name: "chat" }, before),
  health,
  failures,
  reason: "earlier",
  ...more,
});
const states: Record<DestinationHealth, DestinationStatus> = {
  ok: newStatus({ kind: "destination", name: "chat" }, before),
  degraded: wasBad("degraded", 4),
  down: wasBad("down", 5, { openUntil: now - 1 }),
  dead: wasBad("dead", 1, { probeAt: now - 1 }),
  paused: wasBad("paused", 1, { probeAt: now - 1 }),
};
const all = Object.keys(states) as DestinationHealth[];
const quarter = 15 * 60_000;

describe("what a call says about a destination", () => {
  it.each(all)("a message that arrives makes it well: %s", (health) => {
    const none = { openUntil: undefined, probeAt: undefined };
    const well = { ...none, ...judgeOutcome(states[health], sent, settings, now) };
    const since = health === "ok" ? before : now;
    expect(well).toMatchObject({ health: "ok", failures: 0, reason: "", ...none, lastSentAt: now, since });
  });

  it("a message that arrives, though not as configured, leaves it degraded until one arrives as it should", () => {
    const degraded = "the topic is gone";
    const lacking = judgeOutcome(states.ok, { kind: "sent", degraded }, settings, now);
    expect(lacking).toMatchObject({ health: "degraded", reason: degraded, since: now, failures: 0 });
    const again = judgeOutcome(lacking, { kind: "sent", degraded }, settings, now + 5);
    expect(again).toMatchObject({ health: "degraded", since: now });
    expect(judgeOutcome(again, sent, settings, now + 9)).toMatchObject({ health: "ok", reason: "" });
  });

  it.each([
    ["ok", { health: "degraded", failures: 1, since: now }],
    ["degraded", { health: "down", failures: 5, since: before, openUntil: now + 30_000 }],
    ["down", { health: "down", failures: 6, since: before, openUntil: now + 60_000 }],
    ["dead", { health: "dead", failures: 2, since: before, probeAt: now - 1 }],
    ["paused", { health: "paused", failures: 2, since: before, probeAt: now - 1 }],
  ] as const)("a failure, from %s", (health, expected) => {
    expect(judgeOutcome(states[health], refused, settings, now)).toMatchObject(expected);
    expect(judgeOutcome(states[health], lost, settings, now)).toMatchObject(expected);
  });

  it("counts one that answers and asks to come later as down after ten minutes, however often it is asked", () => {
    const putOff: Outcome = { kind: "retry", reason: "temporary_refusal", detail: "450 4.2.0 greylisted" };
    let status = states.ok;
    for (let second = 0; second < 600; second += 6)
      status = judgeOutcome(status, putOff, settings, now + second * 1_000);
    expect(status).toMatchObject({ health: "degraded", failures: 100, since: now });
    const tenMinutes = now + 10 * 60_000;
    expect(judgeOutcome(status, refused, settings, tenMinutes - 1)).toMatchObject({ health: "down" });
    expect(judgeOutcome(status, putOff, settings, tenMinutes)).toMatchObject({ health: "down", since: now });
  });

  it("opens the breaker at the fifth failure in a row, for pauses that double up to ten minutes", () => {
    let status = states.ok;
    const pauses: number[] = [];
    for (let failure = 1; failure <= 12; failure += 1) {
      status = judgeOutcome(status, refused, settings, now);
      pauses.push(((status.openUntil ?? now) - now) / 1000);
    }
    expect(pauses).toEqual([0, 0, 0, 0, 30, 60, 120, 240, 480, 600, 600, 600]);
    expect(status.since).toBe(now);
  });

  it.each(all)("being asked to wait, or sent to another address, says nothing: %s", (health) => {
    expect(judgeOutcome(states[health], flooded, settings, now)).toBe(states[health]);
    expect(judgeOutcome(states[health], moved, settings, now)).toBe(states[health]);
  });

  it.each(all)("a refused message or recipient shows that the destination works: %s", (health) => {
    expect(judgeOutcome(states[health], rejected("message"), settings, now).health).toBe("ok");
    expect(judgeOutcome(states[health], rejected("recipient"), settings, now).health).toBe("ok");
  });

  it.each(all)("a refusal for good kills it, from %s", (health) => {
    expect(judgeOutcome(states[health], rejected("destination"), settings, now)).toMatchObject({
      health: "dead",
      reason: "kicked",
      openUntil: undefined,
      probeAt: now + (health === "dead" ? quarter : 60_000),
      since: health === "dead" ? before : now,
    });
  });

  it.each(all)("refused credentials pause it, from %s", (health) => {
    expect(judgeOutcome(states[health], rejected("account"), settings, now)).toMatchObject({
      health: "paused",
      probeAt: now + 600_000,
      since: health === "paused" ? before : now,
    });
  });
});

describe("what a probe says", () => {
  it("makes it well when it proves as much as a message", () => {
    expect(judgeProbe(states.dead, sent, true, now)).toMatchObject({ health: "ok", probeAt: undefined });
  });

  it.each(["dead", "paused"] as const)(
    "lets the next message be the try when it proves a connection only: %s",
    (health) => {
      const status = judgeProbe(states[health], sent, false, now);
      expect(status).toEqual({ ...states[health], probeAt: undefined, openUntil: now });
      expect(isProbed(status)).toBe(false);
      expect(tryAgainNow(status, now + 5)).toMatchObject({ health, since: before, openUntil: now + 5 });
      expect(judgeOutcome(status, sent, settings, now + 9)).toMatchObject({ health: "ok", openUntil: undefined });
      expect(judgeOutcome(status, rejected("destination"), settings, now + 9).health).toBe("dead");
      expect(judgeProbe(status, refused, false, now + 9)).toMatchObject({ health, openUntil: undefined });
      expect(isProbed(judgeProbe(status, refused, false, now + 9))).toBe(true);
    },
  );

  it("stays dead since it was, when the message that was the try is refused as well", () => {
    const tried = judgeProbe(states.dead, sent, false, now);
    const again = judgeOutcome(tried, rejected("destination"), settings, now + 5);
    expect(again).toMatchObject({ health: "dead", since: before, probeAt: now + 5 + quarter, openUntil: undefined });
  });

  it("is down, since it was dead, when the message that was the try gets no answer", () => {
    const tried = judgeProbe(states.dead, sent, false, now);
    expect(judgeOutcome(tried, refused, settings, now + 5)).toMatchObject({
      health: "down",
      since: before,
      openUntil: now + 5 + 30_000,
    });
  });

  it.each([
    ["dead", quarter],
    ["paused", 600_000],
  ] as const)("asks again later when it fails: %s", (health, waitMs) => {
    for (const outcome of [refused, lost, rejected("destination"), rejected("account")]) {
      expect(judgeProbe(states[health], outcome, true, now)).toEqual({
        ...states[health],
        reason: outcome.kind === "rejected" ? outcome.detail : states[health].reason,
        probeAt: now + waitMs,
      });
    }
  });
});

it("of a destination that works again nothing is said where nobody knew that it did not", () => {
  const notice = { health: "down", at: before, sent: false, over: false } as const;
  expect(planNotice({ ...states.ok, notice }, true, now)).toEqual({ notice: { ...notice, over: true } });
  const told = { ...notice, sent: true };
  expect(planNotice({ ...states.ok, notice: told }, true, now)).toMatchObject({ says: "better" });
});
