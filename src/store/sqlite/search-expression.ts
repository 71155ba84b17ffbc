const matchesNothing = '"\u{10ffff}"';

/** One word of `splitSearch` as an FTS5 expression. */
export const searchPhrase = (word: string): string => `"${word}"`;

/**
 * Words as an FTS5 expression: all must occur. A word that may not occur as it is may continue: `liquid`
 * finds `liquidity`. Nothing of FTS5's own syntax gets through.
 */
export function toSearchExpression(words: string[], occurs: (word: string) => boolean): string {
  if (words.length === 0) return matchesNothing;
  return words.map((word) => (occurs(word) ? searchPhrase(word) : `${searchPhrase(word)}*`)).join(" AND ");
}
