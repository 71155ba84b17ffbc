import { displayWidth, fitText, terminalText } from "./terminal-text.ts";

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

const gap = "  ";
const leastCellWidth = 6;

/**
 * Aligned columns for people, ending in a line break. When the terminal is too narrow, cells are cut with `…`, except
 * those of `keep` columns; when even that does not fit, each row is told as lines of "title: value".
 * Cells are shown as text whatever they hold (no escape codes pass).
 */
export function formatTable(columns: TableColumn[], rows: string[][], options: TableOptions = {}): string {
  const style = options.styleTitle ?? ((text: string) => text);
  const cells = rows.map((row) => columns.map((_, index) => terminalText(row[index] ?? "")));
  const widths = fitWidths(columns, naturalWidths(columns, cells), options.width);
  if (widths === undefined) return formatRecords(columns, cells, style);
  const line = (texts: string[], decorate: (text: string) => string) =>
    texts
      .map((text, index) => decorate(pad(text, widths[index] ?? 0, columns[index]?.align ?? "left")))
      .join(gap)
      .trimEnd();
  const head = line(
    columns.map((column) => column.title),
    style,
  );
  return `${[head, ...cells.map((row) => line(row, (text) => text))].join("\n")}\n`;
}

/** One object told as lines of "title  value", titles aligned. Values are never cut. */
export function formatFields(fields: [string, string][], options: TableOptions = {}): string {
  const style = options.styleTitle ?? ((text: string) => text);
  const width = Math.max(0, ...fields.map(([title]) => displayWidth(title)));
  return fields
    .map(([title, value]) => `${style(pad(title, width, "left"))}${gap}${terminalText(value)}\n`)
    .join("");
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
  const widths = columns.map((column) => displayWidth(column.title));
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, displayWidth(cell));
    }
  }
  return widths;
}

/** Takes width from the widest cuttable column first; `undefined` when the table cannot fit. */
function fitWidths(
  columns: TableColumn[],
  natural: number[],
  width: number | undefined,
): number[] | undefined {
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
  const fitted = fitText(text, width);
  const space = " ".repeat(Math.max(0, width - displayWidth(fitted)));
  return align === "right" ? space + fitted : fitted + space;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, next) => total + next, 0);
}
