import type { AlertFacts } from "../../core/alert.ts";
import { searchableText } from "../search-words.ts";
import { toText } from "./parameters.ts";

/** This many positions have their words under one number in the index; `search_terms` of the schema says the same. */
export const alertsPerTerm = 4_096;

/** Words that stand one behind the other. */
export interface Term {
  words: string[];
  /** The last may go on. */
  isBeginning: boolean;
}

/** A longer one is not what anybody types, and the index takes no more than 2 KB. */
const longestWord = 200;

/** Words without case and accents, in their order: letters and digits, whatever stands between. */
export function foldWords(text: string): string[] {
  const folded = isAscii(text)
    ? text.toLowerCase()
    : text
        .toLowerCase()
        .normalize("NFD")
        .replace(/[\u0300-\u036f]/g, "")
        .normalize("NFC");
  return (folded.match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? []).map((word) => word.slice(0, longestWord));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it says what ASCII is
const isAscii = (text: string) => /^[\x00-\x7f]*$/.test(text);

/** What `alert_words` keeps of an alert. */
export function toWords(id: string, facts: AlertFacts): string {
  return toText(` ${foldWords(searchableText(id, facts)).join(" ")} `);
}

/** Terms as the index of alerts from `from` on, and below `below`, is asked for them: all have to occur. */
export function toTermQuery(terms: readonly Term[], from: number, below: number): string {
  const first = Math.floor(from / alertsPerTerm);
  const last = Math.floor((below - 1) / alertsPerTerm);
  const parts = Array.from({ length: Math.max(0, last - first) + 1 }, (_, index) => queryOfPart(terms, first + index));
  return parts.join("|");
}

/** A part of the index stands in front of each word. Words are letters and digits alone: nothing has to be escaped. */
export function queryOfPart(terms: readonly Term[], part: number | "#"): string {
  const words = terms.flatMap(({ words, isBeginning }) =>
    words.map((word, index) => `'${part}.${word}'${isBeginning && index === words.length - 1 ? ":*" : ""}`),
  );
  return `(${[...new Set(words)].join("&")})`;
}

/** The text that words have where a term occurs. */
export const textOfTerm = ({ words, isBeginning }: Term): string => ` ${words.join(" ")}${isBeginning ? "" : " "}`;
