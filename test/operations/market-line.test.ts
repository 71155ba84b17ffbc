import { expect, it, test } from "vitest";
import type { HistoryPoint } from "../../src/core/ports/metric-history.ts";
import { writeMarketLine } from "../../src/operations/market-line.ts";
import { day, hour, minute } from "../support/test-clock.ts";

const now = Date.UTC(2026, 10, 21, 12);

/** A record each five minutes, from so long ago until now. */
function records(valueAt: (ago: number) => number, fromAgo = 7 * day): HistoryPoint[] {
  const points: HistoryPoint[] = [];
  for (let ago = fromAgo; ago >= 0; ago -= 5 * minute) points.push({ at: now - ago, value: valueAt(ago) });
  return points;
}

/** 100 a week ago, 200 a day ago, 110 an hour ago, 99 now. */
const stepped = (ago: number) => (ago >= 6 * day ? 100 : ago >= day ? 200 : ago >= hour ? 110 : 99);
const week = records(stepped);
const ofWeek = "1 h −10.0 % · 24 h −50.5 % · 7 d −1.0 % · 7 d low 99, high 200";
const without = (from: number, to: number) => week.filter(({ at }) => at < now - from || at > now - to);
const point = (ago: number, value: number): HistoryPoint => ({ at: now - ago, value });
const around = [point(hour + minute, 50), point(hour - minute, 80), point(0, 100)];
const since = (before: number, behind: number, fromAgo: number) =>
  records((ago) => (ago >= hour ? before : behind), fromAgo);
/** The newest is ten minutes old. */
const cached = week.filter(({ at }) => at <= now - 10 * minute);
const ofAlert = "1 h −54.5 % · 24 h −75.0 % · 7 d −50.0 % · 7 d low 50, high 200";
const other = { at: now, value: "other" as const };

type Line = string | RegExp | undefined;

it.each<[what: string, said: Parameters<typeof writeMarketLine>[0], line: Line, at?: number]>([
  ["the changes since an hour, a day and a week, the lowest and the highest", { points: week }, ofWeek],
  ["the record before the instant, not the one behind it", { points: around }, "1 h +100 %"],
  ["a record that is a minute late for nearly an hour old", { points: around.slice(1) }, "1 h +25.0 %"],
  ["nothing of ten minutes late", { points: [point(50 * minute, 80), point(0, 100)] }, undefined],
  [
    "no change without a record near its beginning",
    { points: without(26 * hour, 22 * hour) },
    "1 h −10.0 % · 7 d −1.0 % · 7 d low 99, high 200",
  ],
  ["the span of a younger record", { points: records(stepped, 3 * day + hour) }, /· 3 d low 99, high 200/],
  ["the span of hours", { points: records(stepped, 5 * hour) }, "1 h −10.0 % · 5 h low 99, high 110"],
  ["nothing beyond a long hole", { points: without(5 * day, 4 * day) }, /· 3 d low 99, high 200/],
  ["no span of an hour", { points: records(stepped, hour) }, "1 h −10.0 %"],
  ["no change from nothing", { points: since(0, 10, 2 * hour) }, "2 h low 0, high 10"],
  ["no change from less than nothing", { points: since(-5, 10, 2 * hour) }, "2 h low −5, high 10"],
  ["that nothing changed", { points: records(() => 7) }, "1 h ±0 % · 24 h ±0 % · 7 d ±0 %"],
  ["that hardly anything changed", { points: since(1e9, 1e9 + 1, 3 * hour) }, /1 h ±0 %/],
  ["no change of a percentage", { points: week, unit: "%" }, "7 d low 99, high 200"],
  ["how old the newest record is", { points: week }, /^40 min ago: 1 h −10\.0 % · /, now + 40 * minute],
  ["nothing of records that say nothing of now", { points: week }, undefined, now + 3 * hour],
  ["nothing of a record that is to come", { points: [...week, point(-hour, 1)] }, /^1 h −10\.0 %/],
  ["nothing without records", { points: [] }, undefined],
  ["nothing of nothing", {}, undefined],
  ["the changes to what the alert says", { points: cached, alert: { at: now, value: 50 } }, ofAlert],
  ["records of the same moment as not newer", { points: week, alert: { at: now - minute, value: 50 } }, ofAlert],
  ["how old it is", { points: cached, alert: { at: now, value: 50 } }, `40 min ago: ${ofAlert}`, now + 40 * minute],
  ["a fall to nothing", { points: cached, alert: { at: now, value: 0 } }, /^1 h −100 % · .* low 0, high 200$/],
  ...[99, 104, 0].flatMap((value) =>
    [0, 4, 40].map((later): [string, Parameters<typeof writeMarketLine>[0], Line, number] => {
      const said = { points: week, alert: { at: now - 30 * minute, value } };
      const line = `${later === 0 ? "now" : `${later} min ago`} 99: ${ofWeek}`;
      return [`its value where it is newer than the alert's ${value}`, said, line, now + later * minute];
    }),
  ),
  ["its value where the alert has a number of another kind", { points: week, alert: other }, `now 99: ${ofWeek}`],
  ["nothing for the alert alone", { points: [], alert: { at: now, value: 104 } }, undefined],
  ["nothing for a number of another kind alone", { points: [], alert: other }, undefined],
  ["a pool", { pool: { tvl: 18_623_426.4, volume: 1_246_377.2 } }, "pool TVL 18.62 M, 24 h volume 1.246 M USD"],
  ["nothing of a pool without numbers", { pool: { volume: Number.NaN, tvl: -1 } }, undefined],
  ["both prices", { ticker: { cex: 0.99812, dex: 0.9712 } }, "CEX 0.9981, DEX 0.9712 USD"],
  ["prices that are near", { ticker: { cex: 1.00004, dex: 1.00001 } }, "CEX 1.00004, DEX 1.00001 USD"],
])("the line of what the market does has %s", (_what, said, line, at = now) => {
  const written = writeMarketLine(said, at);
  if (line instanceof RegExp) expect(written).toMatch(line);
  else expect(written).toBe(line);
});

it("the line of what the market does leaves out what has no room in 120 characters", () => {
  const points = records((ago) => stepped(ago) * 1.23456789e13);
  const pool = { tvl: 123_456_789_123, volume: 123_456_789_123 };
  const line = writeMarketLine({ points, pool, ticker: { cex: 123_456.789, dex: 123_457.789 } }, now) ?? "";
  expect(line.length).toBeLessThanOrEqual(120);
  expect(line).toMatch(/^1 h −10\.0 % · 24 h −50\.5 % · 7 d −1\.0 % · 7 d low /);
});

test("no number breaks it", () => {
  const odd = [Number.MAX_VALUE, Number.MIN_VALUE, -0, 1e21, 5e-324, Number.NaN, Number.POSITIVE_INFINITY];
  for (const one of odd) {
    for (const other of odd) {
      const points = records((ago) => (ago > 30 * minute ? one : other), 30 * hour);
      const line = writeMarketLine({ points, pool: { tvl: one, volume: other } }, now) ?? "";
      expect(line.length).toBeLessThanOrEqual(120);
      expect(line).not.toMatch(/NaN|Infinity|undefined/);
    }
  }
});
