/** How sections and their words are written. */
import type { Action, Cell, Column, Fact, Panel, Section, SectionHead } from "./panel.ts";

/** The words are ours, and the cells between them may come from a stranger. A line break in the code is a space. */
export function say(words: TemplateStringsArray, ...cells: Cell[]): Cell {
  return words.flatMap((text, index): Cell[] => [{ words: text.replace(/\n\s*/g, " ") }, cells[index]]);
}

export function joined(words: string, cells: readonly Cell[]): Cell {
  return cells.flatMap((cell, index): Cell[] => [index > 0 && { words }, cell]);
}

type Tag = (words: TemplateStringsArray, ...cells: Cell[]) => Section;
const tag =
  (toSection: (text: Cell) => Section): Tag =>
  (words, ...cells) =>
    toSection(say(words, ...cells));

/** Sections of one sentence or several, written like `say`. */
export const paragraph = tag((text) => ({ kind: "text", text }));
export const aside = tag((text) => ({ kind: "text", isSoft: true, text }));
export const noteDone = tag((text) => ({ kind: "note", note: "done", text }));
export const noteWarning = tag((text) => ({ kind: "note", note: "warning", text }));
export const noteFailed = tag((text) => ({ kind: "note", note: "failed", text }));

type Take<Row> = (row: Row) => Cell;

/** An empty column is left out. A column of numbers is aligned right. `keep`: see `Column`. Default: the first. */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: Readonly<Record<string, Take<Row> | (Omit<Column, "title"> & { of: Take<Row> })>>,
  { keep = Object.keys(columns).slice(0, 1), ids, ...head }: TableOptions = {},
): Section | false {
  if (rows.length === 0) return false;
  const taken = Object.entries(columns).map(([title, column]) => {
    const { of, ...given } = typeof column === "function" ? { of: column } : column;
    const cells = rows.map(of);
    const align = cells.every((cell) => typeof cell === "number") ? ("right" as const) : undefined;
    return { cells, column: { title, align, keep: keep.includes(title), optional: true, ...given } };
  });
  const cells = rows.map((_, index) => taken.map((column) => column.cells[index]));
  return { ...head, kind: "table", columns: taken.map(({ column }) => column), rows: cells, ids };
}

interface TableOptions extends SectionHead {
  keep?: readonly string[];
  ids?: readonly string[];
}

export const factsOf = (rows: readonly Fact[]): Section => ({ kind: "facts", rows });

export const titledFacts = (head: SectionHead, rows: readonly Fact[]): Section => ({ ...head, kind: "facts", rows });

export const groupOf = (head: SectionHead & { isTrouble?: boolean }, panel: Panel): Section => ({
  ...head,
  kind: "group",
  panel,
});

export const foldOf = (head: SectionHead & { summary: Cell; command?: string }, panel: Panel): Section => ({
  ...head,
  kind: "fold",
  panel,
});

export const actsOf = (...acts: (Action | false | undefined)[]): Section => ({ kind: "acts", acts });

export const emptyOf = (empty: Cell, text?: Cell): Section => ({ kind: "empty", empty, text });
