import { factFields, parseFieldPath } from "../core/field-path.ts";
import type { Condition, Matcher } from "../core/rules.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { looksSecret } from "../ground/shape/show-value.ts";
import { suggest, suggestOrList } from "../ground/text/suggest.ts";
import { splitMatchText } from "./match-text.ts";
import {
  addCondition,
  type PlacedValue,
  type Refuse,
  refuseContradiction,
  writeAsMap,
} from "./read-condition.ts";

const conditionKeys = [
  "equals",
  "not",
  "lt",
  "lte",
  "gt",
  "gte",
  "exists",
  "matches",
  "notMatches",
] as const satisfies (keyof Condition)[];

/** What the condition is called elsewhere. */
const otherNames: Readonly<Record<keyof Condition, readonly string[]>> = {
  equals: ["is", "eq", "in", "any", "anyof", "oneof", "value", "="],
  not: ["ne", "neq", "isnot", "notequals", "notin", "except", "noneof", "!="],
  lt: ["below", "under", "lessthan", "<"],
  lte: ["max", "le", "atmost", "<="],
  gt: ["above", "over", "morethan", "greaterthan", ">"],
  gte: ["min", "ge", "atleast", ">="],
  exists: ["present", "exist", "defined"],
  matches: ["contains", "includes", "regex", "regexp", "re", "pattern", "like", "match", "search", "=~", "~"],
  notMatches: ["notcontains", "notregex", "unlike", "!~"],
};

/** `match:` as a map of field → value, list of values, or map of conditions. */
export function readMatchMap(value: object, refuse: Refuse): Matcher[] {
  const entries = Object.entries(value);
  const matchers: Matcher[] = [];
  if (entries.length === 0) {
    const instead =
      "write at least one field, e.g. { severity: critical }; a route for every alert has no match";
    refuse([], new Refusal("is empty", instead));
  }
  for (const [field, wanted] of entries) {
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

function readCondition(field: string, wanted: unknown, refuse: Refuse): Condition | undefined {
  const target = { field, form: "map", refuse } as const;
  const condition: Condition = {};
  if (!isMap(wanted)) {
    addCondition(condition, "equals", placeValues(wanted, [], refuse, "judged"), target);
    return condition.equals === undefined ? undefined : condition;
  }
  if (Object.keys(wanted).length === 0) refuse([], new Refusal("is empty", "write e.g. { gt: 5 }"));
  const nested = parseFieldPath(field);
  const isPayload = nested.ok && nested.path.kind === "payload";
  if (
    isPayload &&
    Object.keys(wanted).every((key) => findKey(key) === undefined && nearKey(key) === undefined)
  ) {
    const paths = listPaths(field, wanted);
    refuse(
      [],
      new Refusal("is a map of fields, not of conditions", `write the whole path: ${paths.join(", ")}`),
    );
    return undefined;
  }
  for (const [key, value] of Object.entries(wanted)) {
    const known = findKey(key);
    if (known === undefined) {
      refuse([key], new Refusal("is not a condition", adviseOnKey(field, key, value)));
      continue;
    }
    // `equals` says itself that a text is meant as it stands; `not` says it by a list.
    const reading = known === "equals" || (known === "not" && Array.isArray(value)) ? "literal" : "judged";
    const values =
      known === "equals" || known === "not"
        ? placeValues(value, [key], refuse, reading)
        : // Only these two take a list; of another condition its first value would hold alone.
          [{ value, path: [key], isLiteral: false }];
    addCondition(condition, known, values, target);
  }
  refuseContradiction(condition, refuse);
  return condition;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function placeValues(
  value: unknown,
  path: (string | number)[],
  refuse: Refuse,
  reading: "literal" | "judged",
): PlacedValue[] {
  const isLiteral = reading === "literal";
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
    .flatMap(([key, member]) =>
      listPaths(`${field}${/^[^.[\]\s]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`}`, member),
    )
    .slice(0, mostPaths);
}

export function adviseOnField(field: string): string {
  const near = suggest(field, factFields);
  if (near !== undefined) return `did you mean ${near}?`;
  if (field.startsWith("payload"))
    return 'write a path like payload.pool.address, payload.items[*].id or payload["a.b"]';
  return `write one of ${factFields.join(", ")}, or payload.${field} to look into the body`;
}
