import { groupThousands } from "../ground/numbers/format-number.ts";
import { countOf } from "../ground/text/count-of.ts";
import { createScale, timeWords, valueTicks, writeValue } from "./plot.ts";
import { drawLabel, drawPicture, escapeXml, pixel } from "./svg.ts";
import { type ChartTheme, pageTheme } from "./theme.ts";
import { timeTicks } from "./time-axis.ts";

const stacked = ["critical", "warning", "info", "unknown"] as const;
type Stacked = (typeof stacked)[number];

const words: Record<Stacked, string> = {
  critical: "critical",
  warning: "warning",
  info: "info",
  unknown: "without severity",
};

export interface BarBucket extends Partial<Record<Stacked, number>> {
  /** The beginning of the step, epoch milliseconds. */
  at: number;
  /** Alerts with a failed delivery or without a route: a mark is above the bar. Default 0. */
  problems?: number;
}

export interface Bars {
  /** In any order. Steps without alerts may be left out. */
  buckets: readonly BarBucket[];
  stepMs: number;
  /** The range of the time axis, epoch milliseconds, without `to`. */
  from: number;
  to: number;
  /** Default `Alerts over time`. */
  title?: string;
  /** Makes each step with alerts a link, with `data-from` and `data-to`. Tab reaches only the first link. */
  hrefOf?(bucket: { from: number; to: number }): string;
  /** IANA name. Default UTC. */
  timeZone?: string;
  /** Pixels. Default 960 by 96. */
  width?: number;
  height?: number;
  /** Default: the page's theme. */
  theme?: ChartTheme;
}

const margin = { top: 12, right: 6, bottom: 20, left: 34 };

/** Bars are stacked by severity with the worst at the bottom. */
export function drawBars(bars: Bars): string {
  const { stepMs, from, to, title = "Alerts over time", timeZone = "UTC", width = 960, height = 96 } = bars;
  const theme = bars.theme ?? pageTheme;
  const buckets = bars.buckets
    .filter(({ at }) => at + stepMs > from && at < to)
    .map((bucket) => ({ problems: 0, ...bucket, total: totalOf(bucket) }))
    .filter(({ total, problems }) => total + problems > 0)
    .sort((a, b) => a.at - b.at);
  const most = Math.max(1, ...buckets.map(({ total }) => total));
  const plot = { left: margin.left, right: width - margin.right };
  const bottom = height - margin.bottom;
  const x = createScale(from, to, plot.left, plot.right);
  const y = createScale(0, most, bottom, margin.top);
  const zone = timeWords(timeZone);

  function drawBar(bucket: (typeof buckets)[number], index: number): string {
    const left = Math.max(plot.left, x(bucket.at));
    const right = Math.min(plot.right, x(bucket.at + stepMs));
    const gap = right - left > 4 ? 1 : 0;
    const shape = { left: pixel(left), width: pixel(Math.max(0.8, right - left - gap)) };
    let below = 0;
    const parts = stacked.map((severity) => {
      const count = bucket[severity] ?? 0;
      if (count === 0) return "";
      const [lower, upper] = [y(below), y(below + count)];
      below += count;
      return (
        `<rect x="${shape.left}" y="${pixel(upper)}" width="${shape.width}" ` +
        `height="${pixel(lower - upper)}" fill="${theme[severity]}"/>`
      );
    });
    const middle = (left + right) / 2;
    const top = y(bucket.total) - 2;
    const mark =
      bucket.problems === 0
        ? ""
        : `<path d="M${pixel(middle - 3)} ${pixel(top - 6)}l6 6m0 -6l-6 6" fill="none" stroke="${theme.bad}" stroke-width="2"/>`;
    const name = `${zone.full(bucket.at)}: ${wordsOf(bucket)}`;
    if (bars.hrefOf === undefined) return `<g><title>${escapeXml(name)}</title>${parts.join("")}${mark}</g>`;
    const span = { from: bucket.at, to: bucket.at + stepMs };
    const whole = `<rect x="${pixel(left)}" y="0" width="${pixel(right - left)}" height="${bottom}" fill="none" pointer-events="all"/>`;
    return (
      `<a href="${escapeXml(bars.hrefOf(span))}" aria-label="${escapeXml(name)}" tabindex="${index === 0 ? 0 : -1}" ` +
      `data-from="${span.from}" data-to="${span.to}"><title>${escapeXml(name)}</title>${whole}${parts.join("")}${mark}</a>`
    );
  }

  const grid = valueTicks(0, most, 2)
    .filter(({ value }) => Number.isInteger(value) && value > 0 && value <= most)
    .slice(-1)
    .map(({ value }) => {
      const at = pixel(y(value));
      const place = { x: plot.left - 6, y: at + 4, size: 11, anchor: "end" } as const;
      const label = drawLabel({ ...place, text: writeValue(value), fill: theme.soft });
      return `<path d="M${plot.left} ${at}H${plot.right}" stroke="${theme.grid}"/>${label}`;
    });
  const times = timeTicks(from, to, Math.floor(width / 90), timeZone)
    .filter(({ value }) => x(value) > plot.left + 16 && x(value) < plot.right - 16)
    .map(({ value, label }) =>
      drawLabel({ x: x(value), y: height - 5, text: label, size: 11, anchor: "middle", fill: theme.soft }),
    );
  const body = [
    ...grid,
    `<path d="M${plot.left} ${bottom + 0.5}H${plot.right}" stroke="${theme.grid}"/>`,
    drawLabel({ x: plot.left - 6, y: height - 5, text: zone.zoneAt(to), size: 11, anchor: "end", fill: theme.soft }),
    ...times,
    ...buckets.map(drawBar),
  ].join("");
  const description = `${wordsOf(sumOf(buckets))} from ${zone.full(from)} to ${zone.full(to)}`;
  const role = bars.hrefOf === undefined ? "img" : "group";
  return drawPicture({ width, height, title, description, theme, role, className: "bars" }, body);
}

function totalOf(bucket: BarBucket): number {
  return stacked.reduce((sum, severity) => sum + (bucket[severity] ?? 0), 0);
}

function sumOf(buckets: readonly BarBucket[]): BarBucket {
  const sums = ([...stacked, "problems"] as const).map((name) => [
    name,
    buckets.reduce((sum, bucket) => sum + (bucket[name] ?? 0), 0),
  ]);
  return { at: 0, ...Object.fromEntries(sums) };
}

/** `412 alerts, 31 critical, 80 warning, 3 with a problem` */
function wordsOf(bucket: BarBucket): string {
  const { problems = 0 } = bucket;
  const parts = stacked.flatMap((severity) => {
    const count = bucket[severity] ?? 0;
    return count === 0 ? [] : [`${groupThousands(count)} ${words[severity]}`];
  });
  return [
    countOf(totalOf(bucket), "alert"),
    ...parts,
    ...(problems === 0 ? [] : [`${groupThousands(problems)} with a problem`]),
  ].join(", ");
}
