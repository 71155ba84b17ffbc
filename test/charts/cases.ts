import { type BarBucket, drawBars } from "../../src/charts/bars.ts";
import { drawLineChart, type LineChart } from "../../src/charts/line-chart.ts";
import { drawOutcomeBand, type OutcomeTone } from "../../src/charts/outcome-band.ts";
import type { ChartPoint } from "../../src/charts/series.ts";
import { drawSparkLine, type SparkLine } from "../../src/charts/spark-line.ts";
import type { ChartTheme } from "../../src/charts/theme.ts";

export const start = Date.UTC(2026, 10, 20, 12);
const hour = 3_600_000;

export const pointsOf = (...values: (number | null)[]): ChartPoint[] =>
  values.map((value, n) => ({ at: start + n * hour, value }));

/** Without chance, so that a golden picture stays what it is. */
const wave = (count: number, middle: number, swing: number): ChartPoint[] =>
  pointsOf(...Array.from({ length: count }, (_, n) => middle + swing * (Math.sin(n / 5) + 0.4 * Math.sin(n * 1.7))));

export type Case = Omit<LineChart, "title" | "theme"> & SparkLine;

/** Each kind of values that a metric may have, for a line with axes and for one without. */
export const values: Record<string, Case> = {
  usual: { points: wave(72, 25_600_000, 900_000), threshold: 25_000_000, unit: "USD" },
  constant: { points: pointsOf(5, 5, 5, 5), threshold: 5 },
  "constant without a threshold": { points: pointsOf(1_000_000, 1_000_000, 1_000_000), unit: "USD" },
  empty: { points: [] },
  "nothing known": { points: pointsOf(null, null) },
  "one point": { points: pointsOf(18_623.426), threshold: 19_000, unit: "USD" },
  negative: { points: pointsOf(-2, -1.5, -3, 0.5, -4.25), threshold: -3.5, unit: "%" },
  tiny: { points: wave(30, 2.2e-18, 4e-19), threshold: 2e-18, unit: "WETH" },
  huge: { points: wave(30, 2.2e18, 4e17), threshold: 2e18 },
  "from nothing to huge": { points: pointsOf(0, 1e-18, 1, 1e18) },
  holes: { points: pointsOf(3, 4, null, null, 5, null, 4, 6, 5, null), threshold: 4.5 },
  "threshold far above": { points: wave(40, 100, 2), threshold: 1_000, unit: "USD" },
  "threshold far below": { points: wave(40, 100, 2), threshold: 1 },
  "near a stable value": { points: wave(40, 1.0001, 0.0002), threshold: 0.9995, unit: "USD" },
  "not numbers at all": {
    points: pointsOf(Number.NaN, Number.POSITIVE_INFINITY, 1e300, -1e308, 5e-324, Number.NEGATIVE_INFINITY),
    threshold: Number.NaN,
  },
};

const marks = [
  { at: start + 20 * hour, kind: "firing" },
  { at: start + 24 * hour, kind: "resolved" },
  { at: start + 52 * hour, kind: "firing" },
  { at: start + 56 * hour, kind: "this" },
] as const;

const bucket = (n: number, counts: Omit<BarBucket, "at">): BarBucket => ({ at: start + n * hour, ...counts });
const day = { stepMs: hour, from: start, to: start + 24 * hour };
const busyDay = [
  ...Array.from({ length: 24 }, (_, n) =>
    bucket(n, { info: (n * 7) % 5, warning: n % 3, critical: n % 11 === 3 ? 4 : 0 }),
  ),
  bucket(24, { critical: 99 }),
].map((one, n) => (n === 17 ? { ...one, critical: 22, warning: 9, problems: 3 } : one));

const tones = "ggggggggbgggggggggggggggbbbgggggggogggggggggggggyg";
const toneOf: Record<string, OutcomeTone> = { g: "good", b: "bad", o: "off", y: "busy" };
const outcomes = [...tones].map((letter) => ({ tone: toneOf[letter] ?? "off" }));

type Draw = (theme: ChartTheme) => string;
const titles = Object.keys(values).map((name) => [name, `eth_pool_price: ${name}`] as const);

export const cases: Record<"lines" | "sparks" | "bars" | "bands", Record<string, Draw>> = {
  lines: {
    ...Object.fromEntries(
      titles.map(([name, title]): [string, Draw] => [
        name,
        (theme) => drawLineChart({ title, ...(values[name] as Case), width: 720, height: 240, theme }),
      ]),
    ),
    marked: (theme) => drawLineChart({ title: "ETH pool TVL", ...(values.usual as Case), marks, theme }),
    "in the reader's zone": (theme) =>
      drawLineChart({ title: "Kathmandu", ...(values.usual as Case), timeZone: "Asia/Kathmandu", height: 240, theme }),
    narrow: (theme) =>
      drawLineChart({
        title: "On a phone",
        ...(values.usual as Case),
        marks,
        width: 340,
        height: 220,
        heading: false,
        theme,
      }),
  },
  sparks: Object.fromEntries(
    Object.entries(values).map(([name, one], n): [string, Draw] => [
      name,
      (theme) =>
        drawSparkLine({ ...one, title: name, state: n % 2 === 0 ? "firing" : "over", width: 100, height: 24, theme }),
    ]),
  ),
  bars: {
    "a busy day": (theme) => drawBars({ ...day, buckets: busyDay, theme }),
    "one alert": (theme) => drawBars({ ...day, buckets: [bucket(5, { warning: 1 })], theme }),
    nothing: (theme) => drawBars({ ...day, buckets: [], theme }),
    "with links, in a zone": (theme) =>
      drawBars({
        ...day,
        buckets: busyDay.slice(10, 20),
        timeZone: "America/New_York",
        hrefOf: ({ from, to }) => `/?from=${from}&to=${to}`,
        width: 340,
        theme,
      }),
    millions: (theme) =>
      drawBars({ ...day, buckets: [bucket(3, { info: 1_234_567 }), bucket(4, { critical: 2 })], theme }),
  },
  bands: {
    full: (theme) => drawOutcomeBand({ outcomes, title: "trading-desk", theme }),
    "not yet full": (theme) => drawOutcomeBand({ outcomes: outcomes.slice(0, 12), theme }),
    none: (theme) => drawOutcomeBand({ outcomes: [], theme }),
  },
};
