import { wordSet } from "../../ground/text/plain-text.ts";
import { type NumberPiece, type Piece, splitSentence } from "./sentence.ts";

/** Words next to a number that tell its role. All in lower case. */

export const above = wordSet("above exceeds exceeded exceeding beyond > ≥");
export const below = wordSet("below < ≤");
/** These words may also mean time or place ("over 5 pools"), so they need a verb before them. */
const wideAbove = wordSet("over");
const wideBelow = wordSet("under");
export const crossing = wordSet("crossing crossed crosses cross");
export const motion = wordSet("is are was now went rose climbed jumped fell dropped back crossed crosses crossing");
const limitNouns = wordSet("threshold limit target trigger");
const fillers = wordSet("the a an its your our of level value = :");
const isNow = wordSet("is are now currently current at stands reads = :");
const wasBefore = wordSet("was were before previously previous prev formerly");
const moves = wordSet(
  `by up down rose fell dropped gained lost increased decreased moved moves changed jumped crashed slipped
  climbed surged plunged rises falls drops more less increase decrease change`,
);
/** For a quantity in `relative`, a percentage is its value. For any other, it is its change. */
export const relative = wordSet(
  `rate ratio deviation spread utilisation utilization apy apr yield funding volatility basis premium discount slippage
  factor usage cpu memory disk load share dominance drawdown margin ltv imbalance peg index score depeg`,
);
export const amounts = wordSet(
  `price tvl volume liquidity balance supply reserve reserves depth mcap fdv collateral debt gas temperature
  inventory exposure pnl oi interest errors requests connections`,
);
export const times = wordSet("latency lag age delay staleness");
export const measureLeads = wordSet(
  "total pool token market open net health error funding price exchange borrow 24h 1h 7d h24",
);

export const chains = wordSet(
  `eth ethereum mainnet arbitrum arb base bsc bnb polygon matic optimism op avalanche avax solana sol fantom ftm
  gnosis linea scroll zksync blast mantle celo moonbeam cronos kava metis sonic berachain unichain ink sei sui
  aptos near tron ton starknet polygon-zkevm zkevm worldchain mode fraxtal taiko opbnb`,
);

/** How a threshold is worded. `crossing` and `threshold` name no side. */
export type Side = "above" | "below" | "crossing" | "threshold";

export interface Limit {
  at: number;
  /** The first piece of the limit: "above" in "above the limit of 5". */
  from: number;
  side: Side;
  /** The text says "back above". */
  isBack: boolean;
}

/** As long as a title. */
const maxRemembered = 300;

/** Positions of pieces. */
export interface Roles {
  value?: number;
  previous?: number;
  limit?: Limit;
  /** Numbers that are changes: "down 8.2 %". */
  changes: Set<number>;
  /** Limits of something else ("moved 0.8 % or more"), or several limits. */
  otherLimits: Set<number>;
  /** False when two numbers could be the value. */
  isSure: boolean;
}

export interface Sentence {
  pieces: readonly Piece[];
  roles: Roles;
}

let last: { line: string; sentence: Sentence } | undefined;

/** The pieces of a line and the roles of its numbers. The last line is remembered, since each title is read twice. */
export function readSentence(line: string): Sentence {
  if (last?.line === line) return last.sentence;
  const pieces = splitSentence(line);
  const sentence = { pieces, roles: assignRoles(pieces) };
  // The pieces of a long line come only from its beginning.
  if (line.length <= maxRemembered) last = { line, sentence };
  return sentence;
}

/** Where two numbers could have a role, neither gets it. */
function assignRoles(pieces: Piece[]): Roles {
  const roles: Omit<Roles, "isSure"> = { changes: new Set(), otherLimits: new Set() };
  const found: Record<"value" | "previous", number[]> = { value: [], previous: [] };
  const limits: Limit[] = [];
  for (let at = 0; at < pieces.length; at += 1) {
    const number = pieces[at]?.number;
    const role = number === undefined ? undefined : roleOf(pieces, at, number, { changes: roles.changes, found });
    if (role === undefined) continue;
    if (role === "change") roles.changes.add(at);
    else if (role === "moveLimit") roles.otherLimits.add(at);
    else if (role === "value" || role === "previous") found[role].push(at);
    else limits.push(role);
  }
  const isSure = found.value.length < 2 && found.previous.length < 2;
  if (isSure) Object.assign(roles, { value: found.value[0], previous: found.previous[0] });
  // "above 5 or below 3" does not say which limit was crossed.
  if (limits.length === 1) roles.limit = limits[0];
  else for (const { at } of limits) roles.otherLimits.add(at);
  return { isSure, ...roles };
}

interface Before {
  changes: Set<number>;
  found: { previous: number[] };
}

type Role = "value" | "previous" | "change" | "moveLimit" | Limit;

function roleOf(pieces: Piece[], at: number, number: NumberPiece, before: Before): Role | undefined {
  const back = (steps: number) => pieces[at - steps];
  const isPlain = back(1)?.number === undefined && pieces[at + 1]?.number === undefined;
  // "1 000", "3 of 5" and "3 to 5" are not one number.
  if (!isPlain || pieces[at + 1]?.lower === "of") return undefined;
  const limit = limitAt(pieces, at);
  if (limit !== undefined) {
    const isMove = moves.has(pieces[limit.from - 1]?.lower ?? "") && limit.side !== "crossing" && isThan(pieces, limit);
    if (isMove) return "moveLimit";
    return number.timeUnit === undefined || measuresTime(pieces, at) ? limit : undefined;
  }
  const word = skip(pieces, at - 1, fillers);
  const lead = pieces[word]?.lower ?? "";
  if (moves.has(lead) && pieces[at + 1]?.lower === "or" && pieces[at + 2]?.lower === "more") return "moveLimit";
  if (moves.has(back(1)?.lower ?? "") || (number.isPercent && moves.has(lead))) return "change";
  if (number.timeUnit !== undefined && !measuresTime(pieces, at)) return undefined;
  if (wasBefore.has(lead) || (lead === "at" && wasBefore.has(pieces[word - 1]?.lower ?? ""))) return "previous";
  if (lead === "from")
    return pieces[at + 1]?.lower === "to" || moves.has(pieces[word - 1]?.lower ?? "") ? "previous" : undefined;
  if (lead === "to") return hasMoved(pieces, word, before) ? "value" : undefined;
  return valueRole(pieces, at, number, back(1)?.lower ?? "", lead);
}

function valueRole(
  pieces: Piece[],
  at: number,
  number: NumberPiece,
  last: string,
  lead: string,
): "value" | "change" | undefined {
  const isMeasured = relative.has(lead) || amounts.has(lead) || times.has(lead);
  if (number.isPercent && (amounts.has(lead) || (number.isSigned && isMeasured && last === lead))) return "change";
  if (isMeasured) return "value";
  if (last === ":" && !isMeasured) return isValueOf(pieces, at, number) ? "value" : undefined;
  if (isNow.has(last) || isNow.has(lead))
    return pieces[at + 1]?.kind === "word" && isCounted(pieces[at + 1]) ? undefined : "value";
  return undefined;
}

/** Whether it follows a measure and a colon: "Price of ETH on eth: $3,912.5", but not "TVL of USDC: 3 pools". */
function isValueOf(pieces: Piece[], at: number, number: NumberPiece): boolean {
  if (number.isBare) return false;
  // The names of a subject and its chain are no longer.
  for (let of = at - 3; of > 0 && at - of < 7; of -= 1) {
    if (pieces[of + 1]?.kind !== "word") return false;
    const measure = pieces[of - 1]?.lower ?? "";
    if (pieces[of]?.lower !== "of" && pieces[of]?.lower !== "for") continue;
    return relative.has(measure) || (amounts.has(measure) && !number.isPercent) || times.has(measure);
  }
  return false;
}

/** "is 3 pools behind" counts pools. */
function isCounted(next: Piece | undefined): boolean {
  const word = next?.lower ?? "";
  return !(
    above.has(word) ||
    below.has(word) ||
    wideAbove.has(word) ||
    wideBelow.has(word) ||
    /^(?:and|but|from|on|in|vs|was|before|against|for|after|at|up|down|threshold|limit|which|now|again)$/.test(word)
  );
}

function isThan(pieces: Piece[], limit: Limit): boolean {
  return pieces[limit.from + 1]?.lower === "than";
}

function measuresTime(pieces: Piece[], at: number): boolean {
  return pieces.slice(Math.max(0, at - 6), at).some(({ lower }) => times.has(lower));
}

/** "fell to 5", "from 7 to 5", "down 8.2 % to 18.6k". */
function hasMoved(pieces: Piece[], to: number, { changes, found }: Before): boolean {
  const before = pieces[to - 1];
  if (before?.number !== undefined) return changes.has(to - 1) || found.previous.includes(to - 1);
  return before !== undefined && moves.has(before.lower) && before.lower !== "change";
}

/** The nearest piece at or before `at` that is none of the words. A number ends the search. */
function skip(pieces: Piece[], at: number, skipped: ReadonlySet<string>): number {
  let position = at;
  // No sentence needs more than six steps. The limit keeps the whole linear.
  while (position > 0 && at - position < 6 && skipped.has(pieces[position]?.lower ?? "")) position -= 1;
  return position;
}

const limitFillers: ReadonlySet<string> = new Set([...fillers, ...limitNouns, "is"]);

function limitAt(pieces: Piece[], at: number): Limit | undefined {
  const position = skip(pieces, at - 1, limitFillers);
  const between = pieces.slice(position + 1, at);
  const isNamed = [...between, pieces[position]].some((piece) => limitNouns.has(piece?.lower ?? ""));
  const side = sideAt(pieces, position);
  // "above: is 5" and "below, the value of 5" are two clauses.
  if (side !== undefined && (isNamed || between.every(({ lower }) => /^(?:the|a|an|its|your|our|=)$/.test(lower)))) {
    const isBack = /^(?:back|again|returned)$/.test(pieces[side.from - 1]?.lower ?? "");
    return { at, ...side, isBack };
  }
  if (!isNamed) return undefined;
  let noun = at - 1;
  while (!limitNouns.has(pieces[noun]?.lower ?? "")) noun -= 1;
  return { at, from: noun, side: "threshold", isBack: false };
}

function sideAt(pieces: Piece[], at: number): { from: number; side: Side } | undefined {
  const word = pieces[at]?.lower ?? "";
  const before = pieces[at - 1]?.lower ?? "";
  if (word === "up" && crossing.has(before)) return { from: at - 1, side: "above" };
  if (word === "down" && crossing.has(before)) return { from: at - 1, side: "below" };
  if (crossing.has(word)) return { from: at, side: "crossing" };
  if (word === "than" && /^(?:more|greater|higher|larger)$/.test(before)) return { from: at - 1, side: "above" };
  if (word === "than" && /^(?:less|lower|smaller|fewer)$/.test(before)) return { from: at - 1, side: "below" };
  const isWide = motion.has(before) || pieces[at - 1]?.number !== undefined;
  if (above.has(word) || (wideAbove.has(word) && isWide)) return { from: at, side: "above" };
  if (below.has(word) || (wideBelow.has(word) && isWide)) return { from: at, side: "below" };
  return undefined;
}
