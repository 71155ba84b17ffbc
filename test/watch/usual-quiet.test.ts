import { describe, expect, it } from "vitest";
import { SilenceBook } from "../../src/watch/silence-book.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { day, hour, minute } from "../support/test-clock.ts";

/** A Monday. */
const start = Date.UTC(2026, 7, 3);

/** Mean waits between arrivals are exponential: a Poisson process. */
const wait = (random: SeededRandom, meanMs: number): number => -Math.log(1 - random.next()) * meanMs;

function poisson(random: SeededRandom, meanMs: number, days: number): number[] {
  const times: number[] = [];
  for (let at = start + wait(random, meanMs); at < start + days * day; at += wait(random, meanMs)) times.push(at);
  return times;
}

type Pattern = (random: SeededRandom, days: number) => number[];

const patterns: Record<string, Pattern> = {
  even: (random, days) => poisson(random, 10 * minute, days),
  "by the clock": (random, days) =>
    Array.from({ length: days * 48 }, (_, index) => start + index * 30 * minute + random.next() * 3 * minute),
  bursty: (random, days) =>
    poisson(random, 3 * hour, days)
      .flatMap((at) => Array.from({ length: 1 + random.below(40) }, () => at + random.next() * 8 * minute))
      .sort((a, b) => a - b),
  "office hours": (random, days) =>
    poisson(random, 10 * minute, days).filter((at) => {
      const [weekday, hours] = [new Date(at).getUTCDay(), new Date(at).getUTCHours()];
      // Now and then something comes at night.
      return (weekday >= 1 && weekday <= 5 && hours >= 8 && hours < 18) || random.next() < 0.02;
    }),
};

const lookEveryMs = 3 * minute;

/** A relay's life until then: when people were told of a silence, and what it has saved at its end. */
interface Life {
  told: number[];
  saved: { state?: unknown; arrivals?: unknown };
  until: number;
}

const unborn: Life = { told: [], saved: {}, until: start };

/** Lives on through the arrivals as a relay does that is started again, with a look every three minutes. */
function liveOn(before: Life, arrivals: number[], until: number): Life {
  const book = new SilenceBook([{ of: "hook", after: "auto" }], before.saved, before.until);
  // There is nothing in its log yet.
  if (book.unknown.length > 0) book.learnFrom(start, start);
  const told = [...before.told];
  let next = arrivals.findIndex((at) => at > before.until - lookEveryMs);
  if (next === -1) next = arrivals.length;
  for (let now = before.until; now < until; now += lookEveryMs) {
    for (; (arrivals[next] ?? Number.POSITIVE_INFINITY) <= now; next += 1)
      book.note({ id: String(next), receivedAt: arrivals[next] ?? 0, routes: [] });
    book.pass(now);
    for (const news of book.news(now)) {
      book.told(news, now);
      if (news.says === "silent") told.push(now);
    }
  }
  return { told, saved: { state: book.save(), arrivals: book.saveArrivals() }, until };
}

const live = (arrivals: number[], until: number) => liveOn(unborn, arrivals, until).told;

const longestGap = (arrivals: number[]): number =>
  Math.max(...arrivals.slice(1).map((at, index) => at - (arrivals[index] ?? 0)));

it("is known at once when the log is read, though somebody looked before", () => {
  const book = new SilenceBook([{ of: "hook", after: "auto" }], {}, start);
  const usualMs = () => book.states(start)[0]?.usualMs;
  expect(usualMs()).toBeUndefined();
  for (let at = start - 20 * day; at < start; at += 30 * minute)
    book.noteStored({ id: String(at), receivedAt: at, routes: [] });
  book.learnFrom(start - 20 * day, start);
  expect(usualMs()).toBe(30 * minute);
});

describe.each(Object.entries(patterns))("alerts that come %s", (_name, pattern) => {
  it("alarm at most once in ninety days without a cause", () => {
    expect(live(pattern(createSeededRandom(1), 90), start + 90 * day).length).toBeLessThanOrEqual(1);
  });

  it("are missed within three times their longest gap whenever they stop, and alarm at most once when they go on", () => {
    const arrivals = pattern(createSeededRandom(7), 90);
    let life = unborn;
    for (const [when, after] of [
      ["Monday noon", 56 * day + 12 * hour],
      ["Wednesday morning", 58 * day + 9 * hour],
      ["Friday evening", 60 * day + 17.8 * hour],
    ] as const) {
      const stopAt = start + after;
      life = liveOn(life, arrivals, stopAt);
      const until = arrivals.filter((at) => at < stopAt);
      const longest = longestGap(until);
      const told = liveOn({ ...life, told: [] }, until, stopAt + 4 * longest).told;
      expect(told, when).toHaveLength(1);
      expect((told[0] ?? 0) - (until.at(-1) ?? 0), when).toBeLessThanOrEqual(3 * longest);
    }
    expect(liveOn(life, arrivals, start + 90 * day).told.length).toBeLessThanOrEqual(1);
  });
});

describe("office hours", () => {
  const arrivals = (days: number) => patterns["office hours"]?.(createSeededRandom(5), days) ?? [];

  it("are missed at noon in hours, although every weekend is quiet for days", () => {
    const stopAt = start + 57 * day + 11 * hour;
    const told = live(
      arrivals(90).filter((at) => at < stopAt),
      stopAt + 2 * day,
    );
    expect(told).toHaveLength(1);
    expect((told[0] ?? 0) - stopAt).toBeLessThanOrEqual(5 * hour);
  });

  it.each([
    ["later", hour],
    ["earlier", -hour],
  ])("may begin and end an hour %s, as summer time makes them, without an alarm", (_when, byMs) => {
    const change = start + 56 * day;
    const moved = arrivals(120).map((at) => (at < change ? at : at + byMs));
    expect(live(moved, start + 70 * day)).toEqual([]);
  });
});

describe("what is learned", () => {
  const even = patterns.even as Pattern;

  it("needs a fortnight, and alarms nobody before", () => {
    const arrivals = even(createSeededRandom(1), 13);
    expect(live(arrivals, start + 30 * day)).toEqual([]);
  });

  it("is given up to a sender who has become slower after a few alarms", () => {
    const random = createSeededRandom(3);
    const before = even(random, 42);
    const after = poisson(random, 6 * hour, 84).filter((at) => at >= start + 42 * day);
    const told = live([...before, ...after], start + 84 * day);
    expect(told.length).toBeGreaterThanOrEqual(1);
    expect(told.length).toBeLessThanOrEqual(6);
  });

  it("keeps an outage of the sender out, so that the next one is found as soon", () => {
    const random = createSeededRandom(4);
    const arrivals = even(random, 90);
    const isOut = (at: number, on: number) => at >= start + on * day && at < start + (on + 2) * day;
    const told = live(
      arrivals.filter((at) => !isOut(at, 50) && !isOut(at, 70)),
      start + 80 * day,
    );
    expect(told).toHaveLength(2);
    const [first = 0, second = 0] = told.map((at, index) => at - (start + (50 + 20 * index) * day));
    expect(Math.max(first, second)).toBeLessThan(5 * hour);
  });
});
