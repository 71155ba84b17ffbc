import { describe, expect, it } from "vitest";
import type { MissingAlert } from "../../../src/contract/operations.ts";
import {
  covers,
  day,
  hour,
  isTrue,
  isVisible,
  isWithin,
  judgeDays,
  liveThrough,
  lookSeldom,
  type MarketDays,
} from "./market-days.ts";

interface Found {
  lost: number;
  /** Of which the records show something. */
  visible: number;
  sure: number;
  falseSure: MissingAlert[];
  /** Lost alerts of which an entry speaks. */
  coveredSurely: number;
  covered: number;
}

/** Loses one hour after the other, as if the relay was down, each in a world of its own. */
function loseHours(days: MarketDays, { isKnown, lateMs }: { isKnown: boolean; lateMs?: number }): Found {
  const found: Found = { lost: 0, visible: 0, sure: 0, falseSure: [], coveredSurely: 0, covered: 0 };
  for (let at = days.since + 24 * hour + 61_234; at < days.until - 2 * hour; at += 2 * hour) {
    const down = [{ fromAt: at, toAt: at + hour }];
    const lost = days.alerts.filter((alert) => isWithin(alert, down));
    const kept = days.alerts.filter((alert) => !isWithin(alert, down));
    const { missing } = judgeDays(days, kept, { downtimes: isKnown ? down : [] });
    const sure = missing.filter(({ verdict }) => verdict === "sure");
    found.lost += lost.length;
    found.visible += lost.filter((alert) => isVisible(days, alert)).length;
    found.sure += sure.length;
    found.falseSure.push(...sure.filter((entry) => !isTrue(entry, lost, lateMs)));
    found.coveredSurely += lost.filter((alert) => sure.some((entry) => covers(entry, alert))).length;
    found.covered += lost.filter((alert) => missing.some((entry) => covers(entry, alert))).length;
  }
  return found;
}

const markets = [liveThrough({ seed: 1, days: 2 }), liveThrough({ seed: 2, days: 2 })];

describe.each(markets)("the sandbox's market", (days) => {
  it("misses nothing when every alert came", () => {
    const report = judgeDays(days, days.alerts);
    expect(report.crossings).toBeGreaterThan(200);
    expect(report.missing).toEqual([]);
    expect(report.answered).toBe(report.crossings);
  });

  it.each([true, false])("finds what an hour lost (known to be down: %s), and nothing else for sure", (isKnown) => {
    const found = loseHours(days, { isKnown });
    expect(found.lost).toBeGreaterThan(30);
    expect(found.falseSure).toEqual([]);
    // Of what the records show at all.
    expect(found.coveredSurely / found.visible).toBeGreaterThan(isKnown ? 0.85 : 0.7);
    expect(found.covered / found.visible).toBeGreaterThan(0.9);
  });

  it("is sure of nothing where a service keeps silent for a while after each alert", () => {
    const last = new Map<string, number>();
    const kept = days.alerts.filter(({ rule, at, status }) => {
      const name = `${rule} ${status}`;
      if (at - (last.get(name) ?? 0) < 45 * 60_000) return false;
      last.set(name, at);
      return true;
    });
    const report = judgeDays(days, kept);
    expect(report.answered).toBeGreaterThan(20);
    expect(report.missing.filter(({ verdict }) => verdict === "sure")).toEqual([]);
  });

  it.each([60_000, 300_000])("is wrong of nothing where a service looks each %i ms", (everyMs) => {
    const seldom = lookSeldom(days, everyMs);
    expect(judgeDays(seldom, seldom.alerts).missing.filter(({ verdict }) => verdict === "sure")).toEqual([]);
    // The alert may come until the next record.
    const lateMs = 300_000;
    for (const isKnown of [true, false]) expect(loseHours(seldom, { isKnown, lateMs }).falseSure).toEqual([]);
  });

  it("is sure of nothing that came where a service loses alerts here and there", () => {
    const kept = days.alerts.filter((_, index) => index % 7 !== 0);
    const lost = days.alerts.filter((_, index) => index % 7 === 0);
    const sure = judgeDays(days, kept).missing.filter(({ verdict }) => verdict === "sure");
    expect(sure.filter((entry) => !isTrue(entry, lost))).toEqual([]);
  });

  it("knows nothing of rules that have sent nothing yet", () => {
    const downtimes = [{ fromAt: days.since, toAt: days.since + day }];
    for (const [alerts, why] of [
      [[], "it has no alert of that time"],
      [days.alerts.slice(0, 1), "none of its crossings brought an alert so far"],
    ] as const) {
      const { missing, unknown } = judgeDays(days, alerts, { downtimes });
      expect(missing.filter(({ verdict, rule }) => verdict === "sure" || rule !== alerts[0]?.rule)).toEqual([]);
      expect(unknown.map((one) => one.why).join("\n")).toContain(why);
    }
  });
});

it("sees nearly every lost alert where the service has a record each minute", () => {
  const days = liveThrough({ seed: 4, days: 2, recordEveryMs: 60_000 });
  const found = loseHours(days, { isKnown: true });
  expect(found.lost).toBeGreaterThan(20);
  expect(found.falseSure).toEqual([]);
  expect(found.coveredSurely / found.lost).toBeGreaterThan(0.85);
  expect(found.covered / found.lost).toBeGreaterThan(0.95);
});
