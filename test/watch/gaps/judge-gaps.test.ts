import { expect, it } from "vitest";
import type { GapReport } from "../../../src/contract/operations.ts";
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
/** What a report says, for a person to read. Times are hours from the beginning. */
function tell({ missing, outages, downtimes, unknown, ...counts }: GapReport): string {
  const at = (ms: number) => ((ms - begin) / hour).toFixed(2).replace(/\.?0+$/, "");
  const span = ({ fromAt, toAt }: { fromAt: number; toAt: number }) => `${at(fromAt)} to ${at(toAt)}`;
  const flags = (flags: object) =>
    Object.entries(flags)
      .map(([name, isSet]) => (isSet === true ? ` ${name}` : ""))
      .join("");
  const { answered, fresh, freshMs, unclear, notDue, crossings } = counts;
  const lines = [
    `${crossings} crossings: ${answered} answered, ${fresh} fresh of ${freshMs / minute} min, ${unclear} unclear, ${notDue} not due`,
    ...downtimes.map((down) => `down ${span(down)}${flags(down)}`),
    ...outages.map(({ rule = "all", lost, due, comesAgainAt, ...outage }, index) => {
      const end = comesAgainAt === undefined ? "no end" : `an end at ${at(comesAgainAt)}`;
      return `outage ${index + 1} of ${rule} from ${span(outage)}: ${lost} of ${due}, ${end}${flags(outage)}`;
    }),
    ...missing.map(({ verdict, status, rule, condition, toAt, before, after, reason, outage, whileDown }) => {
      const of = outages.findIndex(({ id }) => id === outage) + 1;
      const where = `${whileDown ? ", while down" : ""}${of > 0 ? `, in outage ${of}` : ""}`;
      return `${verdict} ${status} of ${rule} ${condition} at ${at(toAt)}, ${before} → ${after}${where}: ${reason}`;
    }),
    ...unknown.map(({ what, why, crossings }) => `unknown of ${what}: ${why}${crossings ? ` (${crossings})` : ""}`),
  ];
  return `\n${lines.join("\n")}\n`;
}

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

const unnamed = { hasOwnTime: false, words: [] };
const [beforeNoon, noon] = [begin + 12.1 * hour, begin + 12.6 * hour];
const flat = records().map(({ at, value }) => ({ at, value: value === 110 ? 100 : value }));
const early = records().filter(({ at }) => at > begin + 3 * hour && at < begin + 20 * hour);
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
const failed: GapEvidence["histories"] = new Map([[key, "alerting: 502"]]);
const untimed = ({ receivedAt, ...one }: Sighting) => ({ ...one, at: receivedAt, receivedAt, hasOwnTime: false });
const lateAt = down.toAt + 2 * minute;
const late = sighting(begin + 12 * hour, { at: lateAt, receivedAt: lateAt, hasOwnTime: false });
const dayOff = { fromAt: begin + 11 * hour, toAt: begin + 12.2 * hour };

const changedAt = new Date(begin + 14 * hour).toISOString();
const through = { fromAt: begin + 5 * hour, toAt: begin + 15 * hour };
const comesLate = [...came(), sighting(begin + 10.5 * hour, { receivedAt: down.toAt + minute })];
const untilSoon = { sightings: comesLate, now: down.toAt + hour, until: down.toAt + hour };
const withoutThreshold = ({ threshold: _gone, ...one }: Sighting): Sighting => one;
const [asleep, restored] = [{ downtimes: [{ ...down, asleep: true }] }, { ...down, restored: true }];

type Row = [what: string, Partial<GapEvidence>];
it.each<Row>([
  ["is sure of what the relay missed while it was down", {}],
  ["looks at the time since it is asked about", { since: beforeNoon }],
  ["looks at the time until it is asked about", { until: begin + 11 * hour }],
  ["looks not at what may still come", { now: noon, until: noon, sightings: came().filter(({ at }) => at < noon) }],
  ["takes a crossing in a hole of the records for none", { histories: without(10.2, 12.2) }],
  ["names a hole of the records", { histories: without(11.8, 12.2) }],
  ["cannot tell of a metric that was not looked at", { histories: new Map() }],
  ["cannot tell of records that cannot be had", { histories: failed }],
  ["cannot tell without a point", { histories: recorded([], 40) }],
  ["says where records begin, end and cannot be read", { histories: recorded(early, 7) }],
  ["is sure of nothing by a clock that is an hour off", { sightings: anHourOff }],
  ["misses none that came in another form, without key, threshold and time", { sightings: inOtherForm, downtimes: [] }],
  ["misses none that may wait to be read", { unreadSince: begin + 13 * hour }],
  ["expects nothing of before the log is whole", { logSince: begin + 12.2 * hour }],
  ["expects nothing while the account was off", { offs: [dayOff] }],
  ["expects nothing of an ended subscription", { subscriptions: ended }],
  ["is sure of nothing where alerts are dated ahead of their coming", { sightings: ahead }],
  ["takes one missing amid others for likely at most", { subscriptions: pair, sightings: amidOthers, downtimes: [] }],
  ["thinks of untimed alerts that came later", { sightings: [...all(untimed).filter(ranAt), late] }],
  ["expects no end where none is ever told", { sightings: came().filter(({ holds }) => holds) }],
  ["judges no rules whose alerts look alike", { subscriptions: twins, sightings: all(withoutThreshold) }],
  [
    "does not hold against a subscription that it was changed since",
    { subscriptions: ofSubscription({ updatedAt: changedAt }), sightings: came(withoutThreshold) },
  ],
  // It was there, and may have been off.
  [
    "does so where its alerts named the same threshold before",
    { subscriptions: ofSubscription({ updatedAt: changedAt }) },
  ],
  ...[{ activeHours: { from: "08:00", to: "18:00" } }, { days: ["mon", "tue"] }, { snoozedUntil: "2026-11-21" }].map(
    (member): Row => [
      `is sure of nothing where a member may keep a rule silent at times: ${JSON.stringify(member)}`,
      { subscriptions: ofSubscription(member) },
    ],
  ),
  ["does not look in a restored backup for what came before that", { downtimes: [restored] }],
  ["looks for what came behind it", { downtimes: [{ ...restored, toAt: begin + 11 * hour }, down] }],
  ["is sure of nothing while the machine was asleep, or its clock was set", asleep],
  [
    "takes no time in which alerts came for one in which the relay was down",
    { sightings: alerts().filter(({ at }) => at !== begin + 10 * hour), downtimes: [through] },
  ],
  [
    "knows that it ran for up to a minute more than it had saved",
    { sightings: came(), downtimes: [{ ...down, fromAt: begin + 10 * hour - 30_000 }] },
  ],
  ["thinks that the rest may still come while others of the same downtime come late", untilSoon],
  ["thinks so no more later", { sightings: comesLate }],
  ["takes values at the threshold for no crossing", { histories: recorded(flat), sightings: alerts() }],
])("%s", (_what, evidence) => expectSaid(judge(evidence)));

/** And that of every crossing it says what became of it. */
function expectSaid(report: GapReport): void {
  const { crossings, answered, missing, fresh, unclear, notDue } = report;
  expect(tell(report)).toMatchSnapshot();
  expect(answered + missing.length + fresh + unclear + notDue).toBe(crossings);
}

it("people hear of what was lost while the machine was asleep as one outage that is over", () => {
  const { news } = planGapNews(judge(asleep), gapMemorySchema.parse({ told: [] }));
  expect(news).toMatchObject([{ says: "lost", isOver: true, missing: { length: 3 } }]);
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
  const { crossings, answered } = judge({ sightings, downtimes: [] });
  expect([crossings > 20, answered]).toEqual([true, crossings]);
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

const lostAll = (_: number, at: number) => isIn(at, 96, 108);
const [amid, fifty, twenty] = [begin + 104.5 * hour, begin + 105.5 * hour, begin + 144 * hour];
const delayedBy = (lateMs: number, until: number) => (sightings: readonly Sighting[]) =>
  sightings.map((one) => ({ ...one, receivedAt: one.at + lateMs })).filter(({ receivedAt }) => receivedAt <= until);

it.each<[string, () => GapReport]>([
  [
    "a loss of everything is one outage, whichever rules have lost something before",
    () => judgeSix((rule, at) => isOldLoss(rule, at) || lostAll(rule, at)),
  ],
  [
    "the one that came meanwhile counts in with it",
    () => judgeSix((_, at) => isIn(at, 96, 109) && !isIn(at, 101, 102)),
  ],
  ["a loss that lasts is likely, since it may be no more than late", () => judgeSix(lostAll, { until: amid })],
  // The brief ones of one rule may be unseen.
  ["a loss is sure when alerts have come again", () => judgeSix(lostAll)],
  [
    "one rule that falls silent is an outage of that rule, and never sure",
    () => judgeSix((rule, at) => rule === 2 && at > begin + 84 * hour),
  ],
  [
    "what a sender that is 50 minutes late has not brought yet is too fresh, and nothing is missing",
    () => judgeSix(() => false, { until: fifty }, delayedBy(50 * minute, fifty)),
  ],
  [
    "the same silence of a sender that was never late is likely",
    () => judgeSix((_, at) => at > fifty - 50 * minute, { until: fifty }),
  ],
  [
    "where alerts come by a clock 20 hours behind, what others overtook by an hour is judged",
    () => judgeSix(lostAll, { now: twenty + 20 * hour }, delayedBy(20 * hour, Infinity)),
  ],
  ["a rule that loses all for days is told of", () => judgeSix((rule, at) => rule === 3 && isIn(at, 0, 200))],
])("among alerts that are lost now and then, %s", (_what, report) => expectSaid(report()));

it("an outage of which an earlier version reported a part is not reported again", () => {
  const report = judgeSix(lostAll);
  const told = report.missing.slice(0, 3);
  expect(planGapNews(report, gapMemorySchema.parse({ told: [] })).news).toHaveLength(1);
  expect(planGapNews(report, gapMemorySchema.parse({ told, toldAt: begin })).news).toEqual([]);
});
