import type { AlertFacts } from "../../core/alert.ts";
import { compareAmounts } from "../../ground/numbers/decimal.ts";
import {
  above,
  amounts,
  below,
  chains,
  measureLeads,
  motion,
  type Roles,
  readSentence,
  relative,
  times,
} from "./number-roles.ts";
import { withoutStatus } from "./read-status.ts";
import { type Piece, shoutedWords } from "./sentence.ts";

/** What a sentence like "USDC on eth: total TVL 24.3 USD (below 25), before 26" says. All texts are as sent. */
export interface Measurement extends Omit<Measured, "metric"> {
  /** "pool TVL", "price deviation". */
  measure?: string;
}

/** Undefined where value, measure and threshold are all missing. Where two numbers could have a role, neither gets it. */
export function readMeasurement(title: string): Measurement | undefined {
  if (!/\d/.test(title)) return undefined;
  const { pieces, roles } = readSentence(withoutStatus(title).replace(/^[^\p{L}\p{N}$€£¥]{1,8}/u, ""));
  if (!roles.isSure || isDistance(pieces, roles)) return undefined;
  const first = Math.min(...[roles.value, roles.limit?.from, roles.previous].filter((at) => at !== undefined));
  const { measure, token, chain } = readSubject(pieces, first);
  const hasCompany = roles.limit !== undefined || roles.previous !== undefined || measure !== undefined;
  if (roles.value === undefined ? roles.limit === undefined : !hasCompany) return undefined;
  if (roles.value === undefined && measure === undefined && token === undefined) return undefined;
  const numberAt = (at: number | undefined) => (at === undefined ? undefined : pieces[at]);
  const value = numberAt(roles.value);
  const previous = numberAt(roles.previous);
  const limit = numberAt(roles.limit?.at);
  return {
    token,
    chain,
    measure,
    value: value?.text,
    previousValue: agree(previous, value) ? previous?.text : undefined,
    threshold: agree(limit, value) ? limit?.text : undefined,
    unit: unitOf(value) ?? (agree(limit, value) && !/[$€£¥₿]/.test(value?.text ?? "") ? unitOf(limit) : undefined),
  };
}

/** In "12 % below 25M" the number is a distance, not the value. */
function isDistance(pieces: readonly Piece[], { value, limit }: Roles): boolean {
  if (value === undefined || limit === undefined) return false;
  return pieces[value]?.number?.isPercent === true && pieces[limit.at]?.number?.isPercent === false;
}

function unitOf(piece: Piece | undefined): string | undefined {
  return piece?.number?.unit ?? piece?.number?.timeUnit;
}

/** Whether two numbers can be of one kind. A percentage and an amount cannot, USD and ETH cannot. */
function agree(one: Piece | undefined, other: Piece | undefined): boolean {
  if (one?.number === undefined || other?.number === undefined) return true;
  if (one.number.isPercent !== other.number.isPercent) return false;
  return one.number.unit === undefined || other.number.unit === undefined || one.number.unit === other.number.unit;
}

/** Token, chain and measure, from the pieces before the first number with a role or around it. */
function readSubject(pieces: readonly Piece[], first: number): Pick<Measurement, "token" | "chain" | "measure"> {
  const measured = findMeasure(pieces, first);
  const on = pieces.findIndex(
    (piece, at) => piece.lower === "on" && (isChainSlot(pieces, at) || chains.has(pieces[at + 1]?.lower ?? "")),
  );
  return {
    token: findToken(pieces, on, measured),
    chain: on === -1 ? undefined : pieces[on + 1]?.text,
    measure:
      measured &&
      pieces
        .slice(measured.from, measured.to)
        .map(({ text }) => text)
        .join(" "),
  };
}

/** In "SYMBOL on CHAIN: …" any word is a chain. */
function isChainSlot(pieces: readonly Piece[], on: number): boolean {
  return on === 1 && pieces[3]?.text === ":" && /^[a-z][a-z0-9-]{1,20}$/.test(pieces[2]?.text ?? "");
}

function findMeasure(pieces: readonly Piece[], first: number): { from: number; to: number } | undefined {
  const isMeasure = ({ lower }: Piece) => relative.has(lower) || amounts.has(lower) || times.has(lower);
  const last = pieces.findLastIndex((piece, at) => at < first && piece.kind === "word" && isMeasure(piece));
  if (last === -1) return undefined;
  let from = last;
  while (from > 0 && isPartOfMeasure(pieces[from - 1])) from -= 1;
  return { from, to: last + 1 };
}

function isPartOfMeasure(piece: Piece | undefined): boolean {
  if (piece?.kind !== "word") return false;
  return measureLeads.has(piece.lower) || relative.has(piece.lower) || amounts.has(piece.lower);
}

function findToken(
  pieces: readonly Piece[],
  on: number,
  measured: { from: number; to: number } | undefined,
): string | undefined {
  const pairs = pieces.filter(
    ({ text }) => /^[A-Za-z0-9.]{2,15}\/[A-Za-z0-9.]{2,15}$/.test(text) && /[A-Z]{2}/.test(text),
  );
  if (pairs.length === 1) return pairs[0]?.text;
  if (pairs.length > 1) return undefined;
  if (on === 1 && pieces[3]?.text === ":") return symbolAt(pieces, 0, /^[A-Za-z][A-Za-z0-9.₮-]{0,19}$/);
  const of = pieces.findIndex(({ lower }) => lower === "of");
  if (of !== -1 && measured !== undefined && of === measured.to) return symbolAt(pieces, of + 1);
  if (measured !== undefined) return measured.from > 0 ? symbolAt(pieces, measured.from - 1) : undefined;
  // TradingView's "BTCUSDT, 15 Crossing Down 90000" includes the chart's interval.
  const verb = pieces[pieces[1]?.text === "," ? 3 : 1]?.lower ?? "";
  const isVerb = motion.has(verb) || above.has(verb) || below.has(verb) || verb === "greater" || verb === "less";
  return isVerb ? symbolAt(pieces, 0) : undefined;
}

/** A ticker (capitals and digits, perhaps with small letters before: "wstETH"), or an address. */
function symbolAt(
  pieces: readonly Piece[],
  at: number,
  pattern = /^(?:[a-z]{0,4}[A-Z][A-Za-z0-9.]{0,15}[A-Z0-9]|0x[0-9a-fA-F]{40})$/,
) {
  const piece = pieces[at];
  if (piece?.kind !== "word" || shoutedWords.has(piece.lower) || !pattern.test(piece.text)) return undefined;
  return piece.text;
}

/** Facts that a title may add to. */
export type Measured = Pick<
  AlertFacts,
  "token" | "chain" | "metric" | "value" | "previousValue" | "threshold" | "unit"
>;

/** The payload's own facts win. Where a value or threshold differs, the title is about something else. */
export function addMeasurement(facts: Measured, measured: Measurement | undefined): Measured {
  if (measured === undefined) return facts;
  const { token, chain, measure, value, previousValue, threshold, unit } = measured;
  const differs = (one: string | undefined, other: string | undefined) =>
    one !== undefined && other !== undefined && compareAmounts(one, other) !== 0;
  if (differs(facts.value, value) || differs(facts.threshold, threshold)) return facts;
  const isOfOther = facts.value !== undefined && value === undefined;
  // With a threshold of 2 % next to a value of 0.0241, the value's unit is unknown.
  const isPlain = !isOfOther || unit === undefined || unit === facts.unit;
  return {
    metric: facts.metric ?? measure,
    token: facts.token ?? token,
    chain: facts.chain ?? chain,
    value: facts.value ?? value,
    previousValue: facts.previousValue ?? (isOfOther ? undefined : previousValue),
    threshold: facts.threshold ?? (isPlain ? threshold : undefined),
    unit: facts.unit ?? (isOfOther ? undefined : unit),
  };
}
