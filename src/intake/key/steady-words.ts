import type { AlertStatus } from "../../core/alert.ts";
import { compareAmounts } from "../../ground/numbers/decimal.ts";
import { wordSet } from "../../ground/text/plain-text.ts";
import { type Limit, type Roles, readSentence } from "../find/number-roles.ts";
import type { Piece } from "../find/sentence.ts";

/** Words that differ between firing and resolved. */
const linking = wordSet(
  `is are was were now currently current at has have had been crossed crosses crossing fell falls fallen dropped
  drops rose rises risen went moved back again to from before previously previous value threshold limit the
  recovered resolved`,
);
const counterLeads = wordSet("block height epoch slot nonce attempt retry try round");
const counted = wordSet("times time errors alerts failures retries attempts");
const durationLeads = wordSet("for after since lasted lasting within past");
const durationEnds = wordSet("ago late behind old left overdue");
/** "outside 0.98 and 1.02": two limits, which look like readings. */
const rangeWords = wordSet("between outside range");
const feeWords = wordSet("fee fees pool tier");
/** A number after these words is a name: "vault 12,001", "tier 1.5". */
const numbered = wordSet("vault strike tier loan cdp trove proposal validator ticket invoice");
/** A date next to these words is part of the thing's name: "2026-12-25 expiry". */
const dated = /^(?:expir|matur|settle)/;
/** "3.912,20" as many European countries write it. It is no value, but it differs between messages. */
const continental = /^[$€£]?\d{1,3}(?:\.\d{3})*,\d{1,8}[$€£%]?$/;
/** Percentages that are part of a pool's name, right after its pair. */
const feeTiers = wordSet("0.01 0.02 0.05 0.25 0.3 0.30 1 1.00");

export interface SteadyWords {
  words: string;
  /** "above 4000". */
  limit?: string;
}

/**
 * A line without what differs between messages about one thing: readings, amounts, changes, times, counters, and the
 * words around them. What may name the thing stays: bare whole numbers ("pool 3"), digits in words, fee tiers. The
 * limit is returned too: two limits on one metric are two alerts. Undefined where nothing can be removed.
 */
export function steadyWords(line: string, status: AlertStatus): SteadyWords | undefined {
  if (!/\d/.test(line)) return undefined;
  const { pieces, roles } = readSentence(line);
  const { limit } = roles;
  const isRange = pieces.some(({ lower }) => rangeWords.has(lower));
  const kept: string[] = [];
  let isChanged = false;
  for (const [at, piece] of pieces.entries()) {
    const isOfLimit = limit !== undefined && at >= limit.from && at <= limit.at;
    if (isOfLimit || (!isRange && differs(pieces, at, roles))) isChanged = true;
    else if (piece.kind !== "mark") kept.push(piece.number?.isPercent === true ? `${piece.lower}%` : piece.lower);
  }
  if (!isChanged) return undefined;
  const steady = kept.filter((word) => !linking.has(word)).join(" ");
  // The remaining words must tell one thing from another.
  if (!/\p{L}{2}/u.test(steady)) return undefined;
  return { words: steady, limit: limit && describeLimit(limit, pieces, roles, status) };
}

function differs(pieces: readonly Piece[], at: number, roles: Roles): boolean {
  const piece = pieces[at] as Piece;
  if (piece.kind === "mark" || roles.otherLimits.has(at)) return false;
  if (at === roles.value || at === roles.previous || roles.changes.has(at)) return true;
  const before = pieces[at - 1]?.lower ?? "";
  const after = pieces[at + 1]?.lower ?? "";
  if (piece.kind === "word") return wordDiffers(piece.lower, before, after);
  const { number } = piece;
  if (number?.timeUnit !== undefined) return durationLeads.has(before) || durationEnds.has(after);
  if (numbered.has(before) && number?.isPercent !== true && number?.unit === undefined) return false;
  if (number?.isBare === true) return counterLeads.has(before) || counted.has(after);
  const isTier = feeWords.has(before) || feeWords.has(after) || (before.includes("/") && feeTiers.has(piece.lower));
  return number?.isPercent !== true || !isTier;
}

function wordDiffers(word: string, before: string, after: string): boolean {
  if (word.length > 40) return false;
  if (continental.test(word)) return true;
  // A time of day, a date, or both. "×3" and "2nd time".
  if (/^\d{4}-\d\d-\d\d$/.test(word) && (dated.test(before) || dated.test(after))) return false;
  if (
    /^\d{1,2}:\d\d(?::\d\d(?:\.\d{1,9})?)?z?$/.test(word) ||
    /^\d{4}-\d\d-\d\d(?:t[\d:.]{5,18}(?:z|[+-]\d\d:?\d\d)?)?$/.test(word)
  )
    return true;
  if (/^[×x]\d{1,6}$/.test(word)) return true;
  if (/^\d{1,6}(?:st|nd|rd|th)$/.test(word)) return after === "time";
  return /^\d{1,6}(?:\.\d{1,3})?(?:ms|s|m|h|d|w)$/.test(word) && (durationLeads.has(before) || durationEnds.has(after));
}

/** "above 4000", the same for firing and resolved. */
function describeLimit(limit: Limit, pieces: readonly Piece[], roles: Roles, status: AlertStatus): string {
  const piece = pieces[limit.at] as Piece;
  const amount = piece.lower.replace(/[$€£¥₿,\s]/g, "");
  const value = roles.value === undefined ? undefined : pieces[roles.value];
  return `${sideOf(limit, piece, value, status)} ${amount}${piece.number?.isPercent === true ? "%" : ""}`;
}

/** The side on which the alert fires. A resolving alert may say either side ("back below 5"). Its value shows which. */
function sideOf({ side, isBack }: Limit, limit: Piece, value: Piece | undefined, status: AlertStatus): string {
  if (status !== "resolved" || (side !== "above" && side !== "below")) return side;
  const order = value === undefined ? undefined : compareAmounts(value.text, limit.text);
  if (order !== undefined && order !== 0) return order < 0 ? "above" : "below";
  if (!isBack) return side;
  return side === "above" ? "below" : "above";
}
