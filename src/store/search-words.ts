import type { AlertFacts } from "../core/alert.ts";

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
const matchesNothing = '"\u{10ffff}"';

/**
 * The text of a search box as an FTS5 expression: all words must occur, each may go on (`liquid` finds `liquidity`). What
 * stands together without spaces must stand together: `0.05`, `pool-tvl`. Nothing of FTS5's own syntax gets through.
 */
export function toSearchExpression(query: string): string {
  const words = query
    // Accents that are characters of their own would cut a word in two; composed, the index reads over them.
    .normalize("NFC")
    .split(/[\s"\0]+/u)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, mostWords);
  return words.length === 0 ? matchesNothing : words.map((word) => `"${word}"*`).join(" AND ");
}
