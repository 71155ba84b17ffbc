import type { AlertFacts } from "../../core/alert.ts";
import { groupBy } from "../../ground/group-by.ts";
import { type GapRule, toNumber } from "./read-subscriptions.ts";

export interface Sighting {
  /** The sender's time where that is possible, otherwise the time when the alert came. */
  at: number;
  receivedAt: number;
  /** The sender says when it happened. Otherwise a late alert looks punctual. */
  hasOwnTime: boolean;
  /** The sender's time is after the arrival: one of the two clocks is wrong, and it is unknown which. */
  isAhead?: boolean;
  /** Whether the condition holds from then on. Absent: the alert does not say it. */
  holds?: boolean;
  kind?: GapRule["kind"];
  threshold?: number;
  value?: number;
  /** Texts that may be the name of the metric or of the subscription. */
  words: string[];
  token?: string;
  chain?: string;
  metric?: string;
}

const mostAheadMs = 5 * 60_000;
const mostBehindMs = 8 * 24 * 3_600_000;
const maxWords = 48;

/** Keeps only what the check needs, so a week of alerts fits into memory. Pure. */
export function readSighting(facts: AlertFacts, receivedAt: number): Sighting {
  const { occurredAt, metric, fields, status, title, text } = facts;
  const hasOwnTime =
    occurredAt !== undefined && occurredAt <= receivedAt + mostAheadMs && occurredAt >= receivedAt - mostBehindMs;
  const threshold = toNumber(facts.threshold);
  const value = toNumber(facts.value);
  const sentence = `${title} ${text ?? ""}`;
  const isOver = status === "resolved" || endWords.test(sentence);
  const kind = readKind(facts, title, isOver) ?? readKind(facts, text ?? "", isOver);
  // The text names the side, and seldom the value.
  const saidHolds = kind === undefined || kind === "change" ? undefined : !isOver;
  return {
    at: hasOwnTime ? occurredAt : receivedAt,
    receivedAt,
    hasOwnTime,
    ...(occurredAt !== undefined && occurredAt > receivedAt + mostAheadMs && { isAhead: true }),
    holds: status === "firing" ? true : status === "resolved" ? false : (holdsBy(kind, value, threshold) ?? saidHolds),
    kind,
    threshold,
    value,
    words: [
      ...(metric === undefined ? [] : [metric]),
      ...fields.slice(0, maxWords).flatMap((field) => (mayName(field) ? [field.value] : [])),
    ].filter((word) => word.length <= 300),
    token: facts.token,
    chain: facts.chain,
    metric,
  };
}

/** Decimals and counts look like the ids of some services, so a short number counts only in a field for ids. */
function mayName({ name, value }: { name: string; value: string }): boolean {
  return !/^\d{1,6}$/.test(value) || /(?:subscription|rule|alert|trigger|monitor)_?-?(?:id|no|number)?$/i.test(name);
}

function holdsBy(kind: Sighting["kind"], value?: number, threshold?: number): boolean | undefined {
  if (value === undefined || threshold === undefined) return undefined;
  if (kind === "above") return value >= threshold;
  return kind === "below" ? value <= threshold : undefined;
}

const conditionNames =
  /(?:^|\.)(?:condition(?:\.(?:kind|type|operator|mode))?|condition_?type|operator|comparator|comparison|direction)$/i;

const endWords =
  /\bno longer\b|\b(?:back|returned|again) (?:above|over|below|under)\b|\b(?:recovered|cleared|resolved)\b/i;

/** @param isOver the sentence reports an end: a value that is "back below" was above */
function readKind({ fields }: AlertFacts, sentence: string, isOver: boolean): Sighting["kind"] {
  for (const { name, value } of fields) {
    if (!conditionNames.test(name)) continue;
    if (/change|percent|pct|moved|deviat/i.test(value)) return "change";
    if (/above|over|greater|^gte?$|^>/i.test(value)) return "above";
    if (/below|under|less|^lte?$|^</i.test(value)) return "below";
  }
  if (/\bmoved\b|\bchanged? (?:by|of)\b/i.test(sentence)) return "change";
  const back = isOver ? /\b(?:back|returned|again) (above|over|below|under)\b/i.exec(sentence)?.[1] : undefined;
  if (back !== undefined) return /above|over/i.test(back) ? "below" : "above";
  const isAbove = /\babove\b|\bover\b|\bexceed/i.test(sentence);
  const isBelow = /\bbelow\b|\bunder\b/i.test(sentence);
  return isAbove === isBelow ? undefined : isAbove ? "above" : "below";
}

/** Finds which rule sent which alert: by the subscription's id, the metric's key, or token and chain. Pure. */
export function attribute(rules: readonly GapRule[], sightings: readonly Sighting[]) {
  const ofRule = new Map<GapRule, Sighting[]>(rules.map((rule) => [rule, []]));
  /** Rules with common alerts that cannot be assigned to one of them. */
  const unclear = new Set<GapRule>();
  const others: Sighting[] = [];
  const byId = groupBy(rules, ({ subscriptionId }) => subscriptionId);
  const byKey = groupBy(rules, ({ metricKey }) => metricKey);
  const byPlace = groupBy(rules, ({ token, chain }) => placeOf(token, chain));
  for (const sighting of sightings) {
    const { words, token, chain } = sighting;
    const named = firstOf(words, byId) ?? firstOf(words, byKey) ?? byPlace.get(placeOf(token, chain) ?? "") ?? [];
    const fitting = named.filter((rule) => fits(rule, sighting));
    const [first] = fitting;
    if (first === undefined) others.push(sighting);
    else if (fitting.every((rule) => isSame(rule, first))) {
      for (const rule of fitting) ofRule.get(rule)?.push(sighting);
    } else for (const rule of fitting) unclear.add(rule);
  }
  for (const list of ofRule.values()) list.sort((a, b) => a.at - b.at);
  return { ofRule, unclear, others };
}

function firstOf(words: string[], groups: Map<string | undefined, GapRule[]>): GapRule[] | undefined {
  for (const word of words) {
    const group = groups.get(word);
    if (group !== undefined) return group;
  }
  return undefined;
}

function placeOf(token: string | undefined, chain: string | undefined): string | undefined {
  return token === undefined || chain === undefined ? undefined : `${token} ${chain}`.toLowerCase();
}

function fits(rule: GapRule, { kind, threshold }: Sighting): boolean {
  return (kind === undefined || kind === rule.kind) && (threshold === undefined || isEqual(threshold, rule.threshold));
}

function isEqual(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
}

function isSame(a: GapRule, b: GapRule): boolean {
  return a.metricKey === b.metricKey && a.kind === b.kind && a.threshold === b.threshold && a.windowMs === b.windowMs;
}

/** A single alert may be a person's test. */
const leastSightings = 3;

/** Finds rules of unreadable subscriptions: several alerts with the same key, threshold and side. */
export function revealRules(sightings: readonly Sighting[], isKey: (word: string) => boolean): GapRule[] {
  const found = new Map<string, { rule: GapRule; count: number }>();
  for (const { words, kind, threshold, token, chain } of sightings) {
    if (kind === undefined || kind === "change" || threshold === undefined) continue;
    const metricKey = words.find(isKey);
    if (metricKey === undefined) continue;
    const name = `${metricKey} ${kind} ${threshold}`;
    const known = found.get(name);
    if (known !== undefined) known.count += 1;
    else found.set(name, { rule: { name, metricKey, kind, threshold, from: "alerts", token, chain }, count: 1 });
  }
  return [...found.values()].filter(({ count }) => count >= leastSightings).map(({ rule }) => rule);
}
