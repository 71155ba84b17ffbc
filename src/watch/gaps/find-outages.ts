import { ruleOfTurn } from "../../core/gaps.ts";
import { groupBy } from "../../ground/group-by.ts";
import type { Crossing } from "./crossings.ts";
import { type ToldEnd, turnOf } from "./follow-rules.ts";
import { learnHabits, type Past } from "./habits.ts";
import type { GapRule } from "./read-subscriptions.ts";

/** A crossing that made an alert due, and can be judged. */
export interface Due {
  rule: GapRule;
  crossing: Crossing;
  /** The rule's crossings of the same turn (began or ended), and those of the other turn. */
  past: Past;
  otherPast: Past;
  /** Follows another crossing more closely than any that brought an alert. The rule may rest then. */
  isClose: boolean;
}

/** Crossings in a row without an alert, too many for chance. */
export interface FoundOutage {
  lost: Due[];
  answered: Due[];
  /** The only rule that fell silent while others were answered. Absent: the whole account did. */
  rule?: GapRule;
  /** The chance that as many stay unanswered when nothing is wrong. */
  chance: number;
  /** The number of different changes of metrics: several rules may follow the same change. */
  events: number;
  comesAgainAt?: number;
}

export type Judged = ReturnType<typeof findOutages>;

const leastOdds = 1000;
const leastScore = Math.log(leastOdds);
/** The share of due alerts that an outage loses: a few arrive. */
const lossShare = 0.9;
/** Brief crossings count where the service misses a smaller share of them than this. */
const mostUnseen = 0.2;
/** The least chance of silence for a brief crossing of a single rule: its metric may tremble around the threshold. */
const leastUnseenOfOne = 0.25;
/** The arrivals in a row that end an outage. */
const arrivalsThatEnd = 3;
/** A loss within this time after an outage belongs to it. */
const togetherMs = 3_600_000;
/** The assumed chance that a rule rests at a crossing that `isClose`. */
const restShare = 0.15;
const rounds = 4;

/**
 * Finds the outages among all crossings. Each crossing gets a score: how much likelier it is during an outage than when
 * nothing is wrong. An unanswered one adds ln(0.9 / chance that it is silent anyway), an answered one subtracts. The
 * stretch with the greatest sum is an outage where the odds are 1 to 1,000 or more.
 * The first walk covers the crossings of all rules, so a loss of everything shows within a few of them. Only stretches
 * of several metrics count there. Silence in an outage of the account is no habit of the rules: the habits are learned
 * anew without it, and the walk is repeated until nothing changes. The second walk covers each rule alone. Silence of a
 * single rule stays in its past, so a second silence is no surprise. Pure.
 * @param dues in the order of time
 * @param ends the reported ends of outages. No outage spans one, so a later loss is reported anew
 */
export function findOutages(dues: readonly Due[], ends: readonly ToldEnd[] = []) {
  const sorted = ends.toSorted((a, b) => a.at - b.at);
  const endsOfAll = sorted.filter(({ rules }) => rules === undefined).map(({ at }) => at);
  const endsOf = (rule: GapRule) =>
    sorted.filter(({ rules }) => rules?.has(ruleOfTurn(turnOf(rule)))).map(({ at }) => at);
  const ofRule = groupBy(dues, ({ rule }) => rule);
  let ofAll: FoundOutage[] = [];
  let model = weigh(dues, new Set());
  for (let round = 0; round < rounds; round += 1) {
    const known = new Set(ofAll.flatMap(({ lost }) => lost));
    const runs = findRuns(dues, model, 0, endsOfAll);
    const ofSeveral = runs.filter((run) => new Set(run.lost.map(metricOf)).size > 1);
    ofAll = joinNear(ofSeveral, endsOfAll);
    const lost = ofAll.flatMap((one) => one.lost);
    if (lost.length === known.size && lost.every((due) => known.has(due))) break;
    model = weigh(dues, new Set(lost));
  }
  const taken = new Set(ofAll.flatMap(({ lost }) => lost));
  const ofOne = [...ofRule].flatMap(([rule, list]) => {
    const rest = list.filter((due) => !taken.has(due));
    return findRuns(rest, model, leastUnseenOfOne, endsOf(rule)).map((run) => ({ ...run, rule }));
  });
  const together = new Map(ofOne.flatMap(({ lost }) => lost.map((due) => [due, lost] as const)));
  /** The number of crossings of a past in the same outage of a single rule as `due`. */
  const lostOf = (due: Due, past: Past) =>
    together.get(due)?.filter((one) => one.past === past && model.ownOf(one) > 0).length;
  return {
    outages: [...ofAll, ...ofOne],
    /** The chance that the crossing brought no alert, by its rule's habit or unseen by the service. */
    habitOf: (due: Due) => model.habit(due, lostOf(due, due.past) ?? model.ownOf(due), lostOf(due, due.otherPast) ?? 0),
    /** `habitOf`, or by noise: the service loses single alerts now and then. */
    silenceOf: (due: Due) => model.silence(due, model.ownOf(due), 0),
    /** The number of due crossings of the same past outside this outage. */
    othersOf: (due: Due) => due.past.due - (lostOf(due, due.past) ?? model.ownOf(due)),
  };
}

type Model = ReturnType<typeof weigh>;

function weigh(dues: readonly Due[], explained: ReadonlySet<Due>) {
  const pasts = new Set(dues.map(({ past }) => past));
  const counted = new Set<Due>();
  const countedBrief = new Set<Due>();
  for (const past of pasts) Object.assign(past, { due: 0, answered: 0, unseen: 0 });
  /** Crossings so brief that the service may not see them, by turn. */
  const brief = { true: { due: 1, unseen: 0 }, false: { due: 1, unseen: 0 } };
  /** Unanswered crossings since the last alert, by turn. Several in a row may have one reason, and count once. */
  let silent = { true: false, false: false };
  for (const due of dues) {
    const { crossing, past } = due;
    const isAnswered = crossing.answer !== undefined;
    if (isAnswered) silent = { true: false, false: false };
    if (!isAnswered && explained.has(due)) continue;
    const turn = `${crossing.holds}` as const;
    if (isAnswered && crossing.isBrief) brief[turn].due += 1;
    if (!isAnswered && crossing.mayBeUnseen) {
      if (!silent[turn]) brief[turn] = { due: brief[turn].due + 1, unseen: brief[turn].unseen + 1 };
      silent[turn] = true;
      countedBrief.add(due);
      // A crossing that the service did not see says nothing about its rule.
      past.unseen += 1;
      continue;
    }
    past.due += 1;
    if (isAnswered) past.answered += 1;
    else counted.add(due);
  }
  const rules = new Map(dues.map(({ rule, past, otherPast }) => [rule, [past, otherPast] as const]));
  const habits = learnHabits([...rules.values()]);

  /** `own` and `other`: the numbers of unanswered crossings of the two turns that are left out of the count. */
  function habit(due: Due, own: number, other: number): number {
    const { crossing, past, otherPast, isClose } = due;
    const ofTurn = brief[`${crossing.holds}`];
    const ownBrief = countedBrief.has(due) ? 1 : 0;
    const unseen = crossing.mayBeUnseen ? (ofTurn.unseen - ownBrief + 1) / (ofTurn.due - ownBrief + 1) : 0;
    const ofRule = habits.ofRule([
      { due: past.due - own, answered: past.answered },
      { due: otherPast.due - other, answered: otherPast.answered },
    ]);
    return 1 - (1 - ofRule) * (1 - unseen) * (isClose ? 1 - restShare : 1);
  }
  return {
    habit,
    silence: (due: Due, own: number, other: number) =>
      1 - (1 - habit(due, own, other)) * (1 - habits.noise(counted.has(due))),
    /** 1: the crossing itself is counted in its past. */
    ownOf: (due: Due) => (counted.has(due) ? 1 : 0),
    isExplained: (due: Due) => explained.has(due),
  };
}

/**
 * The stretches of a list whose score is great enough.
 * @param leastUnseen the least chance of silence for a brief crossing
 * @param ends no stretch spans one of them
 */
function findRuns(dues: readonly Due[], model: Model, leastUnseen: number, ends: readonly number[]): FoundOutage[] {
  const runs: FoundOutage[] = [];
  let run = startRun();
  let next = 0;
  const end = (at?: number) => {
    const found = toOutage(run);
    if (run.best >= leastScore) runs.push({ ...found, comesAgainAt: found.comesAgainAt ?? at });
    run = startRun();
  };
  for (const due of dues) {
    const { crossing, past, otherPast } = due;
    for (let at = ends[next]; at !== undefined && crossing.fromAt >= at; at = ends[next]) {
      end(at);
      next += 1;
    }
    if (crossing.answer !== undefined) {
      if (run.list.length === 0) continue;
      run.list.push(due);
      // An alert of a rule that reports only some crossings is weaker evidence.
      run.score += Math.log((1 - lossShare) / (1 - Math.min(model.silence(due, 0, 0), lossShare)));
      run.arrivals += 1;
      if (run.score <= 0 || run.arrivals >= arrivalsThatEnd) end();
      continue;
    }
    // `past` leaves explained crossings out, so each one of this run counts for the next.
    const [before, otherBefore] = [past, otherPast].map((one) => run.silent.get(one) ?? 0) as [number, number];
    const isExplained = model.isExplained(due);
    const chance = isExplained ? model.silence(due, -before, -otherBefore) : model.silence(due, model.ownOf(due), 0);
    if (isExplained && !crossing.mayBeUnseen) run.silent.set(past, before + 1);
    // When the market trembles, the service misses brief crossings of many rules at once.
    const isWeak = crossing.mayBeUnseen && chance > mostUnseen;
    const least = crossing.mayBeUnseen ? leastUnseen : 0;
    const event = `${metricOf(due)} ${crossing.toAt}`;
    // Two rules on one metric see the same change, which counts once.
    if (!isWeak && !run.events.has(event)) {
      run.score += Math.log(lossShare / Math.min(Math.max(chance, least), lossShare));
    }
    run.events.add(event);
    run.list.push(due);
    run.arrivals = 0;
    if (run.score >= run.best) {
      [run.best, run.length, run.bestEvents] = [run.score, run.list.length, run.events.size];
    }
  }
  end();
  return runs;
}

function startRun() {
  return {
    list: [] as Due[],
    score: 0,
    best: 0,
    length: 0,
    bestEvents: 0,
    arrivals: 0,
    events: new Set<string>(),
    silent: new Map<Past, number>(),
  };
}

function toOutage({ list, best, length, bestEvents }: ReturnType<typeof startRun>): FoundOutage {
  const within = list.slice(0, length);
  return {
    lost: within.filter(({ crossing }) => crossing.answer === undefined),
    answered: within.filter(({ crossing }) => crossing.answer !== undefined),
    chance: Math.exp(-best),
    events: bestEvents,
    comesAgainAt: list.slice(length).find(({ crossing }) => crossing.answer !== undefined)?.crossing.answer?.receivedAt,
  };
}

function joinNear(runs: readonly FoundOutage[], ends: readonly number[]): FoundOutage[] {
  const joined: FoundOutage[] = [];
  for (const run of runs) {
    const before = joined.at(-1);
    const lastAt = before?.lost.at(-1)?.crossing.toAt ?? Number.NEGATIVE_INFINITY;
    const firstAt = run.lost[0]?.crossing.fromAt ?? 0;
    const isApart = firstAt - lastAt > togetherMs || ends.some((at) => at <= firstAt && at > lastAt);
    if (before === undefined || isApart) joined.push({ ...run });
    else {
      before.lost = [...before.lost, ...run.lost];
      before.answered = [...before.answered, ...run.answered];
      before.chance *= run.chance;
      before.events += run.events;
      before.comesAgainAt = run.comesAgainAt;
    }
  }
  return joined;
}

function metricOf({ rule }: Due): string {
  return rule.metricKey;
}
