import type { AlertFacts } from "../../core/alert.ts";
import { searchableText } from "../search-words.ts";
import { toText } from "./parameters.ts";

/** In the index, the words of this many positions share one number. The schema's function `search_terms` has the same value. */
export const alertsPerTerm = 4_096;

/** Adjacent words. */
export interface Term {
  words: string[];
  /** The last word may be only the beginning of a word. */
  isBeginning: boolean;
}

/** The index takes at most 2 KB. */
const longestWord = 200;

/** The words of a text in order, without case and accents. A word is letters and digits. */
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

/** The text that `alert_words` keeps of an alert. */
export function toWords(id: string, facts: AlertFacts): string {
  return toText(` ${foldWords(searchableText(id, facts)).join(" ")} `);
}

/** The query that finds alerts with all terms, from `from` on and below `below`. */
export function toTermQuery(terms: readonly Term[], from: number, below: number): string {
  const first = Math.floor(from / alertsPerTerm);
  const last = Math.floor((below - 1) / alertsPerTerm);
  const parts = Array.from({ length: Math.max(0, last - first) + 1 }, (_, index) => queryOfPart(terms, first + index));
  return parts.join("|");
}

/** The number of the part is in front of each word. Words have only letters and digits, so nothing is escaped. */
export function queryOfPart(terms: readonly Term[], part: number | "#"): string {
  const words = terms.flatMap(({ words, isBeginning }) =>
    words.map((word, index) => `'${part}.${word}'${isBeginning && index === words.length - 1 ? ":*" : ""}`),
  );
  return `(${[...new Set(words)].join("&")})`;
}

/** The text that occurs in an alert's words where the term does. */
export const textOfTerm = ({ words, isBeginning }: Term): string => ` ${words.join(" ")}${isBeginning ? "" : " "}`;
