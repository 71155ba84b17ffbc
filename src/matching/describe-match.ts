import type { Condition, Matcher } from "../core/rules.ts";

/** Matchers in the text form that every `match` takes, so that what is shown can be written; `every alert` for none. */
export function describeMatchers(matchers: Matcher[]): string {
  return matchers.length === 0 ? "every alert" : matchers.flatMap(describeMatcher).join(" and ");
}

/** One text for each condition: `severity=critical`, `token!=USDC,DAI`, `value>=5`, `payload.pool exists`. */
export function describeMatcher({ field, condition }: Matcher): string[] {
  return Object.entries(condition).flatMap(([key, value]) =>
    value === undefined ? [] : [`${field}${describeCondition(field, key as keyof Condition, value)}`],
  );
}

function describeCondition(
  field: string,
  key: keyof Condition,
  value: NonNullable<Condition[keyof Condition]>,
): string {
  const text = Array.isArray(value)
    ? value
        .map((one) => (groupsDigits(field, value) || isNoNumber(field, one) ? quote(one) : quoteLiteral(one)))
        .join(",")
    : String(value);
  switch (key) {
    case "equals":
      return `=${text}`;
    case "not":
      return `!=${text}`;
    case "lt":
      return `<${text}`;
    case "lte":
      return `<=${text}`;
    case "gt":
      return `>${text}`;
    case "gte":
      return `>=${text}`;
    case "matches":
      return `=~${quotePattern(text)}`;
    case "notMatches":
      return `!~${quotePattern(text)}`;
    case "exists":
      return value === true ? " exists" : " is missing";
    default:
      return key satisfies never;
  }
}

export const numberFields: ReadonlySet<string> = new Set(["value", "previousValue", "threshold"]);

/** A text with a digit is refused as a number that cannot be read, unless it stands in quotes. */
function isNoNumber(field: string, text: string): boolean {
  return numberFields.has(field) && /\d/.test(text) && !/^\d+(?:\.\d+)?$/.test(text);
}

/** Whether these values with commas between them read as one number: `1,000,000` as a value. */
export function groupsDigits(field: string, texts: string[]): boolean {
  return numberFields.has(field) && texts.length > 1 && /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(texts.join(","));
}

/** Quotes whatever could be read as more than the text itself: a list, a comparison, a second condition. */
function quoteLiteral(text: string): string {
  const isPlain = /^[\p{L}\p{N}_:][\p{L}\p{N}_.:/@#-]*$/u.test(text);
  const isRead = /^(or|and|not)$/i.test(text) || /^\d[\d.e+]*(?:(?:[kt]|mn?|bn?)$|[_-])|\.\./i.test(text);
  return isPlain && !isRead ? text : quote(text);
}

function quotePattern(text: string): string {
  const isRead = /^(?:or|and|\|\|)$/i.test(text) || /^['“”„‘’‚«»]|[;&]$/.test(text);
  return /^[^\s"]+$/.test(text) && !isRead ? text : quote(text);
}

/** In quotes `\"` is a quote and `\\` a backslash; every other character stands for itself. */
export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
