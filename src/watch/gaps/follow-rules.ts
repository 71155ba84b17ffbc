import type { UnknownGap } from "../../contract/operations.ts";
import { type Downtime, listNames, type RuleTurn } from "../../core/gaps.ts";
import type { HistoryPoint } from "../../core/ports/metric-history.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { type Crossing, type CrossingsFound, findCrossings, lookTimeOf } from "./crossings.ts";
import type { GapRule, ReadSubscriptions } from "./read-subscriptions.ts";
import { attribute, revealRules, type Sighting } from "./sightings.ts";

/** When people had the notice that alerts come again. */
export interface ToldEnd {
  at: number;
  /** The rules that the end concerns, see `ruleOfTurn`. Absent: the account. */
  rules?: ReadonlySet<string>;
}

export interface GapEvidence {
  /** The start of the judged time. Earlier records and alerts only show how the rules behave. */
  since: number;
  until: number;
  now: number;
  /** `failed`: the reason in words, where the service gave none. */
  subscriptions: ReadSubscriptions | { failed: string };
  /** The history of each metric, by the metric's key. A text: the reason why there is none. */
  histories: ReadonlyMap<string, { points: readonly HistoryPoint[]; unread: number } | string>;
  sightings: readonly Sighting[];
  downtimes: readonly Downtime[];
  /** Alerts before this instant may have been removed from the log. Default: none were removed. */
  logSince?: number;
  /** Alerts that came then or later are stored but not read yet. Absent: all are read. */
  unreadSince?: number;
  /** The ends that people know of. A loss after an end is another loss than the one before it. */
  ends?: readonly ToldEnd[];
  /** Times in which the people who run this relay had the account send nothing here. */
  offs?: readonly Downtime[];
}

/** The age at which the newest record counts as missing. */
const staleMs = 3_600_000;
const mostHoles = 3;

/** Finds the rules whose alerts and records can be compared, their crossings, and the alerts of no rule. */
export function followRules(evidence: GapEvidence, reasons: Reasons) {
  const rules = collectRules(evidence, reasons);
  const { ofRule, unclear, others } = attribute(rules, evidence.sightings);
  const lookMs = lookTimeOf(ofRule.values());
  // Before the log's first alert of this account, the service may have sent nothing here.
  const logBeganAt = Math.max(
    evidence.logSince ?? 0,
    Math.min(...[...ofRule.values()].flatMap(([first]) => first?.at ?? [])),
  );
  const unheard = [...(evidence.offs ?? []), ...evidence.downtimes.filter((down) => down.restored === true)];
  const whyNotDue = ({ until = Number.POSITIVE_INFINITY }: GapRule, { fromAt, toAt, dueUntil }: Crossing) => {
    if (logBeganAt === Number.POSITIVE_INFINITY) return "no alert that can be compared has arrived yet";
    if (toAt < logBeganAt) return `the first alert that can be compared is of ${toMinute(logBeganAt)}`;
    if (toAt >= until) return "it is over";
    const isUnheard = unheard.some((time) => fromAt < time.toAt && dueUntil > time.fromAt);
    return isUnheard ? "the account was turned off, or the log was restored from a backup" : undefined;
  };
  const judged = rules.flatMap((rule): JudgedRule[] => {
    const history = evidence.histories.get(rule.metricKey);
    const told = ofRule.get(rule) ?? [];
    const leaveOpen = (why: string): [] => {
      reasons.add(nameOf(rule), why);
      return [];
    };
    if (history === undefined) return leaveOpen("its metric was not looked at: there are too many");
    if (typeof history === "string") return leaveOpen(history);
    if (unclear.has(rule)) return leaveOpen("its alerts cannot be told from those of another rule");
    if (history.points.length < 2) return leaveOpen(`the service has no records of ${rule.metricKey}`);
    const found = findCrossings(rule, history.points, told, lookMs);
    const limit = describeLimit(history, found.everyMs, evidence);
    if (limit !== undefined) reasons.add(nameOf(rule), limit);
    // An answered crossing was due, whatever is known about its time.
    const notDue = found.crossings.filter((one) => {
      const why = one.answer === undefined ? whyNotDue(rule, one) : undefined;
      const isAsked = one.toAt > evidence.since && one.fromAt < evidence.until;
      if (why !== undefined && isAsked) reasons.add(nameOf(rule), `no alert was due: ${why}`, { crossings: 1 });
      return why !== undefined;
    });
    const crossings = notDue.length === 0 ? found.crossings : found.crossings.filter((one) => !notDue.includes(one));
    return [{ rule, told: found.told, found: { ...found, crossings }, notDue }];
  });
  return { judged, unmatched: others };
}

function describeLimit(
  { points, unread }: { points: readonly HistoryPoint[]; unread: number },
  everyMs: number,
  { since, until }: Pick<GapEvidence, "since" | "until">,
): string | undefined {
  const slackMs = Math.max(staleMs, 5 * everyMs);
  const firstAt = points[0]?.at ?? until;
  const lastAt = points.at(-1)?.at ?? since;
  const holes: string[] = [];
  let before = firstAt;
  for (const { at } of points) {
    if (at - before > slackMs) holes.push(`it has no records from ${toMinute(before)} to ${toMinute(at)}`);
    before = at;
  }
  const limits = [
    ...holes.slice(-mostHoles),
    lastAt < until - slackMs && `its records end at ${toMinute(lastAt)}`,
    firstAt > since + slackMs && `its records begin at ${toMinute(firstAt)}`,
    unread > 0 && `${unread} of its records have no time or no value that can be read`,
  ];
  return limits.filter((limit) => limit !== false).join(", ") || undefined;
}

export function toMinute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16)}Z`;
}

export interface JudgedRule {
  rule: GapRule;
  told: readonly Sighting[];
  found: CrossingsFound;
  notDue: readonly Crossing[];
}

/** The rules of the subscriptions. Where a subscription is unreadable: the rules that alerts reveal. */
function collectRules({ subscriptions, sightings, histories }: GapEvidence, reasons: Reasons): GapRule[] {
  const isKey = (word: string) => histories.has(word);
  if ("failed" in subscriptions) return revealRules(sightings, isKey);
  const { rules, unread } = subscriptions;
  if (unread.length === 0) return rules;
  const keys = new Set(unread.map(({ metricKey }) => metricKey));
  // A rule without a subscription is over. Alerts may reveal the rule of an unreadable subscription.
  const revealed = revealRules(attribute(rules, sightings).others, isKey).filter(
    ({ metricKey }) => keys.has(metricKey) || keys.has(undefined),
  );
  const isRevealed = (key: string | undefined) => revealed.some(({ metricKey }) => metricKey === key);
  for (const { what, why, metricKey } of unread) if (!isRevealed(metricKey)) reasons.add(what, why);
  return [...rules, ...revealed];
}

/** Writes "sub_1 (USDC price above 3300)". */
export function nameOf(rule: GapRule): string {
  const { name, metricKey, metricName = metricKey, from } = rule;
  return from === "alerts" ? name : `${name} (${metricName} ${describeCondition(rule)})`;
}

export function turnOf(rule: GapRule): Pick<RuleTurn, "metricKey" | "condition"> {
  return { metricKey: rule.metricKey, condition: describeCondition(rule) };
}

function describeCondition({ kind, threshold, windowMs }: GapRule): string {
  return kind === "change" ? `moved ${threshold} % in ${formatDuration(windowMs ?? 0)}` : `${kind} ${threshold}`;
}

/** Collects why something cannot be judged. Each reason is listed once, with everything that it concerns. */
export function createReasons() {
  const groups = new Map<string, { names: Set<string>; crossings: number; rank: number }>();
  return {
    /** @param isFirst the reason concerns everything, so it comes first */
    add(what: string, why: string, { crossings = 0, isFirst = false }: { crossings?: number; isFirst?: boolean } = {}) {
      const group = groups.get(why) ?? { names: new Set(), crossings: 0, rank: isFirst ? Number.MAX_VALUE : 0 };
      group.names.add(what);
      group.crossings += crossings;
      if (!isFirst) group.rank = group.crossings;
      groups.set(why, group);
    },
    /** The reasons with `isFirst` come first, the others by the number of crossings that they leave open. */
    list(): UnknownGap[] {
      return [...groups]
        .sort(([, a], [, b]) => b.rank - a.rank)
        .map(([why, { names, crossings }]) => ({ what: listNames([...names]), why, names: names.size, crossings }));
    },
  };
}

type Reasons = ReturnType<typeof createReasons>;
