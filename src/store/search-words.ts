import type { AlertFacts } from "../core/alert.ts";
import type { AlertQuery } from "../core/ports/alert-log.ts";

export type Searched = Pick<AlertQuery, "q" | "phrases" | "facts">;

/** The readable text and values of an alert, without the raw JSON. */
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

/** Splits a search at spaces only: `0.05` and `pool-tvl` are one word each. At most 20. Signs alone are no word. */
export function splitSearch(text: string): string[] {
  return (
    text
      // An accent that is a character of its own would cut a word in two. The index ignores composed accents.
      .normalize("NFC")
      .split(/[\s"\0]+/u)
      .filter((word) => /[\p{L}\p{N}]/u.test(word))
      .slice(0, mostWords)
  );
}

/** Adjacent words, as one word of a search. Empty where the text has only signs. */
export function toPhrase(text: string): string[] {
  const phrase = text.normalize("NFC").replace(/["\0]/g, " ").trim();
  return /[\p{L}\p{N}]/u.test(phrase) ? [phrase] : [];
}

/** All words that must occur, of the search and of the facts. Undefined: no words. Empty: no alert can match. */
export function wordsOfQuery({ q = "", phrases = [], facts = [] }: Searched): string[] | undefined {
  const asked = [...splitSearch(q), ...phrases.flatMap(toPhrase)];
  if (asked.length === 0 && (q.trim() !== "" || phrases.length > 0)) return [];
  const ofFacts = facts.flatMap((one) => ("is" in one ? toPhrase(one.is) : "has" in one ? toPhrase(one.has) : []));
  const wanted = [...asked, ...ofFacts];
  return wanted.length === 0 ? undefined : wanted;
}
