import { countOf } from "../ground/text/count-of.ts";
import { createScale, isDrawable, linePath, rangeWith, type Scale, timeWords, valueTicks, writeValue } from "./plot.ts";
import {
  type ChartPoint,
  changeOf,
  drawablePoints,
  isKnown,
  type KnownPoint,
  type SeriesFacts,
  splitAtGaps,
  summarizeSeries,
} from "./series.ts";
import { drawDot, drawLabel, drawPicture, fitting, pixel, shorten, widthOf } from "./svg.ts";
import { type ChartTheme, pageTheme } from "./theme.ts";
import { timeTicks } from "./time-axis.ts";

/** `this`: the event of the picture. `this-over`: the same for good news. */
export interface ChartMark {
  /** Epoch milliseconds. */
  at: number;
  kind: "firing" | "resolved" | "this" | "this-over";
}

export interface LineChart {
  title: string;
  /** In any order; `null` breaks the line. */
  points: readonly ChartPoint[];
  /** A dashed line with its value. A threshold far from all values is named at its edge of the picture. */
  threshold?: number;
  marks?: readonly ChartMark[];
  /** A dot for each value, where there are few. Default false. */
  dots?: boolean;
  /**
   * The picture around this one says its title and numbers: the last value is not written, the limit only where its
   * line is outside, and labels of the time axis are closer. Default false.
   */
  isPart?: boolean;
  unit?: string;
  /** The range of the time axis, epoch milliseconds. Default: from the first value to the last. */
  from?: number;
  to?: number;
  /** IANA name. Default UTC. */
  timeZone?: string;
  /** Title and numbers above the picture. Default: where the picture is not part of a page. */
  heading?: boolean;
  /** The text without any value. Default `no values in this range`. */
  emptyText?: string;
  /** Pixels. Default 960 by 420. */
  width?: number;
  height?: number;
  /** Default: the page's theme. */
  theme?: ChartTheme;
}

const longestUnit = 12;
const mostMarks = 60;
const mostDots = 60;

/** Every text is escaped. */
export function drawLineChart(chart: LineChart): string {
  const { title, width = 960, height = 420, theme = pageTheme, timeZone = "UTC" } = chart;
  const { heading = theme.standsAlone && !chart.isPart, emptyText = "no values in this range" } = chart;
  const unit = chart.unit === undefined ? undefined : shorten(chart.unit, longestUnit);
  const threshold = isDrawable(chart.threshold) ? chart.threshold : undefined;
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = chart;
  const points = drawablePoints(chart.points).filter(({ at }) => at >= from && at <= to);
  const facts = summarizeSeries(points);
  const words = timeWords(timeZone);
  const head = heading
    ? drawLabel({ ...headAt(0), text: shorten(title, (width - 32) / 11.5), size: 16, bold: true })
    : "";
  const frame = { width, height, title, theme, className: "chart" };
  if (facts === undefined) {
    const empty = drawLabel({
      x: width / 2,
      y: height / 2,
      text: emptyText,
      size: 14,
      anchor: "middle",
      fill: theme.soft,
    });
    return drawPicture({ ...frame, description: emptyText }, head + empty);
  }
  const period = `${words.full(facts.first.at)} to ${words.full(facts.last.at)}`;
  const said = [...summaryOf(facts, { unit, threshold }), period];
  const line = shorten(fitting(said, ", ", width - 32), (width - 32) / 7.6);
  const below = heading ? drawLabel({ ...headAt(1), text: line, size: 12, fill: theme.soft }) : "";
  const marks = (chart.marks ?? []).filter(({ at }) => Number.isFinite(at));
  const fired = marks.filter(({ kind }) => kind === "firing" || kind === "this").length;
  const description = `${said.join(", ")}.${fired === 0 ? "" : ` Fired ${countOf(fired, "time")}.`}`;

  function headAt(row: number) {
    return { x: 16, y: 28 + row * 22, fill: theme.ink };
  }

  const body = drawBody({ ...chart, points, facts, marks, threshold, unit, width, height, theme, heading, timeZone });
  return drawPicture({ ...frame, description }, head + below + body);
}

interface Body extends LineChart {
  facts: SeriesFacts;
  marks: readonly ChartMark[];
  width: number;
  height: number;
  theme: ChartTheme;
  timeZone: string;
}

function drawBody(body: Body): string {
  const { points, facts, marks, threshold, unit, width, height, theme, heading, timeZone, isPart = false } = body;
  const { from = facts.first.at, to = facts.last.at } = body;
  const top = (heading ? 66 : 8) + (unit === undefined ? 4 : 20);
  const bottom = height - 30;
  const range = rangeWith(facts.min.value, facts.max.value, threshold);
  const ticks = valueTicks(range.low, range.high, Math.max(3, Math.round((bottom - top) / 48)));
  const last = isPart ? "" : writeValue(facts.last.value, unit, [threshold]);
  const zone = timeWords(timeZone).zoneAt(to);
  const left =
    18 + Math.max(...[zone, unit ?? "", ...ticks.map(({ label }) => label)].map((text) => widthOf(text, 12)));
  // Without a value at the end, half of a time label needs the room.
  const right = width - (last === "" ? 22 : 18) - widthOf(last, 12);
  const x = createScale(from, to, left, right);
  const y = createScale(ticks[0]?.value ?? range.low, ticks.at(-1)?.value ?? range.high, bottom, top);
  const plot: Plot = { x, y, left, right, top, bottom, theme };

  const grid = ticks.map(
    ({ value, label }) =>
      `<path d="M${pixel(left)} ${pixel(y(value))}H${pixel(right)}" stroke="${theme.grid}"/>` +
      drawLabel({ x: left - 8, y: y(value) + 4, text: label, anchor: "end", fill: theme.soft }),
  );
  const head =
    unit === undefined ? "" : drawLabel({ x: left - 8, y: top - 15, text: unit, anchor: "end", fill: theme.soft });
  const times = timeTicks(from, to, Math.max(2, Math.floor((right - left) / (isPart ? 62 : 84))), timeZone)
    .filter(({ value }) => value >= from && value <= to)
    .map(({ value, label }) => {
      const at = x(value);
      const text = drawLabel({ x: at, y: bottom + 20, text: label, anchor: "middle", fill: theme.soft });
      // The zone is left of the axis.
      return `<path d="M${pixel(at)} ${bottom}v5" stroke="${theme.soft}"/>${at < left + 18 ? "" : text}`;
    });
  const lines = splitAtGaps(points).map((stretch) => drawStretch(stretch, plot));
  const dots =
    body.dots && points.length <= mostDots
      ? points.map((point) => (isKnown(point) ? drawDot(x(point.at), y(point.value), 2.5, theme.line) : ""))
      : [];
  const end =
    drawDot(x(facts.last.at), y(facts.last.value), 4, theme.line) +
    (last === ""
      ? ""
      : drawLabel({ x: right + 10, y: y(facts.last.value) + 4, text: last, bold: true, fill: theme.ink }));
  return [
    ...grid,
    head,
    drawLabel({ x: left - 8, y: bottom + 20, text: zone, anchor: "end", fill: theme.soft }),
    ...times,
    drawMarks(marks, plot),
    ...lines,
    ...dots,
    threshold === undefined
      ? ""
      : drawThreshold(threshold, plot, { range, unit, last: facts.last.value, isNamed: !isPart }),
    end,
  ].join("");
}

interface Plot {
  x: Scale;
  y: Scale;
  left: number;
  right: number;
  top: number;
  bottom: number;
  theme: ChartTheme;
}

function drawStretch(stretch: KnownPoint[], { x, y, theme, left, right, bottom }: Plot): string {
  const [first] = stretch;
  const last = stretch.at(-1);
  if (first === undefined || last === undefined) return "";
  if (stretch.length === 1) return drawDot(x(first.at), y(first.value), 3, theme.line);
  const path = linePath(stretch, x, y, right - left);
  return (
    `<path d="${path}L${pixel(x(last.at))},${bottom}L${pixel(x(first.at))},${bottom}Z" fill="${theme.line}" fill-opacity="0.08"/>` +
    `<path d="${path}" fill="none" stroke="${theme.line}" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"/>`
  );
}

interface ThresholdWords {
  range: ReturnType<typeof rangeWith>;
  unit: string | undefined;
  last: number;
  isNamed: boolean;
}

function drawThreshold(threshold: number, plot: Plot, { range, unit, last, isNamed }: ThresholdWords): string {
  const { y, left, right, top, bottom, theme } = plot;
  const label = (text: string, at: number) =>
    drawLabel({ x: left + 6, y: at, text, fill: theme.bad, rim: theme.background });
  const words = `threshold ${writeValue(threshold, unit, [last])}`;
  const orShort = (text: string, short: string) => (widthOf(text, 12) * 0.9 < right - left ? text : short);
  if (range.threshold === "above") return label(orShort(`↑ ${words}, above this picture`, `↑ ${words}`), top + 12);
  if (range.threshold === "below") return label(orShort(`↓ ${words}, below this picture`, `↓ ${words}`), bottom - 6);
  const at = pixel(y(threshold));
  // Above its line, or below it where there is no room.
  const textAt = at - 6 < top + 10 ? at + 15 : at - 6;
  return (
    `<path d="M${pixel(left)} ${at}H${pixel(right)}" stroke="${theme.bad}" ` +
    `stroke-width="1.5" stroke-dasharray="6 4"/>${isNamed ? label(words, textAt) : ""}`
  );
}

/** Marks differ in shape too: a triangle for firing, a ring for over, a line through the picture for its own event. */
function drawMarks(marks: readonly ChartMark[], { x, left, right, top, bottom, theme }: Plot): string {
  const seen = new Set<string>();
  const placed = marks
    .map((mark) => ({ ...mark, at: Math.round(x(mark.at)) }))
    .filter(({ at }) => at >= Math.floor(left) && at <= Math.ceil(right))
    .filter(({ at, kind }) => !seen.has(`${kind} ${at}`) && seen.add(`${kind} ${at}`));
  return placed
    .slice(-mostMarks)
    .map(({ at, kind }) => {
      const ring = `<circle cx="${at}" cy="${bottom - 5}" r="3.5" fill="${theme.background}" stroke="${theme.good}" stroke-width="2"/>`;
      if (kind === "resolved") return ring;
      if (kind === "this-over") return `${throughAll(at, theme.good)}${ring}`;
      const triangle = `<path d="M${at - 5} ${bottom}h10l-5 -9z" fill="${theme.critical}"/>`;
      if (kind === "firing") return triangle;
      return `${throughAll(at, theme.critical)}${triangle}`;
    })
    .join("");

  function throughAll(at: number, colour: string): string {
    return `<path d="M${at} ${pixel(top)}V${bottom}" stroke="${colour}" stroke-width="1.5" stroke-dasharray="2 2"/>`;
  }
}

/** `last 24.32 M USD (−3.2 %)`, `lowest 24.3 M USD`, `highest 25.9 M USD`, `threshold 25 M USD` */
function summaryOf(facts: SeriesFacts, { unit, threshold }: { unit?: string; threshold?: number }): string[] {
  // The percentage of a percentage would mean nothing.
  const change = unit === "%" ? undefined : changeOf(facts);
  const numbers = [facts.last.value, facts.min.value, facts.max.value, threshold];
  const isFlat = facts.min.value === facts.max.value;

  function say(value: number): string {
    return writeValue(value, unit, numbers);
  }

  return [
    `last ${say(facts.last.value)}${change === undefined ? "" : ` (${change})`}`,
    ...(isFlat ? [] : [`lowest ${say(facts.min.value)}`, `highest ${say(facts.max.value)}`]),
    ...(threshold === undefined ? [] : [`threshold ${say(threshold)}`]),
  ];
}
