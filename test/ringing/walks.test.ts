import { expect, test } from "vitest";
import type { Severity } from "../../src/core/alert.ts";
import type { RingEvent, RingRule } from "../../src/core/ring.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { tellAll } from "./model.ts";
import { eventsOf, hour, judgeAll, minute, noon, type Step } from "./sample.ts";

const rules: Partial<RingRule>[] = [
  {},
  { editsForMs: minute },
  { flapping: false, again: { furtherBy: { percent: 2 } } },
  { again: { furtherBy: { absolute: 1.5 } }, rearm: { backBy: { percent: 1 } } },
  { rearm: { backBy: { absolute: 0.8 } }, cooldownMs: 20 * minute, editsForMs: minute },
  { flapping: false, cooldownMs: 7 * hour },
];

/** A price that walks around 100: it fires outside of 99.5 to 100.5, mostly says when it is over, and rests for a while. */
function walk(seed: number, mutes = 0): Step[] {
  const { next, below, pick } = createSeededRandom(seed);
  const pace = pick([0.3, 3, 20]);
  let price = 100;
  let at = 0;
  let fires = false;
  let isMuted = false;
  const steps: Step[] = [];
  while (steps.length < 60) {
    price = Number((price + (next() - 0.5) * pick([0.5, 2, 6]) + (100 - price) * 0.1).toFixed(2));
    at += next() < 0.02 ? below(500) : pace * next();
    const isOut = Math.abs(price - 100) > 0.5;
    const severity: Severity = next() < 0.9 ? "warning" : pick(["critical", "info", "unknown"]);
    if (next() < (isMuted ? 0.2 : mutes)) isMuted = !isMuted;
    if (isOut) steps.push({ at, value: price, severity, isMuted });
    else if (fires && next() < 0.8) steps.push({ at, value: price, status: "resolved", isMuted });
    fires = isOut;
  }
  return steps;
}

/** `npm run test:long -- sweeps` walks 1,000 times. */
const walks = Number(process.env.TOCSIN_WALKS ?? 200);

test(`${walks} walks of a price ring as a model says that counts everything again each time`, () => {
  const told = new Map<string, number>();
  for (let seed = 0; seed < walks; seed += 1) {
    const events = eventsOf(walk(seed, seed % 2 ? 0.05 : 0)).map((event) => ({ ...event, at: Math.round(event.at) }));
    const rule = rules[seed % rules.length] as Partial<RingRule>;
    const model = tellAll(events, { flapping: true, ...rule });
    const judged = judgeAll(events, rule).map(({ rings, asNew, memory }, index) => {
      if (!rings) return "held";
      if (events[index]?.isMuted) return "muted";
      if (!asNew) return events[index]?.status === "resolved" ? "end" : "edit";
      return memory.rings.at(-1)?.isNews ? "news" : "ring";
    });
    expect(judged, `walk ${seed}`).toEqual(model);
    for (const one of model) told.set(one, (told.get(one) ?? 0) + 1);
  }
  // Each way out was taken often.
  for (const one of ["news", "ring", "edit", "end", "held", "muted"])
    expect(told.get(one), one).toBeGreaterThan(0.3 * walks);
});

test("what was held back is counted since the last ring, with its worst and its bounds", () => {
  for (let seed = 0; seed < 100; seed += 1) {
    let held: RingEvent[] = [];
    let [toldAt, isTold] = [Number.POSITIVE_INFINITY, false];
    const events = eventsOf(walk(seed));
    for (const [index, { rings, asNew, damped, summaryDueAt }] of judgeAll(events).entries()) {
      const event = events[index] as RingEvent;
      isTold ||= toldAt <= event.at;
      toldAt = summaryDueAt ?? Number.POSITIVE_INFINITY;
      if (isTold && (rings || event.at - (events[index - 1]?.at ?? 0) >= 6 * hour)) held = [];
      if (!rings && event.status !== "resolved") {
        held.push(event);
        isTold = false;
      }
      if (held.length > 0) {
        const values = held.map(({ value }) => value as number);
        const bounds = { lowest: Math.min(...values), highest: Math.max(...values) };
        expect(damped).toMatchObject({ count: held.length, sinceAt: held[0]?.at, ...bounds });
        const far = (value: number) => Math.abs(value - 100);
        expect(far(Number(damped?.worst.value))).toBe(Math.max(...values.map(far)));
      }
      if (asNew || rings) held = [];
    }
  }
});

test("three days of one crossing each sixteen minutes: four rings in any six hours, and all that is new", () => {
  const { next } = createSeededRandom(27);
  const steps = Array.from({ length: (3 * 24 * 60) / 16 }, (_, index): Step[] => {
    const [extreme, severity] = index === 100 ? [90, undefined] : index === 170 ? [undefined, "critical" as const] : [];
    const at = index * 16;
    return [
      { at, value: extreme ?? 99.3 + next() / 2, severity: severity ?? "warning" },
      { at: at + 8, value: 100.4, status: "resolved" },
    ];
  }).flat();
  const events = eventsOf(steps);
  const rung = judgeAll(events).flatMap(({ asNew, memory }, index) =>
    asNew ? [{ event: events[index] as RingEvent, isNews: memory.rings.at(-1)?.isNews }] : [],
  );
  const counted = rung.filter(({ isNews }) => !isNews).map(({ event }) => event.at);
  for (const from of counted)
    expect(counted.filter((at) => at >= from && at < from + 6 * hour).length).toBeLessThanOrEqual(4);
  expect(counted.length).toBeGreaterThan(40);
  const news = rung.filter(({ isNews }) => isNews).map(({ event }) => `${event.value === 90} ${event.severity}`);
  expect(news).toEqual(["true warning", "false critical"]);
});

/** Thirty crossings in 89 seconds, each with its end. */
const dance = eventsOf(
  Array.from({ length: 30 }, (_, index): Step[] => [
    { at: (index * 89) / 30 / 60, value: 99.6 - (index % 7) / 20 },
    { at: (index * 89 + 45) / 30 / 60, value: 100.1, status: "resolved" },
  ]).flat(),
);

test.each<[string, Partial<RingRule>, number, number]>([
  ["by default", {}, 4, 8],
  ["on a channel that edits", { editsForMs: minute }, 4, 8],
  ["with again and rearm", { again: { furtherBy: { percent: 5 } }, rearm: { backBy: { percent: 2 } } }, 1, 2],
])("the dance around a threshold %s", (_what, rule, rings, messages) => {
  const judged = judgeAll(dance, rule);
  expect(judged.filter(({ asNew }) => asNew)).toHaveLength(rings);
  expect(judged.filter((one) => one.rings)).toHaveLength(messages);
  const held = judged.filter((one) => !one.rings);
  expect(held).toHaveLength(60 - messages);
  expect(held.every(({ why }) => why !== "")).toBe(true);
  const damped = { count: 30 - rings, worst: { value: 99.3 } };
  expect(held.at(-1)).toMatchObject({ summaryDueAt: expect.any(Number), damped });
  expect(held.at(-1)?.memory.latest.at).toBeLessThan(noon + 90_000);
});
