import stringWidth from "string-width";
import type { Column } from "../../panels/panel.ts";
import { hangText, wrapText } from "./output.ts";

/** Texts in tables and fields are already safe for a terminal, and may be styled. */

export type Field = readonly [title: string, value: string];

const gap = "  ";
/** With fewer columns, a value next to its title would have a single word on each line. */
const leastRoom = 24;
/** Words up to this width stay whole. Longer ones, such as addresses, are broken where the row would not fit. */
const widestWord = 32;

/**
 * In a narrow terminal cells are broken, except those of `keep` columns, or each row becomes lines of "title value".
 * Nothing is cut. `width` absent: no limit.
 */
export function formatTable(columns: readonly Column[], rows: string[][], width?: number): string {
  const layout = layOutTable(columns, rows, width);
  return layout.head() + layout.rows(rows);
}

/** The widths come from a sample, e.g. the first page, so rows can follow page by page. */
export function layOutTable(all: readonly Column[], sample: string[][], width?: number) {
  const columns = all.flatMap((column, index) =>
    column.optional && sample.every((row) => !row[index]) ? [] : [{ ...column, index }],
  );
  const widest = (partsOf: (text: string) => string[]) =>
    columns.map(({ title, index }) =>
      [title, ...sample.map((row) => row[index] ?? "")]
        .flatMap(partsOf)
        .reduce((most, part) => Math.max(most, stringWidth(part)), 0),
    );
  const natural = widest((text) => [text]);
  const least = widest((text) => text.split(" ")).map((own) => Math.min(own, widestWord));
  const widths = fitWidths(columns, natural, least, width);
  if (widths === undefined) {
    const toRecord = (row: string[]) =>
      formatFields(
        columns.flatMap(({ title, index }): Field[] => (row[index] ? [[title, row[index]]] : [])),
        width,
      );
    return { head: () => "", rows: (rows: string[][]) => `${rows.map(toRecord).join("\n")}\n` };
  }
  const toLines = (texts: string[]) => {
    const cells = columns.map(({ keep, align }, place) => {
      const text = texts[place] ?? "";
      const lines = keep || width === undefined ? [text] : wrapText(text, widths[place] ?? 0);
      return lines.map((line) => pad(line, widths[place] ?? 0, align));
    });
    const height = Math.max(1, ...cells.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) => {
      const parts = cells.map((lines, place) => lines[line] ?? pad("", widths[place] ?? 0));
      return `${parts.join(gap).trimEnd()}\n`;
    }).join("");
  };
  return {
    /** Empty where rows are printed as records with their own titles. */
    head: () => toLines(columns.map(({ title }) => title)),
    rows: (rows: string[][]) => rows.map((row) => toLines(columns.map(({ index }) => row[index] ?? ""))).join(""),
  };
}

/** The widest of the breakable columns become narrower first. Undefined when the table cannot fit. */
function fitWidths(columns: Column[], natural: number[], least: number[], width = Number.POSITIVE_INFINITY) {
  const room = width - gap.length * (columns.length - 1);
  for (let most = Math.min(room, Math.max(0, ...natural)); most >= 0; most -= 1) {
    const widths = columns.map(({ keep, align }, index) => {
      const own = natural[index] ?? 0;
      return keep || align === "right" ? own : Math.min(own, Math.max(most, least[index] ?? 0));
    });
    if (widths.reduce((total, own) => total + own, 0) <= room) return widths;
  }
  return undefined;
}

/** Nothing is cut. On a narrow terminal values are broken into lines, or begin below their titles. */
export function formatFields(fields: readonly Field[], width?: number): string {
  const titleWidth = Math.max(0, ...fields.map(([title]) => stringWidth(title)));
  const indent = titleWidth + gap.length;
  const room = (width ?? Number.POSITIVE_INFINITY) - indent;
  const lines = fields.map(([title, value]) => {
    const isBelow = room < leastRoom && stringWidth(value) > room;
    if (!isBelow) return `${pad(title, titleWidth)}${gap}${hangText(value, width, indent)}\n`;
    return `${title === "" ? "" : `${title}\n`}${gap}${hangText(value, width, gap.length)}\n`;
  });
  return lines.join("");
}

function pad(text: string, width: number, align?: "right"): string {
  const space = " ".repeat(Math.max(0, width - stringWidth(text)));
  return align === "right" ? space + text : text + space;
}
