import { type AlertChart, drawAlertChart } from "../../src/charts/alert-chart.ts";
import { type BarBucket, drawBars } from "../../src/charts/bars.ts";
import { drawLineChart, type LineChart } from "../../src/charts/line-chart.ts";
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

type Draw = (theme: ChartTheme) => string;
const titles = Object.keys(values).map((name) => [name, `eth_pool_price: ${name}`] as const);

const at = start + 168 * hour;
const week = (middle: number, swing: number, stepMs = hour): ChartPoint[] =>
  Array.from({ length: Math.floor((168 * hour) / stepMs) + 1 }, (_, n) => ({
    at: start + n * stepMs,
    value: middle + swing * (Math.sin(n / 25) + 0.3 * Math.sin(n / 5)),
  }));
const alertMarks = [
  { at: at - 50 * hour, kind: "firing" },
  { at: at - 45 * hour, kind: "resolved" },
  { at: at - 3 * hour, kind: "firing" },
] as const;

/** What a picture in a message may have to show. */
export const alertCharts: Record<string, Omit<AlertChart, "theme" | "at">> = {
  usual: {
    title: "USDC total TVL on eth",
    points: week(25_600_000, 900_000),
    value: 24_321_000,
    threshold: 25_000_000,
    unit: "USD",
    marks: alertMarks,
  },
  over: {
    title: "USDC total TVL on eth",
    points: week(25, 1),
    value: 25.3,
    threshold: 25,
    marks: alertMarks,
    isOver: true,
  },
  constant: { title: "USDC price", points: week(1, 0), threshold: 0.99, unit: "USD" },
  empty: { title: "nothing is known", points: [] },
  "one point": { title: "one value", points: [], value: 18_623.426, threshold: 19_000, unit: "USD" },
  negative: { title: "Net flow", points: week(-3, 1.5), threshold: -3.5, unit: "%" },
  tiny: { title: "KITE988 pool price", points: week(2.2e-18, 4e-19), value: 1.9e-18, threshold: 2e-18, unit: "WETH" },
  huge: { title: "24 h volume", points: week(2.2e18, 4e17), threshold: 2e18 },
  holes: {
    title: "with holes",
    points: week(5, 1).map((point, n) => (n % 40 > 25 || n === 150 ? { ...point, value: null } : point)),
    threshold: 4.5,
  },
  "days without a record": {
    title: "of a service that was away",
    points: week(10, 1).filter((_point, n) => n < 60 || (n > 120 && n < 160)),
    value: 7.5,
    unit: "USD",
  },
  "threshold outside": { title: "far", points: week(100, 2), threshold: 1_000, unit: "USD" },
  "a day alone": { title: "a new pool", points: week(10, 1).slice(-20), unit: "USD" },
  "an older week": { title: "silent since", points: week(10, 1).slice(0, 120), unit: "USD" },
  "of the alerts alone": {
    title: "Health factor",
    points: [300, 100, 20].map((hours, n) => ({ at: at - hours * hour, value: 1.4 - n / 10 })),
    value: 1.04,
    threshold: 1.1,
    isSparse: true,
    marks: [300, 100, 20].map((hours) => ({ at: at - hours * hour, kind: "firing" })),
    timeZone: "America/New_York",
  },
  hostile: {
    title: `</text><script>alert("x")</script>\u0000\u202egnp ${"long ".repeat(60)}`,
    points: week(1_234_567_890, 1),
    unit: "<b>'\"&\u202eUSDUSDUSDUSD",
    threshold: 1_234_567_000,
  },
};

export const cases: Record<"lines" | "alerts" | "sparks" | "bars", Record<string, Draw>> = {
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
    narrow: (theme) => {
      const size = { width: 340, height: 220, heading: false };
      return drawLineChart({ title: "On a phone", ...(values.usual as Case), marks, ...size, theme });
    },
  },
  alerts: Object.fromEntries(
    Object.entries(alertCharts).map(([name, chart]): [string, Draw] => [
      name,
      (theme) => drawAlertChart({ ...chart, at, theme }).svg,
    ]),
  ),
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
};
