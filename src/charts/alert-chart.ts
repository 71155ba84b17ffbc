import { cleanLine } from "../ground/text/clean.ts";
import { dayMs, weekMs } from "../ground/time/spans.ts";
import { type ChangeWindow, changeOver, dayWindow, weekWindow } from "./change.ts";
import { type ChartMark, drawLineChart } from "./line-chart.ts";
import { isDrawable, timeWords, writeValue } from "./plot.ts";
import { breakAtHoles, type ChartPoint, drawablePoints, isKnown, summarizeSeries } from "./series.ts";
import { drawLabel, drawPicture, fitting, shorten, widthOf } from "./svg.ts";
import type { ChartTheme } from "./theme.ts";

export interface AlertChart {
  /** The measured thing: `USDC total TVL on eth`. */
  title: string;
  /** In any order. `null` breaks the line. Points after `at`, or more than seven days before it, are left out. */
  points: readonly ChartPoint[];
  /** The moment where the picture ends, epoch milliseconds. */
  at: number;
  /** The alert's value at `at`, where the line ends. Default: the last of `points`. */
  value?: number;
  threshold?: number;
  unit?: string;
  /** Other moments of the same alert. `at` itself is always marked. */
  marks?: readonly ChartMark[];
  /** The points come from single alerts, and not from a record: one panel, with a dot for each. Default false. */
  isSparse?: boolean;
  /** Whether the alert is over at `at`. Default false: it fires. */
  isOver?: boolean;
  /** IANA name. Default UTC. */
  timeZone?: string;
  theme: ChartTheme;
}

/** Pixels: the width in a chat on a phone, so letters of 12 keep their size. */
const width = 360;
const margin = 16;
/** A last value that is older than this is shown with its own time. */
const oldValueMs = 15 * 60_000;

interface Panel {
  label: string;
  words: string[];
  points: ChartPoint[];
  from: number;
  height: number;
}

/** A panel that would repeat the other, or show nothing, is left out. `alt`: one line of at most 500 characters. */
export function drawAlertChart(chart: AlertChart) {
  const { at, theme, timeZone = "UTC", isSparse = false } = chart;
  const title = shorten(cleanLine(chart.title), 120);
  const unit = chart.unit === undefined ? undefined : shorten(cleanLine(chart.unit), 12);
  const threshold = isDrawable(chart.threshold) ? chart.threshold : undefined;
  const words = timeWords(timeZone);
  const given = isDrawable(chart.value) ? [{ at, value: chart.value }] : [];
  const all = drawablePoints([...chart.points.filter((point) => given.length === 0 || point.at < at), ...given]).filter(
    (point) => point.at <= at,
  );
  const points = isSparse ? all : breakAtHoles(all.filter((point) => point.at >= at - weekMs));
  const facts = summarizeSeries(points);
  const value = facts?.last.value;
  const panels = isSparse
    ? sparsePanel(points, words.full)
    : recordPanels(points, at, (window) => (unit === "%" ? undefined : changeOver(all, window)));
  const said = value === undefined ? "no value" : writeValue(value, unit, [threshold]);
  // An old value must not read as the value at `at`.
  const isOld = facts !== undefined && at - facts.last.at > oldValueMs;
  const when = isOld ? `as of ${words.full(facts.last.at)}` : words.full(at);
  const limit = threshold === undefined ? undefined : `threshold ${writeValue(threshold, unit, [value])}`;

  // Bold letters are wider.
  const valueSize = Math.min(24, (20 * (width - 2 * margin)) / widthOf(said, 24));
  const head = [
    drawLabel({ x: margin, y: 24, text: shorten(title, 40), size: 13, fill: theme.soft }),
    drawLabel({ x: margin, y: 52, text: said, size: valueSize, bold: true, fill: theme.ink }),
    limit === undefined ? "" : drawLabel({ x: margin, y: 72, text: limit, fill: theme.bad }),
    drawLabel({ x: margin, y: limit === undefined ? 72 : 88, text: when, fill: theme.soft }),
  ];
  let top = limit === undefined ? 82 : 98;
  const body: string[] = [];
  for (const panel of panels) {
    body.push(drawLabel({ x: margin, y: top + 11, text: panel.label, bold: true, fill: theme.ink }));
    const beside = margin + widthOf(panel.label, 12) + 8;
    body.push(
      drawLabel({ x: beside, y: top + 11, text: fitting(panel.words, " · ", width - beside), fill: theme.soft }),
    );
    body.push(`<g transform="translate(0 ${top + 16})">${drawPanel(panel)}</g>`);
    top += 16 + panel.height;
  }
  const alt = shorten(
    [
      `${title === "" ? "" : `${title}: `}${[said, limit].filter(Boolean).join(", ")}, ${when}.`,
      ...panels.map((panel) => `${panel.label}: ${panel.words.join(", ")}.`),
    ].join(" "),
    500,
  );
  const frame = { width, height: top + 4, title: title === "" ? said : title, description: alt, theme };
  return { svg: drawPicture(frame, [...head, ...body].join("")), alt };

  function drawPanel({ points, from, height, label }: Panel): string {
    const others = (chart.marks ?? []).filter((mark) => mark.at < at);
    return drawLineChart({
      title: label,
      points,
      threshold,
      marks: [...others, { at, kind: chart.isOver ? "this-over" : "this" }],
      dots: isSparse,
      isPart: true,
      from,
      to: at,
      timeZone,
      width,
      height,
      theme,
    });
  }
}

function recordPanels(
  points: ChartPoint[],
  at: number,
  changeWithin: (window: ChangeWindow) => string | undefined,
): Panel[] {
  const day = points.filter((point) => point.at >= at - dayMs);
  const known = day.filter(isKnown).length;
  const isAll = known === points.filter(isKnown).length;
  const panels: Panel[] = [];
  // Both panels, or the one with enough values.
  if (known >= 2) panels.push(panelOf(dayWindow, day, isAll ? 190 : 136));
  if (!isAll) panels.push(panelOf(weekWindow, points, known >= 2 ? 112 : 190));
  return panels;

  function panelOf(window: ChangeWindow, own: ChartPoint[], height: number): Panel {
    const change = changeWithin(window);
    const range = lowAndHigh(own);
    // "Unchanged" says the same in a word.
    const isNoNews = change === undefined || (change === "±0 %" && range.length < 2);
    return {
      label: window.label,
      words: isNoNews ? range : [change, ...range],
      points: own,
      from: at - window.ms,
      height,
    };
  }
}

function sparsePanel(points: ChartPoint[], full: (at: number) => string): Panel[] {
  const known = points.filter(isKnown);
  const [first] = known;
  if (first === undefined) return [];
  const label = `${known.length} alerts`;
  const since = `since ${full(first.at).replace(/:\d\d [^ ]+$/, "")}`;
  return [{ label, words: [since, ...lowAndHigh(points)], points, from: first.at, height: 190 }];
}

function lowAndHigh(points: readonly ChartPoint[]): string[] {
  const facts = summarizeSeries(points);
  if (facts === undefined) return [];
  if (facts.min.value === facts.max.value) return ["unchanged"];
  const [low, high] = [writeRough(facts.min.value), writeRough(facts.max.value)];
  return low === high ? ["hardly changed"] : [`low ${low}`, `high ${high}`];
}

/** Four digits are enough next to an axis. */
function writeRough(value: number): string {
  return writeValue(Number(value.toPrecision(4)));
}
