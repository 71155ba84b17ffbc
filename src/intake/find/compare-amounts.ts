const magnitudes: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  mn: 1e6,
  mm: 1e6,
  million: 1e6,
  bn: 1e9,
  b: 1e9,
  billion: 1e9,
  t: 1e12,
  tn: 1e12,
  trillion: 1e12,
};

/**
 * Which of two amounts as sent ("$4,012.3", "3.2M", "1.6e-4") is larger: negative when it is the second. Undefined when either is none
 * for certain; 0 also when they differ in more digits than are compared.
 */
export function compareAmounts(one: string, other: string): number | undefined {
  const first = amountOf(one);
  const second = amountOf(other);
  return first === undefined || second === undefined ? undefined : Math.sign(first - second);
}

function amountOf(text: string): number | undefined {
  // "5m" is a length of time at least as often as five millions.
  if (text.length > 100 || /^[+-]?\d+m$/.test(text.trim())) return undefined;
  const match = /^([+-]?)[$€£¥₿]?(\d{1,3}(?:,\d{3})+|\d+)?(\.\d+)?(e[+-]?\d{1,3})?\s?([a-z]{1,8})?$/i.exec(
    text.trim(),
  );
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "", magnitude] = match;
  const factor = magnitude === undefined ? 1 : magnitudes[magnitude.toLowerCase()];
  const digits = `${sign}${whole.replaceAll(",", "")}${fraction}${exponent}`;
  const amount =
    factor === undefined || (whole === "" && fraction === "") ? Number.NaN : Number(digits) * factor;
  return Number.isFinite(amount) ? amount : undefined;
}
