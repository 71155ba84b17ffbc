import { groupDigits } from "../ground/numbers/format-number.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { boundaryBefore, cut } from "../ground/text/graphemes.ts";
import type { AlertFacts } from "./alert.ts";

/** A title without the word of its state in front ("Resolved: TVL fell"), for a line that says the state itself. */
export function titleWithoutState(title: string): string {
  const rest = cleanLine(title).replace(
    /^[^\p{L}\p{N}]{0,8}(?:resolved|recovered|ok)(?:[^\p{L}\p{N}]{1,4}| - )(?=\S)/iu,
    "",
  );
  return rest === "" ? cleanLine(title) : rest;
}

const loneNumber = /(?<![\p{L}\d_.,+-])[+-]?\d+(?:\.\d+)?(?![\p{L}\d_]|[.,]\d)/gu;

type Titled = Pick<AlertFacts, "title" | "value" | "previousValue" | "threshold"> & Partial<Pick<AlertFacts, "status">>;

/** How the titles of ends begin, ours as well. */
const beginningOfEnd =
  /^[^\p{L}\p{N}]{0,8}(?:(?:resolved|recovered)(?!\p{L})|over(?: after |:)|ok ?[:\]),.!–—-])|^(?:✅|✔|☑|🟢)/iu;

/** The title of an alert on a line of a digest. */
export function shortTitle(facts: Titled, maxUnits: number): string {
  return cutTitle(writeTitle(facts), maxUnits);
}

/** As `cut`, but never inside of a number: a part of it is another number. */
export function cutTitle(title: string, maxUnits: number): string {
  if (title.length <= maxUnits) return title;
  let end = boundaryBefore(title, maxUnits - 1);
  if (isOfNumber(title, end)) while (end > 0 && isOfNumber(title, end - 1)) end -= 1;
  return end === 0 ? cut(title, maxUnits) : `${title.slice(0, end).trimEnd()}…`;
}

/** Digits, and what stands between them. */
function isOfNumber(title: string, at: number): boolean {
  const char = title.charAt(at);
  return /\d/.test(char) || (/[.,]/.test(char) && /\d/.test(title.charAt(at + 1)));
}

/**
 * As sent, but for the alert's own numbers, whose digits stand in groups: those of an id or an address never do. No title
 * of an alert that fires by the sender's word begins as if it were over.
 */
export function writeTitle({ title, value, previousValue, threshold, status }: Titled): string {
  const own = new Set([value, previousValue, threshold]);
  const written = cleanLine(title).replace(loneNumber, (number) => (own.has(number) ? groupDigits(number) : number));
  return status === "firing" && beginningOfEnd.test(written) ? `Firing: ${written}` : written;
}
