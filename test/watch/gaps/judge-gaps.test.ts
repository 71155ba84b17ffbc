import { describe, expect, it } from "vitest";
import { translateRequest } from "../../../src/intake/translate.ts";
import type { GapEvidence } from "../../../src/watch/gaps/follow-rules.ts";
import { judgeGaps } from "../../../src/watch/gaps/judge-gaps.ts";
import { gapMemorySchema, planGapNews } from "../../../src/watch/gaps/plan-gap-notices.ts";
import { readSubscriptions } from "../../../src/watch/gaps/read-subscriptions.ts";
import { readSighting, type Sighting } from "../../../src/watch/gaps/sightings.ts";

const minute = 60_000;
const hour = 60 * minute;
const begin = Date.UTC(2026, 10, 20);
const end = begin + 24 * hour;
const key = "eth_token_price_0x00aa11bb22cc33dd44ee55ff66aa77bb88cc99dd";

/** At 110 for half an hour every two hours, else at 90. */
function priceAt(at: number): number {
  return (at - begin) % (2 * hour) < 30 * minute ? 110 : 90;
}

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
function alerts(): Sighting[] {
  return records(30 * minute)
    .filter(({ at, value }) => at > begin && value !== priceAt(at - 1))
    .map(({ at }) => sighting(at));
}

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
const verdicts = (report: ReturnType<typeof judge>) => report.missing.map(({ verdict }) => verdict);
const reasons = ({ unknown }: ReturnType<typeof judge>) => unknown.map(({ why }) => why).join("\n");

it("is sure of what the relay missed while it was down", () => {
  const report = judge();
  expect(verdicts(report)).toEqual(["sure", "sure", "sure"]);
  expect(report.missing.map(({ toAt }) => toAt)).toEqual([begin + 12.5 * hour, begin + 12 * hour, begin + 10.5 * hour]);
  expect(report.unknown).toEqual([]);
  expect(report.missing[0]).toMatchObject({
    rule: "sub_1",
    condition: "above 100",
    status: "resolved",
    before: 110,
    after: 90,
  });
});

it("looks at the time that it is asked about, and not at what may still come", () => {
  expect(judge({ since: begin + 12.1 * hour }).missing).toHaveLength(1);
  expect(judge({ until: begin + 11 * hour }).missing).toHaveLength(1);
  const now = begin + 12.6 * hour;
  const sightings = alerts().filter(({ at }) => at < down.fromAt);
  expect(judge({ now, until: now, sightings }).missing).toHaveLength(2);
});

describe("history that says less than it should", () => {
  const between = (from: number, to: number) =>
    records().filter(({ at }) => at < begin + from * hour || at > begin + to * hour);

  it("a hole is named, and what crossed in it is no crossing", () => {
    const report = judge({ histories: new Map([[key, { points: between(10.2, 12.2), unread: 0 }]]) });
    expect(report.missing.map(({ toAt }) => toAt)).toEqual([begin + 12.5 * hour]);
    const holed = judge({ histories: new Map([[key, { points: between(11.8, 12.2), unread: 0 }]]) });
    expect(reasons(holed)).toContain("records are missing where it may have crossed its threshold");
    expect(reasons(report)).toContain("it has no records from 2026-11-20T10:10Z to 2026-11-20T12:15Z");
    expect(holed.missing).toHaveLength(2);
  });

  it.each<[string, GapEvidence["histories"], string]>([
    ["none", new Map(), "its metric was not looked at"],
    ["a failure", new Map([[key, "alerting: 502"]]), "alerting: 502"],
    ["no point", new Map([[key, { points: [], unread: 40 }]]), "the service has no records of"],
  ])("%s", (_what, histories, why) => {
    const report = judge({ histories });
    expect(report.missing).toEqual([]);
    expect(reasons(report)).toContain(why);
  });

  it("says where records begin, end and cannot be read", () => {
    const points = records().filter(({ at }) => at > begin + 3 * hour && at < begin + 20 * hour);
    const why = reasons(judge({ histories: new Map([[key, { points, unread: 7 }]]) }));
    expect(why).toContain(
      "its records end at 2026-11-20T19:55Z, its records begin at 2026-11-20T03:05Z, 7 of its records",
    );
  });

  it("values that stand at the threshold say nothing", () => {
    const flat = records().map(({ at, value }) => ({ at, value: value === 110 ? 100 : value }));
    const histories = new Map([[key, { points: flat, unread: 0 }]]);
    expect(judge({ histories, sightings: alerts() })).toMatchObject({ crossings: 0, missing: [] });
  });
});

describe("doubts", () => {
  it("a clock of the sender's that is an hour off makes nothing sure", () => {
    const sightings = alerts().map((one) => ({ ...one, at: one.at + hour }));
    expect(verdicts(judge({ sightings }))).not.toContain("sure");
  });

  it("a subscription that was changed since is not held against it", () => {
    const changed = {
      subscription: { ...subscription.subscription, updatedAt: new Date(begin + 14 * hour).toISOString() },
      metric: { key },
    };
    const bare = alerts().map(({ threshold: _gone, ...one }) => one);
    const sightings = bare.filter(({ at }) => at < down.fromAt || at >= down.toAt);
    const report = judge({ subscriptions: readSubscriptions([changed]), sightings });
    expect(report.missing).toEqual([]);
    expect(reasons(report)).toContain("it may be younger than the crossing");
    // Its alerts named the same threshold before: it was there, and may have been off.
    const named = judge({ subscriptions: readSubscriptions([changed]) });
    expect(verdicts(named)).toEqual(["likely", "likely", "likely"]);
    expect(named.missing[0]?.reason).toContain("it was changed or switched on after that");
  });

  it("alerts that came in another form are not missing", () => {
    // From then on no key, no threshold and no time stands in them.
    const sightings = alerts().map((one) =>
      one.at < begin + 10 * hour
        ? one
        : { at: one.receivedAt, receivedAt: one.receivedAt, hasOwnTime: false, words: [] },
    );
    const report = judge({ sightings, downtimes: [] });
    expect(report.missing).toEqual([]);
    expect(reasons(report)).toContain("an alert arrived then, and it is not known which rule sent it");
  });

  it("alerts that wait to be read may be the ones", () => {
    const report = judge({ unreadSince: begin + 13 * hour });
    expect(report.missing).toEqual([]);
    expect(reasons(report)).toContain("alerts that arrived wait to be read");
  });

  it("what lies before the log is whole is not expected, nor what lies in a time when the account was off", () => {
    expect(judge({ logSince: begin + 12.2 * hour }).missing).toHaveLength(1);
    expect(judge({ offs: [{ fromAt: begin + 11 * hour, toAt: begin + 12.2 * hour }] }).missing).toHaveLength(2);
  });

  it("a subscription that has ended owes nothing", () => {
    const ended = {
      ...subscription,
      subscription: { ...subscription.subscription, expiresAt: begin / 1000 + 11 * 3600 },
    };
    const report = judge({ subscriptions: readSubscriptions([ended]) });
    expect(report.missing.map(({ toAt }) => toAt)).toEqual([begin + 10.5 * hour]);
  });

  it.each([{ activeHours: { from: "08:00", to: "18:00" } }, { days: ["mon", "tue"] }, { snoozedUntil: "2026-11-21" }])(
    "a member that may keep it silent at times makes nothing sure: %j",
    (member) => {
      const resting = { ...subscription, subscription: { ...subscription.subscription, ...member } };
      const report = judge({ subscriptions: readSubscriptions([resting]) });
      expect(new Set(verdicts(report))).toEqual(new Set(["likely"]));
      expect(report.missing[0]?.reason).toContain(Object.keys(member)[0]?.toLowerCase());
    },
  );

  it("what came before a backup was restored is not looked for in it", () => {
    const report = judge({ downtimes: [{ ...down, restored: true }] });
    expect(report.missing).toEqual([]);
    expect(report.unknown).toMatchObject([
      {
        what: "the log",
        why: "it was restored from a backup at 2026-11-20T13:00Z: what arrived since the last alert of the backup is not in it",
      },
      { why: "no alert was due: the account was turned off, or the log was restored from a backup", crossings: 3 },
    ]);
    expect(report.notDue).toBe(3);
    expect(report.downtimes).toEqual([{ ...down, asleep: false, restored: true }]);
    const both = judge({ downtimes: [{ ...down, toAt: begin + 11 * hour, restored: true }, down] });
    expect(both.missing.map(({ toAt }) => toAt)).toEqual([begin + 12.5 * hour, begin + 12 * hour]);
  });

  it("while the machine was asleep, or its clock was set, nothing is sure", () => {
    const report = judge({ downtimes: [{ ...down, asleep: true }] });
    expect(report.missing.map(({ verdict, whileDown }) => `${verdict} ${whileDown}`)).toEqual([
      "likely false",
      "likely false",
      "likely false",
    ]);
    // They are one outage, which people hear of.
    expect(report.outages).toMatchObject([{ lost: 3, whileDown: false, asleep: true }]);
    expect(new Set(report.missing.map(({ outage }) => outage))).toEqual(new Set(report.outages.map(({ id }) => id)));
    const { news } = planGapNews(report, gapMemorySchema.parse({ told: [] }));
    expect(news).toMatchObject([{ says: "lost", isOver: true, missing: { length: 3 } }]);
  });

  it("alerts that are dated ahead of their coming say that a clock is wrong", () => {
    const sightings = alerts()
      .filter(({ at }) => at < down.fromAt || at >= down.toAt)
      .map((one) => (one.at > down.toAt ? { ...one, hasOwnTime: false, isAhead: true } : one));
    const report = judge({ sightings });
    expect(verdicts(report)).not.toContain("sure");
  });

  it("a time in which alerts came is none in which the relay was down", () => {
    const through = { fromAt: begin + 5 * hour, toAt: begin + 15 * hour };
    const came = alerts().filter(({ at }) => at !== begin + 10 * hour);
    expect(judge({ sightings: came, downtimes: [through] })).toMatchObject({
      downtimes: [],
      missing: [{ verdict: "likely" }],
    });
    // It ran for up to a minute more than it had saved.
    const late = { ...down, fromAt: begin + 10 * hour - 30_000 };
    const sightings = alerts().filter(({ at }) => at < down.fromAt || at >= down.toAt);
    expect(judge({ sightings, downtimes: [late] }).downtimes).toEqual([
      { fromAt: begin + 10 * hour + 500, toAt: down.toAt, asleep: false, restored: false },
    ]);
  });

  it("one that is missing amid others that came is likely at most", () => {
    const other = { subscription: { id: "sub_2", op: "<", value: 95 }, metric: { key } };
    const others = alerts().map((one) =>
      sighting(one.at, { kind: "below", threshold: 95, holds: one.holds === false }),
    );
    const report = judge({
      subscriptions: readSubscriptions([subscription, other]),
      sightings: [...alerts().filter(({ at }) => at !== begin + 12 * hour), ...others],
      downtimes: [],
    });
    expect(verdicts(report)).toEqual(["likely"]);
  });

  it("while others of the same downtime come late, the rest may still come", () => {
    const late = sighting(begin + 10.5 * hour, { receivedAt: down.toAt + minute });
    const sightings = [...alerts().filter(({ at }) => at < down.fromAt || at >= down.toAt), late];
    const soon = judge({ sightings, now: down.toAt + hour, until: down.toAt + hour });
    expect(verdicts(soon)).toEqual(["likely", "likely"]);
    expect(soon.missing[0]?.reason).toContain("others of that time arrived late, so it may still");
    expect(verdicts(judge({ sightings }))).toEqual(["sure", "sure"]);
  });

  it("alerts without a time of their own that came later may be the ones", () => {
    const untimed = alerts().map((one) => ({ ...one, at: one.receivedAt, hasOwnTime: false }));
    const kept = untimed.filter(({ at }) => at < down.fromAt || at >= down.toAt);
    const late = sighting(begin + 12 * hour, {
      at: down.toAt + 2 * minute,
      receivedAt: down.toAt + 2 * minute,
      hasOwnTime: false,
    });
    const report = judge({ sightings: [...kept, late] });
    expect(report.missing.filter(({ status, verdict }) => status === "firing" && verdict === "sure")).toEqual([]);
  });

  it("a rule that tells only when it begins owes no end", () => {
    const sightings = alerts().filter(({ holds, at }) => holds && (at < down.fromAt || at >= down.toAt));
    const report = judge({ sightings });
    expect(report.missing.map(({ verdict, status }) => `${verdict} ${status}`)).toEqual(["sure firing"]);
    expect(reasons(report)).toContain("it has never reported that its condition ended");
  });

  it("rules whose alerts look alike are not judged", () => {
    const twin = { subscription: { id: "sub_2", op: ">", value: 95 }, metric: { key } };
    const sightings = alerts().map(({ threshold: _gone, ...one }) => one);
    const report = judge({ subscriptions: readSubscriptions([subscription, twin]), sightings });
    expect(report.missing).toEqual([]);
    expect(reasons(report)).toContain("its alerts cannot be told from those of another rule");
  });
});

it.each([10, 20])(
  "alerts that are dated or written in another way, %i minutes behind, they match their crossings",
  (late) => {
    const sightings = alerts().map((one) => ({
      ...one,
      at: one.at + late * minute,
      receivedAt: one.at + late * minute,
    }));
    const report = judge({ sightings, downtimes: [] });
    expect(report).toMatchObject({ answered: report.crossings, missing: [] });
  },
);

it.each([
  (holds: boolean) => `${key} is ${holds ? "" : "no longer "}above 100`,
  (holds: boolean) => (holds ? `Alert: USD price (${key}) above 100` : `RESOLVED ${key} is back below 100`),
])(
  "alerts that are dated or written in another way, as a text with the key of the metric in it, they match (%#)",
  (write) => {
    const sightings = alerts().flatMap(({ at, holds }) => {
      const [translation] = translateRequest(Buffer.from(write(holds === true)), "text/plain");
      return translation === undefined ? [] : [readSighting(translation.facts, at + 500)];
    });
    const report = judge({ sightings, downtimes: [] });
    expect(report.crossings).toBeGreaterThan(20);
    expect(report).toMatchObject({ answered: report.crossings, missing: [] });
  },
);

it("alerts that are dated or written in another way that do not say which turn they are of answer the one that the records show", () => {
  const sightings = alerts().map(({ holds: _gone, ...one }) => one);
  const report = judge({ sightings, downtimes: [] });
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
    for (let at = begin; at <= until; at += 5 * minute) {
      points.push({ at, value: crossesAt(rule).some((time) => at >= time && at < time + lastsMs(rule)) ? 110 : 90 });
    }
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

describe("losses among alerts that are lost now and then", () => {
  const isIn = (at: number, from: number, to: number) => at >= begin + from * hour && at < begin + to * hour;
  /** Each rule has lost one alert and one return, on different days. */
  const isOldLoss = (rule: number, at: number) => isIn(at, rule * 12 + rule * 2, rule * 12 + rule * 2 + 3);

  it("a loss of everything is one outage, whichever rules have lost something before", () => {
    const { outages, missing } = judgeSix((rule, at) => isOldLoss(rule, at) || isIn(at, 96, 108));
    const whole = outages.filter(({ rule }) => rule === undefined);
    expect(whole).toMatchObject([{ lost: 12, due: 12, comesAgainAt: expect.any(Number) }]);
    expect(missing.filter(({ outage }) => outage === whole[0]?.id)).toHaveLength(12);
  });

  it("counts the one that came meanwhile in with it", () => {
    const [outage, ...others] = judgeSix((_, at) => isIn(at, 96, 109) && !isIn(at, 101, 102)).outages;
    expect(outage).toMatchObject({ lost: 11, due: 12 });
    expect(others).toEqual([]);
  });

  it("a loss that lasts is likely, since it may be no more than late, and sure when alerts have come again", () => {
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

  it("an outage of which an earlier version reported a part is not reported again", () => {
    const report = judgeSix((_, at) => isIn(at, 96, 108));
    const told = report.missing.slice(0, 3);
    expect(planGapNews(report, gapMemorySchema.parse({ told: [] })).news).toHaveLength(1);
    expect(planGapNews(report, gapMemorySchema.parse({ told, toldAt: begin })).news).toEqual([]);
  });

  it("one rule that falls silent is an outage of that rule, and never sure", () => {
    const { outages, missing } = judgeSix((rule, at) => rule === 2 && at > begin + 84 * hour);
    expect(outages).toMatchObject([{ rule: expect.stringContaining("sub_2"), lost: 10, comesAgainAt: undefined }]);
    expect(new Set(missing.map(({ verdict }) => verdict))).toEqual(new Set(["likely"]));
    expect(missing[0]?.reason).toContain("only this rule is silent");
  });

  it("what a sender that is 50 minutes late has not brought yet is too fresh, and nothing is missing", () => {
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

  it("where alerts come by a clock 20 hours behind, what others overtook by an hour is judged", () => {
    const lateMs = 20 * hour;
    const delayed = (sightings: readonly Sighting[]) =>
      sightings.map((one) => ({ ...one, receivedAt: one.at + lateMs }));
    const { fresh, missing } = judgeSix((_, at) => isIn(at, 96, 108), { now: begin + 144 * hour + lateMs }, delayed);
    expect(missing.length).toBeGreaterThanOrEqual(10);
    expect(missing.some(({ verdict }) => verdict === "sure")).toBe(true);
    expect(fresh).toBe(0);
  });

  it("tells of every crossing what became of it", () => {
    const { crossings, answered, missing, fresh, unclear, notDue } = judgeSix(
      (rule, at) => rule === 3 && isIn(at, 0, 200),
    );
    expect(answered + missing.length + fresh + unclear + notDue).toBe(crossings);
  });
});
