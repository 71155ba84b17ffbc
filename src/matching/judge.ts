import { RE2JS } from "re2js";
import type { AlertFacts, AlertOrigin } from "../core/alert.ts";
import { AppError } from "../core/errors.ts";
import { type Json, JsonNumber } from "../core/json.ts";
import type { Condition, Matcher } from "../core/rules.ts";
import { compareDecimals, type Decimal, parseAmount, parseDecimal } from "../ground/numbers/decimal.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import type { AdviseOnMissing } from "./near-path.ts";
import { factReader, parseFieldPath, valuesAt } from "./path.ts";

export interface MatchInput {
  facts: AlertFacts;
  payload?: Json;
  origin: AlertOrigin;
  /** False: the body lacks the word, so no member has this name. Default: any member may exist. */
  mayName?(word: string): boolean;
}

/** Most reasons are never shown, so they are written only when asked for. */
export interface Match {
  holds(input: MatchInput): boolean;
  /** Every condition that held, or the first that did not. */
  reason(input: MatchInput): string;
}

export interface MatchOptions {
  /** Called for a field without a value that did not match. Its words end the reason. */
  adviseOnMissing?: AdviseOnMissing;
  /** Shared answers of routes that judge the same alert. Default: for these matchers alone. */
  shared?: SharedMatches;
}

/** Answers that many routes need about one alert, computed once. */
export class SharedMatches {
  readonly #known = new Map<string, (input: MatchInput) => unknown>();
  #last: MatchInput | undefined;
  #turn = 0;

  /** Keeps the answer about the latest alert only. */
  once<Answer>(name: string, ask: (input: MatchInput) => Answer): (input: MatchInput) => Answer {
    let turn = -1;
    let answer: Answer;
    const remember = (input: MatchInput) => {
      if (input !== this.#last) {
        this.#last = input;
        this.#turn += 1;
      }
      if (turn !== this.#turn) {
        answer = ask(input);
        turn = this.#turn;
      }
      return answer;
    };
    const known = this.#known.get(name) ?? remember;
    this.#known.set(name, known);
    return known as typeof ask;
  }
}

/** An empty list matches everything. Throws `invalid_request` for a field or pattern that cannot be read. */
export function compileMatchers(
  matchers: Matcher[],
  { adviseOnMissing, shared = new SharedMatches() }: MatchOptions = {},
): Match {
  const all = matchers.map((matcher) => {
    const match = compileMatcher(matcher, shared, adviseOnMissing);
    return { ...match, holds: shared.once(JSON.stringify(matcher), match.holds) };
  });
  const cheapestFirst = all.toSorted((one, other) => one.cost - other.cost);
  return {
    holds(input) {
      for (const match of cheapestFirst) if (!match.holds(input)) return false;
      return true;
    },
    reason(input) {
      const failed = all.find((match) => !match.holds(input));
      if (failed !== undefined) return failed.reason(input);
      return all.length > 0 ? all.map((match) => match.reason(input)).join("; ") : "it takes every alert";
    },
  };
}

/** `cost`: cheap matches are tried first. From 0 on, without a unit. */
type CostedMatch = Match & { cost: number };

function compileMatcher(matcher: Matcher, shared: SharedMatches, adviseOnMissing?: AdviseOnMissing): CostedMatch {
  const compileAll = (list: Matcher[]) => compileMatchers(list, { adviseOnMissing, shared });
  if ("any" in matcher) return matchAny(matcher.any.map(compileAll));
  if ("not" in matcher) return matchNot(compileAll(matcher.not));
  const { field, condition } = matcher;
  const read = shared.once(field, compileField(field));
  const check = compileCondition(condition);
  return {
    cost: costOf(field, condition),
    holds: (input) => check.holds(read(input)),
    reason(input) {
      const values = read(input);
      const reason = `${field} ${check.words(values)}`;
      const isMissed = values.length === 0 && !check.holds(values);
      const advice = isMissed ? adviseOnMissing?.(field, input) : undefined;
      return advice ? `${reason}; ${advice}` : reason;
    },
  };
}

/** Comparing a text is cheaper than numbers and patterns, and facts are read already. */
function costOf(field: string, condition: Condition): number {
  const { matches, notMatches, lt, lte, gt, gte } = condition;
  const isPattern = matches !== undefined || notMatches !== undefined;
  const isBound = [lt, lte, gt, gte].some((bound) => bound !== undefined);
  return (field.startsWith("payload") ? 4 : 0) + (isPattern ? 2 : 0) + (isBound ? 1 : 0);
}

const costOfGroup = 8;

/** The most alternatives that a reason explains. */
const mostTold = 5;

function matchAny(lists: Match[]): CostedMatch {
  return {
    cost: costOfGroup,
    holds(input) {
      for (const match of lists) if (match.holds(input)) return true;
      return false;
    },
    reason(input) {
      const held = lists.find((match) => match.holds(input));
      if (held !== undefined) return `one of the ${lists.length} held: ${held.reason(input)}`;
      const told = lists.slice(0, mostTold).map((match) => match.reason(input));
      const more = lists.length > mostTold ? `; and ${lists.length - mostTold} more` : "";
      return `none of the ${lists.length} held: ${told.join("; ")}${more}`;
    },
  };
}

function matchNot(match: Match): CostedMatch {
  return {
    cost: costOfGroup,
    holds: (input) => !match.holds(input),
    reason: (input) => `${match.holds(input) ? "excluded" : "not excluded"}: ${match.reason(input)}`,
  };
}

/** A text, number or boolean as text. `list` and `object` have no text. */
export type FieldValue = TextValue | { kind: "list" } | { kind: "object" };

/** Number and address are computed when the first condition needs them. */
interface TextValue {
  kind: "text";
  text: string;
  /** The previous value in other words: one value for people. */
  isSame?: boolean;
  amount?: Decimal | null;
  spelled?: Spelled;
}

/** Empty when the field is missing or null. Several values only where the path has `[*]`. */
export type ReadField = (input: MatchInput) => FieldValue[];

export function compileField(field: string): ReadField {
  const parsed = parseFieldPath(field);
  if (!parsed.ok) throw new AppError("invalid_request", `Field ${JSON.stringify(field)}: ${parsed.problem}.`);
  const { path } = parsed;
  if (path.kind === "payload") {
    return ({ payload }) => (payload === undefined ? [] : toFieldValues(valuesAt(payload, path.steps)));
  }
  const readText = factReader(path.fact);
  const textsOf = path.fact === "alertKey" ? keyAndWords : (text: string) => [text];
  return (input) => {
    const text = readText(input);
    return text === undefined ? [] : textsOf(text).map((one, at) => ({ kind: "text", text: one, isSame: at > 0 }));
  };
}

/** People write a sender's key without the place where Tocsin found it: `incident:42` is also `42`. */
const keyAndWords = (key: string) => [...new Set([key, key.slice(key.indexOf(":") + 1)])];

function toFieldValues(found: readonly Json[]): FieldValue[] {
  const values: FieldValue[] = [];
  for (const value of found) {
    if (value === null) continue;
    if (typeof value === "object" && !(value instanceof JsonNumber))
      values.push({ kind: Array.isArray(value) ? "list" : "object" });
    else values.push({ kind: "text", text: value instanceof JsonNumber ? value.text : String(value) });
  }
  return values;
}

/** A check with words that follow the field's name: "12.5 is above 5", "is warning, not critical". */
interface Check<Given> {
  holds(given: Given): boolean;
  words(given: Given): string;
}

type CheckValues = Check<FieldValue[]>;

type CheckValue = Check<FieldValue>;

/**
 * - Without a value (missing, or null) only `exists: false`, `not` and `notMatches` hold.
 * - `not`, `notMatches` and `exists` are about all values of the field. For the other conditions one value must meet
 *   every one.
 * - `equals` and `not` compare texts exactly, numbers as numbers (`1.0` equals `1`), and hexadecimal addresses without
 *   regard to case: checksummed and lower-case spellings name the same contract.
 * - `lt lte gt gte` hold for numbers only. Numbers sent as text count, and amounts as people write them (`$4,012.3`,
 *   `3.2M`).
 * - `glob` holds for a text that fits one of them as a whole.
 * - Only the first 10,000 values of a field are looked at, and the words say so.
 * Throws `invalid_request` for a pattern that cannot be read.
 */
export function compileCondition(condition: Condition): CheckValues {
  const ofOne = compileValueChecks(condition);
  const checks: CheckValues[] = [];
  const { not, notMatches } = condition;
  if (not !== undefined) {
    const words = (found?: string) => (found === undefined ? `is not ${inWords(not)}` : `is ${quoteValue(found)}`);
    checks.push(ofNone(compileTexts(not), words));
  }
  if (notMatches !== undefined) {
    const isFound = compilePattern(notMatches);
    const words = (found?: string) => `${found === undefined ? "does not match" : "matches"} /${notMatches}/`;
    checks.push(ofNone(({ text }) => isFound(text), words));
  }
  const told = [...checks];
  if (ofOne.length > 0) {
    const any = compileAny(ofOne);
    checks.push(any);
    told.unshift(any);
  }
  return {
    holds(values) {
      if (condition.exists === false) return values.length === 0;
      if (values.length === 0) return ofOne.length === 0 && condition.exists === undefined;
      for (const check of checks) if (!check.holds(values)) return false;
      return true;
    },
    words(values) {
      if (values.length === 0) return "is missing";
      if (condition.exists === false || checks.length === 0) return "is present";
      const failed = checks.find((check) => !check.holds(values));
      return failed === undefined ? told.map((check) => check.words(values)).join(" and ") : failed.words(values);
    },
  };
}

/** @param say words for the refused text. Without one: for all texts */
function ofNone(isRefused: (value: TextValue) => boolean, say: (found?: string) => string): CheckValues {
  const findIn = (looked: FieldValue[]) =>
    looked.find((value): value is TextValue => value.kind === "text" && isRefused(value));
  return {
    holds: (values) => findIn(limitValues(values)) === undefined,
    words(values) {
      const looked = limitValues(values);
      const refused = findIn(looked);
      if (refused !== undefined) return `${say(refused.text)}, which is excluded`;
      const isPart = looked.length < values.length;
      return isPart ? `${say()} in the first ${groupThousands(looked.length)} of its values` : say();
    },
  };
}

/** Further values of a `[*]` are not looked at, since each matcher of each route would walk a huge list. */
const maxValues = 10_000;
const maxUnits = 200_000;

function limitValues(values: FieldValue[]): FieldValue[] {
  if (values.length < 2) return values;
  let units = 0;
  for (const [index, value] of values.entries()) {
    if (index === maxValues || (index > 0 && units >= maxUnits)) return values.slice(0, index);
    if (value.kind === "text") units += Math.min(value.text.length, patternInputLimit);
  }
  return values;
}

/** One value must meet every check. Otherwise the words are about the first value. */
function compileAny(checks: CheckValue[]): CheckValues {
  const fits = (value: FieldValue) => {
    for (const check of checks) if (!check.holds(value)) return false;
    return true;
  };
  return {
    holds(values) {
      for (const value of limitValues(values)) if (fits(value)) return true;
      return false;
    },
    words(values) {
      const looked = limitValues(values);
      const fit = looked.find(fits);
      if (fit !== undefined) return checks.map((check) => check.words(fit)).join(" and ");
      const first = looked[0] as FieldValue;
      const why = checks.find((check) => !check.holds(first))?.words(first);
      const isOne = values.every((value, at) => at === 0 || (value.kind === "text" && value.isSame));
      return isOne ? `${why}` : `${why}${describeRest(looked.length, values.length)}`;
    },
  };
}

function describeRest(looked: number, all: number): string {
  if (looked < all)
    return `, nor does any of the first ${groupThousands(looked)} of its ${groupThousands(all)} values fit`;
  return all > 1 ? `, nor does any other of its ${all} values fit` : "";
}

function compileValueChecks(condition: Condition): CheckValue[] {
  const checks: CheckValue[] = [];
  if (condition.equals !== undefined) checks.push(compileEquals(condition.equals));
  if (condition.gt !== undefined) checks.push(compileBound(condition.gt, "above", (order) => order > 0));
  if (condition.gte !== undefined) checks.push(compileBound(condition.gte, "at least", (order) => order >= 0));
  if (condition.lt !== undefined) checks.push(compileBound(condition.lt, "below", (order) => order < 0));
  if (condition.lte !== undefined) checks.push(compileBound(condition.lte, "at most", (order) => order <= 0));
  if (condition.matches !== undefined) checks.push(compileMatches(condition.matches));
  if (condition.glob !== undefined) checks.push(compileGlobs(condition.glob));
  return checks;
}

function ofText(holds: (value: TextValue) => boolean, words: (value: TextValue, holds: boolean) => string): CheckValue {
  return {
    holds: (value) => value.kind === "text" && holds(value),
    words: (value) => (value.kind === "text" ? words(value, holds(value)) : saysNoText[value.kind]),
  };
}

const saysNoText = {
  list: "is a list (its elements are reached with [*])",
  object: "is an object, not a value",
};

function compileEquals(accepted: string[]): CheckValue {
  return ofText(
    compileTexts(accepted),
    ({ text }, holds) => `is ${quoteValue(text)}${holds ? "" : `, not ${inWords(accepted)}`}`,
  );
}

function compileBound(bound: number, relation: string, test: (order: number) => boolean): CheckValue {
  const limit = parseDecimal(String(bound));
  const amountOf = (value: TextValue) => (value.amount ??= parseAmount(value.text) ?? null);
  return ofText(
    (value) => {
      const given = amountOf(value);
      return given !== null && limit !== undefined && test(compareDecimals(given, limit));
    },
    (value, holds) =>
      amountOf(value) === null
        ? `is ${quoteValue(value.text)}, which is not a number`
        : `${quoteValue(value.text)} is ${holds ? "" : "not "}${relation} ${bound}`,
  );
}

function compileMatches(pattern: string): CheckValue {
  const isFound = compilePattern(pattern);
  return ofText(
    ({ text }) => isFound(text),
    (_value, holds) => `${holds ? "matches" : "does not match"} /${pattern}/`,
  );
}

function compileGlobs(globs: string[]): CheckValue {
  const compiled = globs.map((glob) => ({ glob, fits: compileGlob(glob) }));
  const find = (text: string) => compiled.find(({ fits }) => fits(text))?.glob;
  return ofText(
    ({ text }) => find(text) !== undefined,
    ({ text }) => {
      const found = find(text);
      const fit = found === undefined ? `does not fit ${inWords(globs)}` : `fits ${quoteValue(found)}`;
      return `is ${quoteValue(text)}, which ${fit}`;
    },
  );
}

/** Letter for letter, an address in any case. Parts between stars are searched one by one, so no text takes long. */
function compileGlob(glob: string): (text: string) => boolean {
  const isOfAddress = /^0x[0-9a-f*]*$/i.test(glob);
  const [first = "", ...others] = (isOfAddress ? glob.toLowerCase() : glob).split(/\*+/);
  const last = others.pop();
  return (sent) => {
    const whole = sent.slice(0, patternInputLimit);
    const text = isOfAddress ? whole.toLowerCase() : whole;
    if (last === undefined) return text === first;
    if (!text.startsWith(first) || !text.endsWith(last)) return false;
    let at = first.length;
    for (const part of others) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= text.length - last.length;
  };
}

type Spelled = ReturnType<typeof spell>;

function compileTexts(texts: readonly string[]): (value: TextValue) => boolean {
  const exact = new Set(texts);
  const spelled = texts.map(spell).filter(({ address, decimal }) => address !== undefined || decimal !== undefined);
  return (value) => {
    if (exact.has(value.text)) return true;
    if (spelled.length === 0) return false;
    value.spelled ??= spell(value.text);
    const given = value.spelled;
    return spelled.some((one) => sameText(given, one));
  };
}

function spell(text: string) {
  const address = /^0x[0-9a-f]+$/i.test(text) ? text.toLowerCase() : undefined;
  return { decimal: parseDecimal(text), address };
}

function sameText(a: Spelled, b: Spelled): boolean {
  if (a.address !== undefined && a.address === b.address) return true;
  return a.decimal !== undefined && b.decimal !== undefined && compareDecimals(a.decimal, b.decimal) === 0;
}

function inWords(values: string[]): string {
  return values.map(quoteValue).join(" or ");
}

/** The length of a text that is looked at, so one alert cannot delay others. Facts are never longer. */
const patternInputLimit = 20_000;

/** RE2 syntax. Matches anywhere in a text, in time linear in its length. */
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

/** On one line, at most 80 characters, quoted unless it is one word. */
export function quoteValue(value: string): string {
  const line = value
    .slice(0, 4 * shownCharacters)
    .replace(/\s+/g, " ")
    .trim();
  const clipped = line.length <= shownCharacters ? line : Array.from(line).slice(0, shownCharacters).join("");
  const shown = clipped.length < line.length || value.length > 4 * shownCharacters ? `${clipped}…` : clipped;
  return /^[^\s,;“”]+$/.test(shown) ? shown : `“${shown}”`;
}
