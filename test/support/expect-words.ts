import { expect } from "vitest";

type Words = string | RegExp | readonly (string | RegExp)[];

/** The text has all of these words, in whatever order, and none of those that it must `not` have. */
export function expectWords(text: string | undefined, words: Words, { not = [] }: { not?: Words } = {}): void {
  for (const one of [words].flat()) expect(text, `has not: ${one}`).toEqual(having(one));
  for (const one of [not].flat()) expect(text, `has: ${one}`).not.toEqual(having(one));
}

const having = (words: string | RegExp) =>
  typeof words === "string" ? expect.stringContaining(words) : expect.stringMatching(words);
