import stringWidth from "string-width";
import { fitText, hangText, terminalText, wrapText } from "./terminal-text.ts";

export interface TableColumn {
  title: string;
  /** Numbers stand right. Default left. */
  align?: "left" | "right";
  /** Never cut: ids and keys that the reader copies into the next command. Default false. */
  keep?: boolean;
  /** What does not fit goes on below, in at most so many lines in all, the last of them cut. Default 1. */
  lines?: number;
  /** Left out where no row has anything in it. Default false. */
  optional?: boolean;
  /** Styles a cell (and the spaces that fill it) by what it says. */
  style?: (cell: string) => string;
}

/** A title with its value, and how the value is styled. */
export type Field = [title: string, value: string, style?: (value: string) => string];

export interface TableOptions {
  /** Columns of the terminal; absent: as wide as the content. */
  width?: number;
  /** Styles a title after it was padded, e.g. bold. */
  styleTitle?: (text: string) => string;
}

/** A table whose widths are settled, so that rows can follow page after page. Each text ends in a line break. */
export interface TableLayout {
  /** The titles; empty where rows are printed as records, which carry their own. */
  head(): string;
  rows(rows: string[][]): string;
}

const gap = "  ";
const leastCellWidth = 6;
/** Of a cell with several lines, whose words are to stay whole. */
const leastLinesWidth = 14;

/**
 * Aligned columns for people. When the terminal is too narrow, cells are cut with `…`, except those of `keep`
 * columns; when even that does not fit, each row is printed as lines of "title value". Cells are shown as text
 * whatever they hold (no escape codes pass).
 */
export function formatTable(columns: TableColumn[], rows: string[][], options: TableOptions = {}): string {
  const layout = layOutTable(columns, rows, options);
  return layout.head() + layout.rows(rows);
}

/**
 * Settles the widths by a sample, e.g. the first page. Later cells that are longer push their line out of alignment,
 * or are cut on a terminal.
 */
export function layOutTable(all: TableColumn[], sample: string[][], options: TableOptions = {}): TableLayout {
  const style = options.styleTitle ?? ((text: string) => text);
  const shown = all.flatMap(({ optional = false }, index) =>
    optional && sample.every((row) => (row[index] ?? "") === "") ? [] : [index],
  );
  const columns = shown.flatMap((index) => all[index] ?? []);
  const safe = (rows: string[][]) => rows.map((row) => shown.map((index) => terminalText(row[index] ?? "")));
  const widths = fitWidths(columns, naturalWidths(columns, safe(sample)), options.width);
  if (widths === undefined) {
    return { head: () => "", rows: (rows) => `${formatRecords(columns, safe(rows), options)}\n` };
  }
  const linesOf = (text: string, { keep = false, lines = 1 }: TableColumn, width: number) => {
    if (keep || options.width === undefined) return [text];
    const all = lines > 1 ? wrapText(text, width) : [text];
    if (all.length <= lines) return all.map((line) => fitText(line, width));
    return [...all.slice(0, lines - 1), fitText(all.slice(lines - 1).join(" "), width)];
  };
  const toLine = (texts: string[], styleOf: (column: TableColumn) => ((text: string) => string) | undefined) => {
    const cells = columns.map((column, index) => {
      const decorate = styleOf(column) ?? ((text: string) => text);
      return linesOf(texts[index] ?? "", column, widths[index] ?? 0).map((line) => {
        const padded = pad(line, widths[index] ?? 0, column.align ?? "left");
        return line === "" ? padded : padded.replace(line, () => decorate(line));
      });
    });
    const height = Math.max(1, ...cells.map((lines) => lines.length));
    const rows = Array.from({ length: height }, (_, row) =>
      cells.map((lines, index) => lines[row] ?? " ".repeat(widths[index] ?? 0)).join(gap),
    );
    return rows.map((row) => `${row.trimEnd()}\n`).join("");
  };
  return {
    head: () =>
      toLine(
        columns.map(({ title }) => title),
        () => style,
      ),
    rows: (rows) =>
      safe(rows)
        .map((row) => toLine(row, (column) => column.style))
        .join(""),
  };
}

/**
 * One object as lines of "title  value", titles aligned. Values are never cut; on a terminal they go on below
 * themselves.
 */
export function formatFields(fields: readonly Field[], options: TableOptions = {}): string {
  const styleTitle = options.styleTitle ?? ((text: string) => text);
  const titleWidth = Math.max(0, ...fields.map(([title]) => stringWidth(title)));
  const lines = fields.map(([title, value, style = (text: string) => text]) => {
    const shown = hangText(terminalText(value), options.width, titleWidth + gap.length);
    return `${styleTitle(pad(title, titleWidth, "left"))}${gap}${style(shown)}\n`;
  });
  return lines.join("");
}

function formatRecords(columns: TableColumn[], rows: string[][], options: TableOptions): string {
  return rows
    .map((row) =>
      formatFields(
        columns.flatMap(({ title, style }, index): Field[] => (row[index] ? [[title, row[index], style]] : [])),
        options,
      ),
    )
    .join("\n");
}

function naturalWidths(columns: TableColumn[], rows: string[][]): number[] {
  const widths = columns.map((column) => stringWidth(column.title));
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, stringWidth(cell));
    }
  }
  return widths;
}

/** Takes width from the widest cuttable column first; `undefined` when the table cannot fit. */
function fitWidths(columns: TableColumn[], natural: number[], width: number | undefined): number[] | undefined {
  if (width === undefined) return natural;
  const widths = [...natural];
  let excess = sum(widths) + gap.length * (columns.length - 1) - width;
  while (excess > 0) {
    const widest = indexOfWidestCuttable(columns, widths);
    if (widest === undefined) return undefined;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess -= 1;
  }
  return widths;
}

function indexOfWidestCuttable(columns: TableColumn[], widths: number[]): number | undefined {
  let found: number | undefined;
  for (const [index, column] of columns.entries()) {
    const width = widths[index] ?? 0;
    const least = (column.lines ?? 1) > 1 ? leastLinesWidth : leastCellWidth;
    if (column.keep || column.align === "right" || width <= least) continue;
    if (found === undefined || width > (widths[found] ?? 0)) found = index;
  }
  return found;
}

function pad(text: string, width: number, align: "left" | "right"): string {
  const space = " ".repeat(Math.max(0, width - stringWidth(text)));
  return align === "right" ? space + text : text + space;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, next) => total + next, 0);
}
