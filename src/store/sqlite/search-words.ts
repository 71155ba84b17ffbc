import type { AlertFacts } from "../../core/alert.ts";

/** What of an alert is searched: the readable text and values, not the raw JSON. */
export function searchableText(id: string, facts: AlertFacts): string {
  return [
    id,
    facts.title,
    facts.severity,
    facts.status,
    facts.metric,
    facts.token,
    facts.chain,
    facts.value,
    facts.threshold,
    facts.source,
    facts.externalId,
    facts.text?.slice(0, 4000),
    ...facts.fields.map((field) => `${field.name} ${field.value}`),
  ]
    .filter((text) => text !== undefined)
    .join("\n");
}

const mostWords = 20;
export const matchesNothing = '"\u{10ffff}"';

/**
 * The words of a search box. What stands together without spaces stays together: `0.05`, `pool-tvl`. At most 20; signs
 * alone are no word.
 */
export function splitSearch(text: string): string[] {
  return (
    text
      // Accents that are characters of their own would cut a word in two; composed, the index reads over them.
      .normalize("NFC")
      .split(/[\s"\0]+/u)
      .filter((word) => /[\p{L}\p{N}]/u.test(word))
      .slice(0, mostWords)
  );
}

/** Words that stand one behind the other, as one word of a search; none where signs are all that there is. */
export function toPhrase(text: string): string[] {
  const phrase = text.normalize("NFC").replace(/["\0]/g, " ").trim();
  return /[\p{L}\p{N}]/u.test(phrase) ? [phrase] : [];
}

/** One word of `splitSearch` as an FTS5 expression. */
export const searchPhrase = (word: string): string => `"${word}"`;

/**
 * Words as an FTS5 expression: all must occur. One of which it is not known that it occurs as it is may go on: `liquid`
 * finds `liquidity`. Nothing of FTS5's own syntax gets through.
 */
export function toSearchExpression(words: string[], occurs: (word: string) => boolean): string {
  if (words.length === 0) return matchesNothing;
  return words.map((word) => (occurs(word) ? searchPhrase(word) : `${searchPhrase(word)}*`)).join(" AND ");
}
