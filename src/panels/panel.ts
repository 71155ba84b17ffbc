import type { Tone } from "../contract/words.ts";

/** The content that a page and a command both show: sections, in order. False and undefined are left out. */
export type Panel = readonly (Section | false | undefined)[];

export type { Tone };

/** A text may come from a stranger: it is shown as text, in its own direction. Instants are epoch milliseconds. */
export type Cell =
  | string
  | number
  | false
  | undefined
  /** Our own words. */
  | { words: string }
  /** The time, and how long ago or ahead it is. `isComing`: a passed time reads `now`. */
  | { at: number; isComing?: boolean }
  | { age: number; isComing?: boolean }
  /** `since 21:42 UTC`, for a state that lasts. */
  | { since: number }
  /** `14:02:05`, where the day is shown nearby. */
  | { clock: number }
  | { amount: string; unit?: string }
  | { chip: string; tone: Tone }
  | { code: string }
  | { bold: Cell }
  | { link: string; text: Cell }
  | { act: Action }
  /** One below the other. On the page the first ones of many are folded away. */
  | { lines: readonly Cell[] }
  | Cell[];

export type Fact = readonly [name: string, value: Cell];

export interface Column {
  title: string;
  align?: "right";
  /** Never broken, since the reader copies it. Default false. */
  keep?: boolean;
  /** Left out where all of its cells are empty. Default false. */
  optional?: boolean;
  where?: "page" | "terminal";
}

export interface SectionHead {
  title?: Cell;
  /** The target of links to it: to the title, or to the folded part. */
  id?: string;
  where?: "page" | "terminal";
  /** The name of this part of an open page, which the script keeps up to date. */
  live?: string;
}

export type Section = SectionHead &
  (
    | { kind: "text"; text: Cell; isSoft?: boolean }
    /** Facts without a value are left out. Names are written as within a sentence. */
    | { kind: "facts"; rows: readonly Fact[] }
    /** `ids`: the targets of links to the rows on the page. */
    | { kind: "table"; columns: readonly Column[]; rows: readonly (readonly Cell[])[]; ids?: readonly string[] }
    | { kind: "list"; items: readonly Cell[] }
    | { kind: "note"; note: "done" | "warning" | "failed"; text: Cell }
    | { kind: "empty"; empty: Cell; text?: Cell }
    /** `intro` is for the page. `isOpen`: a card takes more than a line in a terminal. */
    | { kind: "cards"; intro?: Cell; isOpen?: boolean; cards: readonly Card[] }
    /** `isTrouble`: in a box. */
    | { kind: "group"; isTrouble?: boolean; panel: Panel }
    /** The text as it came. `isBytes`: columns that are never broken. `canCopy`: with a button to copy it. */
    | { kind: "block"; text: string; blockId?: string; isBytes?: boolean; canCopy?: boolean }
    | { kind: "counts"; counts: readonly { count: number; words: string; tone: Tone; link: string }[] }
    /** The texts of a message, one for each part, and its recipients. Open on the page. A terminal cuts long texts. */
    | { kind: "messages"; to: readonly Cell[]; texts: readonly string[] }
    /** Folded away on the page. In a terminal, `command` shows it. */
    | { kind: "fold"; summary: Cell; command?: string; panel: Panel }
    | { kind: "acts"; acts: readonly (Action | false | undefined)[] }
  );

/** One of several things of a kind. It is one line in a terminal. */
export interface Card {
  name: Cell;
  /** The card's id on the page, where a link leads to it. */
  id?: string;
  chip?: string;
  tone?: Tone;
  /** The text after the chip: since when, or when last. */
  when?: Cell;
  /** A second chip, in front of the first. */
  also?: Extract<Cell, { chip: string }>;
  panel: Panel;
}

/** A button on the page, a command in the terminal. */
export interface Action {
  label: string;
  /** The object of the action, for people who cannot see what is next to the button. */
  about?: string;
  /** The address of the page's form. Absent: the action is a link. */
  post?: string;
  link?: string;
  /** The link looks like a button, since it leads to the action. */
  isButton?: boolean;
  /** The link is one of several, and leads to the present view. */
  isCurrent?: boolean;
  /** The questions before the action, folded away. `isOpen`: the reader is answering them. */
  asks?: { title: string; id?: string; panel: Panel; isOpen?: boolean };
  fields?: Readonly<Record<string, string>>;
  inputs?: readonly (Input | Choices)[];
  /** Another button of the form, which needs no filled fields, and the value that it sends. */
  orElse?: { label: string; name: string; value: string };
  isMain?: boolean;
  /** The command that does the same. Absent: only the page can do it. */
  command?: string;
}

export interface Input {
  name: string;
  label: string;
  value?: string;
  options?: readonly (readonly [value: string, words: string])[];
  /** Height of a field of several lines. Default: one line. */
  lines?: number;
  placeholder?: string;
}

/** Any of these may be ticked. */
export interface Choices {
  name: string;
  label: string;
  choices: readonly { value: string; text: Cell; isChosen: boolean }[];
}

export function isNothing(cell: Cell): boolean {
  if (typeof cell === "object" && "lines" in cell) return cell.lines.length === 0;
  return cell === undefined || cell === false || cell === "";
}
