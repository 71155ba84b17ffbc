import { compareDecimals, parseAlike, parseAmount } from "../ground/numbers/decimal.ts";
import { mapWords } from "../ground/text/plain-text.ts";
import type { Json } from "./json.ts";
import type { MappableFact } from "./mapping.ts";
import type { BodyShape } from "./shape.ts";

/** A body that names no severity gets `unknown`, shown as "no severity". */
export const severities = ["critical", "warning", "info", "unknown"] as const;
export type Severity = (typeof severities)[number];

export function isWorse(severity: Severity, than: Severity): boolean {
  return severities.indexOf(severity) < severities.indexOf(than);
}

export const statuses = ["firing", "resolved", "unknown"] as const;
export type AlertStatus = (typeof statuses)[number];

/** How the body could be read. `unreadable`: reading it failed twice. The page then shows it as received. */
export const bodyFormats = ["json", "broken-json", "form", "text", "binary", "empty", "unreadable"] as const;
export type BodyFormat = (typeof bodyFormats)[number];

/** Who made the alert: a sender at the hook, a person who tries Tocsin, or the relay itself (a notice). */
export const alertOrigins = ["hook", "test", "notice"] as const;
export type AlertOrigin = (typeof alertOrigins)[number];

/** The body of a canary: a test alert that Tocsin sends to its own hook. Routing recognises it by this mark. */
export const canaryMark = { tocsin: "canary" } as const;

/** A field of the body that is none of the named facts, as text. */
export interface AlertField {
  name: string;
  value: string;
}

/** The facts that were read from a body. Each text is the sender's plain text: escape it wherever it is shown. */
export interface AlertFacts {
  /** Never empty. Without a title in the body it is made of the content ("Alert (empty body)"). At most 300 characters. */
  title: string;
  severity: Severity;
  status: AlertStatus;
  format: BodyFormat;
  /** The sender's longer text, if any. At most 20,000 characters. */
  text?: string;
  metric?: string;
  token?: string;
  chain?: string;
  /** Digit for digit as sent. */
  value?: string;
  previousValue?: string;
  threshold?: string;
  unit?: string;
  /** When the event happened, as the sender says. Epoch milliseconds. */
  occurredAt?: number;
  /** An http or https address. */
  link?: string;
  /** The sender's own id of this event. */
  externalId?: string;
  /** The sender's name for itself. */
  source?: string;
  /** The same for all alerts of one trouble, from firing to resolved. Never empty. */
  alertKey: string;
  /** The rest of the body, in its order, at most 40 entries. */
  fields: AlertField[];
  /** How many fields of the body `fields` leaves out. Absent: none. */
  unlistedFields?: number;
  /** Guesses and omissions, in words for the page ("broken JSON at line 3: …"). */
  notes: string[];
}

export interface Translation {
  facts: AlertFacts;
  /** The value that matchers look into. Absent when the body is neither JSON nor a form. */
  payload?: Json;
  /** Whether the body has an event id or time of its own. The same bytes then mean the same event. Default false. */
  namesItself?: boolean;
  /** Absent: not asked for, or the body has no shape or too many places. */
  shape?: BodyShape;
  /** For each fact that the sender's mapping found, its path in the body. Absent: all facts are guesses. */
  mapped?: Partial<Record<MappableFact, string>>;
}

export interface Alert {
  /** UUIDv7. */
  id: string;
  /** Position in the log. A newer alert has a larger one. */
  seq: number;
  origin: AlertOrigin;
  receivedAt: number;
  facts: AlertFacts;
}

/** From the first message of an occurrence to its resolving alert. A sender's time outside of that is not used. */
export function resolvedAfterMs({ receivedAt, facts }: Pick<Alert, "receivedAt" | "facts">, firstAt: number): number {
  const occurredAt = facts.occurredAt ?? receivedAt;
  return (occurredAt > firstAt && occurredAt <= receivedAt ? occurredAt : receivedAt) - firstAt;
}

const conditionNames =
  /(?:^|\.)(?:condition(?:\.(?:kind|type|operator|mode))?|condition_?type|operator|comparator|comparison)$/i;

/** Whether the threshold limits a change ("change_percent", 2.5) and not the value: 3305 USD is not "above" it. */
export function limitsChange({ fields, title }: Partial<Pick<AlertFacts, "fields" | "title">>): boolean {
  const isSaid = (fields ?? []).some(
    ({ name, value }) => conditionNames.test(name) && /change|percent|pct|moved|deviat/i.test(value),
  );
  return isSaid || (title !== undefined && changeInTitle(title) !== undefined);
}

/** The limit of a change that a title names, in percent: `2.5` of "moved 2.5 % or more". */
export function changeInTitle(title: string): string | undefined {
  return title.includes("%") ? movedBy.exec(title)?.[1] : undefined;
}

const movedBy = /\b(?:moved|changed)(?: by)? (\d{1,6}(?:\.\d{1,6})?) ?%/i;

/** Whether a unit multiplies the value before it ("M USD", "bn"). Whether it multiplies the threshold too is unknown. */
export function multiplies(unit: string | undefined): boolean {
  return /^\s*(?:k|thousand|m|mn|mm|million|b|bn|billion|t|tn|trillion)(?![\p{L}\p{N}])/iu.test(unit ?? "");
}

export function toNumber(sent: string | undefined): number | null {
  const value = sent === undefined || sent.trim() === "" ? Number.NaN : Number(sent);
  return Number.isFinite(value) ? value : null;
}

/** The threshold, if a chart can draw it with the values: it limits the value itself, in the same unit. */
export function drawableThreshold(facts: AlertFacts): number | undefined {
  if (limitsChange(facts) || multiplies(facts.unit)) return undefined;
  return toNumber(facts.threshold) ?? undefined;
}

/** Undefined where the two numbers may differ in unit, or where the sender says the opposite while the alert fires. */
export function sideOfThreshold(
  facts: Pick<AlertFacts, "value" | "threshold" | "unit"> & Partial<Pick<AlertFacts, "fields" | "title" | "status">>,
): "below" | "above" | undefined {
  if (limitsChange(facts) || multiplies(facts.unit)) return undefined;
  const alike = parseAlike(facts.value ?? "", facts.threshold ?? "");
  const order = alike && compareDecimals(...alike);
  if (order === undefined || order === 0) return undefined;
  const side = order < 0 ? "below" : "above";
  // If the sender says the opposite, the two numbers differ in unit or in time.
  const isDenied =
    facts.status !== "resolved" &&
    [sideOfCondition({ fields: facts.fields ?? [] }), sideInTitle(facts)].some((said) => said && said !== side);
  return isDenied ? undefined : side;
}

const sideAndNumber =
  /\b(above|over|exceed(?:s|ed)|below|under)\s{1,3}([$€£¥₿]?\d[\d,]{0,40}(?:\.\d{1,40})?(?: ?(?:k|[mbt]n?|[mb]illion)(?![\p{L}\d]))?)/giu;
const denial = /\b(?:not|no longer|never)(?: \w{1,12}){0,2} ?$|n't(?: \w{1,12}){0,2} ?$/i;

/** The side of the threshold that the title names: "fell below 5,000,000". */
export function sideInTitle({
  title = "",
  threshold = "",
}: Partial<Pick<AlertFacts, "title" | "threshold">>): "above" | "below" | undefined {
  const limit = parseAmount(threshold);
  if (limit === undefined || !/\d/.test(title)) return undefined;
  for (const { 1: word = "", 2: sent = "", index } of title.matchAll(sideAndNumber)) {
    const number = parseAmount(sent);
    if (number === undefined || compareDecimals(number, limit) !== 0) continue;
    if (denial.test(title.slice(Math.max(0, index - 40), index))) return undefined;
    return /^(?:below|under)$/i.test(word) ? "below" : "above";
  }
  return undefined;
}

const sides = mapWords({
  above:
    "above over gt > greaterthan greaterthanthreshold gte ge >= atleast exceeds greaterthanorequalto greaterthanorequaltothreshold up",
  below:
    "below under lt < lessthan lessthanthreshold lte le <= atmost lessthanorequalto lessthanorequaltothreshold down",
});

/** Reads a sender's word for a condition: "gte", "LessThanThreshold", "<". */
export function sideOfWord(said: string): "above" | "below" | undefined {
  return sides.get(said.toLowerCase().replace(/[\s_-]+/g, ""));
}

const directionNames =
  /(?:^|\.)(?:condition(?:\.(?:kind|type|operator))?|condition_?type|direction|operator|comparator|comparison_?operator)$/i;

/** The side of the threshold on which the alert fires, by the sender's condition among the fields. */
export function sideOfCondition({ fields }: Pick<AlertFacts, "fields">): "above" | "below" | undefined {
  for (const { name, value } of fields) {
    if (value.length > 40 || !directionNames.test(name)) continue;
    const side = sideOfWord(value);
    if (side !== undefined) return side;
  }
  return undefined;
}
