import stringWidth from "string-width";
import { hangText, terminalText, wrapText } from "./terminal-text.ts";

export interface TableColumn {
  title: string;
  /** Numbers stand right. Default left. */
  align?: "left" | "right";
  /** Never broken: ids and keys that the reader copies into the next command. Default false. */
  keep?: boolean;
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
/** Columns below which a value beside its title would be a ladder of single words. */
const leastRoom = 24;
/** Words up to this width stay whole; longer ones, addresses and keys, are broken where a row would not fit otherwise. */
const widestWord = 32;

/**
 * Aligned columns for people. When the terminal is too narrow, cells go on below themselves, except those of `keep`
 * columns; when even that does not fit, each row is printed as lines of "title value". Nothing is cut. Cells are shown as
 * text whatever they hold (no escape codes pass).
 */
export function formatTable(columns: TableColumn[], rows: string[][], options: TableOptions = {}): string {
  const layout = layOutTable(columns, rows, options);
  return layout.head() + layout.rows(rows);
}

/**
 * Settles the widths by a sample, e.g. the first page. Later cells that are longer push their line out of alignment,
 * or on a terminal go on below themselves.
 */
export function layOutTable(all: TableColumn[], sample: string[][], options: TableOptions = {}): TableLayout {
  const style = options.styleTitle ?? ((text: string) => text);
  const shown = all.flatMap(({ optional = false }, index) =>
    optional && sample.every((row) => (row[index] ?? "") === "") ? [] : [index],
  );
  const columns = shown.flatMap((index) => all[index] ?? []);
  const safe = (rows: string[][]) => rows.map((row) => shown.map((index) => terminalText(row[index] ?? "")));
  const natural = widthsOf(columns, safe(sample), (text) => [text]);
  const least = widthsOf(columns, safe(sample), (text) => text.split(" ")).map((width) => Math.min(width, widestWord));
  const widths = fitWidths(columns, { natural, least }, options.width);
  if (widths === undefined) {
    return { head: () => "", rows: (rows) => `${formatRecords(columns, safe(rows), options)}\n` };
  }
  const linesOf = (text: string, { keep = false }: TableColumn, width: number) =>
    keep || options.width === undefined ? [text] : wrapText(text, width);
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
 * themselves, and begin below their title where they would have no room beside it.
 */
export function formatFields(fields: readonly Field[], options: TableOptions = {}): string {
  const styleTitle = options.styleTitle ?? ((text: string) => text);
  const titleWidth = Math.max(0, ...fields.map(([title]) => stringWidth(title)));
  const { width } = options;
  const room = width === undefined ? Number.POSITIVE_INFINITY : width - titleWidth - gap.length;
  const lines = fields.map(([title, value, style = (text: string) => text]) => {
    if (room < leastRoom && stringWidth(terminalText(value)) > room) {
      const below = style(hangText(terminalText(value), width, gap.length));
      return `${title === "" ? "" : `${styleTitle(title)}\n`}${gap}${below}\n`;
    }
    const shown = hangText(terminalText(value), width, titleWidth + gap.length);
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

/** The widest part of each column's cells, its title among them. */
function widthsOf(columns: TableColumn[], rows: string[][], partsOf: (text: string) => string[]): number[] {
  return columns.map(({ title }, index) => {
    const parts = [title, ...rows.map((row) => row[index] ?? "")].flatMap(partsOf);
    return parts.reduce((widest, part) => Math.max(widest, stringWidth(part)), 0);
  });
}

/** Takes width from the widest column that may be broken first; `undefined` when the table cannot fit. */
function fitWidths(
  columns: TableColumn[],
  { natural, least }: { natural: number[]; least: number[] },
  width: number | undefined,
): number[] | undefined {
  if (width === undefined) return natural;
  const widths = [...natural];
  let excess = sum(widths) + gap.length * (columns.length - 1) - width;
  while (excess > 0) {
    let widest: number | undefined;
    for (const [index, { keep, align }] of columns.entries()) {
      const own = widths[index] ?? 0;
      if (keep || align === "right" || own <= (least[index] ?? 0)) continue;
      if (widest === undefined || own > (widths[widest] ?? 0)) widest = index;
    }
    if (widest === undefined) return undefined;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess -= 1;
  }
  return widths;
}

function pad(text: string, width: number, align: "left" | "right"): string {
  const space = " ".repeat(Math.max(0, width - stringWidth(text)));
  return align === "right" ? space + text : text + space;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, next) => total + next, 0);
}
