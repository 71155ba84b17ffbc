import type { AlertFacts } from "../core/alert.ts";
import type { AlertQuery } from "../core/ports/alert-log.ts";

export type Searched = Pick<AlertQuery, "q" | "phrases" | "facts">;

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

/**
 * What must occur, as `splitSearch` and `toPhrase` give it: of what is searched for, and of the facts, whose words are
 * among those of their alert. Undefined: nothing is searched for. Empty: for what no alert can have.
 */
export function wordsOfQuery({ q = "", phrases = [], facts = [] }: Searched): string[] | undefined {
  const asked = [...splitSearch(q), ...phrases.flatMap(toPhrase)];
  if (asked.length === 0 && (q.trim() !== "" || phrases.length > 0)) return [];
  const ofFacts = facts.flatMap((one) => ("is" in one ? toPhrase(one.is) : "has" in one ? toPhrase(one.has) : []));
  const wanted = [...asked, ...ofFacts];
  return wanted.length === 0 ? undefined : wanted;
}
