import { type Severity, severities } from "../core/alert.ts";
import type { Condition } from "../core/rules.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { looksSecret, showValue } from "../ground/shape/show-value.ts";
import { groupsDigits, quote } from "./describe-match.ts";
import { numberFields } from "./path.ts";

/** Enough for a list of forty addresses. Longer texts are a sender's. */
const longestGuessed = 4_000;

/** The probable meaning of a text that would be compared literally. */
export interface Meaning {
  /** "a comparison", "a list", "a pattern": follows "is a text here, not". */
  kind: string;
  condition: Condition;
}

/** Facts with whole sentences, where commas, bars and stars are common. */
const sentences = new Set(["title", "text"]);
/** Facts made by machines: they may contain any character. */
const opaque = new Set(["alertKey", "externalId", "link"]);

/** Numbers as people write them: `1000000`, `1,000,000`, `1_000_000`, `1e6`, `1M`, `5 %`. */
const number = String.raw`[+-]?(?:(?:\d{1,3}(?:[,_' ]\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?(?:\s?(?:k|mn?|bn?|t|%))?`;
const comparisons: [RegExp, "gt" | "gte" | "lt" | "lte"][] = [
  [/^(?:>=|=>|≥|at least|min)$/i, "gte"],
  [/^(?:<=|=<|≤|at most|max)$/i, "lte"],
  [/^(?:>|above|over|more than)$/i, "gt"],
  [/^(?:<|below|under|less than)$/i, "lt"],
];
const signs = ">=|=>|≥|<=|=<|≤|>|<";
const words = "at least|at most|above|over|more than|below|under|less than|min|max";

/**
 * Finds conditions that are written as a value (`value: ">= 1000000"`, `token: "USDC,DAI"`). They would be compared as
 * texts and hold for no alert. Texts that senders really send must not be found.
 */
export function guessMeaning(field: string, text: string): Meaning | undefined {
  if (text.length > longestGuessed) return undefined;
  // Single spaces, so no pattern below can read a row of them in two ways.
  const written = text.trim().replace(/\s+/g, " ");
  const compared = guessOrder(field, written) ?? guessComparison(field, written);
  if (compared !== undefined || opaque.has(field)) return compared;
  if (numberFields.has(field) && decimalComma.test(written)) return undefined;
  return guessNegation(field, written) ?? guessPattern(field, written) ?? guessList(field, written);
}

/** Severities have an order for people, but not for comparisons. */
function guessOrder(field: string, text: string): Meaning | undefined {
  if (field !== "severity") return undefined;
  const found = /^(>=|=>|≥|>|at least|above)\s*(critical|warning|info)$/i.exec(text);
  if (found === null) return undefined;
  const index = severities.indexOf((found[2] ?? "").toLowerCase() as Severity);
  const includes = !/^(>|above)$/i.test(found[1] ?? "");
  const equals = severities.slice(0, includes ? index + 1 : index);
  return equals.length === 0 ? undefined : { kind: "a comparison", condition: { equals } };
}

function guessComparison(field: string, text: string): Meaning | undefined {
  const isNumber = numberFields.has(field);
  const relation = isNumber ? `(?:${signs})|(?:${words})(?=\\s)` : signs;
  const one = `(${relation})\\s*(${number})`;
  const found = new RegExp(`^${one}(?:\\s*(?:,|and|&&|\\s)\\s*${one})?$`, "i").exec(text);
  if (found !== null) {
    const condition: Condition = {};
    for (const [sign, bound] of [found.slice(1, 3), found.slice(3, 5)]) {
      const key = comparisons.find(([pattern]) => pattern.test(sign ?? ""))?.[1];
      if (key !== undefined) condition[key] = readNumber(bound ?? "");
    }
    return { kind: "a comparison", condition };
  }
  const grouped = /^([+-]?\d{1,3}(?:[,_' ]\d{3})+)(\.\d+)?$/.exec(text);
  if (grouped !== null && !sentences.has(field) && !opaque.has(field)) {
    const digits = `${grouped[1]?.replace(/[,_' ]/g, "")}${grouped[2] ?? ""}`;
    return { kind: "a number", condition: { equals: [digits] } };
  }
  if (!isNumber) return undefined;
  const range = new RegExp(`^(?:between\\s+)?(${number})\\s*(?:\\.\\.\\.?|-|–|to\\s|and\\s)\\s*(${number})$`, "i").exec(
    text,
  );
  if (range !== null) {
    return { kind: "a range", condition: { gte: readNumber(range[1] ?? ""), lte: readNumber(range[2] ?? "") } };
  }
  const least = new RegExp(`^(${number})\\s?\\+$`, "i").exec(text)?.[1];
  if (least !== undefined) return { kind: "a comparison", condition: { gte: readNumber(least) } };
  const isShort = /[a-z%]$/i.test(text) && new RegExp(`^${number}$`, "i").test(text);
  return isShort ? { kind: "a number", condition: { equals: [String(readNumber(text))] } } : undefined;
}

function readNumber(text: string): number {
  const [, digits = "", unit = ""] = /^(.*?)\s?([kmnbt]*|%)$/i.exec(text.replace(/[,_' ](?=\d)/g, "")) ?? [];
  const power = { k: 3, m: 6, b: 9, t: 12 }[unit.charAt(0).toLowerCase()] ?? 0;
  return Number((Number(digits) * 10 ** power).toPrecision(15));
}

const plainNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
/** A European decimal or a list of two. */
const decimalComma = /^(?:[<>≤≥]=?|=[<>])?\s*[+-]?\d+,\d+$/;

/** Refuses a text that was meant as a number or comparison and cannot be read. */
export function doubtNumber(field: string, text: string): Refusal | undefined {
  const written = text.trim();
  const hasSign = /^(?:[<>≤≥]|=[<>])/.test(written);
  const isDoubtful = numberFields.has(field)
    ? hasSign || (/\d/.test(written) && !plainNumber.test(written))
    : !sentences.has(field) && ((hasSign && /\d/.test(written)) || /^(?:\d[.,_' ]?){4,}\+$/.test(written));
  if (!isDoubtful || looksSecret(text)) return undefined;
  if (numberFields.has(field) && decimalComma.test(written)) {
    const instead = `for a decimal write ${written.replace(",", ".")}, with a point; for any of several values a list`;
    return new Refusal(`${showValue(text)} has a decimal comma or is a list of values`, instead);
  }
  const what = hasSign || written.endsWith("+") ? "comparison" : "number";
  const instead = "write e.g. >=1000000, with a decimal point and without a unit";
  return new Refusal(`${showValue(text)} is a text here, and no ${what}`, instead);
}

function guessNegation(field: string, text: string): Meaning | undefined {
  const sign = /^!=?\s*([^\s=~].*)$/.exec(text);
  const word = sentences.has(field) ? null : /^(?:not|except)\s+(\S+)$/i.exec(text);
  const value = (sign ?? word)?.[1];
  if (value !== undefined) return { kind: "a condition", condition: { not: [value] } };
  const equal = /^==?\s*([^\s=~].*)$/.exec(text)?.[1];
  if (equal === undefined || sentences.has(field)) return undefined;
  return { kind: "a condition", condition: { equals: [equal] } };
}

function guessList(field: string, written: string): Meaning | undefined {
  const isSentence = sentences.has(field);
  // Matches "(eth|base)", "[USDC, DAI]", "{USDC,DAI}".
  const inBrackets = isSentence ? null : /^(?:\(([^()]*)\)|\[([^[\]]*)\]|\{([^{}]*)\})$/.exec(written);
  const text = (inBrackets?.[1] ?? inBrackets?.[2] ?? inBrackets?.[3] ?? written).trim();
  const between = isSentence ? /\|\|?|,/ : /\s*(?:\|\|?|,)\s*|\s+or\s+/i;
  const parts = text.split(between);
  if (parts.length < 2 || !parts.every((part) => /^[^\s,|^$*()[\]\\]+$/.test(part))) return undefined;
  return isSentence
    ? { kind: "a pattern", condition: { matches: parts.map(escapePattern).join("|") } }
    : { kind: "a list", condition: { equals: parts } };
}

function guessPattern(field: string, text: string): Meaning | undefined {
  const matches = findPattern(text);
  if (text === "*") return { kind: "a condition", condition: { exists: true } };
  if (matches === undefined && isGlob(field, text)) return { kind: "a pattern", condition: { glob: [text] } };
  return matches === undefined ? undefined : { kind: "a pattern", condition: { matches } };
}

function findPattern(text: string): string | undefined {
  const operator = /^[=!]~\s*(\S.*)$/.exec(text) ?? /^~\s*(\^.*)$/.exec(text);
  if (operator !== null) return operator[1];
  const slashes = /^\/([^/]+)\/([gimsuy]*)$/.exec(text);
  if (slashes !== null && (slashes[2] !== "" || /[\\^$*+?()[\]|]/.test(slashes[1] ?? ""))) {
    return `${slashes[2]?.includes("i") === true ? "(?i)" : ""}${slashes[1]}`;
  }
  if (/^\^./.test(text) || /\.[*+]|\\[dwsb]|\(\?/.test(text)) return text;
  const like = /^%(.+)%$/.exec(text)?.[1];
  return like === undefined ? undefined : escapePattern(like);
}

function isGlob(field: string, text: string): boolean {
  return /[^*]/.test(text) && (/^\*|\*$/.test(text) || (!sentences.has(field) && /\w\*\w/.test(text)));
}

/** Patterns match anywhere, so a star at an end becomes nothing, and a missing star an anchor. */
export function fromGlob(glob: string): string {
  const inner = glob
    .replace(/^\*+|\*+$/g, "")
    .split(/\*+/)
    .map(escapePattern)
    .join(".*");
  return `${glob.startsWith("*") ? "" : "^"}${inner}${glob.endsWith("*") ? "" : "$"}`;
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Commas may belong to a sentence, a key or a number. Undefined without doubt. `isSpaced`: a space follows a comma. */
export function doubtList(
  field: string,
  items: { text: string; isQuoted: boolean }[],
  isSpaced: boolean,
): Refusal | undefined {
  const bare = items.filter(({ isQuoted }) => !isQuoted);
  const texts = items.map(({ text }) => text);
  // Secrets are never repeated, not even in advice.
  if (items.length < 2 || bare.length === 0 || looksSecret(texts.join(","))) return undefined;
  const apart = texts.map(quote).join(",");
  if (bare.length === items.length && groupsDigits(field, texts)) {
    const instead = `write ${texts.join("")}; for any of these values ${apart}`;
    return new Refusal("may be a number with commas or a list of values", instead);
  }
  if (isSpaced && (sentences.has(field) || opaque.has(field))) {
    const instead = `for the text itself write ${quote(texts.join(", "))}, for any of these values ${apart}`;
    return new Refusal("may be a text with a comma or a list of values", instead);
  }
  const around = `${texts[0]?.[0]}${texts.at(-1)?.at(-1)}`;
  const isInside = items[0]?.isQuoted === false && items.at(-1)?.isQuoted === false;
  if (!isInside || !/^(?:\[\]|\(\)|\{\})$/.test(around)) return undefined;
  const inside = texts.join(",").slice(1, -1);
  return new Refusal("has a list in brackets", `leave them out: ${inside}`);
}
