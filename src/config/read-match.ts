import { RE2JS } from "re2js";
import { z } from "zod";
import { alertOrigins, bodyFormats, severities, statuses } from "../core/alert.ts";
import { AppError } from "../core/errors.ts";
import { factFields, parseFieldPath } from "../core/field-path.ts";
import type { Condition, Matcher } from "../core/rules.ts";
import { Refusal } from "./refusal.ts";
import { showValue } from "./show-value.ts";
import { suggest, suggestOrList } from "./suggest.ts";

const conditionKeys = ["equals", "not", "lt", "lte", "gt", "gte", "exists", "matches"] as const;

/** Facts that only ever have one of these values; any other could never match. */
const closedFields: Readonly<Record<string, readonly string[]>> = {
  severity: severities,
  status: statuses,
  format: bodyFormats,
  origin: alertOrigins,
};

/**
 * `match:` as it is written: field → value, list of values, or a map of conditions. Several fields hold together.
 * An empty one is refused, since a line too many commented out would make it match everything.
 */
export const matchSchema: z.ZodType<Matcher[]> = z.unknown().transform((value, context) => {
  const matchers: Matcher[] = [];
  const refuse = (path: (string | number)[], { message, instead }: Refusal): void => {
    context.issues.push({ code: "custom", message, input: undefined, path, params: { instead } });
  };
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    refuse([], new Refusal(`${showValue(value)} is not a map`, "write e.g. { severity: critical }"));
    return z.NEVER;
  }
  const entries = Object.entries(value);
  if (entries.length === 0)
    refuse(
      [],
      new Refusal(
        "is empty",
        "write at least one field, e.g. { severity: critical }; a route for every alert has no match",
      ),
    );
  for (const [field, wanted] of entries) {
    const parsed = parseFieldPath(field);
    if (!parsed.ok) {
      refuse([field], new Refusal(parsed.problem, adviseOnField(field)));
      continue;
    }
    const condition = readCondition(field, wanted, (path, refusal) => refuse([field, ...path], refusal));
    if (condition !== undefined) matchers.push({ field, condition });
  }
  return matchers;
});

/** For mutes that come through the API: throws `invalid_request` with all that is wrong. */
export function parseMatch(value: unknown): Matcher[] {
  const result = matchSchema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => {
    const instead = issue.code === "custom" ? issue.params?.instead : undefined;
    const where = issue.path.length === 0 ? "match" : issue.path.join(".");
    return `${where} ${issue.message}${typeof instead === "string" ? ` (${instead})` : ""}`;
  });
  throw new AppError("invalid_request", `The matcher cannot be used: ${problems.join("; ")}.`);
}

type Refuse = (path: (string | number)[], refusal: Refusal) => void;

function readCondition(field: string, wanted: unknown, refuse: Refuse): Condition | undefined {
  const isMap = typeof wanted === "object" && wanted !== null && !Array.isArray(wanted);
  if (!isMap) {
    const equals = readValues(field, wanted, [], refuse);
    return equals === undefined ? undefined : { equals };
  }
  const condition: Condition = {};
  if (Object.keys(wanted).length === 0) refuse([], new Refusal("is empty", "write e.g. { gt: 5 }"));
  for (const [key, value] of Object.entries(wanted)) {
    const known = conditionKeys.find((name) => name === key);
    if (known === undefined)
      refuse([key], new Refusal("is not a condition", suggestOrList(key, conditionKeys)));
    else addCondition(condition, known, field, value, refuse);
  }
  refuseContradiction(condition, refuse);
  return condition;
}

function addCondition(
  condition: Condition,
  key: (typeof conditionKeys)[number],
  field: string,
  value: unknown,
  refuse: Refuse,
): void {
  switch (key) {
    case "equals":
    case "not": {
      const values = readValues(field, value, [key], refuse);
      if (values !== undefined) condition[key] = values;
      return;
    }
    case "lt":
    case "lte":
    case "gt":
    case "gte": {
      const number = readBound(value);
      if (number instanceof Refusal) refuse([key], number);
      else condition[key] = number;
      return;
    }
    case "exists":
      if (typeof value === "boolean") condition.exists = value;
      else refuse([key], new Refusal(`${showValue(value)} is neither true nor false`, "write true or false"));
      return;
    case "matches": {
      const pattern = readPattern(value);
      if (pattern instanceof Refusal) refuse([key], pattern);
      else condition.matches = pattern;
      return;
    }
    default:
      key satisfies never;
  }
}

function readValues(
  field: string,
  value: unknown,
  path: (string | number)[],
  refuse: Refuse,
): string[] | undefined {
  const items: unknown[] = Array.isArray(value) ? value : [value];
  if (items.length === 0)
    refuse(path, new Refusal("is an empty list, which matches nothing", "write a value"));
  const closed = closedFields[field];
  let complete = items.length > 0;
  const texts = items.flatMap((item, index) => {
    const at = Array.isArray(value) ? [...path, index] : path;
    const text = toText(item);
    const refusal =
      text === undefined
        ? new Refusal(
            `${showValue(item)} is not a value to compare with`,
            "for a missing value write { exists: false }",
          )
        : closed !== undefined && !closed.includes(text)
          ? new Refusal(`${showValue(item)} is never the ${field} of an alert`, suggestOrList(text, closed))
          : undefined;
    if (refusal !== undefined) {
      complete = false;
      refuse(at, refusal);
    }
    return text === undefined ? [] : [text];
  });
  return complete ? texts : undefined;
}

function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "boolean" || typeof value === "number" ? String(value) : undefined;
}

function readBound(value: unknown): number | Refusal {
  const text = typeof value === "number" ? String(value) : value;
  const isNumber = typeof text === "string" && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim());
  const number = isNumber ? Number(text) : Number.NaN;
  return Number.isFinite(number)
    ? number
    : new Refusal(`${showValue(value)} is not a number`, "write e.g. 1000000 or 2.5");
}

function readPattern(value: unknown): string | Refusal {
  if (typeof value !== "string" || value === "") {
    return new Refusal(
      `${showValue(value)} is not a pattern`,
      'write a regular expression in quotes, e.g. "^USD"',
    );
  }
  try {
    RE2JS.compile(value);
    return value;
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "unreadable";
    return new Refusal(
      `the pattern cannot be read: ${why}`,
      "patterns are in RE2 syntax, which has no look-ahead, look-behind or back-references",
    );
  }
}

function refuseContradiction(condition: Condition, refuse: Refuse): void {
  const { gt, gte, lt, lte, exists } = condition;
  const low = Math.max(gt ?? -Infinity, gte ?? -Infinity);
  const high = Math.min(lt ?? Infinity, lte ?? Infinity);
  const touches = low === high && (low === gt || high === lt);
  if (low > high || touches) {
    refuse([], new Refusal("no number is that large and that small", "turn the bounds round"));
  }
  if (exists === false && Object.keys(condition).length > 1) {
    refuse([], new Refusal("a missing value meets no other condition", "write { exists: false } alone"));
  }
}

function adviseOnField(field: string): string {
  const near = suggest(field, factFields);
  if (near !== undefined) return `did you mean ${near}?`;
  if (field.startsWith("payload"))
    return 'write a path like payload.pool.address, payload.items[*].id or payload["a.b"]';
  return `write one of ${factFields.join(", ")}, or payload.${field} to look into the body`;
}
