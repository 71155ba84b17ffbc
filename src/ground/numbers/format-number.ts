import {
  compareDecimals,
  type Decimal,
  parseAlike,
  parseAmount,
  parseDecimal,
  subtractDecimals,
  withoutTrailingZeros,
} from "./decimal.ts";

/** Digits that a reader takes in at a glance. */
const significantDigits = 6;
const shortSignificantDigits = 4;
/** Amounts have fewer digits before the point. */
const longestWhole = 30;

/** Digits that a double holds exactly. */
const longestExact = 15;
/** Digits beyond these are noise of a sender's doubles: `0.30000000000000004`. */
const tellingDigits = 12;
/** A quadrillion has no well-known word, and nobody counts the zeros of a millionth. Beyond, numbers get an exponent. */
const largestInWords = 15;
const smallestPlain = -5;

const wholeNumber = /^[+-]?\d+$/;
const decimal = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** The difference of two such numbers is exact in doubles, rounded to their places. */
const shortPlain = /^[+-]?\d{1,9}(?:\.(\d{1,5}))?$/;
const plain = /^([+-]?)(\d+)(?:\.(\d+))?$/;

/** Largest first. */
export const multiples = [
  { power: 12, word: "tn" },
  { power: 9, word: "bn" },
  { power: 6, word: "M" },
];

export interface NumberStyle {
  /** Numbers shown near it. Two numbers that differ as sent must not look the same. */
  besides?: readonly (string | undefined)[];
}

/** `1246377700.25` → `1,246,377,700.25`. Other texts stay unchanged, also with a zero in front as ids have. */
export function groupDigits(sent: string): string {
  const found = plain.exec(sent);
  if (found === null) return sent;
  const [, sign, whole = "", fraction] = found;
  if (whole.length > longestWhole || (whole.length > 1 && whole.startsWith("0"))) return sent;
  return `${sign}${inThrees(whole)}${fraction === undefined ? "" : `.${fraction}`}`;
}

/** `1234` → `1,234`. Fractions get at most three digits. Without `Intl`, whose first use takes 20 ms and 5 MB. */
export function groupThousands(count: number): string {
  const size = Math.abs(count);
  if (Number.isInteger(count) && size < 1e15) return groupDigits(String(count));
  if (!(size > 1e-6 && size < 1e12)) return count.toLocaleString("en");
  // Rounds the decimal digits: as a double, 523.1705 times 1000 is not the half that it looks like.
  const rounded = Number(`${Math.round(Number(`${size}e3`))}e-3`);
  return groupDigits(String(Math.sign(count) * rounded));
}

function inThrees(whole: string): string {
  const first = whole.length % 3 || 3;
  const groups = [whole.slice(0, first)];
  for (let at = first; at < whole.length; at += 3) groups.push(whole.slice(at, at + 3));
  return groups.join(",");
}

/**
 * A number for people: grouped, with all digits before the point, and up to six significant digits. `18623.426` →
 * `18,623.4`, `0.00016623106` → `0.000166231`, `2.1753413e-7` → `2.17534e-7`. A short number keeps its zeros. A number
 * that is whole only by rounding gets zeros: `0.9999999` → `1.00000`. Other texts stay unchanged.
 */
export function writeNumber(sent: string, style: NumberStyle = {}): string {
  // The usual case. No digit is dropped, so no other number can look the same.
  const isShort = sent.length <= significantDigits || (sent.length <= longestWhole && wholeNumber.test(sent));
  if (isShort) return groupDigits(sent);
  return keptApart(sent, style, significantDigits, (digits) => (number) => shortenFraction(number, digits));
}

/** Four significant digits, for a short line: `24.32 M`, `1.246 bn`, `18,623`, `0.9712`, `0.0001662`, `1.5e18`. */
export function writeShortNumber(sent: string, style: NumberStyle = {}): string {
  // 12.500 stays unchanged: some readers see a dozen, others twelve thousand.
  if (/^[+-]?[1-9]\d{0,2}\.\d{3}$/.test(sent)) return sent;
  return keptApart(sent, style, shortSignificantDigits, (digits) => (number) => {
    const parsed = parseDecimal(number);
    if (parsed === undefined || parsed.magnitude < 6 || isExtreme(parsed)) return shortenFraction(number, digits);
    const { magnitude } = roundTo(parsed, digits);
    if (magnitude > largestInWords) return writeExponent(parsed, digits);
    const multiple = parsed.magnitude > 6 ? multiples.find(({ power }) => magnitude > power) : undefined;
    if (multiple === undefined) return shortenFraction(number, digits);
    return `${writeRounded({ ...parsed, magnitude: parsed.magnitude - multiple.power }, digits)} ${multiple.word}`;
  });
}

/** Whether a text contains this number, as sent or as written here. */
export function isNumberIn(text: string, sent: string, style: NumberStyle): boolean {
  const forms = [writeNumber(sent), writeNumber(sent, style), writeShortNumber(sent), writeShortNumber(sent, style)];
  return [sent, ...forms].some((form) => text.includes(form));
}

/** `−5.7 %` of the previous value. Undefined where it is uncertain, or rounds to nothing. */
export function writeChange(before: string, now: string): string | undefined {
  const share = shareOf(before, now);
  if (share === undefined) return undefined;
  const size = Math.abs(share);
  const digits = size.toFixed(size >= 100 ? 0 : size >= 1 ? 1 : 2);
  return Number(digits) === 0 ? undefined : `${share < 0 ? "−" : "+"}${groupDigits(digits)} %`;
}

/** `−289,654`, six significant digits. Undefined where either is no plain decimal, or both are equal. */
export function writeDifference(before: string, now: string): string | undefined {
  const size = exactDifference(before, now);
  return size === undefined ? undefined : `${size.startsWith("-") ? "−" : "+"}${writeNumber(size.replace("-", ""))}`;
}

/** Without an exponent. */
function exactDifference(before: string, now: string): string | undefined {
  if (before === now) return undefined;
  const [short, shortBefore] = [shortPlain.exec(now), shortPlain.exec(before)];
  if (short !== null && shortBefore !== null) {
    const places = Math.max(short[1]?.length ?? 0, shortBefore[1]?.length ?? 0);
    const difference = Number(now) - Number(before);
    return difference === 0 ? undefined : withoutEmptyFraction(difference.toFixed(places));
  }
  const [from, to] = [parseDecimal(before), parseDecimal(now)];
  const difference = from && to && subtractDecimals(to, from);
  if (difference === undefined || difference.digits === "" || isExtreme(difference)) return undefined;
  return writePlain(difference);
}

/** `0.0074 %`: the distance of a number from a limit, without a sign. Undefined where `writeChange` is, and from 1,000 % on. */
export function writeDistance(limit: string, now: string): string | undefined {
  const size = Math.abs(shareOf(limit, now) ?? 0);
  if (size < 0.00001 || size >= 1_000) return undefined;
  return writeSize(size);
}

/** `-5.714286` → `−5.7 %`. Undefined for a text that is no plain decimal. */
export function writePercent(sent: string): string | undefined {
  const size = Math.abs(Number(sent));
  if (!decimal.test(sent) || !Number.isFinite(size)) return undefined;
  return `${sent.startsWith("-") && size > 0 ? "−" : ""}${writeSize(size)}`;
}

function writeSize(size: number): string {
  if (size >= 1) return `${groupDigits(size.toFixed(size >= 100 ? 0 : 1))} %`;
  return `${writePlain(parseDecimal(size.toPrecision(2)) ?? zero)} %`;
}

/** Percent of `before`. A double is exact enough for the few digits shown. */
function shareOf(before: string, now: string): number | undefined {
  const isPlain = decimal.test(before) && decimal.test(now);
  const [from, to] = isPlain ? [Number(before), Number(now)] : (parseAlike(before, now) ?? []).map(toDouble);
  if (from === undefined || to === undefined) return undefined;
  const share = ((to - from) / Math.abs(from)) * 100;
  return Number.isFinite(share) && Math.abs(share) <= 1_000_000 ? share : undefined;
}

function toDouble({ negative, digits, magnitude }: Decimal): number {
  return Number(`${negative ? "-" : ""}0.${digits}e${magnitude}`);
}

/** Adds digits until no number near it looks the same. */
function keptApart(
  sent: string,
  { besides = [] }: NumberStyle,
  least: number,
  writerOf: (digits: number) => (number: string) => string,
): string {
  if (!decimal.test(sent)) return sent;
  const near = besides.filter((other) => other !== undefined && other !== sent && isNear(Number(sent), Number(other)));
  if (near.length === 0 && sent.length <= longestExact) return writerOf(least)(sent);
  const own = parseDecimal(sent);
  if (own === undefined || isExtreme(own)) return sent;
  const others = near.filter((other): other is string => {
    const parsed = other === undefined ? undefined : parseDecimal(other);
    return parsed !== undefined && !isExtreme(parsed) && compareDecimals(parsed, own) !== 0;
  });
  const most = Math.max(own.digits.length, ...others.map((other) => parseDecimal(other)?.digits.length ?? 0));
  for (let digits = least; digits < most; digits += 1) {
    const write = writerOf(digits);
    const written = write(sent);
    if (others.every((other) => !readsTheSame(write(other), written))) return written;
  }
  return writerOf(Math.max(least, most))(sent);
}

/** "1,000,000" and "1 M" are one number to a reader. */
function readsTheSame(one: string, other: string): boolean {
  if (one === other) return true;
  const [first, second] = [parseAmount(one.replaceAll(",", "")), parseAmount(other.replaceAll(",", ""))];
  return first !== undefined && second !== undefined && compareDecimals(first, second) === 0;
}

/** Within 1 %: numbers further apart never look the same. Texts that are no numbers count as near. */
function isNear(one: number, other: number): boolean {
  return !(Math.abs(one - other) > 0.01 * Math.max(Math.abs(one), Math.abs(other)));
}

function shortenFraction(sent: string, digits: number): string {
  const exponent = /^([+-]?[\d.]+)([eE][+-]?\d+)$/.exec(sent);
  const found = plain.exec(sent);
  if (exponent === null && found === null) return sent;
  const [, , whole = "", fraction = ""] = found ?? plain.exec(exponent?.[1] ?? "") ?? [];
  const isWhole = /[1-9]/.test(whole);
  const written = isWhole ? whole.length + fraction.length : fraction.length - fraction.search(/[1-9]|$/);
  if (fraction === "" || written === 0) return groupDigits(sent);
  const parsed = parseDecimal(sent);
  if (parsed === undefined) return sent;
  if (exponent !== null) return written <= digits ? sent : writeExponent(parsed, digits);
  if (parsed.magnitude < smallestPlain) return writeExponent(parsed, digits);
  return written <= digits ? groupDigits(sent) : writeRounded(parsed, Math.max(digits, parsed.magnitude));
}

/** Adds zeros after the point where only rounding has made the number whole. */
function writeRounded(decimal: Decimal, digits: number): string {
  const rounded = roundTo(decimal, digits);
  const short = groupDigits(writePlain(rounded));
  const places = digits - rounded.magnitude;
  return short.includes(".") || places <= 0 || isNoise(decimal, rounded) ? short : `${short}.${"0".repeat(places)}`;
}

function isNoise(decimal: Decimal, rounded: Decimal): boolean {
  return compareDecimals(roundTo(decimal, tellingDigits), rounded) === 0;
}

/** `1.23457e-18` */
function writeExponent(decimal: Decimal, digits: number): string {
  const { magnitude } = roundTo(decimal, digits);
  return `${writeRounded({ ...decimal, magnitude: decimal.magnitude - magnitude + 1 }, digits)}e${magnitude - 1}`;
}

function withoutEmptyFraction(fixed: string): string {
  return fixed.includes(".") ? withoutTrailingZeros(fixed).replace(/\.$/, "") : fixed;
}

/** Half away from zero. */
function roundTo(decimal: Decimal, digits: number): Decimal {
  if (decimal.digits.length <= digits) return decimal;
  const kept = BigInt(decimal.digits.slice(0, digits) || "0") + (Number(decimal.digits[digits]) >= 5 ? 1n : 0n);
  const grown = String(kept);
  return {
    negative: decimal.negative,
    digits: withoutTrailingZeros(grown),
    magnitude: decimal.magnitude + (grown.length - Math.max(digits, 1)),
  };
}

/** Without an exponent. */
export function writePlain({ negative, digits, magnitude }: Decimal): string {
  if (digits === "") return "0";
  const whole = magnitude <= 0 ? "0" : digits.slice(0, magnitude).padEnd(magnitude, "0");
  const fraction = magnitude <= 0 ? "0".repeat(-magnitude) + digits : digits.slice(magnitude);
  return `${negative ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

const zero: Decimal = { negative: false, digits: "", magnitude: 0 };

/** Too long or too large to read or compute with. */
function isExtreme({ digits, magnitude }: Decimal): boolean {
  return digits.length > 80 || Math.abs(magnitude) > 80;
}

/** `1st`, `12th`, `22nd` */
export function ordinal(number: number): string {
  const rest = number % 100;
  const ending = rest >= 11 && rest <= 13 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${ending}`;
}
