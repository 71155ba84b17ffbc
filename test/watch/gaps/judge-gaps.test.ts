import { expect, it } from "vitest";
import { translateRequest } from "../../../src/intake/translate.ts";
import type { GapEvidence } from "../../../src/watch/gaps/follow-rules.ts";
import { judgeGaps } from "../../../src/watch/gaps/judge-gaps.ts";
import { gapMemorySchema, planGapNews } from "../../../src/watch/gaps/plan-gap-notices.ts";
import { readSubscriptions } from "../../../src/watch/gaps/read-subscriptions.ts";
import { readSighting, type Sighting } from "../../../src/watch/gaps/sightings.ts";
import { hour, minute } from "../../support/test-clock.ts";

const begin = Date.UTC(2026, 10, 20);
const end = begin + 24 * hour;
const key = "eth_token_price_0x00aa11bb22cc33dd44ee55ff66aa77bb88cc99dd";

/** At 110 for half an hour every two hours, else at 90. */
const priceAt = (at: number): number => ((at - begin) % (2 * hour) < 30 * minute ? 110 : 90);

function records(every = 5 * minute) {
  const points = [];
  for (let at = begin; at <= end; at += every) points.push({ at, value: priceAt(at) });
  return points;
}

function sighting(at: number, changes: Partial<Sighting> = {}): Sighting {
  const holds = priceAt(at) > 100;
  return { at, receivedAt: at + 500, hasOwnTime: true, holds, kind: "above", threshold: 100, words: [key], ...changes };
}

/** The alert of every turn. */
const alerts = (): Sighting[] =>
  records(30 * minute)
    .filter(({ at, value }) => at > begin && value !== priceAt(at - 1))
    .map(({ at }) => sighting(at));

const subscription = { subscription: { id: "sub_1", op: ">", value: 100 }, metric: { key } };
/** From 10:15 to 13:00: the end of 10:30, the beginning of 12:00 and the end of 12:30. */
const down = { fromAt: begin + 10.25 * hour, toAt: begin + 13 * hour };

function judge(changes: Partial<GapEvidence> = {}) {
  return judgeGaps({
    since: begin,
    until: end,
    now: end,
    subscriptions: readSubscriptions([subscription]),
    histories: new Map([[key, { points: records(), unread: 0 }]]),
    sightings: alerts().filter(({ at }) => at < down.fromAt || at >= down.toAt),
    downtimes: [down],
    ...changes,
  });
}
/** How sure, of which turn, at which hour; and why the rest cannot be told. */
const missingIn = ({ missing }: ReturnType<typeof judge>) =>
  missing.map(({ verdict, status, toAt }) => `${verdict} ${status} ${(toAt - begin) / hour}`).join(", ");
const reasons = ({ unknown }: ReturnType<typeof judge>) => unknown.map(({ why }) => why).join("\n");

/** Those of them that came while the relay ran. */
const ranAt = ({ at }: Sighting) => at < down.fromAt || at >= down.toAt;
const all = (change: (one: Sighting) => Sighting) => alerts().map(change);
const came = (change: (one: Sighting) => Sighting = (one) => one) => all(change).filter(ranAt);
const ofSubscription = (changes: object) =>
  readSubscriptions([{ ...subscription, subscription: { ...subscription.subscription, ...changes } }]);
const recorded = (points: ReturnType<typeof records>, unread = 0): GapEvidence["histories"] =>
  new Map([[key, { points, unread }]]);
const without = (from: number, to: number) =>
  recorded(records().filter(({ at }) => at < begin + from * hour || at > begin + to * hour));

const sureOfAll = "sure resolved 12.5, sure firing 12, sure resolved 10.5";

it("is sure of what the relay missed while it was down", () => {
  const report = judge();
  expect(missingIn(report)).toEqual(sureOfAll);
  expect(report.unknown).toEqual([]);
  expect(report.missing[0]).toMatchObject({ rule: "sub_1", condition: "above 100", before: 110, after: 90 });
});

const unnamed = { hasOwnTime: false, words: [] };
const [beforeNoon, noon] = [begin + 12.1 * hour, begin + 12.6 * hour];
const flat = records().map(({ at, value }) => ({ at, value: value === 110 ? 100 : value }));
const early = records().filter(({ at }) => at > begin + 3 * hour && at < begin + 20 * hour);
const ends = "its records end at 2026-11-20T19:55Z, its records begin at 2026-11-20T03:05Z, 7 of its records";
const hole = "it has no records from 2026-11-20T10:10Z to 2026-11-20T12:15Z";
const holed = "records are missing where it may have crossed its threshold";
const otherForm = "an alert arrived then, and it is not known which rule sent it";
const twins = readSubscriptions([subscription, { subscription: { id: "sub_2", op: ">", value: 95 }, metric: { key } }]);
const pair = readSubscriptions([subscription, { subscription: { id: "sub_2", op: "<", value: 95 }, metric: { key } }]);
const ofOther = all(({ at, holds }) => sighting(at, { kind: "below", threshold: 95, holds: holds === false }));
const amidOthers = [...alerts().filter(({ at }) => at !== begin + 12 * hour), ...ofOther];
const inOtherForm = all((one) =>
  one.at < begin + 10 * hour ? one : { ...unnamed, at: one.receivedAt, receivedAt: one.receivedAt },
);
const ahead = came((one) => (one.at > down.toAt ? { ...one, hasOwnTime: false, isAhead: true } : one));
const anHourOff = all((one) => ({ ...one, at: one.at + hour }));
const ended = ofSubscription({ expiresAt: begin / 1000 + 11 * 3600 });
const unread = "alerts that arrived wait to be read";
const alike = "its alerts cannot be told from those of another rule";
const endless = "it has never reported that its condition ended";
const failed: GapEvidence["histories"] = new Map([[key, "alerting: 502"]]);
const untimed = ({ receivedAt, ...one }: Sighting) => ({ ...one, at: receivedAt, receivedAt, hasOwnTime: false });
const lateAt = down.toAt + 2 * minute;
const late = sighting(begin + 12 * hour, { at: lateAt, receivedAt: lateAt, hasOwnTime: false });
const dayOff = { fromAt: begin + 11 * hour, toAt: begin + 12.2 * hour };

it.each<[string, Partial<GapEvidence>, string, string?]>([
  ["looks at the time since it is asked about", { since: beforeNoon }, "sure resolved 12.5"],
  ["looks at the time until it is asked about", { until: begin + 11 * hour }, "sure resolved 10.5"],
  [
    "looks not at what may still come",
    { now: noon, until: noon, sightings: came().filter(({ at }) => at < noon) },
    "likely firing 12, likely resolved 10.5",
  ],
  [
    "takes a crossing in a hole of the records for none",
    { histories: without(10.2, 12.2) },
    "sure resolved 12.5",
    hole,
  ],
  ["names a hole of the records", { histories: without(11.8, 12.2) }, "sure resolved 12.5, sure resolved 10.5", holed],
  ["cannot tell of a metric that was not looked at", { histories: new Map() }, "", "its metric was not looked at"],
  ["cannot tell of records that cannot be had", { histories: failed }, "", "alerting: 502"],
  ["cannot tell without a point", { histories: recorded([], 40) }, "", "the service has no records of"],
  ["says where records begin, end and cannot be read", { histories: recorded(early, 7) }, sureOfAll, ends],
  ["is sure of nothing by a clock that is an hour off", { sightings: anHourOff }, ""],
  [
    "misses none that came in another form, without key, threshold and time",
    { sightings: inOtherForm, downtimes: [] },
    "",
    otherForm,
  ],
  ["misses none that may wait to be read", { unreadSince: begin + 13 * hour }, "", unread],
  ["expects nothing of before the log is whole", { logSince: begin + 12.2 * hour }, "sure resolved 12.5"],
  ["expects nothing while the account was off", { offs: [dayOff] }, "sure resolved 12.5, sure resolved 10.5"],
  ["expects nothing of an ended subscription", { subscriptions: ended }, "sure resolved 10.5"],
  ["is sure of nothing where alerts are dated ahead of their coming", { sightings: ahead }, ""],
  [
    "takes one missing amid others for likely at most",
    { subscriptions: pair, sightings: amidOthers, downtimes: [] },
    "likely firing 12",
  ],
  [
    "thinks of untimed alerts that came later",
    { sightings: [...all(untimed).filter(ranAt), late] },
    "likely resolved 12.5, likely resolved 10.5",
  ],
  [
    "expects no end where none is ever told",
    { sightings: came().filter(({ holds }) => holds) },
    "sure firing 12",
    endless,
  ],
  [
    "judges no rules whose alerts look alike",
    { subscriptions: twins, sightings: all(({ threshold: _gone, ...one }) => one) },
    "",
    alike,
  ],
])("%s", (_what, evidence, missing, why = "") => {
  const report = judge(evidence);
  expect(missingIn(report)).toEqual(missing);
  expect(reasons(report)).toContain(why);
});

it("a subscription that was changed since is not held against it", () => {
  const subscriptions = ofSubscription({ updatedAt: new Date(begin + 14 * hour).toISOString() });
  const report = judge({ subscriptions, sightings: came(({ threshold: _gone, ...one }) => one) });
  expect(report.missing).toEqual([]);
  expect(reasons(report)).toContain("it may be younger than the crossing");
  // Its alerts named the same threshold before: it was there, and may have been off.
  const named = judge({ subscriptions });
  expect(missingIn(named)).toEqual("likely resolved 12.5, likely firing 12, likely resolved 10.5");
  expect(named.missing[0]?.reason).toContain("it was changed or switched on after that");
});

it.each([{ activeHours: { from: "08:00", to: "18:00" } }, { days: ["mon", "tue"] }, { snoozedUntil: "2026-11-21" }])(
  "a member that may keep it silent at times makes nothing sure: %j",
  (member) => {
    const report = judge({ subscriptions: ofSubscription(member) });
    expect(new Set(report.missing.map(({ verdict }) => verdict))).toEqual(new Set(["likely"]));
    expect(report.missing[0]?.reason).toContain(Object.keys(member)[0]?.toLowerCase());
  },
);

it("what came before a backup was restored is not looked for in it", () => {
  const report = judge({ downtimes: [{ ...down, restored: true }] });
  expect(report.missing).toEqual([]);
  const restored = "it was restored from a backup at 2026-11-20T13:00Z";
  expect(report.unknown).toMatchObject([
    { what: "the log", why: `${restored}: what arrived since the last alert of the backup is not in it` },
    { why: "no alert was due: the account was turned off, or the log was restored from a backup", crossings: 3 },
  ]);
  expect(report.notDue).toBe(3);
  expect(report.downtimes).toEqual([{ ...down, asleep: false, restored: true }]);
  const both = judge({ downtimes: [{ ...down, toAt: begin + 11 * hour, restored: true }, down] });
  expect(missingIn(both)).toEqual("sure resolved 12.5, sure firing 12");
});

it("while the machine was asleep, or its clock was set, nothing is sure", () => {
  const report = judge({ downtimes: [{ ...down, asleep: true }] });
  expect(missingIn(report)).toEqual("likely resolved 12.5, likely firing 12, likely resolved 10.5");
  // They are one outage, which people hear of.
  expect(report.outages).toMatchObject([{ lost: 3, whileDown: false, asleep: true }]);
  const [{ id } = { id: "" }] = report.outages;
  expect(report.missing).toMatchObject(Array(3).fill({ whileDown: false, outage: id }));
  const { news } = planGapNews(report, gapMemorySchema.parse({ told: [] }));
  expect(news).toMatchObject([{ says: "lost", isOver: true, missing: { length: 3 } }]);
});

it("a time in which alerts came is none in which the relay was down", () => {
  const through = { fromAt: begin + 5 * hour, toAt: begin + 15 * hour };
  const report = judge({ sightings: alerts().filter(({ at }) => at !== begin + 10 * hour), downtimes: [through] });
  expect(report).toMatchObject({ downtimes: [], missing: [{ verdict: "likely" }] });
  // It ran for up to a minute more than it had saved.
  const saved = { ...down, fromAt: begin + 10 * hour - 30_000 };
  expect(judge({ sightings: came(), downtimes: [saved] }).downtimes).toEqual([
    { fromAt: begin + 10 * hour + 500, toAt: down.toAt, asleep: false, restored: false },
  ]);
});

it("while others of the same downtime come late, the rest may still come", () => {
  const sightings = [...came(), sighting(begin + 10.5 * hour, { receivedAt: down.toAt + minute })];
  const soon = judge({ sightings, now: down.toAt + hour, until: down.toAt + hour });
  expect(missingIn(soon)).toEqual("likely resolved 12.5, likely firing 12");
  expect(soon.missing[0]?.reason).toContain("others of that time arrived late, so it may still");
  expect(missingIn(judge({ sightings }))).toEqual("sure resolved 12.5, sure firing 12");
});

it("takes values at the threshold for no crossing", () => {
  expect(judge({ histories: recorded(flat), sightings: alerts() })).toMatchObject({ crossings: 0, missing: [] });
});

const inWords = [
  (holds: boolean) => `${key} is ${holds ? "" : "no longer "}above 100`,
  (holds: boolean) => (holds ? `Alert: USD price (${key}) above 100` : `RESOLVED ${key} is back below 100`),
].map((write): [string, Sighting[]] => {
  const sightings = alerts().flatMap(({ at, holds }) => {
    const [translation] = translateRequest(Buffer.from(write(holds === true)), "text/plain");
    return translation === undefined ? [] : [readSighting(translation.facts, at + 500)];
  });
  return [`are texts like ${write(true)}`, sightings];
});
it.each<[string, Sighting[]]>([
  ...[10, 20].map((late): [string, Sighting[]] => {
    const ms = late * minute;
    return [`are ${late} minutes behind`, all((one) => ({ ...one, at: one.at + ms, receivedAt: one.at + ms }))];
  }),
  ...inWords,
  ["do not say which turn they are of", all(({ holds: _gone, ...one }) => one)],
])("alerts match their crossings though they %s", (_how, sightings) => {
  const report = judge({ sightings, downtimes: [] });
  expect(report.crossings).toBeGreaterThan(20);
  expect(report).toMatchObject({ answered: report.crossings, missing: [] });
});

/** Six rules, each over a metric of its own, which take turns to cross, one of them briefly. What is lost does not come. */
function judgeSix(
  isLost: (rule: number, at: number) => boolean,
  changes: Partial<GapEvidence> = {},
  arrive = (sightings: readonly Sighting[]) => sightings,
) {
  const days = 6;
  const until = changes.until ?? begin + days * 24 * hour;
  const lastsMs = (rule: number) => (rule === 5 ? 15 * minute : hour);
  const keys = Array.from({ length: 6 }, (_, index) => `${key.slice(0, -1)}${index}`);
  const crossesAt = (rule: number) =>
    Array.from({ length: 2 * days }, (_, turn) => begin + (turn * 12 + rule * 2 + 1) * hour);
  const histories = keys.map((name, rule) => {
    const points = [];
    for (let at = begin; at <= until; at += 5 * minute)
      points.push({ at, value: crossesAt(rule).some((time) => at >= time && at < time + lastsMs(rule)) ? 110 : 90 });
    return [name, { points, unread: 0 }] as const;
  });
  const sightings = keys.flatMap((name, rule) =>
    crossesAt(rule).flatMap((time) =>
      [time, time + lastsMs(rule)]
        .filter((at) => at <= until && !isLost(rule, at))
        .map((at) => ({
          at,
          receivedAt: at + 500,
          hasOwnTime: true,
          holds: at === time,
          threshold: 100,
          words: [name],
        })),
    ),
  );
  return judgeGaps({
    since: begin,
    until,
    now: until,
    subscriptions: readSubscriptions(
      keys.map((name, index) => ({ subscription: { id: `sub_${index}`, op: ">", value: 100 }, metric: { key: name } })),
    ),
    histories: new Map(histories),
    sightings: arrive(sightings),
    downtimes: [],
    ...changes,
  });
}

const isIn = (at: number, from: number, to: number) => at >= begin + from * hour && at < begin + to * hour;
/** Each rule has lost one alert and one return, on different days. */
const isOldLoss = (rule: number, at: number) => isIn(at, rule * 12 + rule * 2, rule * 12 + rule * 2 + 3);

it("among alerts that are lost now and then, a loss of everything is one outage, whichever rules have lost something before", () => {
  const { outages, missing } = judgeSix((rule, at) => isOldLoss(rule, at) || isIn(at, 96, 108));
  const whole = outages.filter(({ rule }) => rule === undefined);
  expect(whole).toMatchObject([{ lost: 12, due: 12, comesAgainAt: expect.any(Number) }]);
  expect(missing.filter(({ outage }) => outage === whole[0]?.id)).toHaveLength(12);
});

it("among alerts that are lost now and then, counts the one that came meanwhile in with it", () => {
  const [outage, ...others] = judgeSix((_, at) => isIn(at, 96, 109) && !isIn(at, 101, 102)).outages;
  expect(outage).toMatchObject({ lost: 11, due: 12 });
  expect(others).toEqual([]);
});

it("among alerts that are lost now and then, a loss that lasts is likely, since it may be no more than late, and sure when alerts have come again", () => {
  const now = begin + 104.5 * hour;
  const lost = (_: number, at: number) => isIn(at, 96, 108);
  const running = judgeSix(lost, { until: now });
  expect(running.outages).toMatchObject([{ comesAgainAt: undefined }]);
  expect(new Set(running.missing.map(({ verdict }) => verdict))).toEqual(new Set(["likely"]));
  expect(running.missing[0]?.reason).toMatch(/^1 to [\d,]+ that it is chance; it may still be on its way/);
  // The brief ones of one rule may be unseen.
  const over = judgeSix(lost).missing.filter(({ rule }) => rule !== "sub_5");
  expect(new Set(over.map(({ verdict }) => verdict))).toEqual(new Set(["sure"]));
});

it("among alerts that are lost now and then, an outage of which an earlier version reported a part is not reported again", () => {
  const report = judgeSix((_, at) => isIn(at, 96, 108));
  const told = report.missing.slice(0, 3);
  expect(planGapNews(report, gapMemorySchema.parse({ told: [] })).news).toHaveLength(1);
  expect(planGapNews(report, gapMemorySchema.parse({ told, toldAt: begin })).news).toEqual([]);
});

it("among alerts that are lost now and then, one rule that falls silent is an outage of that rule, and never sure", () => {
  const { outages, missing } = judgeSix((rule, at) => rule === 2 && at > begin + 84 * hour);
  expect(outages).toMatchObject([{ rule: expect.stringContaining("sub_2"), lost: 10, comesAgainAt: undefined }]);
  expect(new Set(missing.map(({ verdict }) => verdict))).toEqual(new Set(["likely"]));
  expect(missing[0]?.reason).toContain("only this rule is silent");
});

it("among alerts that are lost now and then, what a sender that is 50 minutes late has not brought yet is too fresh, and nothing is missing", () => {
  const now = begin + 105.5 * hour;
  const lateMs = 50 * minute;
  const delayed = (sightings: readonly Sighting[]) =>
    sightings.map((one) => ({ ...one, receivedAt: one.at + lateMs })).filter(({ receivedAt }) => receivedAt <= now);
  const report = judgeSix(() => false, { until: now }, delayed);
  expect(report).toMatchObject({ missing: [], fresh: 1, freshMs: 76 * minute });
  // The same silence of a sender that was never late.
  expect(judgeSix((_, at) => at > now - lateMs, { until: now })).toMatchObject({
    fresh: 0,
    missing: [{ verdict: "likely" }],
  });
});

it("among alerts that are lost now and then, where alerts come by a clock 20 hours behind, what others overtook by an hour is judged", () => {
  const lateMs = 20 * hour;
  const delayed = (sightings: readonly Sighting[]) => sightings.map((one) => ({ ...one, receivedAt: one.at + lateMs }));
  const { fresh, missing } = judgeSix((_, at) => isIn(at, 96, 108), { now: begin + 144 * hour + lateMs }, delayed);
  expect(missing.length).toBeGreaterThanOrEqual(10);
  expect(missing.some(({ verdict }) => verdict === "sure")).toBe(true);
  expect(fresh).toBe(0);
});

it("among alerts that are lost now and then, tells of every crossing what became of it", () => {
  const { crossings, answered, missing, fresh, unclear, notDue } = judgeSix(
    (rule, at) => rule === 3 && isIn(at, 0, 200),
  );
  expect(answered + missing.length + fresh + unclear + notDue).toBe(crossings);
});
