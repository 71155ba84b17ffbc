import { RE2JS } from "re2js";
import { alertOrigins, bodyFormats, severities, statuses } from "../core/alert.ts";
import type { Condition } from "../core/rules.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { looksSecret, showValue } from "../ground/shape/show-value.ts";
import { suggestOrList } from "../ground/text/suggest.ts";
import { describeMatcher, quote, signs } from "./describe-match.ts";
import { doubtNumber, fromGlob, guessMeaning } from "./guess-meaning.ts";

/** The form in which a condition was written. The advice uses the same. */
export type MatchForm = "map" | "text";

export type Refuse = (path: (string | number)[], refusal: Refusal) => void;

export interface PlacedValue {
  value: unknown;
  path: (string | number)[];
  /** The value is meant as a text, so nothing in it is read as a condition. */
  isLiteral: boolean;
}

/** Facts with a fixed set of values. Any other value could never match. */
const closedFields: Readonly<Record<string, readonly string[]>> = {
  severity: severities,
  status: statuses,
  format: bodyFormats,
  origin: alertOrigins,
};

interface Target {
  field: string;
  form: MatchForm;
  refuse: Refuse;
}

export function addCondition(condition: Condition, key: keyof Condition, values: PlacedValue[], target: Target): void {
  const [first] = values;
  const path = first?.path ?? [];
  switch (key) {
    case "equals":
    case "not": {
      const texts = readValues(key, values, target);
      if (texts !== undefined) condition[key] = texts;
      return;
    }
    case "lt":
    case "lte":
    case "gt":
    case "gte": {
      const number = readBound(key, first?.value, target);
      if (number instanceof Refusal) target.refuse(path, number);
      else condition[key] = number;
      return;
    }
    case "exists": {
      const value = first?.value;
      const isThere = target.form === "text" ? value === "true" : value;
      if (typeof isThere === "boolean") condition.exists = isThere;
      else target.refuse(path, new Refusal(`${showValue(value)} is neither true nor false`, "write true or false"));
      return;
    }
    case "matches":
    case "notMatches": {
      const pattern = readPattern(first?.value);
      if (pattern instanceof Refusal) target.refuse(path, pattern);
      else condition[key] = pattern;
      return;
    }
    case "glob": {
      const globs = values.map((value) => readGlob(value, target));
      for (const [index, glob] of globs.entries()) {
        if (glob instanceof Refusal) target.refuse(values[index]?.path ?? path, glob);
      }
      condition.glob = globs.filter((glob) => typeof glob === "string");
      return;
    }
    default:
      key satisfies never;
  }
}

/** A text without a star would be a text to compare. One with the signs of a regular expression is meant as such. */
function readGlob({ value, isLiteral }: PlacedValue, { field, form }: Target): string | Refusal {
  if (typeof value !== "string" || value === "") {
    return new Refusal(`${showValue(value)} is no text with a star`, 'write e.g. "US*"');
  }
  const write = (condition: Condition) =>
    form === "text" ? describeMatcher({ field, condition }).join(" ") : writeAsMap(field, condition);
  const isSecret = looksSecret(value);
  if (!value.includes("*")) {
    const part = write({ matches: fromGlob(`*${value}*`) });
    const instead = `write ${write({ equals: [value] })} for this very text, or ${part} for a part of it`;
    return new Refusal(`${showValue(value)} has no star`, isSecret ? 'write e.g. "US*"' : instead);
  }
  if (isLiteral || !/^\^|\.\*/.test(value)) return value;
  const instead = `write ${write({ matches: value })}, or for the dot itself ${write({ matches: fromGlob(value) })}`;
  return new Refusal(`${showValue(value)} looks like a regular expression`, isSecret ? undefined : instead);
}

function readValues(
  key: "equals" | "not",
  values: PlacedValue[],
  { field, form, refuse }: Target,
): string[] | undefined {
  const closed = closedFields[field];
  const texts: string[] = [];
  let complete = true;
  for (const { value, path, isLiteral } of values) {
    const text = toText(value);
    const refusal =
      text === undefined
        ? new Refusal(
            `${showValue(value)} is not a value to compare with`,
            "for a missing value write { exists: false }",
          )
        : ((isLiteral ? undefined : refuseCondition({ key, field, form }, text)) ??
          (closed !== undefined && !closed.includes(text)
            ? new Refusal(`${showValue(text)} is never the ${field} of an alert`, suggestOrList(text, closed))
            : undefined));
    if (refusal !== undefined) {
      complete = false;
      refuse(path, refusal);
    }
    if (text !== undefined) texts.push(text);
  }
  return complete ? texts : undefined;
}

function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "boolean" || typeof value === "number" ? String(value) : undefined;
}

/** Refuses a text that looks like a condition: it would be compared letter by letter, and hold for no alert. */
function refuseCondition(
  { key, field, form }: { key: "equals" | "not"; field: string; form: MatchForm },
  text: string,
): Refusal | undefined {
  const meaning = guessMeaning(field, text);
  if (meaning === undefined) return doubtNumber(field, text);
  // Secrets are never repeated, not even in advice.
  if (looksSecret(text)) return undefined;
  const meant = key === "not" ? negate(meaning.condition) : meaning.condition;
  const asText = describeMatcher({ field, condition: meant }).join(" ");
  const literal = form === "text" ? `${field}${signs[key]}${quote(text)}` : literalMap(key, field, text);
  const write = form === "text" ? asText : `${writeAsMap(field, meant)}, or as a text ${JSON.stringify(asText)}`;
  const orLiteral = closedFields[field] === undefined ? `; if this very text is meant: ${literal}` : "";
  return new Refusal(`${showValue(text)} is a text here, not ${meaning.kind}`, `write ${write}${orLiteral}`);
}

function literalMap(key: "equals" | "not", field: string, text: string): string {
  const value = key === "not" ? `[${JSON.stringify(text)}]` : JSON.stringify(text);
  return `${field}: { ${key}: ${value} }`;
}

function negate({ equals, not, matches, glob, gt, gte, lt, lte, exists }: Condition): Condition {
  return {
    ...(equals && { not: equals }),
    ...(not && { equals: not }),
    ...(matches && { notMatches: matches }),
    ...(glob && { notMatches: glob.map(fromGlob).join("|") }),
    ...(gt === undefined ? {} : { lte: gt }),
    ...(gte === undefined ? {} : { lt: gte }),
    ...(lt === undefined ? {} : { gte: lt }),
    ...(lte === undefined ? {} : { gt: lte }),
    ...(exists === undefined ? {} : { exists: !exists }),
  };
}

/** Writes a condition as it belongs below `match:`, e.g. `token: [USDC, DAI]` or `value: { gte: 5 }`. */
export function writeAsMap(field: string, condition: Condition): string {
  const { equals, ...rest } = condition;
  if (equals !== undefined && Object.keys(rest).length === 0) {
    return `${field}: ${equals.length === 1 ? writeYaml(equals[0] ?? "") : writeYaml(equals)}`;
  }
  const members = Object.entries(condition).map(([key, value]) => {
    const [only, ...others] = key === "glob" ? (value as string[]) : [];
    return `${key}: ${writeYaml(only === undefined || others.length > 0 ? value : only)}`;
  });
  return `${field}: { ${members.join(", ")} }`;
}

function writeYaml(value: string | number | boolean | string[]): string {
  if (Array.isArray(value)) return `[${value.map(writeYaml).join(", ")}]`;
  return typeof value === "string" && !/^[A-Za-z0-9][\w.-]*$/.test(value) ? JSON.stringify(value) : String(value);
}

function readBound(key: "lt" | "lte" | "gt" | "gte", value: unknown, { field, form }: Target): number | Refusal {
  const text = typeof value === "number" ? String(value) : value;
  const isNumber = typeof text === "string" && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim());
  const number = isNumber ? Number(text) : Number.NaN;
  if (Number.isFinite(number)) return number;
  if (typeof text === "string") {
    const { equals } = guessMeaning(field, field === "severity" ? `${signs[key]}${text}` : text)?.condition ?? {};
    const [only] = equals ?? [];
    const meant =
      field === "severity" ? equals && { equals } : equals?.length === 1 && only ? { [key]: Number(only) } : undefined;
    if (meant !== undefined) {
      const write = form === "text" ? describeMatcher({ field, condition: meant }).join(" ") : writeAsMap(field, meant);
      return new Refusal(`${showValue(value)} is not a number`, `write ${write}`);
    }
  }
  return new Refusal(`${showValue(value)} is not a number`, "write e.g. 1000000 or 2.5");
}

function readPattern(value: unknown): string | Refusal {
  if (Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string")) {
    const anyOf = value.join("|");
    const instead = looksSecret(anyOf) ? "write one" : `write ${JSON.stringify(anyOf)} for any of them`;
    return new Refusal("a list is not a pattern", instead);
  }
  if (typeof value !== "string" || value === "") {
    return new Refusal(`${showValue(value)} is not a pattern`, 'write a regular expression in quotes, e.g. "^USD"');
  }
  const [, inner = "", flags = ""] = /^\/(.+)\/([gimsuy]+)$/s.exec(value) ?? [];
  if (flags !== "" && !looksSecret(value)) {
    const insensitive = flags.includes("i") ? "(?i)" : "";
    return new Refusal(
      "slashes and letters after them are not part of a pattern here",
      `write ${JSON.stringify(`${insensitive}${inner}`)}`,
    );
  }
  try {
    RE2JS.compile(value);
    return value;
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "unreadable";
    const isGlob = /^\*|\*$/.test(value) && /[^*]/.test(value);
    return new Refusal(
      `the pattern cannot be read: ${why}`,
      isGlob
        ? `a pattern is found anywhere in the text, without stars: write ${JSON.stringify(fromGlob(value))}`
        : "patterns are in RE2 syntax, which has no look-ahead, look-behind or back-references",
    );
  }
}

export function refuseContradiction(condition: Condition, refuse: Refuse): void {
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
