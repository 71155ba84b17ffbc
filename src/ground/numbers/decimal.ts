/** A decimal number: 0.d₁d₂d₃… × 10^`magnitude`, without zeros at either end of the digits. */
export interface Decimal {
  negative: boolean;
  /** Empty for zero. */
  digits: string;
  magnitude: number;
}

/** A longer text is no number: each matcher of each route would read all its digits. */
const maxLength = 1_000;

const shape = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/**
 * Reads `12`, `-0.50`, `6.02e23`, exactly: amounts of tokens have more digits than a JavaScript number keeps. Undefined
 * for other texts (`1,000`, `12 %`, `NaN`, an exponent over 15 digits).
 */
export function parseDecimal(text: string): Decimal | undefined {
  if (text.length > maxLength) return undefined;
  const found = shape.exec(text.trim());
  if (found === null) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = found;
  if (whole.length + fraction.length === 0) return undefined;

  const all = whole + fraction;
  const leadingZeros = all.length - all.replace(/^0+/, "").length;
  const digits = withoutTrailingZeros(all.slice(leadingZeros));
  if (digits === "") return { negative: false, digits: "", magnitude: 0 };
  const magnitude = whole.length - leadingZeros + Number(exponent);
  // Computing with a larger magnitude would be wrong, or throw.
  return Number.isSafeInteger(magnitude) ? { negative: sign === "-", digits, magnitude } : undefined;
}

/** Longer texts are no amounts for people. */
const maxAmountLength = 100;

const amountShape = /^([+-]?)[$€£¥₿]?(\d{1,3}(?:,\d{3})+|\d+)?(\.\d+)?(?:e([+-]?\d{1,3}))?(?:\s?([a-z]{1,8}))?$/i;

const powersOfTen = new Map<string, number>([
  ...["k", "thousand"].map((name): [string, number] => [name, 3]),
  ...["m", "mn", "mm", "million"].map((name): [string, number] => [name, 6]),
  ...["b", "bn", "billion"].map((name): [string, number] => [name, 9]),
  ...["t", "tn", "trillion"].map((name): [string, number] => [name, 12]),
]);

/** Also reads `$4,012.3`, `1,000,000`, `3.2M`, `4 billion`. "5m" is no amount: it may mean minutes or millions. */
export function parseAmount(text: string): Decimal | undefined {
  const plain = parseDecimal(text);
  if (plain !== undefined || text.length > maxAmountLength) return plain;
  const trimmed = text.trim();
  const found = amountShape.exec(trimmed);
  if (found === null || /^[+-]?\d+m$/.test(trimmed)) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0", multiplier = ""] = found;
  const power = multiplier === "" ? 0 : powersOfTen.get(multiplier.toLowerCase());
  if (power === undefined) return undefined;
  return parseDecimal(`${sign}${whole.replaceAll(",", "")}${fraction}e${Number(exponent) + power}`);
}

const certainGroups = /^[+-]?\d{1,3}(?:(?:,\d{3}){2,30}(?:\.\d{1,80})?|,\d{3}\.\d{1,80})$/;

/** "24,318,772.10" becomes `24318772.10`. "1,500" stays unchanged: for half of the world it is one and a half. */
export function withoutGroups(text: string): string {
  return text.includes(",") && certainGroups.test(text) ? text.replaceAll(",", "") : text;
}

const multiplied = /^[+-]?[$€£¥₿]?\d[\d,.]*\s?[a-z]+$/i;

/** Reads both if surely comparable: two plain decimals, or two with a multiplier. "24.3M" and "25" may differ in unit. */
export function parseAlike(one: string, other: string): [Decimal, Decimal] | undefined {
  const read = multiplied.test(one) && multiplied.test(other) ? parseAmount : parseDecimal;
  const [first, second] = [read(withoutGroups(one)), read(withoutGroups(other))];
  return first && second && [first, second];
}

/** Negative when the second is larger. Undefined when either cannot surely be read as an amount. */
export function compareAmounts(one: string, other: string): number | undefined {
  const first = parseAmount(one);
  const second = parseAmount(other);
  return first === undefined || second === undefined ? undefined : compareDecimals(first, second);
}

/** Negative when a < b, zero when they are equal, positive when a > b. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const signs = signOf(a) - signOf(b);
  if (signs !== 0) return signs;
  return a.negative ? compareSizes(b, a) : compareSizes(a, b);
}

/** Exact. Undefined for more than 1,000 digits, which would take long. */
export function subtractDecimals(a: Decimal, b: Decimal): Decimal | undefined {
  const scale = Math.max(scaleOf(a), scaleOf(b));
  const lengthOf = (decimal: Decimal) => decimal.digits.length + scale - scaleOf(decimal);
  if (Math.max(lengthOf(a), lengthOf(b)) > maxLength) return undefined;
  const scaled = (decimal: Decimal) =>
    BigInt(decimal.digits || "0") * 10n ** BigInt(scale - scaleOf(decimal)) * (decimal.negative ? -1n : 1n);
  return toDecimal(scaled(a) - scaled(b), scale);
}

/** Decimal places of a percentage. */
const percentPlaces = 6;

/** Percent that `part` is of `whole`'s size, to six places. Undefined for a zero `whole`, or a ratio over 1,000 digits. */
export function percentOf(part: Decimal, whole: Decimal): Decimal | undefined {
  const shift = 2 + percentPlaces + scaleOf(whole) - scaleOf(part);
  if (whole.digits === "" || Math.abs(shift) > maxLength) return undefined;
  const above = BigInt(part.digits || "0") * 10n ** BigInt(Math.max(shift, 0));
  const below = BigInt(whole.digits) * 10n ** BigInt(Math.max(-shift, 0));
  const size = (2n * above + below) / (2n * below);
  return toDecimal(part.negative ? -size : size, percentPlaces);
}

/** The number whose last `places` digits are decimals. */
function toDecimal(scaled: bigint, places: number): Decimal {
  const size = String(scaled < 0n ? -scaled : scaled);
  const digits = scaled === 0n ? "" : withoutTrailingZeros(size);
  return { negative: scaled < 0n, digits, magnitude: digits === "" ? 0 : size.length - places };
}

/** Negative for a whole number with zeros at its end. */
function scaleOf({ digits, magnitude }: Decimal): number {
  return digits.length - magnitude;
}

function signOf(decimal: Decimal): number {
  if (decimal.digits === "") return 0;
  return decimal.negative ? -1 : 1;
}

function compareSizes(a: Decimal, b: Decimal): number {
  if (a.magnitude !== b.magnitude) return a.magnitude < b.magnitude ? -1 : 1;
  if (a.digits === b.digits) return 0;
  return a.digits < b.digits ? -1 : 1;
}

/** A loop: /0+$/ takes quadratic time for a hostile row of zeros. */
export function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
}
