import stringWidth from "string-width";
import { fitText, terminalText } from "./terminal-text.ts";

export interface TableColumn {
  title: string;
  /** Numbers stand right. Default left. */
  align?: "left" | "right";
  /** Never cut: ids and keys that the reader copies into the next command. Default false. */
  keep?: boolean;
}

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
export function layOutTable(columns: TableColumn[], sample: string[][], options: TableOptions = {}): TableLayout {
  const style = options.styleTitle ?? ((text: string) => text);
  const safe = (rows: string[][]) => rows.map((row) => columns.map((_, index) => terminalText(row[index] ?? "")));
  const widths = fitWidths(columns, naturalWidths(columns, safe(sample)), options.width);
  if (widths === undefined) {
    return { head: () => "", rows: (rows) => `${formatRecords(columns, safe(rows), style)}\n` };
  }
  const toLine = (texts: string[], decorate: (text: string) => string) => {
    const cells = texts.map((text, index) => {
      const { align = "left", keep = false } = columns[index] ?? { title: "" };
      const width = widths[index] ?? 0;
      return decorate(pad(keep || options.width === undefined ? text : fitText(text, width), width, align));
    });
    return `${cells.join(gap).trimEnd()}\n`;
  };
  return {
    head: () =>
      toLine(
        columns.map(({ title }) => title),
        style,
      ),
    rows: (rows) =>
      safe(rows)
        .map((row) => toLine(row, (text) => text))
        .join(""),
  };
}

/** One object as lines of "title  value", titles aligned. Values are never cut. */
export function formatFields(fields: [string, string][], options: TableOptions = {}): string {
  const style = options.styleTitle ?? ((text: string) => text);
  const width = Math.max(0, ...fields.map(([title]) => stringWidth(title)));
  return fields.map(([title, value]) => `${style(pad(title, width, "left"))}${gap}${terminalText(value)}\n`).join("");
}

function formatRecords(columns: TableColumn[], rows: string[][], style: (text: string) => string): string {
  const titles = columns.map((column) => column.title);
  return rows
    .map((row) =>
      formatFields(
        row.map((cell, index) => [titles[index] ?? "", cell]),
        { styleTitle: style },
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
    if (column.keep || column.align === "right" || width <= leastCellWidth) continue;
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
