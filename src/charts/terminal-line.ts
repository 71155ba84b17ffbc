import { type Tick, valueTicks } from "./plot.ts";
import { type ChartPoint, drawablePoints, type KnownPoint, splitAtGaps, summarizeSeries } from "./series.ts";
import { timeTicks } from "./time-axis.ts";

export interface TerminalLineOptions {
  /** Columns in all, with labels. At least 30 are used. */
  width: number;
  /** Lines of the plot, without the axis below. */
  height: number;
}

/** A braille character is a grid of 2 by 4 dots. These are their bits, by column and row (Unicode 2800 to 28FF). */
const dotBits = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
] as const;

/** Values on the left, a time axis in UTC below. Empty when no point has a value. */
export function drawTerminalLine(values: readonly ChartPoint[], options: TerminalLineOptions): string {
  const points = drawablePoints(values);
  const facts = summarizeSeries(points);
  if (facts === undefined) return "";
  const ticks = valueTicks(facts.min.value, facts.max.value, Math.max(2, Math.ceil(options.height / 3)));
  const labelWidth = Math.max(...ticks.map((tick) => tick.label.length));
  const [rows, columns] = [options.height, Math.max(30, options.width) - labelWidth - 2];
  const [low, high] = [ticks[0]?.value ?? facts.min.value, ticks.at(-1)?.value ?? facts.max.value];
  const x = (at: number) => place(at, facts.first.at, facts.last.at, columns * 2);
  const y = (value: number) => rows * 4 - 1 - place(value, low, high, rows * 4);
  const plot = createPlot(columns, rows, ({ at, value }) => [x(at), y(value)]);
  for (const stretch of splitAtGaps(points)) plot.drawLine(stretch);
  const labels = labelRows(ticks, (value) => y(value) >> 2, rows);
  const lines = plot.toLines().map((line, row) => {
    const label = labels[row];
    return `${(label ?? "").padStart(labelWidth)} ${label === undefined ? "│" : "┤"}${line}`.trimEnd();
  });
  const axis = timeAxis(facts.first.at, facts.last.at, columns);
  const margin = " ".repeat(labelWidth + 1);
  return [...lines, `${margin}└${axis.marks}`, `${margin} ${axis.labels}`.trimEnd(), ""].join("\n");
}

/** @param dotOf the column and the row of a point's dot */
function createPlot(columns: number, rows: number, dotOf: (point: KnownPoint) => [number, number]) {
  const cells = Array.from({ length: rows }, () => new Uint8Array(columns));
  const setDot = (column: number, row: number) => {
    const line = cells[row >> 2];
    const bit = dotBits[(column & 1) as 0 | 1][row & 3];
    const cell = column >> 1;
    if (line !== undefined && bit !== undefined) line[cell] = (line[cell] ?? 0) | bit;
  };
  const drawSegment = (from: KnownPoint, to: KnownPoint) => {
    const [x0, y0, x1, y1] = [...dotOf(from), ...dotOf(to)];
    const steps = Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0), 1);
    for (let step = 0; step <= steps; step += 1) {
      setDot(Math.round(x0 + ((x1 - x0) * step) / steps), Math.round(y0 + ((y1 - y0) * step) / steps));
    }
  };

  return {
    drawLine: (stretch: KnownPoint[]) => {
      for (const [index, point] of stretch.entries()) drawSegment(stretch[index - 1] ?? point, point);
    },
    toLines: () =>
      cells.map((line) => [...line].map((bits) => (bits === 0 ? " " : String.fromCharCode(0x2800 + bits))).join("")),
  };
}

/** The dot of `value` between `low` and `high`, 0 to `size - 1`. */
function place(value: number, low: number, high: number, size: number): number {
  if (high <= low) return Math.floor(size / 2);
  return Math.min(size - 1, Math.max(0, Math.round(((value - low) / (high - low)) * (size - 1))));
}

function labelRows(ticks: Tick[], rowOf: (value: number) => number, rows: number): (string | undefined)[] {
  const labels = new Array<string | undefined>(rows).fill(undefined);
  for (const tick of ticks) labels[rowOf(tick.value)] ??= tick.label;
  return labels;
}

/** Labels are centred under their mark where there is room, and left out where they would touch. */
function timeAxis(fromAt: number, toAt: number, columns: number): { marks: string; labels: string } {
  const marks = new Array<string>(columns).fill("─");
  let labels = "";
  for (const tick of timeTicks(fromAt, toAt, Math.max(2, Math.floor(columns / 12)))) {
    const column = place(tick.value, fromAt, toAt, columns);
    const start = Math.min(columns - tick.label.length, Math.max(0, column - Math.floor(tick.label.length / 2)));
    if (start < labels.length + (labels === "" ? 0 : 1)) continue;
    marks[column] = "┬";
    labels = labels.padEnd(start) + tick.label;
  }
  return { marks: marks.join(""), labels };
}
