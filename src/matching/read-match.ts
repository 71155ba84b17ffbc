import { AppError } from "../core/errors.ts";
import type { Condition, FieldMatcher, Matcher } from "../core/rules.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { looksSecret, showValue } from "../ground/shape/show-value.ts";
import { suggest, suggestOrList } from "../ground/text/suggest.ts";
import { deepestGroup, splitMatchText, type WrittenCondition, type WrittenTerm } from "./match-text.ts";
import { factFields, parseFieldPath, writeStep } from "./path.ts";
import { addCondition, type PlacedValue, type Refuse, refuseContradiction, writeAsMap } from "./read-condition.ts";

/**
 * Reads `match:` as configured: a text such as `severity=critical value>=5`, a list of such texts, or a map from fields
 * to a value, a list of values or a map of conditions. In a map, `any` and `all` contain a list of such, and `not` one.
 * All must hold. An empty one is refused: a line too many commented out would make it match everything.
 * @param refuse called for each mistake, with its place below `match`. The returned matchers must then not be used
 * @param depth how many groups surround it
 */
export function readMatch(value: unknown, refuse: Refuse, depth = 0): Matcher[] {
  if (typeof value === "string") return readTexts([{ text: value, path: [] }], refuse);
  if (Array.isArray(value)) return readList(value, refuse);
  if (typeof value === "object" && value !== null) return readMap(value, refuse, depth);
  const problem = value === undefined ? "is missing" : `${showValue(value)} is not a matcher`;
  refuse([], new Refusal(problem, 'write e.g. { severity: critical } or "severity=critical value>=5"'));
  return [];
}

/** Reads the `match` of a mute that is made at run time. Throws `invalid_request` with all mistakes. */
export function parseMatch(value: unknown): Matcher[] {
  const problems: string[] = [];
  const matchers = readMatch(value, (path, { message, instead }) => {
    // The message quotes a text, and a bare value means `equals`, so the place leaves both out.
    const place = Array.isArray(value) ? path.slice(1) : path;
    const where = place.filter((step) => step !== "equals").join(".");
    const subject = where === "" && message.startsWith("is ") ? "it" : where;
    problems.push(`${subject}${subject === "" ? "" : " "}${message}${instead === undefined ? "" : ` (${instead})`}`);
  });
  if (problems.length === 0) return matchers;
  throw new AppError("invalid_request", `The matcher cannot be used: ${problems.join("; ")}.`);
}

function readList(values: unknown[], refuse: Refuse): Matcher[] {
  const texts = values.flatMap((text, index) => {
    if (typeof text === "string") return [{ text, path: [index] }];
    const instead =
      "in a list each entry is a text such as severity=critical; write the fields of a map without the list";
    refuse([index], new Refusal(`${showValue(text)} is not a condition`, instead));
    return [];
  });
  if (values.length === 0) refuse([], new Refusal("is empty", "write at least one condition, e.g. severity=critical"));
  return readTexts(texts, refuse);
}

interface PlacedText {
  text: string;
  path: (string | number)[];
}

function readTexts(texts: PlacedText[], refuse: Refuse): Matcher[] {
  const terms: PlacedTerm[] = [];
  for (const [position, { text, path }] of texts.entries()) {
    const found = text.trim() === "" ? new Refusal("is empty", emptyAdvice) : splitMatchText(text);
    const before = texts[position - 1]?.text ?? "";
    if (found instanceof Refusal && /^[^=]+!?=[^=]+$/.test(before) && /^[\w.-]+$/.test(text.trim())) {
      const instead = `a comma ends an entry of a list; put the text in quotes: "${before},${text.trim()}"`;
      refuse(path, new Refusal(found.message, instead));
    } else if (found instanceof Refusal) {
      refuse(path, found.message === "is empty" ? found : withText(text, found));
    } else terms.push(...found.map((term, order) => ({ term, path, isLater: order > 0 })));
  }
  return readTerms(terms, refuse);
}

interface PlacedTerm {
  term: WrittenTerm;
  path: (string | number)[];
  /** An earlier value may have contained this term's first word. */
  isLater: boolean;
}

/** Joins conditions of one field, as in a map: the same value must meet all of them. */
function readTerms(terms: PlacedTerm[], refuse: Refuse): Matcher[] {
  const matchers: Matcher[] = [];
  for (const { term, path, isLater } of terms) {
    const within = (those: WrittenTerm[]) =>
      readTerms(
        those.map((one) => ({ term: one, path, isLater: true })),
        refuse,
      );
    if ("any" in term) matchers.push({ any: term.any.map(within) });
    else if ("not" in term) matchers.push({ not: within([term.not]) });
    else if ("all" in term) matchers.push(...within(term.all));
    else readWritten(term, matchers, isLater, (_path, refusal) => refuse(path, withText(term.text, refusal)));
  }
  for (const { field, condition } of matchers.filter(isOfField)) {
    refuseContradiction(condition, (_path, refusal) => refuse(terms[0]?.path ?? [], withText(field, refusal)));
  }
  return matchers;
}

function readWritten(term: WrittenCondition, known: Matcher[], isLater: boolean, refuse: Refuse): void {
  const { field, key, items } = term;
  if (!isField(field, isLater, refuse)) return;
  const condition: Condition = {};
  const values = items.map((item): PlacedValue => ({ value: item.text, path: [], isLiteral: item.isQuoted }));
  addCondition(condition, key, values, { field, form: "text", refuse });
  if (Object.keys(condition).length > 0) join(known, { field, condition }, refuse);
}

/** How much of a condition is shown before its mistake. */
const shownCharacters = 80;
const emptyAdvice = "write at least one condition, e.g. severity=critical; a route for every alert has no match";

function withText(text: string, { message, instead }: Refusal): Refusal {
  const isNamed = message.startsWith(showValue(text.trim())) || looksSecret(text);
  const shown = text.trim().length > shownCharacters ? `${text.trim().slice(0, shownCharacters)}…` : text.trim();
  return new Refusal(isNamed ? message : `${shown}: ${message}`, instead);
}

/** `isLater`: an earlier value may have contained the word. */
function isField(field: string, isLater: boolean, refuse: Refuse): boolean {
  const parsed = parseFieldPath(field);
  if (parsed.ok) return true;
  const advice = adviseOnField(field);
  const isSlip = suggest(field, factFields) !== undefined;
  const quotes = isLater && !isSlip ? '; if it belongs to the value before it, put that value in "quotes"' : "";
  refuse([], new Refusal(`${showValue(field)} ${parsed.problem}`, `${advice}${quotes}`));
  return false;
}

function isOfField(matcher: Matcher): matcher is FieldMatcher {
  return "field" in matcher;
}

function join(matchers: Matcher[], { field, condition }: FieldMatcher, refuse: Refuse): void {
  const known = matchers.filter(isOfField).find((matcher) => matcher.field === field);
  const [key] = Object.keys(condition) as (keyof Condition)[];
  const isAsked = known !== undefined && key !== undefined && known.condition[key] !== undefined;
  if (known === undefined || (isAsked && key !== "equals")) matchers.push({ field, condition });
  else if (!isAsked) Object.assign(known.condition, condition);
  else {
    const both = [...(known.condition.equals ?? []), ...(condition.equals ?? [])];
    const instead = `for any of them write ${field}=${both.join(",")}`;
    refuse([], new Refusal("asks for a second value of the same field", instead));
  }
}

/** The conditions on a field, with names that other tools use for them. */
const otherNames: Readonly<Record<keyof Condition, readonly string[]>> = {
  equals: ["is", "eq", "in", "any", "anyof", "oneof", "value", "="],
  not: ["ne", "neq", "isnot", "notequals", "notin", "except", "noneof", "!="],
  lt: ["below", "under", "lessthan", "<"],
  lte: ["max", "le", "atmost", "<="],
  gt: ["above", "over", "morethan", "greaterthan", ">"],
  gte: ["min", "ge", "atleast", ">="],
  exists: ["present", "exist", "defined"],
  matches: ["contains", "includes", "regex", "regexp", "re", "pattern", "like", "match", "search", "=~"],
  notMatches: ["notcontains", "notregex", "unlike", "!~"],
  glob: ["wildcard", "fits", "~"],
};
export const conditionKeys = Object.keys(otherNames) as (keyof Condition)[];

/** `any`, `all` and `not` contain further matchers. */
function readMap(value: object, refuse: Refuse, depth: number): Matcher[] {
  const entries = Object.entries(value);
  const matchers: Matcher[] = [];
  if (entries.length === 0) {
    const instead = "write at least one field, e.g. { severity: critical }; a route for every alert has no match";
    refuse([], new Refusal("is empty", instead));
  }
  for (const [field, wanted] of entries) {
    if (field === "any" || field === "all" || field === "not") {
      matchers.push(...readGroup(field, wanted, (path, refusal) => refuse([field, ...path], refusal), depth));
      continue;
    }
    const parsed = parseFieldPath(field);
    if (!parsed.ok) {
      const isText = wanted === null && !(splitMatchText(field) instanceof Refusal);
      const instead = isText ? `write it as a text: match: ${JSON.stringify(field)}` : adviseOnField(field);
      refuse([field], new Refusal(parsed.problem, instead));
      continue;
    }
    const condition = readCondition(field, wanted, (path, refusal) => refuse([field, ...path], refusal));
    if (condition !== undefined) matchers.push({ field, condition });
  }
  return matchers;
}

function readGroup(kind: "any" | "all" | "not", wanted: unknown, refuse: Refuse, depth: number): Matcher[] {
  if (depth === deepestGroup) {
    const message = `is one more than ${deepestGroup} groups in one another`;
    refuse([], new Refusal(message, "write it as several routes"));
    return [];
  }
  if (kind === "not") {
    if (!Array.isArray(wanted)) return [{ not: readMatch(wanted, refuse, depth + 1) }];
    const instead = "for none of several write not: { any: […] }, for not all of them not: { all: […] }";
    refuse([], new Refusal("takes no list, which could mean none of them or not all of them", instead));
    return [];
  }
  if (!Array.isArray(wanted) || wanted.length === 0) {
    refuse([], new Refusal("is no list of matches", `write e.g. ${kind}: [{ severity: critical }, "value<5"]`));
    return [];
  }
  const lists = wanted.map((one: unknown, index) =>
    readMatch(one, (path, refusal) => refuse([index, ...path], refusal), depth + 1),
  );
  return kind === "any" ? [{ any: lists }] : lists.flat();
}

function readCondition(field: string, wanted: unknown, refuse: Refuse): Condition | undefined {
  const target = { field, form: "map", refuse } as const;
  const condition: Condition = {};
  if (!isMap(wanted)) {
    addCondition(condition, "equals", placeValues(wanted, [], refuse, false), target);
    return condition.equals === undefined ? undefined : condition;
  }
  if (Object.keys(wanted).length === 0) refuse([], new Refusal("is empty", "write e.g. { gt: 5 }"));
  const nested = parseFieldPath(field);
  const isPayload = nested.ok && nested.path.kind === "payload";
  if (isPayload && Object.keys(wanted).every((key) => findKey(key) === undefined && nearKey(key) === undefined)) {
    const paths = listPaths(field, wanted);
    refuse([], new Refusal("is a map of fields, not of conditions", `write the whole path: ${paths.join(", ")}`));
    return undefined;
  }
  for (const [key, value] of Object.entries(wanted)) {
    const known = findKey(key);
    if (known === undefined) {
      refuse([key], new Refusal("is not a condition", adviseOnKey(field, key, value)));
      continue;
    }
    // `equals` and a list under `not` mark texts as literal.
    const isLiteral = known === "equals" || (known === "not" && Array.isArray(value));
    const values =
      known === "equals" || known === "not" || known === "glob"
        ? placeValues(value, [key], refuse, isLiteral)
        : // Only these take a list; of another condition its first value would hold alone.
          [{ value, path: [key], isLiteral: false }];
    addCondition(condition, known, values, target);
  }
  refuseContradiction(condition, refuse);
  return condition;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function placeValues(value: unknown, path: (string | number)[], refuse: Refuse, isLiteral: boolean): PlacedValue[] {
  if (!Array.isArray(value)) return [{ value, path, isLiteral }];
  if (value.length === 0) {
    refuse(path, new Refusal("is an empty list, which matches nothing", "write a value"));
  }
  return value.map((item: unknown, index) => ({ value: item, path: [...path, index], isLiteral }));
}

function findKey(key: string): keyof Condition | undefined {
  return conditionKeys.find((name) => name === key);
}

function nearKey(key: string): keyof Condition | undefined {
  const word = key.toLowerCase().replace(/[-_ ]/g, "");
  const other = conditionKeys.find((name) => otherNames[name].includes(word));
  return other ?? conditionKeys.find((name) => name === suggest(key, conditionKeys));
}

function adviseOnKey(field: string, key: string, value: unknown): string {
  const near = nearKey(key);
  if (near === undefined) return suggestOrList(key, conditionKeys);
  const isText = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  if (!isText || looksSecret(String(value))) return `did you mean ${near}?`;
  const written = writeAsMap(field, { [near]: value });
  const isFound = near === "matches" || near === "notMatches";
  return `did you mean ${near}? Write ${written}${isFound ? "; a pattern is found anywhere in the text" : ""}`;
}

const mostPaths = 5;

/** `payload: { pool: { address: x } }` → `payload.pool.address: x`. */
function listPaths(field: string, value: unknown): string[] {
  const isCondition = !isMap(value) || Object.keys(value).some((key) => findKey(key) !== undefined);
  if (isCondition) {
    const isShown = !isMap(value) && !Array.isArray(value) && !looksSecret(String(value));
    return [isShown ? writeAsMap(field, { equals: [String(value)] }) : `${field}: …`];
  }
  return Object.entries(value)
    .flatMap(([key, member]) => listPaths(`${field}${writeStep({ kind: "key", key })}`, member))
    .slice(0, mostPaths);
}

/** Names that other tools use for groups. */
const otherGroups: ReadonlyMap<string, string> = new Map([
  ["or", "any"],
  ["anyOf", "any"],
  ["oneOf", "any"],
  ["and", "all"],
  ["allOf", "all"],
  ["none", "not"],
]);

function adviseOnField(field: string): string {
  const near = suggest(field, factFields);
  if (near !== undefined) return `did you mean ${near}?`;
  if (field.startsWith("payload"))
    return 'write a path like payload.pool.address, payload.items[*].id or payload["a.b"]';
  const group = otherGroups.get(field);
  if (group !== undefined) return `did you mean ${group}?`;
  return `write one of ${factFields.join(", ")}, or payload.${field} to look into the body`;
}
