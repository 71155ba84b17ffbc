import { slotMs, slotsKept, slotsPerDay } from "./slot-ring.ts";

export interface Span {
  from: number;
  to: number;
}

export interface QuietHistory {
  came(slot: number): boolean;
  ran(slot: number): boolean;
  /** The latest slot that counts: the one of the last arrival. */
  lastSlot: number;
  skipped: Span[];
}

export type UsualQuiet =
  | { kind: "learning" /** Whole days with the relay running. */; days: number; arrivals: number }
  | {
      kind: "known";
      /** The weight of the quiet in these pieces of time: each hour weighs as much as usually comes in it. */
      weigh(spans: Span[]): number;
      /** When the quiet since a time reaches a weight, epoch milliseconds. */
      reaches(weight: number, from: number): number;
      longest: number;
      /** From this weight on the quiet is no chance. */
      limit: number;
    };

export const daysNeeded = 14;
export const arrivalsNeeded = 30;
const yearsPerFalseAlarm = 5;
/** The limit is between these multiples of the longest quiet of the last weeks. */
const leastOverLongest = 1.5;
const mostOverLongest = 2.5;
const heaviestTail = 0.4;
const hourMs = 60 * 60_000;
const hoursOfWeek = 168;
/** The average number of arrivals behind each rate. Where there are fewer, several hours share one rate. */
const arrivalsPerRate = 20;
const widths = [1, 2, 3, 4, 6, 8, 12, 24];

/**
 * The usual quiet of one sender. Pure.
 * Each five minutes weigh as much as usually comes in them at that hour of the week: a night in which nothing ever
 * comes weighs next to nothing, and a busy noon weighs in full. In this measure the quiet pieces of the last six weeks
 * can be compared.
 * The longest pieces show how fast longer ones become rare: their excess over a bound is taken as exponential, as
 * Poisson arrivals and clusters of arrivals give it. The limit is the weight that is passed once in five years. It is
 * kept between 1.5 and 2.5 times the longest piece. A tail that was estimated too short then raises no alarm, and one
 * that was estimated too long is not silent for ever.
 */
export function learnUsualQuiet(history: QuietHistory): UsualQuiet {
  const slots = countedSlots(history);
  const arrivals = slots.filter((slot) => history.came(slot)).length;
  const days = slots.length / slotsPerDay;
  if (days < daysNeeded || arrivals < arrivalsNeeded) return { kind: "learning", days: Math.floor(days), arrivals };
  const rates = learnRates(slots, history.came, arrivals);
  const gaps = listGaps(slots, history.came, rates);
  const longest = gaps[0] ?? 0;
  const limit = Math.min(
    Math.max(weightOnceIn(yearsPerFalseAlarm * 365, gaps, days), leastOverLongest * longest),
    mostOverLongest * longest,
  );
  return {
    kind: "known",
    weigh: (spans) => spans.reduce((sum, span) => sum + weighSpan(span, rates), 0),
    reaches: (weight, from) => findReach(weight, from, rates),
    longest,
    // The time between two slots may be almost a slot longer than it looks.
    limit: limit + arrivals / slots.length,
  };
}

function countedSlots({ ran, lastSlot, skipped }: QuietHistory): number[] {
  const slots: number[] = [];
  const isSkipped = (slot: number) =>
    skipped.some(({ from, to }) => slot > Math.floor(from / slotMs) && slot < Math.floor(to / slotMs));
  for (let slot = lastSlot - slotsKept + 1; slot <= lastSlot; slot += 1)
    if (ran(slot) && !isSkipped(slot)) slots.push(slot);
  return slots;
}

/** The chance that something comes in a slot, for each hour of the week. */
function learnRates(slots: number[], came: (slot: number) => boolean, arrivals: number): Float64Array {
  const width = widths.find((hours) => (arrivals * hours) / hoursOfWeek >= arrivalsPerRate) ?? hoursOfWeek;
  const bins = hoursOfWeek / width;
  const total = new Float64Array(bins);
  const active = new Float64Array(bins);
  for (const slot of slots) {
    const bin = Math.floor(hourOf(slot * slotMs) / width);
    total[bin] = (total[bin] ?? 0) + 1;
    if (came(slot)) active[bin] = (active[bin] ?? 0) + 1;
  }
  const ofBin = (bin: number) => (active[bin] ?? 0) / Math.max(1, total[bin] ?? 0);
  const least = arrivals / slots.length / 50;
  return Float64Array.from({ length: hoursOfWeek }, (_, hour) => {
    const bin = Math.floor(hour / width);
    // At the ends of busy hours the less busy neighbour counts, since summer time moves them by an hour.
    const beside = width > 2 ? [bin] : [bin, (bin + 1) % bins, (bin + bins - 1) % bins];
    return Math.max(least, Math.min(...beside.map(ofBin)));
  });
}

function listGaps(slots: number[], came: (slot: number) => boolean, rates: Float64Array): number[] {
  const gaps: number[] = [];
  let weight = 0;
  let hasBegun = false;
  for (const slot of slots) {
    weight += rates[hourOf(slot * slotMs)] ?? 0;
    if (!came(slot)) continue;
    if (hasBegun) gaps.push(weight);
    hasBegun = true;
    weight = 0;
  }
  return gaps.sort((a, b) => b - a);
}

/** Fits the heaviest gaps over a bound by their moments: a generalized Pareto or an exponential distribution. */
function weightOnceIn(period: number, gaps: number[], days: number): number {
  const count = Math.min(50, Math.floor(gaps.length / 5));
  const bound = gaps[count] ?? 0;
  const excesses = gaps.slice(0, count).map((gap) => gap - bound);
  // One standard error more than measured: few gaps then alarm later, not sooner.
  const mean = (excesses.reduce((sum, excess) => sum + excess, 0) / count) * (1 + 1 / Math.sqrt(count));
  const variance = excesses.reduce((sum, excess) => sum + (excess - mean) ** 2, 0) / count;
  const shape = Math.min(heaviestTail, 0.5 * (1 - mean ** 2 / variance));
  const times = (count * period) / days;
  if (!(shape > 0.01)) return bound + mean * Math.log(times);
  return bound + ((mean * (1 - shape)) / shape) * (times ** shape - 1);
}

function hourOf(at: number): number {
  return Math.floor(at / hourMs) % hoursOfWeek;
}

function weighSpan({ from, to }: Span, rates: Float64Array): number {
  let weight = 0;
  for (let at = Math.max(from, to - slotsKept * slotMs); at < to; ) {
    const end = Math.min(to, (Math.floor(at / hourMs) + 1) * hourMs);
    weight += ((end - at) / slotMs) * (rates[hourOf(at)] ?? 0);
    at = end;
  }
  return weight;
}

function findReach(weight: number, from: number, rates: Float64Array): number {
  let left = weight;
  let at = from;
  // Every weight is reached, since the rates have a least value. A year is longer than any useful answer.
  for (const end = from + 365 * 24 * hourMs; at < end; ) {
    const next = (Math.floor(at / hourMs) + 1) * hourMs;
    const rate = (rates[hourOf(at)] ?? 0) / slotMs;
    if (left <= rate * (next - at)) return at + left / rate;
    left -= rate * (next - at);
    at = next;
  }
  return at;
}
