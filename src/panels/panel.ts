import type { Tone } from "../contract/words.ts";

/** What a page and a command both show: sections, in order. What is not there now is left out. */
export type Panel = readonly (Section | false | undefined)[];

export type { Tone };

/** A text may be a stranger's: it is shown as text, in its own direction. Instants are epoch milliseconds. */
export type Cell =
  | string
  | number
  | false
  | undefined
  /** Words of ours. */
  | { words: string }
  /** How long ago or from now, and the time itself. `isComing`: once it has passed it reads `now`. */
  | { at: number; isComing?: boolean }
  /** How long ago or from now. */
  | { age: number; isComing?: boolean }
  /** `since 21:42 UTC`, of what goes on. */
  | { since: number }
  /** `14:02:05`, of what belongs to a time that is said. */
  | { clock: number }
  /** A number with its digits as sent. */
  | { amount: string; unit?: string }
  | { chip: string; tone: Tone }
  | { code: string }
  | { bold: Cell }
  | { link: string; text: Cell }
  | { act: Action }
  /** One below the other; of many the first ones are folded away on the page. */
  | { lines: readonly Cell[] }
  | Cell[];

export type Fact = readonly [name: string, value: Cell];

export interface Column {
  title: string;
  align?: "right";
  /** Never broken: what the reader copies. Default false. */
  keep?: boolean;
  /** Left out where no row has anything in it. Default false. */
  optional?: boolean;
  /** Default: on both. A terminal has room for less, and its reader copies ids. */
  where?: "page" | "terminal";
}

interface SectionHead {
  title?: Cell;
  /** Where a link leads to it: of the title, or of what is folded away. */
  id?: string;
  /** Default: on both. */
  where?: "page" | "terminal";
}

export type Section = SectionHead &
  (
    | { kind: "text"; text: Cell; isSoft?: boolean }
    /** Facts without a value are left out. Names are written as within a sentence. */
    | { kind: "facts"; rows: readonly Fact[] }
    /** `ids`: of the rows on the page, where links lead to them. */
    | { kind: "table"; columns: readonly Column[]; rows: readonly (readonly Cell[])[]; ids?: readonly string[] }
    | { kind: "list"; items: readonly Cell[] }
    /** What was just done, or what is wrong. */
    | { kind: "note"; note: "done" | "warning" | "failed"; text: Cell }
    /** There is nothing to show, and what to do for it. */
    | { kind: "empty"; empty: Cell; text?: Cell }
    /** `intro` is for the page. `isOpen`: not one line each in a terminal. */
    | { kind: "cards"; intro?: Cell; isOpen?: boolean; cards: readonly Card[] }
    /** `isTrouble`: in a box of its own. */
    | { kind: "group"; isTrouble?: boolean; panel: Panel }
    /** As it came, line by line. `isBytes`: columns that are never broken. `canCopy`: with a button for it. */
    | { kind: "block"; text: string; blockId?: string; isBytes?: boolean; canCopy?: boolean }
    /** How many of each, and where they are listed. */
    | { kind: "counts"; counts: readonly { count: number; words: string; tone: Tone; link: string }[] }
    /** What people read, a text for each part, and who they are: opened on the page. A terminal cuts what is long. */
    | { kind: "messages"; to: readonly Cell[]; texts: readonly string[] }
    /** Folded away: opened on the page, shown by the command in a terminal. */
    | { kind: "fold"; summary: Cell; command?: string; panel: Panel }
    | { kind: "acts"; acts: readonly (Action | false | undefined)[] }
  );

/** One of several things of a kind; one line of a terminal. */
export interface Card {
  name: Cell;
  /** The card's id on the page, where a link leads to it. */
  id?: string;
  chip?: string;
  tone?: Tone;
  /** The text behind the chip: since when, or when last. */
  when?: Cell;
  /** A second chip, before the first. */
  also?: Extract<Cell, { chip: string }>;
  panel: Panel;
}

/** A button on the page, a command in the terminal. */
export interface Action {
  label: string;
  /** What it is done to, for people who cannot see what it stands next to. */
  about?: string;
  /** Where the page's form goes. Absent: it is a link. */
  post?: string;
  link?: string;
  /** The link looks like a button: it leads to what is done there. */
  isButton?: boolean;
  /** The link is one of several, and this is what is shown. */
  isCurrent?: boolean;
  /** Unfolded before it is done. `isOpen`: the reader is at it. */
  asks?: { title: string; id?: string; panel: Panel; isOpen?: boolean };
  fields?: Readonly<Record<string, string>>;
  inputs?: readonly (Input | Choices)[];
  /** Another button of the form, which needs nothing filled in: what it sends besides. */
  orElse?: { label: string; name: string; value: string };
  isMain?: boolean;
  /** Does the same. Absent: only the page can. */
  command?: string;
}

/** What a reader fills in before an action. */
export interface Input {
  name: string;
  label: string;
  /** What stands there first. */
  value?: string;
  /** One of these is chosen. */
  options?: readonly (readonly [value: string, words: string])[];
  /** Height of a text of several lines. Default: it is one line. */
  lines?: number;
  placeholder?: string;
}

/** Any of these may be ticked. */
export interface Choices {
  name: string;
  label: string;
  choices: readonly { value: string; text: Cell; isChosen: boolean }[];
}

/** A sentence: the words are ours, what stands between them may be a stranger's. A line break in the code is a space. */
export function say(words: TemplateStringsArray, ...cells: Cell[]): Cell {
  return words.flatMap((text, index): Cell[] => [{ words: text.replace(/\n\s*/g, " ") }, cells[index]]);
}

/** Cells one after the other, with words of ours between two of them. */
export function joined(words: string, cells: readonly Cell[]): Cell {
  return cells.flatMap((cell, index): Cell[] => [index > 0 && { words }, cell]);
}

type Tag = (words: TemplateStringsArray, ...cells: Cell[]) => Section;
const tag =
  (toSection: (text: Cell) => Section): Tag =>
  (words, ...cells) =>
    toSection(say(words, ...cells));

/** Sections of one sentence or several, written as `say` is. */
export const paragraph = tag((text) => ({ kind: "text", text }));
export const aside = tag((text) => ({ kind: "text", isSoft: true, text }));
export const noteDone = tag((text) => ({ kind: "note", note: "done", text }));
export const noteWarning = tag((text) => ({ kind: "note", note: "warning", text }));
export const noteFailed = tag((text) => ({ kind: "note", note: "failed", text }));

type Take<Row> = (row: Row) => Cell;

/**
 * A table by what each column takes of a row. One without anything is left out, and one of numbers stands to the right. `keep`:
 * see `Column`; default: the first.
 */
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

/** A list of facts alone. */
export const factsOf = (rows: readonly Fact[]): Section => ({ kind: "facts", rows });

/** Facts under a title. */
export const titledFacts = (head: SectionHead, rows: readonly Fact[]): Section => ({ ...head, kind: "facts", rows });

/** Sections under one title. */
export const groupOf = (head: SectionHead & { isTrouble?: boolean }, panel: Panel): Section => ({
  ...head,
  kind: "group",
  panel,
});

/** Sections that are folded away. */
export const foldOf = (head: SectionHead & { summary: Cell; command?: string }, panel: Panel): Section => ({
  ...head,
  kind: "fold",
  panel,
});

/** What can be done, side by side. */
export const actsOf = (...acts: (Action | false | undefined)[]): Section => ({ kind: "acts", acts });

/** There is nothing to show, and what to do for it. */
export const emptyOf = (empty: Cell, text?: Cell): Section => ({ kind: "empty", empty, text });

export function isNothing(cell: Cell): boolean {
  if (typeof cell === "object" && "lines" in cell) return cell.lines.length === 0;
  return cell === undefined || cell === false || cell === "";
}
