import { cleanLine } from "../ground/text/clean.ts";
import { cut } from "../ground/text/graphemes.ts";

/** Nobody's symbol is longer; more is not even looked at. */
const longestSymbol = 20;
const mostLookedAt = 200;

/** What our own first lines begin with: a token of that name would pass for the state of its alert. */
const ownWords = new Set(
  `critical warning info information notice urgent resolved recovered over ok test tocsin alert alarm possible repeat late`.split(
    " ",
  ),
);

/**
 * A symbol from outside as it may stand in the first line of a message: letters, digits and `. - + _ $ &` alone, no emoji
 * that passes for a severity, nothing that turns the line round, at most 20 characters. Undefined where nothing is left that
 * names anything.
 */
export function cleanSymbol(sent: unknown): string | undefined {
  if (typeof sent !== "string") return undefined;
  const folded = cleanLine(sent.slice(0, mostLookedAt)).normalize("NFKC");
  const plain = folded
    .replace(/[^\p{L}\p{M}\p{N}.\-+_$& ]/gu, "")
    .replace(/ {2,}/g, " ")
    .trim();
  const symbol = cut(plain, longestSymbol);
  if (!/\p{L}/u.test(symbol) || ownWords.has(symbol.toLowerCase())) return undefined;
  // Another address, or a part of one, is no name.
  return /^0x[0-9a-f]*…?$/i.test(symbol) ? undefined : symbol;
}
