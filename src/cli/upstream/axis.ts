export interface Tick {
  value: number;
  label: string;
}

/** From which size on a label is shortened, by what, and the letter for it. */
const scales: { from: number; unit: number; suffix: string }[] = [
  { from: 1e12, unit: 1e12, suffix: "T" },
  { from: 1e9, unit: 1e9, suffix: "B" },
  { from: 1e6, unit: 1e6, suffix: "M" },
  { from: 1e4, unit: 1e3, suffix: "k" },
];

/**
 * Round values that cover `low` to `high`, about `count` of them, labelled with as many digits as keep neighbours
 * apart: `1.20M`, `1.25M`; `0.9998`, `1.0000`.
 */
export function valueTicks(low: number, high: number, count: number): Tick[] {
  const [from, to] = widen(low, high);
  const step = roundStep((to - from) / Math.max(1, count - 1));
  const first = Math.floor(from / step + 1e-9);
  const steps = Math.ceil(to / step - 1e-9) - first;
  const largest = Math.max(Math.abs(from), Math.abs(to));
  return Array.from({ length: steps + 1 }, (_, index) => {
    const value = (first + index) * step;
    return { value, label: labelOf(value, step, largest) };
  });
}

/**
 * A smaller share of the value than this is noise of floating point, and no step between round values could show it.
 */
const leastShare = 1e-9;

/** Below this a hundredth of a value may be no number any more. */
const leastSize = 1e-300;

/** A flat line gets some room above and below. */
function widen(low: number, high: number): [number, number] {
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size >= leastSize && high - low > size * leastShare) return [low, high];
  const room = size < leastSize ? 1 : size * 0.01;
  return [low - room, high + room];
}

/** The next larger of 1, 2, 2.5, 5 times a power of ten. */
function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate * power >= rough * (1 - 1e-9)) ?? 10;
  return factor * power;
}

function labelOf(value: number, step: number, largest: number): string {
  const { unit, suffix } = unitOf(largest);
  const decimals = decimalsOf(step / unit);
  const text = (value / unit).toFixed(decimals);
  // Rounding may leave "-0.00".
  return `${Number(text) === 0 ? (0).toFixed(decimals) : text}${suffix}`;
}

/** Beyond the letters a common power of ten is split off, so that neighbours still differ in their digits. */
function unitOf(largest: number): { unit: number; suffix: string } {
  if (largest < 1e15 && largest >= 1e-6) {
    return scales.find(({ from }) => largest >= from) ?? { unit: 1, suffix: "" };
  }
  const exponent = Math.floor(Math.log10(largest));
  return { unit: 10 ** exponent, suffix: `e${exponent}` };
}

/** Decimals that a step of 1, 2, 2.5 or 5 times a power of ten needs. */
function decimalsOf(step: number): number {
  for (let decimals = 0; decimals < 12; decimals += 1) {
    const scaled = step * 10 ** decimals;
    if (scaled > 0.5 && Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return decimals;
  }
  return 12;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const timeSteps = [
  minute,
  2 * minute,
  5 * minute,
  10 * minute,
  15 * minute,
  30 * minute,
  hour,
  2 * hour,
  3 * hour,
  6 * hour,
  12 * hour,
  day,
  2 * day,
  7 * day,
  30 * day,
  365 * day,
];

/**
 * Round instants (UTC) between `from` and `to`, at most `count`: `18:00` within a day, `Nov 21` at midnight and for
 * longer spans.
 */
export function timeTicks(from: number, to: number, count: number): Tick[] {
  const years = Math.ceil((to - from) / (count * 365 * day));
  const step = timeSteps.find((candidate) => (to - from) / candidate <= count) ?? years * 365 * day;
  const ticks: Tick[] = [];
  for (let value = Math.ceil(from / step) * step; value <= to; value += step) {
    ticks.push({ value, label: timeLabel(value) });
  }
  return ticks;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function timeLabel(at: number): string {
  const date = new Date(at);
  if (at % day === 0) return `${months[date.getUTCMonth()]} ${date.getUTCDate()}`;
  return date.toISOString().slice(11, 16);
}
