import type { Condition } from "../core/rules.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { looksSecret, showValue } from "../ground/shape/show-value.ts";
import { signs } from "./describe-match.ts";
import { doubtList } from "./guess-meaning.ts";
import { parseFieldPath } from "./path.ts";

/**
 * The text form of `match`, the same on routes, in mutes, on the page and on the command line:
 *     text      = term { ( " " | " and " ) term }                 all must hold
 *               | term { " or " term }                            one must hold; both kinds together need parentheses
 *     term      = condition | "not " term | "(" text ")"
 *     condition = field operator value | field " exists" | field " is missing"
 *     operator  = "=" | "==" | "!=" | ">" | ">=" | "<" | "<=" | "=~" | "!~" | "~"
 *     value     = item { "," item }                               after = != and ~: any of them; elsewhere one item
 *     item      = "\"" any characters, \" and \\ "\"" | characters up to the next term or comma
 * A value may contain spaces, operators and pairs of parentheses. White space and a term end it. In a group, a
 * parenthesis that the value has not opened ends the group. A text with such characters needs quotes.
 */
export type WrittenTerm =
  | WrittenCondition
  | { any: WrittenTerm[][] }
  | { not: WrittenTerm }
  /** A group in parentheses. */
  | { all: WrittenTerm[] };

export interface WrittenCondition {
  /** The condition as written, for messages. */
  text: string;
  field: string;
  key: keyof Condition;
  items: WrittenItem[];
}

export interface WrittenItem {
  text: string;
  /** In quotes: all its characters are literal. */
  isQuoted: boolean;
}

const keys = new Map<string, keyof typeof signs>(
  Object.entries(signs).map(([key, sign]) => [sign, key as keyof typeof signs]),
);

const field = String.raw`(?:\["(?:[^"\\]|\\.)*"\]|\['[^']*'\]|\[[^\]"\s]*\]|[^\s="<>!~[\],])+`;
const operator = `==|!=|!~|>=|<=|=~|=|>|<|~`;
const head = new RegExp(`(${field})(?:\\s*(${operator})|\\s+(exists|is missing)(?=[\\s)]|$))`, "y");
const termStart = new RegExp(`(?:[nN][oO][tT]\\s+|\\(\\s*)*${head.source}`, "y");
const negation = /not\s+/iy;
const separator = /\s+(?:(and|or)\s+)?/iy;
const quoted = /"((?:[^"\\]|\\.)*)"/sy;

/** Longer than any rule that a person writes, and short enough to be read at once. */
const longestText = 4_000;
/** The deepest nesting of groups. People cannot read deeper ones. */
export const deepestGroup = 5;

/** The terms of one text, which must all hold, or why the text cannot be read. */
export function splitMatchText(text: string): WrittenTerm[] | Refusal {
  if (text.length > longestText) return new Refusal(`is longer than ${longestText} characters`, "shorten it");
  const written = text.trim();
  const read = readTerms(written, 0, 0);
  if (read instanceof Refusal || read.end === written.length) return read instanceof Refusal ? read : read.terms;
  return new Refusal("closes a parenthesis that is not open", 'remove it, or put the whole value in "quotes"');
}

interface ReadTerms {
  terms: WrittenTerm[];
  end: number;
}

/** Reads terms up to the end, or to the parenthesis that closes the group. */
function readTerms(text: string, start: number, depth: number): ReadTerms | Refusal {
  const lists: WrittenTerm[][] = [[]];
  const joints = new Set<"and" | "or">();
  let position = start;
  for (;;) {
    const read = readTerm(text, position, depth);
    if (read instanceof Refusal) return read;
    lists.at(-1)?.push(...read.terms);
    position = read.end;
    const between = matchAt(separator, text, position);
    const next = position + (between?.[0].length ?? 0);
    if (next === text.length || text[next] === ")") {
      const [only = []] = lists;
      return { terms: joints.has("or") ? [{ any: lists }] : only, end: next };
    }
    if (between === null) return notACondition(text.slice(position));
    const joint = between[1]?.toLowerCase() === "or" ? "or" : "and";
    if (joints.add(joint).size > 1) {
      const instead = "put parentheses round what belongs together, e.g. (token=USDC or token~US*) chain=eth";
      return new Refusal("joins some terms by or and others by and, so nobody can know which belong together", instead);
    }
    if (joint === "or") lists.push([]);
    position = next;
  }
}

function readTerm(text: string, start: number, depth: number): ReadTerms | Refusal {
  const not = matchAt(negation, text, start);
  const isGroup = text[start] === "(";
  if (not === null && !isGroup) return readWritten(text, start, depth);
  if (depth === deepestGroup) {
    return new Refusal(`has more than ${deepestGroup} groups in one another`, "write it as several routes");
  }
  if (not !== null) {
    const read = readTerm(text, start + not[0].length, depth + 1);
    return read instanceof Refusal ? read : { terms: read.terms.map((term) => ({ not: term })), end: read.end };
  }
  const inside = start + (/^\(\s*/.exec(text.slice(start))?.[0].length ?? 1);
  const read = readTerms(text, inside, depth + 1);
  if (read instanceof Refusal) return read;
  if (text[read.end] === ")") return { terms: [{ all: read.terms }], end: read.end + 1 };
  return new Refusal("has a parenthesis that is not closed", 'close it, or put the value that holds it in "quotes"');
}

function readWritten(text: string, start: number, depth: number): ReadTerms | Refusal {
  const found = matchAt(head, text, start);
  if (found === null) return notACondition(text.slice(start));
  const [whole, name = "", sign, presence] = found;
  const position = start + whole.length;
  const toTerm = (key: keyof Condition, items: WrittenItem[], end: number): ReadTerms => ({
    terms: [{ text: text.slice(start, end).trim(), field: name, key, items }],
    end,
  });
  if (presence !== undefined) {
    return toTerm("exists", [{ text: String(presence === "exists"), isQuoted: true }], position);
  }
  const arrow = sign === "=" ? /^[<>]/.exec(text.slice(position))?.[0] : undefined;
  if (arrow !== undefined) {
    return new Refusal(`has =${arrow}, which is no operator`, `write ${arrow}= or ${arrow}`);
  }
  const key = keys.get(sign ?? "") ?? "equals";
  const odd = /^(?:[=~]|>)/.exec(text.slice(position))?.[0];
  if (odd !== undefined && (sign === "==" || sign === "<")) {
    return new Refusal(`has ${sign}${odd}, which is no operator`, `write ${sign === "<" ? "!=" : "="}`);
  }
  const value = readItems(text, position, { isList: key === "equals" || key === "not" || key === "glob", depth });
  if (value instanceof Refusal) return value;
  const doubt = key === "equals" || key === "not" ? doubtList(name, value.items, value.isSpaced) : undefined;
  return doubt ?? toTerm(key, value.items, value.end);
}

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | null {
  pattern.lastIndex = position;
  return pattern.exec(text);
}

/** The characters that end an item: a comma in a list, a parenthesis in a group. */
interface ItemEnds {
  isList: boolean;
  depth: number;
}

function readItems(text: string, start: number, ends: ItemEnds): ReadItems | Refusal {
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
      const end = endOfItem(text, position, ends);
      const item = text.slice(position, end).trim();
      const isLast = end >= text.length || text[end] === ")";
      const refusal = judgeBare(item, { isLast, isFirst: items.length === 0 });
      if (refusal !== undefined) return refusal;
      items.push({ text: item, isQuoted: false });
      position = end;
    }
    const comma = ends.isList ? /\s*,/y : undefined;
    const next = comma === undefined ? null : matchAt(comma, text, position);
    if (next === null) return { items, end: position, isSpaced };
    position += next[0].length;
  }
}

interface ReadItems {
  items: WrittenItem[];
  end: number;
  isSpaced: boolean;
}

/** Finds the comma of a list, the beginning of the next term, or the end of the group or text. */
function endOfItem(text: string, start: number, { isList, depth }: ItemEnds): number {
  let open = 0;
  for (let position = start; position < text.length; position += 1) {
    const character = text[position] ?? "";
    if (isList && character === ",") return position;
    if (character === "(") open += 1;
    if (character === ")") {
      if (open === 0 && depth > 0) return position;
      open = Math.max(0, open - 1);
    }
    if (position === start || !/\s/.test(character)) continue;
    const between = matchAt(separator, text, position);
    if (between !== null && matchAt(termStart, text, position + between[0].length) !== null) return position;
    // Each row of spaces is tested once.
    while (/\s/.test(text[position + 1] ?? "")) position += 1;
  }
  return text.length;
}

function judgeBare(item: string, { isLast, isFirst }: { isLast: boolean; isFirst: boolean }): Refusal | undefined {
  if (item === "") {
    const instead = 'write a value; "" stands for an empty text, and "field is missing" for none';
    return new Refusal("has an operator or a comma without a value after it", instead);
  }
  if (/(?:^|\s)\|\|$/.test(item) || (!isLast && /(?:[;&]|^and|^or)$/i.test(item))) {
    return new Refusal("separates conditions by a sign", "separate them by a space or by and; for one of them by or");
  }
  const [, joint] = /\s(and|or)$/i.exec(item) ?? [];
  if (joint !== undefined) {
    const instead = "remove it, or put the whole value in quotes";
    return new Refusal(`has an ${joint.toLowerCase()} without a condition after it`, instead);
  }
  if (
    !isFirst &&
    /^(?:[a-z]\w*|payload[.[]\S*)(?:\s*(?:==|!=|!~|>=|<=|=~|=|>|<|~)|\s+(?:exists|is missing)$)/i.test(item)
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
      ? "write field=value, e.g. severity=critical, token!=USDC,DAI, token~US*, value>=5, title=~^TVL or payload.pool exists"
      : `write ${meant}`,
  );
}

/** Operators of other languages, after a field. The first that fits counts. */
const otherOperators: [RegExp, string][] = [
  [/^\s*≥\s*/, ">="],
  [/^\s*≤\s*/, "<="],
  [/^\s*≠\s*/, "!="],
  [/^\s*!:\s*/, "!="],
  [/^\s*:\s*/, "="],
  [/^\s+(?:not (?:exists|present)|missing|is (?:not present|absent|empty|null))$/i, " is missing"],
  [/^\s+(?:present|is (?:present|not missing)|is set)$/i, " exists"],
  [/^\s+is not\s+/i, "!="],
  [/^\s+is\s+/i, "="],
  [/^\s+(?:contains|matches|like)\s+/i, "=~"],
];

/** Rewrites `token: USDC`, `value ≥ 5` and `title contains TVL` in this form. */
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
