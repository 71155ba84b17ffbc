import type { Downtime, GapReport, MissingAlert, UnknownGap } from "../../core/gaps.ts";
import type { HistoryPoint } from "../../core/ports/metric-history.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { type Crossing, type CrossingsFound, findCrossings, lookTimeOf } from "./crossings.ts";
import type { GapRule, ReadSubscriptions } from "./read-subscriptions.ts";
import { attribute, revealRules, type Sighting } from "./sightings.ts";

export interface GapEvidence {
  /** What is looked at. What lies before it, as far as it is given, only shows how the rules behave. */
  since: number;
  until: number;
  now: number;
  /** Why there are none, in words, where the service did not give them. */
  subscriptions: ReadSubscriptions | { failed: string };
  /** By key of the metric. A text: why there is no history, in words. */
  histories: ReadonlyMap<string, { points: readonly HistoryPoint[]; unread: number } | string>;
  /** In any order. */
  sightings: readonly Sighting[];
  downtimes: readonly Downtime[];
  /** Before that the log is not whole: alerts of then may have been removed. Default: as far back as it goes. */
  logSince?: number;
  /** Alerts that came then or later are stored, and not read yet. Absent: all are read. */
  unreadSince?: number;
  /** The account was made to send nothing here, by whoever runs this relay. */
  offs?: readonly Downtime[];
}

/** So many crossings must have brought an alert, and none failed to, before a missing one is sure. */
const leastAnswered = 3;
/** Without a known downtime, so many must be missing in one stretch in which nothing came. */
const leastTogether = 3;
/** So many that were as brief must have brought an alert, and none failed to. More without a known downtime. */
const leastBrief = { whileDown: 3, else: 20 };
/** A service that repeats what failed may still send it. */
const stillComesMs = 15 * 60_000;
/** One that is known to repeat does so for hours. */
const mostLateMs = 6 * 3_600_000;
const lateMs = 60_000;
/** A relay saves each minute that it runs. */
const mostUnsavedMs = 2 * 60_000;
/** Records may be this old before they count as missing. */
const staleMs = 3_600_000;
/** A rule that brought an alert this often is likely to have owed one. */
const likelyShare = 0.8;
/** A rule may keep silent for a while after each alert; what comes sooner than the shortest such time is unsure. */
const shortestShare = 0.9;

/**
 * Compares what should have come with what came. An alert is expected where the records cross a rule's threshold; how
 * the rule has behaved at the other crossings says how sure a missing one is. Pure.
 */
export function judgeGaps(evidence: GapEvidence): GapReport {
  const { since, until, now, subscriptions, sightings } = evidence;
  const unknown: UnknownGap[] = [];
  const { judged, unmatched } = followRules(evidence, unknown);
  const isWithin = ({ fromAt, toAt }: Downtime) => toAt > since && fromAt < until;
  const arrivals = sightings.map(({ receivedAt }) => receivedAt).sort((a, b) => a - b);
  const downtimes = evidence.downtimes.flatMap((down) =>
    down.restored === true ? [] : withoutArrivals(down, arrivals),
  );
  const unlogged = evidence.downtimes.filter((down) => down.restored === true);
  const context = createContext({ ...evidence, downtimes }, judged, unmatched);
  const suspects = judged.flatMap((one) => suspectsOf(one, evidence, context, unknown));
  const together = countTogether(suspects);
  // Why nothing came is known: the relay was down, or several that are beyond doubt are missing together.
  const missing = suspects.map((suspect) =>
    toMissing(suspect, suspect.whileDown || (together.get(suspect.stretch) ?? 0) >= leastTogether),
  );
  const within = judged.flatMap(({ found }) => found.crossings.filter(isWithin));
  const spacings = judged.flatMap(({ found }) => (found.everyMs > 0 ? [found.everyMs] : []));
  if ("failed" in subscriptions) unknown.unshift({ what: "subscriptions", why: subscriptions.failed });
  if (sightings.length === 0 && judged.length > 0)
    unknown.unshift({ what: "the log", why: "it has no alert of that time" });
  for (const { toAt } of unlogged.filter(isWithin)) unknown.unshift({ what: "the log", why: writeRestored(toAt) });
  return {
    since,
    until,
    checkedAt: now,
    downtimes: [...downtimes, ...unlogged].filter(isWithin).sort((a, b) => a.fromAt - b.fromAt),
    missing: missing.sort((a, b) => b.toAt - a.toAt),
    unknown,
    rules: judged.length,
    crossings: within.length,
    answered: within.filter(({ answer }) => answer !== undefined).length,
    recordEveryMs: spacings.length === 0 ? undefined : Math.max(...spacings),
  };
}

function writeRestored(at: number): string {
  return `it was restored from a backup at ${toMinute(at)}: what came since the last alert of the backup is not in it`;
}

/**
 * What it is worth as a time in which no relay ran, since alerts came in it: it began up to a minute before the relay
 * stopped, and where more came later the relay ran, and did not say so.
 */
function withoutArrivals(down: Downtime, arrivals: readonly number[]): Downtime[] {
  const fromAt = arrivals[firstFrom(arrivals, down.toAt, (at) => at) - 1];
  if (fromAt === undefined || fromAt <= down.fromAt) return [down];
  return fromAt - down.fromAt > mostUnsavedMs ? [] : [{ ...down, fromAt }];
}

/** Each rule whose alerts and records can be compared, with its crossings, and the alerts that are of no rule. */
function followRules(
  evidence: GapEvidence,
  unknown: UnknownGap[],
): { judged: JudgedRule[]; unmatched: readonly Sighting[] } {
  const rules = collectRules(evidence, unknown);
  const { ofRule, unclear, others } = attribute(rules, evidence.sightings);
  const lookMs = lookTimeOf(ofRule.values());
  // Before the first of their alerts the service may not have sent here.
  const logBeganAt = Math.max(
    evidence.logSince ?? 0,
    Math.min(...[...ofRule.values()].flatMap(([first]) => first?.at ?? [])),
  );
  const unheard = [...(evidence.offs ?? []), ...evidence.downtimes.filter((down) => down.restored === true)];
  const isExpected = ({ until = Number.POSITIVE_INFINITY }: GapRule, { fromAt, toAt, dueUntil }: Crossing) =>
    toAt >= logBeganAt && toAt < until && !unheard.some((time) => fromAt < time.toAt && dueUntil > time.fromAt);
  const judged = rules.flatMap((rule) => {
    const history = evidence.histories.get(rule.metricKey);
    const told = ofRule.get(rule) ?? [];
    const why =
      history === undefined
        ? "its metric was not looked at: there are too many"
        : typeof history === "string"
          ? history
          : unclear.has(rule)
            ? "its alerts cannot be told from those of another rule"
            : history.points.length < 2
              ? `the service has no records of ${rule.metricKey}`
              : undefined;
    if (why !== undefined || history === undefined || typeof history === "string") {
      unknown.push({ what: nameOf(rule), why: why ?? "" });
      return [];
    }
    const found = findCrossings(rule, history.points, told, lookMs);
    const limit = describeLimit(history, found.everyMs, evidence);
    if (limit !== undefined) unknown.push({ what: nameOf(rule), why: limit });
    // What was answered was due, whatever is known of its time.
    const crossings = found.crossings.filter((one) => one.answer !== undefined || isExpected(rule, one));
    return [{ rule, told, found: { ...found, crossings } }];
  });
  return { judged, unmatched: others };
}

/** What of a history is not there. */
function describeLimit(
  { points, unread }: { points: readonly HistoryPoint[]; unread: number },
  everyMs: number,
  { since, until }: Pick<GapEvidence, "since" | "until">,
): string | undefined {
  const slackMs = Math.max(staleMs, 5 * everyMs);
  const firstAt = points[0]?.at ?? until;
  const lastAt = points.at(-1)?.at ?? since;
  const limits = [
    lastAt < until - slackMs && `its records end at ${toMinute(lastAt)}`,
    firstAt > since + slackMs && `its records begin at ${toMinute(firstAt)}`,
    unread > 0 && `${unread} of its records have no time or no value that can be read`,
  ];
  return limits.filter((limit) => limit !== false).join(", ") || undefined;
}

function toMinute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16)}Z`;
}

interface JudgedRule {
  rule: GapRule;
  told: Sighting[];
  found: CrossingsFound;
}

/** The subscriptions' rules, and those that alerts reveal where the subscriptions leave room for them. */
function collectRules({ subscriptions, sightings, histories }: GapEvidence, unknown: UnknownGap[]): GapRule[] {
  const isKey = (word: string) => histories.has(word);
  if ("failed" in subscriptions) return revealRules(sightings, isKey);
  const { rules, unread } = subscriptions;
  if (unread.length === 0) return rules;
  const keys = new Set(unread.map(({ metricKey }) => metricKey));
  // A rule that no subscription has any more is over; one that could not be read may be what alerts reveal.
  const revealed = revealRules(attribute(rules, sightings).others, isKey).filter(
    ({ metricKey }) => keys.has(metricKey) || keys.has(undefined),
  );
  const isRevealed = (key: string | undefined) => revealed.some(({ metricKey }) => metricKey === key);
  for (const { what, why, metricKey } of unread) if (!isRevealed(metricKey)) unknown.push({ what, why });
  return [...rules, ...revealed];
}

/** What is true of a crossing among all others. */
interface Context {
  isDown(crossing: Crossing): boolean;
  /** The time between two alerts, whichever rule's, in which it lies. */
  stretchOf(crossing: Crossing): Stretch;
  /** The service has told of others that were as brief, and failed to tell of none. */
  isProvenBrief(crossing: Crossing): boolean;
  /** It has told of nearly all that were. */
  isBriefTold(crossing: Crossing): boolean;
  /** Others of the same downtime came when it was over, so this one may still come. */
  mayStillCome(crossing: Crossing): boolean;
  /** Why what came then may hold it after all; absent: nothing that came can. */
  mayHaveCome(crossing: Crossing): string | undefined;
  /** The relay did nothing then, or its clock was set: which of the two nobody can say. */
  wasAway(crossing: Crossing): boolean;
}

function createContext(
  { downtimes, sightings, until, now, unreadSince }: GapEvidence,
  judged: JudgedRule[],
  unmatched: readonly Sighting[],
): Context {
  const overlaps = (crossing: Crossing) => (down: Downtime) =>
    crossing.fromAt < down.toAt && crossing.dueUntil > down.fromAt;
  const isDown = (crossing: Crossing) => downtimes.some((down) => down.asleep !== true && overlaps(crossing)(down));
  const loose = unmatched.toSorted((a, b) => a.at - b.at);
  const misdated = sightings.filter(({ isAhead }) => isAhead);
  const stretches = quietStretches(judged, until);
  const stretchOf = (crossing: Crossing) => findStretch(stretches, crossing);
  const crossings = judged.flatMap(({ found }) => found.crossings.filter(({ hasHole }) => !hasHole));
  /** Whether it began and whether it ended are told of apart: some services tell of one alone. */
  const brief = new Map(
    [true, false].map((holds) => {
      const turns = crossings.filter((one) => one.holds === holds);
      const told = turns.filter(({ answer, isBrief }) => answer !== undefined && isBrief).length;
      const missed = turns.filter((one) => one.answer === undefined && one.mayBeUnseen && !isDown(one));
      return [holds, { told, missed: missed.length, stretches: new Set(missed.map(stretchOf)) }];
    }),
  );
  const repeatedAt = sightings.filter(({ at, receivedAt, hasOwnTime }) => hasOwnTime && receivedAt - at > lateMs);
  return {
    isDown,
    stretchOf,
    isBriefTold({ holds }) {
      const { told = 0, missed = 0 } = brief.get(holds) ?? {};
      return told >= likelyShare * (told + missed);
    },
    isProvenBrief(crossing) {
      const { told = 0, stretches = [] } = brief.get(crossing.holds) ?? {};
      const least = isDown(crossing) ? leastBrief.whileDown : leastBrief.else;
      return told >= least && [...stretches].every((stretch) => stretch === stretchOf(crossing));
    },
    mayStillCome: (crossing) =>
      downtimes.some(
        (down) =>
          overlaps(crossing)(down) &&
          now - down.toAt < mostLateMs &&
          repeatedAt.some(({ at }) => at >= down.fromAt && at < down.toAt),
      ),
    wasAway: (crossing) => downtimes.some((down) => down.asleep === true && overlaps(crossing)(down)),
    mayHaveCome(crossing) {
      const { fromAt, toAt, dueUntil } = crossing;
      if (unreadSince !== undefined && unreadSince - toAt < mostLateMs) return "alerts that came wait to be read";
      for (let index = firstFrom(loose, fromAt - lateMs, ({ at }) => at); index < loose.length; index += 1) {
        const one = loose[index] as Sighting;
        if (one.at > dueUntil) break;
        if (maySay(one, crossing)) return "an alert came then of which nobody can say which rule sent it";
      }
      const isNear = misdated.some(({ at }) => Math.abs(at - toAt) < mostLateMs);
      return isNear ? "alerts of that time came dated ahead, so the clock of one side was wrong" : undefined;
    },
  };
}

/** The place of the first that is not before `at`. */
function firstFrom<T>(sorted: readonly T[], at: number, atOf: (one: T) => number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (atOf(sorted[middle] as T) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** It does not say the opposite. */
function maySay({ holds }: Sighting, crossing: Crossing): boolean {
  return holds === undefined || holds === crossing.holds;
}

/** A crossing of which no alert came. */
interface Suspect {
  rule: GapRule;
  crossing: Crossing;
  whileDown: boolean;
  stretch: Stretch;
  /** What speaks against it, the first of it. */
  doubt?: string;
  /** How the rule behaved otherwise. */
  seen: string;
}

function suspectsOf(
  judged: JudgedRule,
  { since, until, now }: GapEvidence,
  context: Context,
  unknown: UnknownGap[],
): Suspect[] {
  const suspects: Suspect[] = [];
  const untold: string[] = [];
  for (const holds of [true, false]) {
    const turns = judged.found.crossings.filter((crossing) => crossing.holds === holds);
    const behaviour = summarizeTurns(turns, judged, context);
    for (const crossing of turns) {
      const { answer, fromAt, toAt } = crossing;
      const isAsked = toAt > since && fromAt < until && toAt <= Math.min(until, now - stillComesMs);
      if (answer !== undefined || !isAsked) continue;
      const suspect = suspectOf(crossing, behaviour, judged, context);
      if (typeof suspect === "string") untold.push(suspect);
      else suspects.push(suspect);
    }
  }
  for (const [why, count] of countEach(untold)) {
    unknown.push({ what: nameOf(judged.rule), why: count === 1 ? why : `${why} (${count} crossings)` });
  }
  return suspects;
}

/** How a rule behaved at all its crossings of one kind: counted once, since there may be thousands. */
interface Behaviour {
  answered: Crossing[];
  /** Those that brought nothing while the relay ran, by the stretch in which they lie. */
  quiet: Map<Stretch, number>;
  quietInAll: number;
  /** Alerts without a time of their own that answer none of them. */
  untimed: Sighting[];
  shortestMs: number;
}

function summarizeTurns(turns: Crossing[], { told }: JudgedRule, { isDown, stretchOf }: Context): Behaviour {
  const answered = turns.filter(({ answer }) => answer !== undefined);
  const answers = new Set(answered.map(({ answer }) => answer));
  const quiet = new Map<Stretch, number>();
  for (const one of turns) {
    if (one.answer !== undefined || one.hasHole || isDown(one)) continue;
    const stretch = stretchOf(one);
    quiet.set(stretch, (quiet.get(stretch) ?? 0) + 1);
  }
  return {
    answered,
    quiet,
    quietInAll: [...quiet.values()].reduce((sum, count) => sum + count, 0),
    untimed: told.filter((sighting) => !sighting.hasOwnTime && !answers.has(sighting)),
    shortestMs: Math.min(...answered.map(({ sinceLastMs = Number.POSITIVE_INFINITY }) => sinceLastMs)),
  };
}

/** A text: why it cannot be told. */
function suspectOf(
  crossing: Crossing,
  { answered, quiet, quietInAll, untimed, shortestMs }: Behaviour,
  { rule, told }: JudgedRule,
  { isDown, stretchOf, isProvenBrief, isBriefTold, mayStillCome, mayHaveCome, wasAway }: Context,
): Suspect | string {
  const { holds, fromAt, toAt, mayBeUnseen, hasHole, sinceLastMs } = crossing;
  const whileDown = isDown(crossing);
  const stretch = stretchOf(crossing);
  const against = quietInAll - (quiet.get(stretch) ?? 0);
  const what = holds ? "crossings" : "returns";
  if (hasHole) return "records are missing where it may have crossed its threshold";
  const came = mayHaveCome(crossing);
  if (came !== undefined) return came;
  if (answered.length === 0) {
    if (!holds && told.length > 0 && told.every((sighting) => sighting.holds !== false)) {
      return "it has never told that its condition ended";
    }
    return `none of its ${what} brought an alert so far, so whether this one should have is not known`;
  }
  const others = answered.length + against;
  if (answered.length / others < likelyShare) {
    return `only ${answered.length} of ${others} ${what} brought an alert, so it does not tell of each`;
  }
  if (!whileDown && against > 0) {
    return `${against} of ${others} other ${what} brought no alert either, at a time when Tocsin ran`;
  }
  const isUnseen = mayBeUnseen && !isProvenBrief(crossing);
  if (isUnseen && !isBriefTold(crossing))
    return "others that were as brief brought no alert: the service may not have seen it";
  const before = answered.filter(({ toAt: at }) => at <= fromAt);
  const isYounger = rule.since !== undefined ? rule.since > fromAt : before.length === 0;
  // What came before with this very threshold says that the rule was there, whatever has been changed of it since.
  const wasThere = before.some(({ answer }) => answer?.threshold === rule.threshold);
  if (isYounger && !wasThere) return "it may be younger than the crossing";
  if (untimed.some((sighting) => mayBeLate(sighting, crossing))) {
    return "an alert that came later and says no time of its own may be the one";
  }
  const doubts = [
    rule.kind === "change" && "how the service compares over a time is not documented",
    isYounger && "it was changed or switched on after that",
    rule.rests !== undefined && `its member ${rule.rests} may keep it silent at times`,
    wasAway(crossing) && "the machine was asleep then, or its clock was set",
    answered.length < leastAnswered && `only ${answered.length} of its ${what} brought an alert so far`,
    against > 0 && `${against} other ${what} brought none either`,
    isUnseen && "it may have been too brief for the service to see",
    sinceLastMs !== undefined &&
      sinceLastMs < shortestMs * shortestShare &&
      "it follows another more closely than any that brought an alert",
    rule.from === "alerts" &&
      !answered.some(({ fromAt: at }) => at >= toAt) &&
      "no subscription that could be read has this rule, and it has sent nothing since",
    mayStillCome(crossing) && "others of that time came late, so it may still come",
  ];
  const doubt = doubts.find((one) => one !== false) || undefined;
  const seen = `${answered.length} of ${others} other ${what} brought an alert`;
  return { rule, crossing, whileDown, stretch, doubt, seen };
}

/** How many events that are beyond doubt are missing in each stretch. */
function countTogether(suspects: readonly Suspect[]): Map<Stretch, number> {
  const events = new Map<Stretch, Set<string>>();
  for (const { doubt, stretch, rule, crossing } of suspects) {
    if (doubt !== undefined) continue;
    const known = events.get(stretch) ?? new Set();
    events.set(stretch, known.add(`${rule.metricKey} ${crossing.toAt}`));
  }
  return new Map([...events].map(([stretch, { size }]) => [stretch, size]));
}

function toMissing({ rule, crossing, whileDown, doubt, seen }: Suspect, isKnownWhy: boolean): MissingAlert {
  const { holds, fromAt, toAt, before, after } = crossing;
  const why = doubt ?? (isKnownWhy ? undefined : "Tocsin ran, and too few others are missing with it");
  const where = whileDown ? "Tocsin did not run" : "Tocsin ran, and nothing came";
  return {
    verdict: why === undefined ? "sure" : "likely",
    rule: rule.name,
    metricKey: rule.metricKey,
    metricName: rule.metricName,
    condition: describeCondition(rule),
    status: holds ? "firing" : "resolved",
    fromAt,
    toAt,
    before,
    after,
    reason: why === undefined ? `${seen}; ${where}` : `${why}; ${seen}`,
    whileDown,
  };
}

/** It came within hours and tells what no crossing of its own explains. */
function mayBeLate(sighting: Sighting, crossing: Crossing): boolean {
  const afterMs = sighting.receivedAt - crossing.toAt;
  if (!maySay(sighting, crossing)) return false;
  return afterMs > 0 && afterMs <= mostLateMs;
}

/** "sub_1 (USDC price above 3300)" */
function nameOf(rule: GapRule): string {
  const { name, metricKey, metricName = metricKey, from } = rule;
  return from === "alerts" ? name : `${name} (${metricName} ${describeCondition(rule)})`;
}

function describeCondition({ kind, threshold, windowMs }: GapRule): string {
  return kind === "change" ? `moved ${threshold} % in ${formatDuration(windowMs ?? 0)}` : `${kind} ${threshold}`;
}

interface Stretch {
  fromAt: number;
  toAt: number;
}

/** The times between one alert and the next, whichever rule's they are. Those of other senders say nothing here. */
function quietStretches(judged: readonly JudgedRule[], until: number): Stretch[] {
  const times = [...new Set(judged.flatMap(({ told }) => told.map(({ at }) => at)))].sort((a, b) => a - b);
  return [Number.NEGATIVE_INFINITY, ...times].map((fromAt, index) => ({ fromAt, toAt: times[index] ?? until }));
}

/** The one of which the most lies where the alert could be expected. */
function findStretch(stretches: Stretch[], { fromAt, dueUntil }: Crossing): Stretch {
  let low = 0;
  let high = stretches.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((stretches[middle] as Stretch).toAt > fromAt) high = middle;
    else low = middle + 1;
  }
  let best = stretches[low] as Stretch;
  let mostMs = -1;
  for (let index = low; index < stretches.length; index += 1) {
    const stretch = stretches[index] as Stretch;
    if (stretch.fromAt >= dueUntil) break;
    const ms = Math.min(stretch.toAt, dueUntil) - Math.max(stretch.fromAt, fromAt);
    if (ms > mostMs) [best, mostMs] = [stretch, ms];
  }
  return best;
}

function countEach(texts: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
