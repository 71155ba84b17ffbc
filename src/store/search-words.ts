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

/** Words of a search box as an FTS5 expression: all must occur, each as a prefix; nothing of FTS5's own syntax gets through. */
export function toSearchExpression(query: string): string {
  const words = query.match(/[\p{L}\p{N}]+/gu) ?? [];
  if (words.length === 0) return '"\u{10ffff}"';
  return words
    .slice(0, 20)
    .map((word) => `"${word}"*`)
    .join(" AND ");
}
