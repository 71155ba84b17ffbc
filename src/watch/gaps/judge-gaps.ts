import type { Downtime, GapReport, MissingAlert, UnknownGap } from "../../core/gaps.ts";
import type { Crossing } from "./crossings.ts";
import { describeCondition, followRules, type GapEvidence, type JudgedRule, nameOf, toMinute } from "./follow-rules.ts";
import {
  type Context,
  createContext,
  firstFrom,
  likelyShare,
  maySay,
  mostLateMs,
  type Stretch,
} from "./gap-context.ts";
import type { GapRule } from "./read-subscriptions.ts";
import type { Sighting } from "./sightings.ts";

/** So many crossings must have brought an alert, and none failed to, before a missing one is sure. */
const leastAnswered = 3;
/** Without a known downtime, so many must be missing in one stretch in which nothing came. */
const leastTogether = 3;
/** A service that repeats what failed may still send it. */
const stillComesMs = 15 * 60_000;
/** A relay saves each minute that it runs. */
const mostUnsavedMs = 2 * 60_000;
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
  return `it was restored from a backup at ${toMinute(at)}: what arrived since the last alert of the backup is not in it`;
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
      return "it has never reported that its condition ended";
    }
    return `none of its ${what} brought an alert so far, so it is not known whether this one should have`;
  }
  const others = answered.length + against;
  if (answered.length / others < likelyShare) {
    return `only ${answered.length} of ${others} ${what} brought an alert, so it does not report each`;
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
    return "an alert that arrived later without a time of its own may be the one";
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
    mayStillCome(crossing) && "others of that time arrived late, so it may still arrive",
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
  const where = whileDown ? "Tocsin did not run" : "Tocsin ran, and nothing arrived";
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

function countEach(texts: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
