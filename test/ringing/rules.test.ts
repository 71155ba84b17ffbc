import { expect, test } from "vitest";
import type { Severity } from "../../src/core/alert.ts";
import type { RingRule } from "../../src/core/ring.ts";
import { forgetRing, judgeRing, missRing } from "../../src/ringing/judge-ring.ts";
import { eventOf, eventsOf, hour, judgeAll, judgeLast, minute, noon, type Step } from "./sample.ts";

const fifth = { again: { furtherBy: { percent: 5 } } };
const again = { ...fifth, flapping: false };
const againByTwo = { again: { furtherBy: { absolute: 2 } }, flapping: false };
const rearm = { rearm: { backBy: { percent: 2 } }, flapping: false };
const end = (at: number, value?: number): Step => ({ at, status: "resolved", value });
const fires = (at: number, value?: number): Step => ({ at, value });
/** Without a threshold; the first fell. */
const moves = (...values: number[]) =>
  values.map((value, at): Step => ({ at, value, previousValue: values[at - 1] ?? value + 1, threshold: undefined }));
const muted = (step: Step): Step => ({ ...step, isMuted: true });
const each = (every: number, count: number, value = 99) =>
  Array.from({ length: count }, (_, index) => fires(index * every, value));

const nowhere = (step: Step): Step => ({ ...step, threshold: undefined });
const quiet = (step: Step): Step => ({ ...step, isQuiet: true });
const as = (severity: Severity, at: number): Step => ({ at, value: 99, severity });
const doubles = (at: number, value: number): Step => ({ at, value, threshold: 0.5 });

const endsAt = (value: number, next: number) => [fires(0, 90), nowhere(end(1, value)), fires(2, next)];

const edits = { editsForMs: minute };
const hourly = { cooldownMs: hour };
const halfHourly = { cooldownMs: 30 * minute };
const half = { cooldownMs: 12 * hour };
const first = "the first of its key";
const free = "no rule holds it back";
const most = "it rang 4 times within";
const notCalm = "it fired often, and was not calm for 15 min since";
const inHours = "the most within 6 h";

/** What the last of them is answered: it rings, or what holds it back, and why. */
const cases: [what: string, rule: Partial<RingRule>, steps: Step[], by: string, why: string][] = [
  ["the first of a key", {}, [fires(0, 99)], "rings", first],
  ["the end of a key that nobody knows", {}, [end(0)], "rings", "it ends what rang"],
  ["the end of what rang", {}, [fires(0, 99), end(1)], "rings", "it ends what rang"],
  ["after an end without a beginning", {}, [end(0), fires(1, 99)], "rings", first],

  ["not far enough", again, [fires(0, 90), fires(5, 88.4)], "again", "1.8 % further than 90, 5 % needed"],
  ["not further", again, [fires(0, 90), fires(5, 91)], "again", "no further than 90, 5 % needed"],
  ["far enough", again, [fires(0, 90), fires(5, 85.5)], "rings", "5.0 % further than 90"],
  ["far enough in doubles", again, [doubles(0, 0.9), doubles(5, 0.945)], "rings", "5.0 % further than 0.9"],
  ["by a number", againByTwo, [fires(0, 90), fires(5, 88.5)], "again", "1.5 further than 90, 2 needed"],
  ["without a value", again, [fires(0, 90), fires(5)], "rings", free],
  ["on no known side", again, [fires(0, 90), fires(5, 91)].map(nowhere), "again", "1.1 % further than 90, 5 % needed"],
  ["an end re-arms `again`", again, [fires(0, 90), end(1, 101), fires(2, 90)], "rings", free],
  ["the first end behind a ring", again, [fires(0, 90), fires(1, 89), end(2, 101)], "rings", "it ends what rang"],
  ["in quiet hours", again, [quiet(fires(0, 90)), fires(1, 90)], "rings", "quiet hours held the message before it"],

  [
    "what rang before a mute",
    again,
    [fires(0, 90), muted(fires(1, 89)), fires(2, 88)],
    "again",
    "2.2 % further than 90",
  ],
  ["after a beginning in a mute", again, [muted(fires(0, 90)), fires(1, 90)], "rings", first],
  ["the end behind a mute", again, [...each(1, 2, 90), muted(fires(2, 90)), end(3)], "rings", "it ends what rang"],
  ["many in a mute", edits, [...each(0.1, 9).map(muted), fires(2, 99)], "rings", first],
  [
    "an end in a mute re-arms `again`",
    again,
    [fires(0, 24.1), fires(1, 24.05), muted(fires(2, 24.05)), muted(end(3, 101)), fires(133, 24.05)],
    "rings",
    free,
  ],

  ["not come back", rearm, endsAt(91, 90), "rearm", "back by 1.1 % from 90 before it fired again, 2 % needed"],
  ["never come back", rearm, endsAt(89.9, 89.8), "rearm", "never back from 90 before it fired again, 2 % needed"],
  ["came back", rearm, [fires(0, 90), end(1, 92), fires(2, 90)], "rings", free],
  ["an end without a value is at its threshold", rearm, [fires(0, 90), end(1), fires(2, 90)], "rings", free],
  ["came back earlier", rearm, [fires(0, 90), end(1, 92), end(2, 91), fires(3, 90)], "rings", free],
  [
    "the end of what was held back behind an end",
    rearm,
    [fires(0, 90), nowhere(end(1, 90.1)), fires(2, 89), end(3, 101)],
    "its_end",
    "the alert that it ends did not ring",
  ],

  ["too soon", halfHourly, [fires(0, 90), fires(29, 90)], "cooldown", "29 min after it rang, cooldown 30 min"],
  ["late enough", halfHourly, [fires(0, 90), fires(30, 90)], "rings", free],
  ["beyond the window", half, each(300, 3, 90), "cooldown", "10 h after it rang, cooldown 12 h"],
  ["six hours without an alert", half, [fires(0, 90), fires(360, 90)], "rings", first],

  ["the sixth within fifteen minutes", edits, each(0.1, 6), "flapping", "it fired 6 times within 30 s"],
  ["six in fifteen minutes", { editsForMs: 4 * minute }, each(3, 6), "rings", "a quick repeat"],
  ["not calm yet", edits, [...each(0.1, 6), fires(15.3, 99)], "flapping", notCalm],
  ["calm again", edits, [...each(0.1, 6), fires(15.6, 99)], "rings", free],
  ["flapping is off", { flapping: false }, each(0.1, 30), "rings", free],

  ["the fifth in six hours", {}, each(20, 5), "floor", `${most} 1 h 20 min, ${inHours}`],
  ["an end lifts no floor", {}, [...each(20, 4), end(70), fires(90, 99)], "floor", `${most} 1 h 30 min, ${inHours}`],
  ["six hours after the first", {}, [...each(20, 5), fires(360, 99)], "rings", free],
  ["another severity", {}, [...each(20, 4), as("critical", 80)], "rings", "critical after warning"],
  [
    "a rise of a severity that rang often",
    {},
    [...[0, 20, 40, 60].map((at) => as("critical", at)), as("info", 80), as("critical", 85)],
    "floor",
    `${most} 1 h 25 min, ${inHours}`,
  ],
  ["a rise", hourly, [fires(0, 99), as("critical", 1)], "rings", "critical after warning"],
  [
    "a rise that was higher before",
    hourly,
    [as("critical", 0), as("info", 60), as("warning", 61)],
    "rings",
    "warning after info",
  ],
  ["a turn", hourly, [fires(0, 99), fires(1, 101), fires(2, 99)], "rings", "it turned: down after up"],
  ["the first on the other side", {}, [...each(20, 5), fires(100, 101)], "rings", "the first value on this side"],
  [
    "a turn passes no floor",
    {},
    [fires(0, 101), ...each(20, 5), fires(110, 101), fires(111, 101), fires(112, 99)],
    "floor",
    most,
  ],
  ["a wobble without a threshold", again, moves(100, 100.1), "again", "0.1 % further than 100, 5 % needed"],
  ["a wobble back", again, moves(100, 102, 99.9, 100), "again", "0.1 % further than 99.9, 5 % needed"],
  ["the first that turned without a threshold", again, moves(100, 102), "rings", "the first value on this side"],
  ["one that turned back", again, moves(100, 102, 99.9), "rings", "it turned: down after up"],
  ["a new extreme by 5 %", {}, [...each(20, 5, 90), fires(100, 85.5)], "rings", "5.0 % further than 90"],
  ["twice as far from the threshold", {}, [...each(20, 5), fires(100, 98)], "rings", "1.0 % further than 99"],
  ["twice as far, but near", {}, [...each(20, 5, 99.8), fires(100, 99.5)], "floor", most],
  ["twice as far, 5 % asked for", fifth, [fires(0, 99), fires(20, 98)], "again", "1.0 % further than 99, 5 % needed"],
  [
    "the extreme is the furthest that rang",
    hourly,
    [fires(0, 90), fires(1, 80), end(2), fires(3, 78)],
    "cooldown",
    "2 min after it rang",
  ],
];

test.each(cases)("%s", (_what, rule, steps, by, why) => {
  const { rings, damped, ...last } = judgeLast(steps, rule);
  expect(rings ? "rings" : damped?.by).toBe(by);
  expect(last.why).toContain(why);
});

const bound = [fires(0, 90), end(1, 91), fires(2, 90)];
const backByFifth = { rearm: { backBy: { percent: 20 } } };
const crossings = [0, 20, 40, 60, 80];
const often = each(1, 7);
const rang = [0, 10, 20, 30].flatMap((at) => [fires(at, 99), end(at + 5)]);
const night = [fires(0, 24.1), quiet(fires(12, 20)), quiet(fires(14, 20.1)), quiet(end(16, 26))];

/** Each of them in its turn: whether it rings and why, what is told with it, and when what did not ring is told. */
test.each<[string, Step[], Partial<RingRule>?]>([
  ["a quick repeat, which changes the message of the ring", [...each(0.5, 3), fires(2, 99)], edits],
  ["a ring that tells what was held, behind a summary", [...often, fires(10, 80)]],
  ["one behind a summary that told it", [...often, fires(361, 80)]],
  ["one behind an end that told it", [...often, end(361), fires(362, 80)]],
  ["an end of what `rearm` held back", [...bound, end(3, 91)], backByFifth],
  ["the next alert, however late, behind that", [...bound, end(3, 91), fires(24 * 60, 90)], backByFifth],
  ["the next one where the last word is right", [...bound, fires(24 * 60, 90)], backByFifth],
  [
    "how many, since when and the worst, by an end and by a ring",
    [fires(0, 90), end(0.5, 91), fires(1, 89), fires(2, 87), end(3, 101), fires(4, 88), fires(5, 80)],
    { ...again, ...backByFifth },
  ],
  ["the latest as the worst without values", [fires(0), fires(1), fires(2)], hourly],
  ["the floor, with what would have mended it", crossings.flatMap((at) => [fires(at, 98.5), end(at + 10, 100.2)])],
  ["the floor without values", crossings.map((at) => fires(at))],
  ["the end behind a ring of quiet hours, with its value", night.map((step) => ({ ...step, threshold: 25 })), again],
  ["a summary after calm", [...rang, fires(40, 99)]],
  ["none while the floor holds and the last word is right", [...rang, fires(40, 99), end(45)]],
  ["one within the hour where it is wrong", [...rang, fires(40, 99), end(60)]],
  ["none behind an end that follows another", [...rang, fires(40, 99), fires(50, 99), end(52)]],
  ["one, however often it is said again", [...rang, fires(40, 99), fires(48, 99), fires(54, 99)]],
])("tells %s", (_what, steps, rule) => {
  const told = judgeAll(eventsOf(steps), rule).map(({ rings, asNew, why, damped, summaryDueAt }, index) => {
    const became = rings ? (asNew ? "rings" : "in place") : "silent";
    const due = summaryDueAt === undefined ? "" : `, summary at ${(summaryDueAt - noon) / minute}`;
    return `${steps[index]?.at} ${became}: ${why}${due}${damped ? ` ${JSON.stringify(damped)}` : ""}`;
  });
  expect(`\n${told.join("\n")}\n`).toMatchSnapshot();
});

test("a ring that reached nobody does not count, and the next rings", () => {
  const rule = { cooldownMs: hour, flapping: true };
  const next = eventOf(fires(1, 90), "alert 2");
  const { memory } = judgeLast([fires(0, 90)]);
  expect(judgeRing(memory, next, rule).rings).toBe(false);
  expect(judgeRing(forgetRing(memory, "alert 1"), next, rule).rings).toBe(true);
  expect(forgetRing(memory, "another")).toBe(memory);
  const four = judgeLast(each(20, 4)).memory;
  const after = judgeRing(forgetRing(four, "alert 4"), eventOf(fires(70, 99), "alert 5"), rule);
  expect(after).toMatchObject({ rings: true, why: "the message before it reached nobody" });
  expect(judgeRing(after.memory, eventOf(fires(80, 99), "alert 6"), rule).rings).toBe(false);
});

test("a ring that missed some recipients is made good to them by what fires next, until one reaches them", () => {
  const rule = { cooldownMs: hour, flapping: true };
  const { memory } = judgeLast([fires(0, 90)]);
  const missed = missRing(memory, "alert 1", "anna");
  expect(missRing(missed, "alert 1", "anna")).toBe(missed);
  expect(missRing(memory, "another", "anna")).toBe(memory);
  const next = judgeRing(missed, eventOf(fires(1, 90), "alert 2"), rule);
  expect(next).toMatchObject({ rings: false, ringsFor: ["anna"] });
  expect(judgeRing(next.memory, eventOf(fires(2, 90), "alert 3"), rule).ringsFor).toBeUndefined();
  const again = missRing(next.memory, "alert 2", "anna");
  expect(judgeRing(again, eventOf(fires(2, 90), "alert 3"), rule).ringsFor).toEqual(["anna"]);
  const rung = judgeRing(again, eventOf(fires(70, 90), "alert 3"), rule);
  expect(rung).toMatchObject({ rings: true });
  expect(rung.memory).not.toHaveProperty("missedBy");
});

test("what a message that reached nobody said of those before it is said by the next", () => {
  const held = { count: 2, sinceAt: noon + minute, lowest: 88, highest: 89 };
  const steps = [fires(0, 90), fires(1, 89), fires(2, 88), fires(3, 80)];
  const { memory, damped } = judgeLast(steps, again);
  expect(damped).toMatchObject(held);
  const forgotten = forgetRing(memory, "alert 4");
  const next = judgeRing(forgotten, eventOf(fires(4, 80), "alert 5"), again);
  expect(next).toMatchObject({ rings: true, damped: held });
  expect(forgetRing(forgotten, "alert 4")).toBe(forgotten);
  // Behind it others were held.
  const { memory: later } = judgeLast([...steps, fires(4, 79)], again);
  const worst = { id: "alert 5", value: 79 };
  expect(forgetRing(later, "alert 4").held).toMatchObject({ ...held, count: 3, lowest: 79, worst });
  // An end takes them along as well.
  const ended = judgeLast([fires(0, 90), fires(1, 89), fires(2, 88), end(3, 101)], again);
  expect(forgetRing(ended.memory, "alert 4")).toMatchObject({ held, toldStatus: undefined });
});

test("takes an alert that comes late for no latest status, and waits no negative time", () => {
  const rule = { cooldownMs: hour, flapping: true };
  const { memory } = judgeLast([fires(10, 99), end(20)], rule);
  const judged = judgeRing(memory, eventOf(fires(5, 99), "late"), rule);
  expect(judged.memory.latest).toMatchObject({ id: "late", status: "resolved", at: noon + 20 * minute });
  expect(judged).toMatchObject({ rings: false, why: "10 min after it rang, cooldown 1 h" });
});

test("changes nothing for a beginning behind its end that would ring, and sends no end behind a firing that did not ring", () => {
  const { memory: over } = judgeLast([end(20)]);
  const late = { isPast: true, asNew: false };
  expect(judgeRing(over, eventOf(fires(5, 99)), again)).toMatchObject({ ...late, rings: true, memory: over });
  const { memory: held } = judgeLast([fires(0, 99), fires(20, 99)], again);
  expect(judgeRing(held, eventOf(end(5)), again)).toMatchObject({ ...late, rings: false, memory: held });
  const { memory: ended } = judgeLast([fires(0, 99), end(2), fires(20, 99)], hourly);
  expect(judgeRing(ended, eventOf(end(5)), { ...hourly, flapping: true })).toMatchObject({
    ...late,
    rings: false,
    memory: ended,
  });
  const { memory: rang } = judgeLast([fires(0, 99), fires(20, 90)], again);
  expect(judgeRing(rang, eventOf(end(5)), again)).not.toHaveProperty("isPast");
});

test("leaves the summary of the younger one, whether a firing that is judged behind it rings or not", () => {
  const { memory } = judgeLast([fires(0, 99), end(19), fires(20, 99)], hourly);
  const { latest, summaryDueAt, wrongSinceAt, held } = memory;
  const kept = { latest, summaryDueAt, wrongSinceAt };
  const rule = { ...hourly, flapping: true };
  const behind = judgeRing(memory, eventOf(fires(5, 99), "late"), rule);
  expect(behind).toMatchObject({ rings: false, isPast: true, memory: { ...kept, held: { count: 2 } } });
  const news = judgeRing(memory, eventOf({ ...fires(5, 99), severity: "critical" }, "late"), rule);
  expect(news).toMatchObject({ rings: true, damped: undefined, memory: { ...kept, held, toldStatus: "resolved" } });
  expect(news.memory.rings).toHaveLength(2);
});

test("begins anew after a clock that was set back by hours", () => {
  const { memory } = judgeLast([fires(0, 99)]);
  expect(judgeRing(memory, eventOf(fires(-24 * 60, 99)), { cooldownMs: hour, flapping: true }).rings).toBe(true);
});

test("news without end pushes no ring out that the floor counts", () => {
  const news = Array.from({ length: 40 }, (_, index) => fires(81 + index, 93 * 0.94 ** index));
  const held = judgeLast([...each(20, 4), ...news, fires(150, 93 * 0.94 ** 39)]);
  expect(held).toMatchObject({ rings: false, damped: { by: "floor" } });
  expect(held.memory.rings).toHaveLength(32);
});
