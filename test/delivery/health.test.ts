import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import type { DestinationHealth, DestinationStatus } from "../../src/core/destination-status.ts";
import { isProbed, judgeOutcome, judgeProbe, newStatus, tryAgainNow } from "../../src/delivery/plan/health.ts";
import { planNotice } from "../../src/delivery/plan/plan-notice.ts";
import { now } from "./due-delivery.ts";
import { flood, hour, lost, minute, refused } from "./outcomes.ts";

const settings = defaultDeliverySettings();
const before = now - hour;
const sent: Outcome = { kind: "sent" };
const lacking: Outcome = { kind: "sent", degraded: "the topic is gone" };
const putOff: Outcome = { kind: "retry", reason: "temporary_refusal", detail: "450 4.2.0 greylisted" };
const rejected = (scope: "message" | "recipient" | "destination" | "account"): Outcome => {
  return { kind: "rejected", scope, reason: "kicked", detail: "kicked" };
};
const outcomes: Record<string, Outcome> = {
  ...{ sent, refused, lost, "asked to wait": flood(1), "put off": putOff, "sent, though not as configured": lacking },
  moved: { ...refused, reason: "address_moved", movedTo: "-1007" },
  "message rejected": rejected("message"),
  "recipient rejected": rejected("recipient"),
  "destination rejected": rejected("destination"),
  "account rejected": rejected("account"),
};

const wasBad = (health: DestinationHealth, failures: number, more: Partial<DestinationStatus> = {}) => {
  const given = { health, failures, reason: "earlier" };
  return { ...newStatus({ kind: "destination", name: "chat" }, before), ...given, ...more };
};
const states: Record<DestinationHealth, DestinationStatus> = {
  ok: newStatus({ kind: "destination", name: "chat" }, before),
  degraded: wasBad("degraded", 4),
  down: wasBad("down", 5, { openUntil: now - 1 }),
  dead: wasBad("dead", 1, { probeAt: now - 1 }),
  paused: wasBad("paused", 1, { probeAt: now - 1 }),
};
const all = Object.keys(states) as DestinationHealth[];

/** What a person may know of it: its health, since when and why, its failures, and what comes next. */
function say(status: DestinationStatus): string {
  const seconds = (at?: number) => at !== undefined && `${(at - now) / 1_000} s`;
  const { health, reason, since, failures, openUntil, probeAt, lastSentAt } = status;
  const times = Object.entries({ since, openUntil, probeAt, lastSentAt }).flatMap(([name, at]) => {
    return at === undefined ? [] : [`${name} ${seconds(at)}`];
  });
  return [
    health,
    reason && `(${reason})`,
    failures > 0 && `${failures} failures`,
    isProbed(status) && "probed",
    ...times,
  ]
    .filter(Boolean)
    .join(", ");
}

describe("what a call or a probe says about a destination", () => {
  const tries = ["dead", "paused"] as const;
  it.each<[string, readonly DestinationHealth[], (status: DestinationStatus, outcome: Outcome) => DestinationStatus]>([
    ["a call", all, (status, outcome) => judgeOutcome(status, outcome, settings, now)],
    ["a probe that proves as much as a message", tries, (status, outcome) => judgeProbe(status, outcome, true, now)],
    ["a probe that proves a connection", tries, (status, outcome) => judgeProbe(status, outcome, false, now)],
    [
      "the message that is the try behind such a probe",
      tries,
      (status, outcome) => judgeOutcome(judgeProbe(status, sent, false, now), outcome, settings, now + 5_000),
    ],
  ])("%s", (_what, from, judge) => {
    const lines = from.flatMap((health) =>
      Object.entries(outcomes).map(([what, outcome]) => `${health}, ${what} → ${say(judge(states[health], outcome))}`),
    );
    expect(`\n${lines.join("\n")}\n`).toMatchSnapshot();
  });

  it("being asked to wait, or sent to another address, says nothing", () => {
    for (const health of all)
      for (const outcome of [flood(1), outcomes.moved as Outcome])
        expect(judgeOutcome(states[health], outcome, settings, now)).toBe(states[health]);
  });

  it("leaves it degraded until a message arrives as it should", () => {
    const first = judgeOutcome(states.ok, lacking, settings, now);
    const again = judgeOutcome(first, lacking, settings, now + 5);
    expect(again).toMatchObject({ health: "degraded", since: now });
    expect(judgeOutcome(again, sent, settings, now + 9)).toMatchObject({ health: "ok", reason: "" });
  });

  it("counts one that answers and asks to come later as down after ten minutes, however often it is asked", () => {
    let status = states.ok;
    for (let at = now; at < now + 10 * minute; at += 6_000) status = judgeOutcome(status, putOff, settings, at);
    expect(status).toMatchObject({ health: "degraded", failures: 100, since: now });
    expect(judgeOutcome(status, refused, settings, now + 10 * minute - 1)).toMatchObject({ health: "down" });
    expect(judgeOutcome(status, putOff, settings, now + 10 * minute)).toMatchObject({ health: "down", since: now });
  });

  it("opens the breaker at the fifth failure in a row, for pauses that double up to ten minutes", () => {
    let status = states.ok;
    const pauses = Array.from({ length: 12 }, () => {
      status = judgeOutcome(status, refused, settings, now);
      return ((status.openUntil ?? now) - now) / 1000;
    });
    expect(pauses).toEqual([0, 0, 0, 0, 30, 60, 120, 240, 480, 600, 600, 600]);
    expect(status.since).toBe(now);
  });

  it.each(["dead", "paused"] as const)(
    "a probe that proves a connection makes the next message the try: %s",
    (health) => {
      const status = judgeProbe(states[health], sent, false, now);
      expect(say(tryAgainNow(status, now + 5_000))).toBe(say({ ...status, openUntil: now + 5_000 }));
      expect(say(judgeProbe(status, refused, false, now + 9_000))).toContain("probed");
    },
  );
});

it("of a destination that works again nothing is said where nobody knew that it did not", () => {
  const notice = { health: "down", at: before, sent: false, over: false } as const;
  expect(planNotice({ ...states.ok, notice }, true, now)).toEqual({ notice: { ...notice, over: true } });
  const told = { ...notice, sent: true };
  expect(planNotice({ ...states.ok, notice: told }, true, now)).toMatchObject({ says: "better" });
});
