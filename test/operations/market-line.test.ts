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

it("the line of what the market does has the changes since an hour, a day and a week, the lowest and the highest", () => {
  expect(writeMarketLine({ points: records(stepped) }, now)).toBe(
    "1 h −10.0 % · 24 h −50.5 % · 7 d −1.0 % · 7 d low 99, high 200",
  );
});

it("the line of what the market does takes the record before the instant, not the one behind it", () => {
  const points = [
    { at: now - hour - minute, value: 50 },
    { at: now - hour + minute, value: 80 },
    { at: now, value: 100 },
  ];
  expect(writeMarketLine({ points }, now)).toBe("1 h +100 %");
  // A minute late is nearly an hour; ten minutes late is none.
  expect(writeMarketLine({ points: points.slice(1) }, now)).toBe("1 h +25.0 %");
  expect(
    writeMarketLine(
      {
        points: [
          { at: now - 50 * minute, value: 80 },
          { at: now, value: 100 },
        ],
      },
      now,
    ),
  ).toBe(undefined);
});

it("the line of what the market does leaves a change out where there is no record near its beginning", () => {
  const points = records(stepped).filter(({ at }) => at < now - 26 * hour || at > now - 22 * hour);
  expect(writeMarketLine({ points }, now)).toBe("1 h −10.0 % · 7 d −1.0 % · 7 d low 99, high 200");
});

it("the line of what the market does says of how long the lowest and the highest are, and looks beyond no long hole", () => {
  expect(writeMarketLine({ points: records(stepped, 3 * day + hour) }, now)).toContain("· 3 d low 99, high 200");
  expect(writeMarketLine({ points: records(stepped, 5 * hour) }, now)).toBe("1 h −10.0 % · 5 h low 99, high 110");
  const holed = records(stepped).filter(({ at }) => at < now - 5 * day || at > now - 4 * day);
  expect(writeMarketLine({ points: holed }, now)).toContain("· 3 d low 99, high 200");
  expect(writeMarketLine({ points: records(stepped, hour) }, now)).toBe("1 h −10.0 %");
});

it("the line of what the market does never divides by nothing or less, and says that nothing changed", () => {
  for (const base of [0, -5]) {
    const points = records((ago) => (ago >= hour ? base : 10), 2 * hour);
    expect(writeMarketLine({ points }, now)).toBe(`2 h low ${base === 0 ? 0 : "−5"}, high 10`);
  }
  expect(writeMarketLine({ points: records(() => 7) }, now)).toBe("1 h ±0 % · 24 h ±0 % · 7 d ±0 %");
  expect(writeMarketLine({ points: records((ago) => (ago >= hour ? 1e9 : 1e9 + 1), 3 * hour) }, now)).toContain(
    "1 h ±0 %",
  );
});

it("the line of what the market does writes no change of a percentage", () => {
  expect(writeMarketLine({ points: records(stepped), unit: "%" }, now)).toBe("7 d low 99, high 200");
});

it("the line of what the market does says how old the newest record is, and nothing of one that says nothing of now", () => {
  const points = records(stepped);
  expect(writeMarketLine({ points }, now + 40 * minute)).toMatch(/^40 min ago: 1 h −10\.0 % · /);
  expect(writeMarketLine({ points }, now + 3 * hour)).toBeUndefined();
  expect(writeMarketLine({ points: [...points, { at: now + hour, value: 1 }] }, now)).toMatch(/^1 h −10\.0 %/);
  expect(writeMarketLine({ points: [] }, now)).toBeUndefined();
  expect(writeMarketLine({}, now)).toBeUndefined();
});

it("the line of what the market does says the changes to what the alert says, which no cached record outdates", () => {
  const points = records(stepped).filter(({ at }) => at <= now - 10 * minute);
  const line = "1 h −54.5 % · 24 h −75.0 % · 7 d −50.0 % · 7 d low 50, high 200";
  expect(writeMarketLine({ points, alert: { at: now, value: 50 } }, now)).toBe(line);
  // Records of the same moment are not newer.
  expect(writeMarketLine({ points: records(stepped), alert: { at: now - minute, value: 50 } }, now)).toBe(line);
  expect(writeMarketLine({ points, alert: { at: now, value: 50 } }, now + 40 * minute)).toBe(`40 min ago: ${line}`);
  expect(writeMarketLine({ points, alert: { at: now, value: 0 } }, now)).toMatch(/^1 h −100 % · .* low 0, high 200$/);
});

it("the line of what the market does names the value that it speaks of where a record is newer than the alert, or of another kind than its number", () => {
  const points = records(stepped);
  const line = "1 h −10.0 % · 24 h −50.5 % · 7 d −1.0 % · 7 d low 99, high 200";
  for (const value of [99, 104, 0]) {
    const alert = { at: now - 30 * minute, value };
    expect(writeMarketLine({ points, alert }, now)).toBe(`now 99: ${line}`);
    expect(writeMarketLine({ points, alert }, now + 4 * minute)).toBe(`4 min ago 99: ${line}`);
    expect(writeMarketLine({ points, alert }, now + 40 * minute)).toBe(`40 min ago 99: ${line}`);
  }
  expect(writeMarketLine({ points, alert: { at: now, value: "other" } }, now)).toBe(`now 99: ${line}`);
  expect(writeMarketLine({ points: [], alert: { at: now, value: 104 } }, now)).toBeUndefined();
  expect(writeMarketLine({ points: [], alert: { at: now, value: "other" } }, now)).toBeUndefined();
});

it("the line of what the market does has the state of the pool and both prices where they are known and numbers", () => {
  const pool = { tvl: 18_623_426.4, volume: 1_246_377.2 };
  expect(writeMarketLine({ pool }, now)).toBe("pool TVL 18.62 M, 24 h volume 1.246 M USD");
  expect(writeMarketLine({ pool: { volume: Number.NaN, tvl: -1 } }, now)).toBeUndefined();
  expect(writeMarketLine({ ticker: { cex: 0.99812, dex: 0.9712 } }, now)).toBe("CEX 0.9981, DEX 0.9712 USD");
  expect(writeMarketLine({ ticker: { cex: 1.00004, dex: 1.00001 } }, now)).toBe("CEX 1.00004, DEX 1.00001 USD");
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
