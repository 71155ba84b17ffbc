import type { Condition } from "../core/rules.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { looksSecret, showValue } from "../ground/shape/show-value.ts";
import { doubtList } from "./guess-meaning.ts";
import { parseFieldPath } from "./path.ts";

/**
 * The text form of `match`, the same on routes, in mutes, on the page and on the command line:
 *
 *     text      = condition { ( " " | " and " ) condition }      all must hold
 *     condition = field operator value | field " exists" | field " is missing"
 *     operator  = "=" | "==" | "!=" | ">" | ">=" | "<" | "<=" | "=~" | "!~"
 *     value     = item { "," item }                               after = and !=: any of them; elsewhere one item
 *     item      = "\"" any characters, \" and \\ "\"" | characters up to the next condition or comma
 *
 * A value may hold spaces and operators. White space followed by a word and an operator begins the next condition; a
 * text that holds such a thing itself stands in quotes.
 */
export interface WrittenCondition {
  /** As it was written, for messages. */
  text: string;
  field: string;
  key: keyof Condition;
  items: WrittenItem[];
}

export interface WrittenItem {
  text: string;
  /** In quotes: nothing in it has a meaning of its own. */
  isQuoted: boolean;
}

const keys = {
  "==": "equals",
  "=": "equals",
  "!=": "not",
  ">=": "gte",
  "<=": "lte",
  "=~": "matches",
  "!~": "notMatches",
  ">": "gt",
  "<": "lt",
} as const satisfies Record<string, keyof Condition>;
type Operator = keyof typeof keys;

const field = String.raw`(?:\["(?:[^"\\]|\\.)*"\]|\['[^']*'\]|\[[^\]"\s]*\]|[^\s="<>!~[\],])+`;
const operator = `==|!=|!~|>=|<=|=~|=|>|<`;
const head = new RegExp(`(${field})(?:\\s*(${operator})|\\s+(exists|is missing)(?=\\s|$))`, "y");
const separator = /\s+(?:and\s+)?/y;
const quoted = /"((?:[^"\\]|\\.)*)"/sy;

/** Longer than any rule that a person writes, and short enough to be read at once. */
const longestText = 4_000;

/** The conditions of one text, or why it cannot be read. */
export function splitMatchText(text: string): WrittenCondition[] | Refusal {
  if (text.length > longestText) return new Refusal(`is longer than ${longestText} characters`, "shorten it");
  const written = text.trim();
  const conditions: WrittenCondition[] = [];
  let position = 0;
  do {
    const start = position;
    const found = matchAt(head, written, position);
    if (found === null) return notACondition(written.slice(position));
    const [whole, name = "", sign, presence] = found;
    position += whole.length;
    const base = { field: name, text: "" };
    if (presence !== undefined) {
      const isThere = { text: String(presence === "exists"), isQuoted: true };
      conditions.push({ ...base, key: "exists", items: [isThere] });
    } else {
      const arrow = sign === "=" ? /^[<>]/.exec(written.slice(position))?.[0] : undefined;
      if (arrow !== undefined) {
        return new Refusal(`has =${arrow}, which is no operator`, `write ${arrow}= or ${arrow}`);
      }
      const key = keys[sign as Operator];
      const odd = /^(?:[=~]|>)/.exec(written.slice(position))?.[0];
      if (odd !== undefined && (sign === "==" || sign === "<")) {
        return new Refusal(`has ${sign}${odd}, which is no operator`, `write ${sign === "<" ? "!=" : "="}`);
      }
      const isList = key === "equals" || key === "not";
      const value = readItems(written, position, isList);
      if (value instanceof Refusal) return value;
      const doubt = isList ? doubtList(name, value.items, value.isSpaced) : undefined;
      if (doubt !== undefined) return doubt;
      position = value.end;
      conditions.push({ ...base, key, items: value.items });
    }
    const last = conditions.at(-1);
    if (last !== undefined) last.text = written.slice(start, position).trim();
    const between = matchAt(separator, written, position);
    if (between === null && position < written.length) return notACondition(written.slice(position));
    position += between?.[0].length ?? 0;
  } while (position < written.length);
  return conditions;
}

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | null {
  pattern.lastIndex = position;
  return pattern.exec(text);
}

function readItems(text: string, start: number, isList: boolean): ReadItems | Refusal {
  const items: WrittenItem[] = [];
  let isSpaced = false;
  let position = start;
  for (;;) {
    isSpaced ||= items.length > 0 && /\s/.test(text[position] ?? "");
    while (/\s/.test(text[position] ?? "")) position += 1;
    const inQuotes = text[position] === '"' ? matchAt(quoted, text, position) : undefined;
    if (inQuotes === null) {
      return new Refusal("has a quote that is not closed", 'end the value with ", and write \\" for a quote in it');
    }
    if (inQuotes !== undefined) {
      position += inQuotes[0].length;
      items.push({ text: (inQuotes[1] ?? "").replace(/\\(["\\])/g, "$1"), isQuoted: true });
    } else {
      const end = endOfItem(text, position, isList);
      const item = text.slice(position, end).trim();
      const refusal = judgeBare(item, { isLast: end >= text.length, isFirst: items.length === 0 });
      if (refusal !== undefined) return refusal;
      items.push({ text: item, isQuoted: false });
      position = end;
    }
    const comma = isList ? /\s*,/y : undefined;
    const next = comma === undefined ? null : matchAt(comma, text, position);
    if (next === null) return { items, end: position, isSpaced };
    position += next[0].length;
  }
}

interface ReadItems {
  items: WrittenItem[];
  end: number;
  /** A space stands behind one of its commas. */
  isSpaced: boolean;
}

/** Up to the comma of a list, the beginning of the next condition, or the end. */
function endOfItem(text: string, start: number, isList: boolean): number {
  for (let position = start; position < text.length; position += 1) {
    const character = text[position] ?? "";
    if (isList && character === ",") return position;
    if (position === start || !/\s/.test(character)) continue;
    const between = matchAt(separator, text, position);
    if (between !== null && matchAt(head, text, position + between[0].length) !== null) return position;
    // One look at a row of spaces is enough.
    while (/\s/.test(text[position + 1] ?? "")) position += 1;
  }
  return text.length;
}

function judgeBare(item: string, { isLast, isFirst }: { isLast: boolean; isFirst: boolean }): Refusal | undefined {
  if (item === "") {
    const instead = 'write a value; "" stands for an empty text, and "field is missing" for none';
    return new Refusal("has an operator or a comma without a value after it", instead);
  }
  if (/\s(?:or|\|\|)$/i.test(item) || (!isLast && /^(?:or|\|\|)$/i.test(item))) {
    return new Refusal(
      "joins conditions by or, which it cannot: all of them must hold",
      "list the values instead, e.g. token=USDC,DAI, or write two routes (or two mutes)",
    );
  }
  if (!isLast && /(?:[;&]|^and)$/i.test(item)) {
    return new Refusal("separates conditions by a sign", "separate them by a space or by and");
  }
  if (/\sand$/i.test(item)) {
    return new Refusal("has an and without a condition after it", "remove it, or put the whole value in quotes");
  }
  if (
    !isFirst &&
    /^(?:[a-z]\w*|payload[.[]\S*)(?:\s*(?:==|!=|!~|>=|<=|=~|=|>|<)|\s+(?:exists|is missing)$)/i.test(item)
  ) {
    return new Refusal("has a condition after a comma", "separate conditions by a space; a comma separates values");
  }
  if (/^'.*'$/s.test(item)) return new Refusal("has a value in single quotes", 'write double quotes: "…"');
  if (/^[“”„‘’‚«»].*[“”‘’«»]$/s.test(item))
    return new Refusal("has a value in typographic quotes", 'write plain double quotes: "…"');
  return undefined;
}

function notACondition(text: string): Refusal {
  const meant = looksSecret(text) ? undefined : guessOperator(text);
  return new Refusal(
    `${showValue(text)} is not a condition`,
    meant === undefined
      ? "write field=value, e.g. severity=critical, token!=USDC,DAI, value>=5, title=~^TVL or payload.pool exists"
      : `write ${meant}`,
  );
}

/** Operators of other languages, behind a field; the first that fits. */
const otherOperators: [RegExp, string][] = [
  [/^\s*≥\s*/, ">="],
  [/^\s*≤\s*/, "<="],
  [/^\s*≠\s*/, "!="],
  [/^\s*!:\s*/, "!="],
  [/^\s*:\s*/, "="],
  [/^\s*~\s*/, "=~"],
  [/^\s+(?:not (?:exists|present)|missing|is (?:not present|absent|empty|null))$/i, " is missing"],
  [/^\s+(?:present|is (?:present|not missing)|is set)$/i, " exists"],
  [/^\s+is not\s+/i, "!="],
  [/^\s+is\s+/i, "="],
  [/^\s+(?:contains|matches|like)\s+/i, "=~"],
];

/** `token: USDC`, `value ≥ 5`, `title contains TVL` as they are written here. */
function guessOperator(text: string): string | undefined {
  const [, name = "", rest = ""] = /^([A-Za-z][\w.]{0,80})(.*)$/s.exec(text) ?? [];
  if (text.length > 200 || !parseFieldPath(name).ok) return undefined;
  for (const [pattern, operator] of otherOperators) {
    const found = pattern.exec(rest);
    if (found === null) continue;
    const value = rest.slice(found[0].length);
    if (operator.startsWith(" ") !== (value === "")) return undefined;
    return `${name}${operator}${value}`;
  }
  return undefined;
}
