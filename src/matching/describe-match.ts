import type { Condition, Matcher } from "../core/rules.ts";
import { numberFields } from "./path.ts";

/** Writes the text form that every `match` accepts, so people can copy it. Without matchers: `every alert`. */
export function describeMatchers(matchers: Matcher[]): string {
  return matchers.length === 0 ? "every alert" : describeAll(matchers).join(" and ");
}

/** One text for each matcher. `and` may join them. */
export function describeAll(matchers: readonly Matcher[]): string[] {
  const conditions = new Map<string, Condition>();
  return matchers.flatMap((matcher) => {
    const texts = describeMatcher(matcher);
    if (!("field" in matcher)) return texts;
    const { field, condition } = matcher;
    const known = conditions.get(field);
    if (known === undefined) {
      conditions.set(field, condition);
      return texts;
    }
    // The same value would have to meet all conditions of a field in one list. Parentheses keep others apart.
    const [key = "", ...others] = Object.keys(condition);
    const isReadApart = others.length === 0 && key !== "equals" && key in known;
    return isReadApart ? texts : [`(${texts.join(" and ")})`];
  });
}

/** One text for each condition: `severity=critical`, `payload.pool exists`, `(token=USDC or value<5)`. */
export function describeMatcher(matcher: Matcher): string[] {
  if ("any" in matcher) return [`(${matcher.any.map(describeGroup).join(" or ")})`];
  if ("not" in matcher) return [`not ${describeGroup(matcher.not)}`];
  const { field, condition } = matcher;
  return Object.entries(condition).flatMap(([key, value]) =>
    value === undefined ? [] : [`${field}${describeCondition(field, key as keyof Condition, value)}`],
  );
}

function describeGroup(matchers: Matcher[]): string {
  const texts = describeAll(matchers);
  return texts.length === 1 ? texts.join("") : `(${texts.join(" and ")})`;
}

function describeCondition(
  field: string,
  key: keyof Condition,
  value: NonNullable<Condition[keyof Condition]>,
): string {
  const text = Array.isArray(value)
    ? value
        .map((one) => {
          if (key === "glob") return /^[\w*-]+$/.test(one) ? one : quote(one);
          return groupsDigits(field, value) || isNoNumber(field, one) ? quote(one) : quoteLiteral(one);
        })
        .join(",")
    : String(value);
  if (key === "exists") return value === true ? " exists" : " is missing";
  const isPattern = key === "matches" || key === "notMatches";
  return `${signs[key]}${isPattern ? quotePattern(text) : text}`;
}

export const signs = {
  equals: "=",
  not: "!=",
  gte: ">=",
  lte: "<=",
  matches: "=~",
  notMatches: "!~",
  glob: "~",
  gt: ">",
  lt: "<",
} as const satisfies Record<Exclude<keyof Condition, "exists">, string>;

/** Without quotes a text with a digit is refused as an unreadable number. */
function isNoNumber(field: string, text: string): boolean {
  return numberFields.has(field) && /\d/.test(text) && !/^\d+(?:\.\d+)?$/.test(text);
}

/** Whether these values with commas between them read as one number, e.g. `1,000,000`. */
export function groupsDigits(field: string, texts: string[]): boolean {
  return numberFields.has(field) && texts.length > 1 && /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(texts.join(","));
}

/** Quotes a text that could be read as something else: a list, a comparison, a second condition. */
function quoteLiteral(text: string): string {
  const isPlain = /^[\p{L}\p{N}_:][\p{L}\p{N}_.:/@#-]*$/u.test(text);
  const isRead = /^(or|and|not)$/i.test(text) || /^\d[\d.e+]*(?:(?:[kt]|mn?|bn?)$|[_-])|\.\./i.test(text);
  return isPlain && !isRead ? text : quote(text);
}

function quotePattern(text: string): string {
  const isRead = /^(?:or|and|\|\|)$/i.test(text) || /^['“”„‘’‚«»]|[;&]$/.test(text);
  return /^[^\s"]+$/.test(text) && !isRead && closesWhatItOpens(text) ? text : quote(text);
}

/** In a group, a parenthesis that the text has not opened ends the group. */
function closesWhatItOpens(text: string): boolean {
  let open = 0;
  for (const character of text) {
    open += character === "(" ? 1 : character === ")" ? -1 : 0;
    if (open < 0) return false;
  }
  return open === 0;
}

/** Inside quotes `\"` is a quote and `\\` a backslash. All other characters are literal. */
export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
