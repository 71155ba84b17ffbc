import type { GapOutage, GapReport, MissingAlert } from "../../contract/operations.ts";
import { type Downtime, describeOdds, type GapSight, type RuleTurn, ruleOfTurn } from "../../core/gaps.ts";
import { type Crossing, firstFrom } from "./crossings.ts";
import { type Due, type FoundOutage, findOutages, type Judged } from "./find-outages.ts";
import {
  createReasons,
  followRules,
  type GapEvidence,
  type JudgedRule,
  nameOf,
  toMinute,
  turnOf,
} from "./follow-rules.ts";
import { type Context, createContext, downId, maySay, mostLateMs } from "./gap-context.ts";
import type { Past } from "./habits.ts";
import type { GapRule } from "./read-subscriptions.ts";
import type { Sighting } from "./sightings.ts";

/** The greatest chance of silence by the rule's habit, for each verdict. */
const mostHabit = { sure: 1 / 150, likely: 1 / 5 };
/** Outside of an outage a missing alert is likely at this chance of silence or less. */
const mostSilence = 1 / 10;
/** An outage is sure with this many events, and a chance of at most this. */
const sureOutage = { events: 3, chance: 1e-4 };
/** This many equally brief crossings must have brought an alert, and none failed to. More without a known downtime. */
const leastBrief = { whileDown: 3, else: 20 };
/** How long an alert may be on its way, unless the sender is known to be later. */
const onItsWayMs = { whileDown: 15 * 60_000, else: 60 * 60_000 };
/** A running relay saves each minute that it runs. */
const mostUnsavedMs = 2 * 60_000;
/** A rule may rest after an alert. A crossing within this share of the shortest seen rest is close. */
const shortestShare = 0.9;

/**
 * Compares expected alerts with those that came. Every crossing in the records ends as one of these:
 *     answered ── an alert of it came
 *     not due ─── before the first alert came here, before the rule was there, while the account was off
 *     too fresh ─ its alert may be on the way still: how late the alerts of this account come is learned
 *     unclear ─── something else may be the reason, or the rule does not report each
 *     missing ─── sure or likely
 * *Likely*: chance would seldom explain the silence, by the habits of the rule (`learnHabits`) and by the alerts that
 * are missing with it (`findOutages`). *Sure*: `doubtsOf` has no doubt. No relay ran, or chance explains its outage
 * once in 10,000 times. The rule reports each crossing. Later alerts have come, so the missing one is not on its way.
 * Pure.
 */
export function judgeGaps(evidence: GapEvidence): GapReport {
  const { since, until, now, subscriptions, sightings } = evidence;
  const reasons = createReasons();
  const { judged, unmatched } = followRules(evidence, reasons);
  const isWithin = ({ fromAt, toAt }: Downtime) => toAt > since && fromAt < until;
  const arrivals = sightings.map(({ receivedAt }) => receivedAt).sort((a, b) => a - b);
  const downtimes = evidence.downtimes.flatMap((down) =>
    down.restored === true ? [] : withoutArrivals(down, arrivals),
  );
  const unlogged = evidence.downtimes.filter((down) => down.restored === true);
  const context = createContext({ ...evidence, downtimes }, judged, unmatched);
  const sorted = judged.flatMap((rule) => sortCrossings(rule, context));
  const plain = sorted.filter(({ kind, whileDown, wasAway }) => kind === "due" && !whileDown && !wasAway);
  const dues = plain.map(({ due }) => due).sort((a, b) => a.crossing.toAt - b.crossing.toAt);
  const model = findOutages(dues, evidence.ends);
  const outageOf = new Map(model.outages.flatMap((outage) => outage.lost.map((due) => [due, outage] as const)));
  const isProven = provenBrief(sorted, outageOf);
  const missing: MissingAlert[] = [];
  const counts = { answered: 0, fresh: 0, unclear: 0 };
  for (const one of sorted.filter(({ due }) => isWithin(due.crossing))) {
    const found = verdictOf(one, { model, outage: outageOf.get(one.due), isProven, context });
    if (found === "answered" || found === "fresh") counts[found] += 1;
    else if (typeof found !== "string") missing.push(found);
    else {
      counts.unclear += 1;
      reasons.add(nameOf(one.due.rule), found, { crossings: 1 });
    }
  }
  if ("failed" in subscriptions) reasons.add("subscriptions", subscriptions.failed, { isFirst: true });
  if (sightings.length === 0 && judged.length > 0) {
    reasons.add("the log", "it has no alert of that time", { isFirst: true });
  }
  for (const { toAt } of unlogged.filter(isWithin)) reasons.add("the log", writeRestored(toAt), { isFirst: true });
  const spacings = judged.flatMap(({ found }) => (found.everyMs > 0 ? [found.everyMs] : []));
  const within = judged.flatMap(({ found, notDue }) => [...found.crossings, ...notDue].filter(isWithin));
  return {
    since,
    until,
    checkedAt: now,
    downtimes: [...downtimes, ...unlogged]
      .filter(isWithin)
      .sort((a, b) => a.fromAt - b.fromAt)
      .map(({ asleep = false, restored = false, ...span }) => ({ ...span, asleep, restored })),
    missing: missing.sort((a, b) => b.toAt - a.toAt),
    outages: [
      ...model.outages.map((outage) => toGapOutage(outage, missing)),
      ...downtimes.map((down) => toDownOutage(down, sorted, missing)),
    ].filter(({ lost }) => lost > 0),
    unknown: reasons.list(),
    rules: judged.length,
    crossings: within.length,
    ...counts,
    notDue: judged.reduce((sum, { notDue }) => sum + notDue.filter(isWithin).length, 0),
    freshMs: context.freshMs,
    lastAlertAt: context.newestAt,
    recordEveryMs: spacings.length === 0 ? undefined : Math.max(...spacings),
    sight: sightOf(evidence, judged),
  };
}

function sightOf({ subscriptions, unreadSince }: GapEvidence, judged: readonly JudgedRule[]): GapSight {
  const ruleOf = (rule: GapRule) => ruleOfTurn(turnOf(rule));
  return {
    answers: judged.flatMap(({ rule, found }) =>
      found.crossings
        .filter(({ answer }) => answer !== undefined)
        .map(({ holds, fromAt, toAt }) => ({ ...turnOf(rule), status: statusOf(holds), fromAt, toAt })),
    ),
    compared: judged.map(({ rule }) => ruleOf(rule)),
    // Services sometimes give an empty list, which does not show that the rules are gone.
    existing:
      "failed" in subscriptions || subscriptions.unread.length > 0 || subscriptions.rules.length === 0
        ? undefined
        : subscriptions.rules.map(ruleOf),
    isBehind: unreadSince !== undefined,
  };
}

function statusOf(holds: boolean): RuleTurn["status"] {
  return holds ? "firing" : "resolved";
}

function writeRestored(at: number): string {
  return `it was restored from a backup at ${toMinute(at)}: what arrived since the last alert of the backup is not in it`;
}

/** A downtime may begin up to a minute before the relay stopped. An alert that came later shows that the relay ran. */
function withoutArrivals(down: Downtime, arrivals: readonly number[]): Downtime[] {
  const fromAt = arrivals[firstFrom(arrivals, down.toAt, (at) => at) - 1];
  if (fromAt === undefined || fromAt <= down.fromAt) return [down];
  return fromAt - down.fromAt > mostUnsavedMs ? [] : [{ ...down, fromAt }];
}

interface Sorted {
  judged: JudgedRule;
  due: Due;
  kind: "due" | "fresh" | "unclear";
  /** Set for `unclear`. */
  why?: string;
  whileDown: boolean;
  wasAway: boolean;
  /** The rule may have its present condition only since after the crossing. */
  isYounger: boolean;
}

function sortCrossings(judged: JudgedRule, context: Context): Sorted[] {
  const { rule, told, found } = judged;
  const pasts = { true: { due: 0, answered: 0, unseen: 0 }, false: { due: 0, answered: 0, unseen: 0 } };
  return [true, false].flatMap((holds) => {
    const turns = found.crossings.filter((crossing) => crossing.holds === holds);
    const answered = turns.filter(({ answer }) => answer !== undefined);
    const answers = new Set(answered.map(({ answer }) => answer));
    const untimed = told.filter((sighting) => !sighting.hasOwnTime && !answers.has(sighting));
    const shortest = {
      sameMs: Math.min(...answered.map(({ since }) => since?.sameMs ?? Number.POSITIVE_INFINITY)),
      anyMs: Math.min(...answered.map(({ since }) => since?.anyMs ?? Number.POSITIVE_INFINITY)),
    };
    const [past, otherPast]: [Past, Past] = holds ? [pasts.true, pasts.false] : [pasts.false, pasts.true];
    const what = holds ? "crossings" : "returns";
    return turns.map((crossing): Sorted => {
      const { fromAt, answer, since } = crossing;
      const isClose =
        since !== undefined &&
        (since.sameMs < shortest.sameMs * shortestShare || since.anyMs < shortest.anyMs * shortestShare);
      const due: Due = { rule, crossing, past, otherPast, isClose };
      const seen = { judged, due, whileDown: context.isDown(crossing), wasAway: context.wasAway(crossing) };
      if (answer !== undefined) return { ...seen, isYounger: false, kind: "due" };
      const before = answered.filter(({ toAt }) => toAt <= fromAt);
      const isYounger = rule.since !== undefined ? rule.since > fromAt : before.length === 0;
      // An earlier alert with exactly this threshold shows that the rule existed then.
      const wasThere = before.some((one) => one.answer?.threshold === rule.threshold);
      const common = { ...seen, isYounger };
      if (context.isFresh(crossing)) return { ...common, kind: "fresh" };
      const why = crossing.hasHole
        ? "records are missing where it may have crossed its threshold"
        : (context.mayHaveCome(crossing) ??
          (answered.length === 0
            ? !holds && told.length > 0 && told.every((sighting) => sighting.holds !== false)
              ? "it has never reported that its condition ended"
              : `none of its ${what} brought an alert so far, so it is not known whether one should have`
            : isYounger && !wasThere
              ? "it may be younger than the crossing"
              : isYounger && !seen.whileDown
                ? "it was changed or switched on after that, and may have been off"
                : untimed.some((sighting) => mayBeLate(sighting, crossing))
                  ? "an alert that arrived later without a time of its own may be the one"
                  : undefined));
      return { ...common, kind: why === undefined ? "due" : "unclear", why };
    });
  });
}

/** Whether the service reports crossings as brief as this one: enough of them brought an alert, and none failed to. */
function provenBrief(sorted: readonly Sorted[], outageOf: ReadonlyMap<Due, FoundOutage>) {
  const seen = { true: { told: 0, missed: 0 }, false: { told: 0, missed: 0 } };
  for (const { due, whileDown, kind } of sorted) {
    const { answer, isBrief, mayBeUnseen, holds, hasHole } = due.crossing;
    if (whileDown || hasHole || kind === "fresh") continue;
    if (answer !== undefined && isBrief) seen[`${holds}`].told += 1;
    const outage = outageOf.get(due);
    const isExplained = outage !== undefined && outage.rule === undefined;
    if (answer === undefined && mayBeUnseen && !isExplained) seen[`${holds}`].missed += 1;
  }
  return ({ holds }: Crossing, whileDown: boolean) => {
    const { told, missed } = seen[`${holds}`];
    return missed === 0 && told >= (whileDown ? leastBrief.whileDown : leastBrief.else);
  };
}

interface Judging {
  model: Judged;
  outage?: FoundOutage;
  isProven: ReturnType<typeof provenBrief>;
  context: Context;
}

/** Any other text says why the crossing cannot be judged. */
function verdictOf(one: Sorted, judging: Judging): MissingAlert | "answered" | "fresh" | string {
  const { kind, why, due, whileDown, wasAway } = one;
  const { model, outage, context } = judging;
  const { crossing, rule, past } = due;
  if (crossing.answer !== undefined) return "answered";
  if (kind === "fresh") return "fresh";
  if (why !== undefined) return why;
  const isExplained = whileDown || wasAway || outage !== undefined;
  const habit = model.habitOf(due);
  const chance = isExplained ? Math.min(1, habit + (outage?.chance ?? 0)) : model.silenceOf(due);
  const others = model.othersOf(due);
  const what = crossing.holds ? "crossings" : "returns";
  if (chance > (isExplained ? mostHabit.likely : mostSilence)) {
    if (crossing.mayBeUnseen) return "it was so brief that the service may not have seen it";
    if (due.isClose) return "it follows another more closely than any that brought an alert";
    return `only ${past.answered} of ${others} other ${what} brought an alert, so it may not report each`;
  }
  const [doubt] = doubtsOf(one, judging, habit);
  const seen = `${past.answered} of ${others} other ${what} brought an alert`;
  const odds = Math.floor(1 / chance);
  const { holds, fromAt, toAt, before, after } = crossing;
  return {
    verdict: doubt === undefined ? "sure" : "likely",
    odds,
    rule: rule.name,
    ...turnOf(rule),
    metricName: rule.metricName,
    status: statusOf(holds),
    fromAt,
    toAt,
    before,
    after,
    reason:
      doubt === undefined
        ? `${seen}; ${whileDown ? "Tocsin did not run" : "Tocsin ran, and nothing arrived"}`
        : `${describeOdds(odds)} that it is chance; ${doubt}; ${seen}`,
    whileDown,
    outage: whileDown || wasAway ? context.downIdOf(crossing) : outage && idOf(outage),
  };
}

function idOf({ rule, lost }: FoundOutage): string {
  return `${rule === undefined ? "all" : nameOf(rule)} ${lost[0]?.crossing.fromAt}`;
}

function toGapOutage(outage: FoundOutage, missing: readonly MissingAlert[]): GapOutage {
  const { rule, answered, comesAgainAt } = outage;
  return {
    ...sumUp(idOf(outage), answered.length, missing),
    rule: rule && nameOf(rule),
    whileDown: false,
    comesAgainAt,
  };
}

function toDownOutage(down: Downtime, sorted: readonly Sorted[], missing: readonly MissingAlert[]): GapOutage {
  const answered = sorted.filter(
    ({ due: { crossing } }) => crossing.answer && crossing.fromAt < down.toAt && crossing.toAt > down.fromAt,
  );
  return {
    ...sumUp(downId(down), answered.length, missing),
    whileDown: down.asleep !== true,
    asleep: down.asleep,
    comesAgainAt: down.toAt,
  };
}

/** @param answered the number of the outage's crossings that brought an alert */
function sumUp(id: string, answered: number, missing: readonly MissingAlert[]) {
  const entries = missing.filter(({ outage }) => outage === id);
  const fromAt = Math.min(...entries.map((one) => one.fromAt));
  const toAt = Math.max(...entries.map((one) => one.toAt));
  return { id, fromAt, toAt, due: entries.length + answered, lost: entries.length };
}

function doubtsOf(one: Sorted, { outage, isProven, context }: Judging, habit: number): string[] {
  const { due, whileDown, wasAway, isYounger, judged } = one;
  const { rule, crossing, past } = due;
  const isSureOutage =
    outage !== undefined &&
    outage.rule === undefined &&
    outage.events >= sureOutage.events &&
    outage.chance <= sureOutage.chance;
  const doubts = [
    rule.kind === "change" && "how the service compares over a time is not documented",
    isYounger && "it was changed or switched on after that",
    rule.rests !== undefined && `its member ${rule.rests} may keep it silent at times`,
    wasAway && "the machine was asleep then, or its clock was set",
    crossing.mayBeUnseen && !isProven(crossing, whileDown) && "it may have been too brief for the service to see",
    due.isClose && "it follows another more closely than any that brought an alert",
    rule.from === "alerts" &&
      !judged.told.some(({ at }) => at >= crossing.toAt) &&
      "no subscription that could be read has this rule, and it has sent nothing since",
    whileDown && context.mayStillCome(crossing) && "others of that time arrived late, so it may still arrive",
    past.unseen > (crossing.mayBeUnseen ? 1 : 0) && "others of this rule were so brief that they brought none",
    !crossing.mayBeUnseen &&
      !due.isClose &&
      habit > mostHabit.sure &&
      (past.answered === past.due ? "it has brought few alerts so far" : "others of this rule brought none either"),
    !whileDown && outage?.rule !== undefined && "only this rule is silent, so it may be the rule that has changed",
    !whileDown && !isSureOutage && "Tocsin ran, and too few others are missing with it",
    context.isOnItsWay(crossing, whileDown ? onItsWayMs.whileDown : onItsWayMs.else) && "it may still be on its way",
  ];
  return doubts.filter((doubt) => doubt !== false);
}

/** The alert came within hours after the crossing, and reports no other crossing. */
function mayBeLate(sighting: Sighting, crossing: Crossing): boolean {
  const afterMs = sighting.receivedAt - crossing.toAt;
  return maySay(sighting, crossing) && afterMs > 0 && afterMs <= mostLateMs;
}
