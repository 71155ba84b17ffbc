/** The smallest value that this share of the values does not exceed (nearest rank). */
export function quantile(values: number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export interface Spread {
  median: number;
  least: number;
  most: number;
}

/** A failed round has no value. The median of an even number is between the middle two. */
export function spreadOf(values: number[]): Spread {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const half = sorted.length / 2;
  return {
    median: (at(Math.ceil(half) - 1) + at(Math.floor(half))) / 2,
    least: at(0),
    most: at(sorted.length - 1),
  };
}

/** `0.52 (0.48 to 0.55)`, or a single value alone. Three digits, as more would be noise. */
export function showSpread({ median, least, most }: Spread, unit = ""): string {
  if (!Number.isFinite(median)) return "-";
  const range = least === most ? "" : ` (${showNumber(least)} to ${showNumber(most)})`;
  return `${showNumber(median)}${unit && ` ${unit}`}${range}`;
}

export function showNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, digits === 0 ? "," : "");
}
