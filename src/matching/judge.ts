import { RE2JS } from "re2js";
import type { AlertFacts, AlertOrigin } from "../core/alert.ts";
import { AppError } from "../core/errors.ts";
import { type Json, JsonNumber } from "../core/json.ts";
import type { Condition, Matcher } from "../core/rules.ts";
import { compareDecimals, type Decimal, parseAmount, parseDecimal } from "../ground/numbers/decimal.ts";
import type { AdviseOnMissing } from "./near-path.ts";
import { parseFieldPath, valuesAt } from "./path.ts";

/** What matchers look at: the alert as it was read. */
export interface MatchInput {
  facts: AlertFacts;
  payload?: Json;
  origin: AlertOrigin;
}

/** `reason`: every condition that held, or the first that did not. Most results of most routes are never told, so it is made when asked for. */
export interface MatchResult {
  matched: boolean;
  reason(): string;
}

export type Match = (input: MatchInput) => MatchResult;

/**
 * All matchers must hold; none match everything. Throws `invalid_request` for a field or pattern that cannot be read.
 *
 * @param adviseOnMissing asked about a field without a value that did not match; its words end the reason
 */
export function compileMatchers(matchers: Matcher[], adviseOnMissing?: AdviseOnMissing): Match {
  const compiled = matchers.map(({ field, condition }) => ({
    field,
    read: compileField(field),
    check: compileCondition(condition),
  }));

  return (input) => {
    const held: (() => string)[] = [];
    for (const { field, read, check } of compiled) {
      const values = read(input);
      const { holds, words } = check(values);
      const reason = () => `${field} ${words()}`;
      if (!holds) {
        const advise = () => (values.length === 0 ? adviseOnMissing?.(field, input) : undefined);
        return { matched: false, reason: () => [reason(), advise()].filter(Boolean).join("; ") };
      }
      held.push(reason);
    }
    return { matched: true, reason: () => (held.length > 0 ? told(held, "; ") : "it takes every alert") };
  };
}

/** A text, number or boolean as text; `list` and `object` have no text of their own. */
export type FieldValue = { kind: "text"; text: string } | { kind: "list" } | { kind: "object" };

/** All values of one field in one alert: none when it is missing or null, several only where the path has `[*]`. */
export type ReadField = (input: MatchInput) => FieldValue[];

/** Throws `invalid_request` for a field that no alert can have. */
export function compileField(field: string): ReadField {
  const parsed = parseFieldPath(field);
  if (!parsed.ok) throw new AppError("invalid_request", `Field ${JSON.stringify(field)}: ${parsed.problem}.`);
  const { path } = parsed;
  if (path.kind === "payload") {
    return ({ payload }) => (payload === undefined ? [] : valuesAt(payload, path.steps).flatMap(toFieldValue));
  }
  return ({ facts, origin }) => {
    const text = path.fact === "origin" ? origin : facts[path.fact];
    return text === undefined ? [] : [{ kind: "text", text }];
  };
}

function toFieldValue(value: Json): FieldValue[] {
  if (value === null) return [];
  if (typeof value === "string") return [{ kind: "text", text: value }];
  if (typeof value === "boolean") return [{ kind: "text", text: String(value) }];
  if (value instanceof JsonNumber) return [{ kind: "text", text: value.text }];
  return [{ kind: Array.isArray(value) ? "list" : "object" }];
}

/** Whether something holds, in words that go after the field's name: "12.5 is above 5", "is warning, not critical". */
interface Verdict {
  holds: boolean;
  words(): string;
}

function told(parts: readonly (() => string)[], between: string): string {
  return parts.map((tell) => tell()).join(between);
}

/** Tests all values of a field together. */
type CheckValues = (values: FieldValue[]) => Verdict;

type CheckValue = (value: FieldValue) => Verdict;

/**
 * - Without a value (missing, or null) only `exists: false`, `not` and `notMatches` hold.
 * - `not`, `notMatches` and `exists` speak about all values of the field; of the other conditions one same value
 *   must meet every one.
 * - `equals` and `not` compare texts exactly, two numbers as numbers (`1.0` equals `1`), and two hexadecimal addresses
 *   without regard to case, since checksummed and lower-case spellings name the same contract.
 * - `lt lte gt gte` hold for numbers only, also for numbers sent as text and for amounts as people write them
 *   (`$4,012.3`, `3.2M`).
 * - Of a field with very many values the first 10,000 are looked at, and the words say so.
 *
 * Throws `invalid_request` for a pattern that cannot be read.
 */
export function compileCondition(condition: Condition): CheckValues {
  const ofOne = compileValueChecks(condition);
  const checkNot = condition.not === undefined ? undefined : compileNot(condition.not);
  const checkNotMatches = condition.notMatches === undefined ? undefined : compileNotMatches(condition.notMatches);
  return (values) => {
    if (condition.exists === false) {
      return values.length === 0 ? { holds: true, words: isMissing } : { holds: false, words: isPresent };
    }
    if (values.length === 0) {
      return { holds: ofOne.length === 0 && condition.exists === undefined, words: isMissing };
    }
    const held: Verdict["words"][] = [];
    for (const check of [checkNot, checkNotMatches]) {
      if (check === undefined) continue;
      const verdict = check(values);
      if (!verdict.holds) return verdict;
      held.push(verdict.words);
    }
    if (ofOne.length > 0) {
      const verdict = checkAny(values, ofOne);
      if (!verdict.holds) return verdict;
      held.unshift(verdict.words);
    }
    return { holds: true, words: held.length > 0 ? () => told(held, " and ") : isPresent };
  };
}

const isMissing = () => "is missing";
const isPresent = () => "is present";

function compileNot(refused: string[]): CheckValues {
  const isRefused = compileTexts(refused);
  return (values) => {
    const looked = limitValues(values);
    for (const value of looked) {
      if (value.kind === "text" && isRefused(value.text)) {
        return { holds: false, words: () => `is ${quoteValue(value.text)}, which is excluded` };
      }
    }
    return { holds: true, words: () => `is not ${inWords(refused)}${ofFirst(looked, values)}` };
  };
}

function compileNotMatches(pattern: string): CheckValues {
  const found = compilePattern(pattern);
  return (values) => {
    const looked = limitValues(values);
    if (looked.some((value) => value.kind === "text" && found(value.text))) {
      return { holds: false, words: () => `matches /${pattern}/, which is excluded` };
    }
    return { holds: true, words: () => `does not match /${pattern}/${ofFirst(looked, values)}` };
  };
}

function ofFirst(looked: FieldValue[], all: FieldValue[]): string {
  return looked.length === all.length ? "" : ` in the first ${count(looked.length)} of its values`;
}

/** Beyond either, the values of a `[*]` are not looked at: each matcher of each route would walk a huge list. */
const maxValues = 10_000;
const maxUnits = 200_000;

function limitValues(values: FieldValue[]): FieldValue[] {
  let units = 0;
  for (const [index, value] of values.entries()) {
    if (index === maxValues || (index > 0 && units >= maxUnits)) return values.slice(0, index);
    if (value.kind === "text") units += Math.min(value.text.length, patternInputLimit);
  }
  return values;
}

/** The first value that meets every check, or why the first value does not. */
function checkAny(values: FieldValue[], checks: CheckValue[]): Verdict {
  let firstFailure: Verdict["words"] | undefined;
  const looked = limitValues(values);
  for (const value of looked) {
    const verdicts = checks.map((check) => check(value));
    const failed = verdicts.find((verdict) => !verdict.holds);
    if (failed !== undefined) firstFailure ??= failed.words;
    else {
      const held = verdicts.map(({ words }) => words);
      return { holds: true, words: () => told(held, " and ") };
    }
  }
  const why = firstFailure ?? isMissing;
  return { holds: false, words: () => `${why()}${describeRest(looked.length, values.length)}` };
}

function describeRest(looked: number, all: number): string {
  if (looked < all) return `, nor does any of the first ${count(looked)} of its ${count(all)} values fit`;
  return all > 1 ? `, nor does any other of its ${all} values fit` : "";
}

function count(number: number): string {
  return number.toLocaleString("en");
}

function compileValueChecks(condition: Condition): CheckValue[] {
  const checks: CheckValue[] = [];
  if (condition.equals !== undefined) checks.push(compileEquals(condition.equals));
  if (condition.gt !== undefined) checks.push(compileBound(condition.gt, "above", (order) => order > 0));
  if (condition.gte !== undefined) checks.push(compileBound(condition.gte, "at least", (order) => order >= 0));
  if (condition.lt !== undefined) checks.push(compileBound(condition.lt, "below", (order) => order < 0));
  if (condition.lte !== undefined) checks.push(compileBound(condition.lte, "at most", (order) => order <= 0));
  if (condition.matches !== undefined) checks.push(compileMatches(condition.matches));
  return checks;
}

function compileEquals(accepted: string[]): CheckValue {
  const isAccepted = compileTexts(accepted);
  return (value) => {
    if (value.kind !== "text") return notText(value);
    const { text } = value;
    if (isAccepted(text)) return { holds: true, words: () => `is ${quoteValue(text)}` };
    return { holds: false, words: () => `is ${quoteValue(text)}, not ${inWords(accepted)}` };
  };
}

function compileBound(bound: number, relation: string, test: (order: number) => boolean): CheckValue {
  const limit = parseDecimal(String(bound));
  return (value) => {
    if (value.kind !== "text") return notText(value);
    const { text } = value;
    const given = parseAmount(text);
    if (given === undefined || limit === undefined) {
      return { holds: false, words: () => `is ${quoteValue(text)}, which is not a number` };
    }
    const holds = test(compareDecimals(given, limit));
    return { holds, words: () => `${quoteValue(text)} is ${holds ? "" : "not "}${relation} ${bound}` };
  };
}

function compileMatches(pattern: string): CheckValue {
  const found = compilePattern(pattern);
  return (value) => {
    if (value.kind !== "text") return notText(value);
    const holds = found(value.text);
    return { holds, words: () => `${holds ? "matches" : "does not match"} /${pattern}/` };
  };
}

interface PreparedText {
  decimal: Decimal | undefined;
  address: string | undefined;
}

/** Whether a text is one of several, see `compileCondition`. */
function compileTexts(texts: readonly string[]): (text: string) => boolean {
  const exact = new Set(texts);
  const spelled = texts
    .map(prepareText)
    .filter(({ address, decimal }) => address !== undefined || decimal !== undefined);
  return (text) => {
    if (exact.has(text)) return true;
    if (spelled.length === 0) return false;
    const given = prepareText(text);
    return spelled.some((one) => sameText(given, one));
  };
}

function prepareText(text: string): PreparedText {
  const address = /^0x[0-9a-f]+$/i.test(text) ? text.toLowerCase() : undefined;
  return { decimal: parseDecimal(text), address };
}

function sameText(a: PreparedText, b: PreparedText): boolean {
  if (a.address !== undefined && a.address === b.address) return true;
  return a.decimal !== undefined && b.decimal !== undefined && compareDecimals(a.decimal, b.decimal) === 0;
}

function notText({ kind }: { kind: "list" | "object" }): Verdict {
  const words = kind === "list" ? "is a list (its elements are reached with [*])" : "is an object, not a value";
  return { holds: false, words: () => words };
}

function inWords(values: string[]): string {
  return values.map(quoteValue).join(" or ");
}

/** Texts are looked at up to here, so that one alert cannot hold up all the others. Facts are never longer. */
const patternInputLimit = 20_000;

/** A regular expression in RE2 syntax that is found anywhere in a text, in time linear in its length. */
function compilePattern(pattern: string): (text: string) => boolean {
  try {
    const compiled = RE2JS.compile(pattern);
    return (text) => compiled.test(text.slice(0, patternInputLimit));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AppError("invalid_request", `Pattern ${JSON.stringify(pattern)}: ${why}.`);
  }
}

const shownCharacters = 80;

/** A sender's value for our own sentences: on one line, at most 80 characters, quoted when it is not one word. */
export function quoteValue(value: string): string {
  const line = value
    .slice(0, 4 * shownCharacters)
    .replace(/\s+/g, " ")
    .trim();
  const clipped = line.length <= shownCharacters ? line : Array.from(line).slice(0, shownCharacters).join("");
  const shown = clipped.length < line.length || value.length > 4 * shownCharacters ? `${clipped}…` : clipped;
  return /^[^\s,;“”]+$/.test(shown) ? shown : `“${shown}”`;
}
