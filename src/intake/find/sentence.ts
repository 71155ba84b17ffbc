import { wordSet } from "../../ground/text/plain-text.ts";
/** A word, a number with its parts, or a mark that separates. */
export interface Piece {
  kind: "word" | "number" | "mark";
  /** As sent. A number's unit is not part of it. */
  text: string;
  lower: string;
  /** Set for a number. */
  number?: NumberPiece;
}

export interface NumberPiece {
  isPercent: boolean;
  /** "+5.2%". */
  isSigned: boolean;
  /** Only digits, which may be part of a name: "pool 3". A decimal, currency, multiplier or unit makes an amount. */
  isBare: boolean;
  /** "USD", "ETH", "gwei". */
  unit?: string;
  /** "minutes", "s". */
  timeUnit?: string;
}

/** Longer lines are cut. Titles have at most 300 characters. */
const maxLineLength = 600;

/** Each mark is a piece of its own. A comma between digits belongs to the number. */
const marks = new Set('()[]{}"“”«»‘’`,;!?|<>=≤≥→…*~');
const digitGroups = /^\d[,']\d$/;

/** Digits as programs and English write them. Not "53.470,5" or "1 000": a wrong number is worse than none. */
const amountPattern =
  /^([+−-]?)([$€£¥₿]?)(?:\d{1,3}(?:,\d{3})+|\d{1,80})(\.\d{1,80})?(?:e[+-]?\d{1,3})?(%|bps|[kKMBT]|bn|mn|mm|m)?$/;

const magnitudes = wordSet("k thousand m mn mm million bn b billion t tn trillion");
const percents = new Set(["%", "percent", "pct", "bps"]);
const timeUnits =
  wordSet(`ms millisecond milliseconds s sec secs second seconds min mins minute minutes h hr hrs hour hours d day days
  week weeks month months block blocks epoch epochs`);
const plainUnits = wordSet("gwei wei sats shares contracts dollars");

/** Splits a line in one pass. Words, not numbers: "kite988", "rpc-2", "0x1f", "1.2.3", "21:35", "24h". */
export function splitSentence(line: string): Piece[] {
  const pieces = splitPieces(line.slice(0, maxLineLength));
  const joined: Piece[] = [];
  for (let at = 0; at < pieces.length; at += 1) {
    const piece = pieces[at] as Piece;
    if (piece.number === undefined) {
      joined.push(piece);
      continue;
    }
    const whole = joinNumber(pieces, at, piece.number);
    joined.push(whole.piece);
    at += whole.taken;
  }
  return joined;
}

function splitPieces(line: string): Piece[] {
  const pieces: Piece[] = [];
  let chunk = "";
  const end = () => {
    // A full stop or a colon ends a word only when nothing follows it.
    let kept = chunk.length;
    while (kept > 0 && ".:".includes(chunk.charAt(kept - 1))) kept -= 1;
    if (kept > 0) pieces.push(pieceOf(chunk.slice(0, kept)));
    if (kept < chunk.length) pieces.push({ kind: "mark", text: chunk.slice(kept), lower: chunk.slice(-1) });
    chunk = "";
  };
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    if (isSpace(char)) end();
    else if (!marks.has(char) || digitGroups.test(line.slice(at - 1, at + 2))) chunk += char;
    else {
      end();
      pieces.push({ kind: "mark", text: char, lower: char });
    }
  }
  end();
  return pieces;
}

/** Splits `24.3M USD` or `5.2%`. */
export function splitUnit(text = ""): { amount: string; unit: string } | undefined {
  if (text.length > 100 || !/\d/.test(text) || /\d$/.test(text)) return undefined;
  const [piece, ...others] = splitSentence(text);
  if (piece?.number?.unit === undefined || others.length > 0) return undefined;
  return { amount: piece.text, unit: piece.number.unit };
}

function isSpace(char: string): boolean {
  return char === " " || ((char < "!" || char > "~") && /\s/.test(char));
}

function pieceOf(text: string): Piece {
  const lower = text.toLowerCase();
  const match = text.length > 100 ? null : amountPattern.exec(text);
  if (match === null) return { kind: "word", text, lower };
  const [, sign = "", currency = "", fraction, suffix] = match;
  // "5m" is more often five minutes than five million.
  if (suffix === "m" && currency === "" && fraction === undefined) return { kind: "word", text, lower };
  const isPercent = suffix === "%" || suffix === "bps";
  const amount = isPercent ? text.slice(0, -(suffix?.length ?? 0)) : text;
  const isBare = /^\d+$/.test(amount) && !isPercent;
  const number: NumberPiece = { isPercent, isSigned: sign !== "", isBare };
  if (isPercent) number.unit = suffix;
  return { kind: "number", text: amount, lower: amount.toLowerCase(), number };
}

/** A number with its multiplier, percent sign and unit from the words after it. */
function joinNumber(pieces: Piece[], at: number, number: NumberPiece): { piece: Piece; taken: number } {
  let { text } = pieces[at] as Piece;
  let taken = 0;
  const next = () => {
    const piece = pieces[at + taken + 1];
    return piece?.kind === "word" ? piece : undefined;
  };
  // "8.2% b" is not 8.2 billion.
  const multiplier = number.isPercent ? undefined : next();
  const isLetter = multiplier?.lower.length === 1;
  if (multiplier !== undefined && magnitudes.has(multiplier.lower) && !(isLetter && multiplier.text === "m")) {
    text += ` ${multiplier.text}`;
    taken += 1;
    number.isBare = false;
  }
  const unit = next();
  if (unit !== undefined && !number.isPercent) {
    if (percents.has(unit.lower)) Object.assign(number, { isPercent: true, unit: unit.lower === "bps" ? "bps" : "%" });
    else if (timeUnits.has(unit.lower) && unit.text === unit.lower) number.timeUnit = unit.text;
    else if (namesUnit(unit)) number.unit = unit.text;
    if (number.unit !== undefined || number.timeUnit !== undefined) {
      taken += 1;
      number.isBare = false;
    }
  }
  return { piece: { kind: "number", text, lower: text.toLowerCase(), number }, taken };
}

/** A currency or a token: two to ten capitals and digits. */
function namesUnit({ text, lower }: Piece): boolean {
  return plainUnits.has(lower) || (/^[A-Z][A-Z0-9]{1,9}$/.test(text) && !shoutedWords.has(lower));
}

/** Words in capitals that are no token. */
export const shoutedWords: ReadonlySet<string> =
  wordSet(`above below over under than from to was is now at on of in by and or but the for with before after up down new old high low
  max min avg per rose fell crossed crossing alert alarm warning critical info error firing resolved ok triggered test
  limit threshold target price volume tvl total liquidity rate ratio balance change value usage health factor utc gmt cet
  cest est edt pst pdt am pm rpc api cpu ram url http https id apy apr ltv fdv mcap pnl lp dex cex nft dao defi p0 p1 p2 p3 p4 p5
  sev0 sev1 sev2 sev3 sev4 sev5 s0 s1 s2 s3 s4 s5 l1 l2 pool token chain block node keeper oracle vault market bridge all any no not`);
