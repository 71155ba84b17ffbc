import { styleText } from "node:util";
import type { AppError } from "../../core/errors.ts";
import { type CliContext, writeText } from "./context.ts";
import { asTyped } from "./own-command.ts";
import { type Field, formatFields, layOutTable, type TableColumn, type TableLayout } from "./table.ts";
import { fitText, terminalText } from "./terminal-text.ts";

export type StyleName = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";
export type Style = (name: StyleName, text: string) => string;

/** A list of unknown length, written item by item: memory stays flat, and with `--json` it is still one document. */
interface ListWriter {
  item(value: unknown): Promise<void>;
  /** Ends the document. `meta` stands beside `data`. */
  close(meta?: Record<string, unknown>): Promise<void>;
  /**
   * Ends the document with an `error` beside the items that were written. Returns what the command is to throw: the
   * error itself when nothing was written, so that the document is an error like any other.
   */
  fail(error: AppError): Promise<AppError | DocumentedFailure>;
}

/** Thrown after a failure whose JSON document is complete already: what is left is stderr and the exit status. */
export class DocumentedFailure extends Error {
  readonly error: AppError;

  constructor(error: AppError) {
    super(error.message);
    this.name = "DocumentedFailure";
    this.error = error;
  }
}

/**
 * What a command says. With `--json`, stdout holds exactly one JSON document (`{"data": …}`, or `{"error": …}`
 * written by `runCli`); everything for people goes to stderr. Without it, stdout holds text for people.
 */
export interface Output {
  readonly json: boolean;
  /** Colours for stdout: only on a terminal, unless `NO_COLOR` or `FORCE_COLOR` say otherwise. */
  readonly style: Style;
  /** Columns of stdout's terminal; `undefined` when nothing has to fit. */
  readonly width: number | undefined;
  /** See `asTyped`. Notes are written so by themselves. */
  asTyped(text: string): string;
  /** The command's result, once: `data` for machines, or the text that `forPeople` makes. */
  result(data: unknown, forPeople: () => string, meta?: Record<string, unknown>): Promise<void>;
  /** Begins a result that is written item by item. Only with `--json`; text for people goes through `print`. */
  openList(): ListWriter;
  /** Text for people on stdout, as it stands. Does nothing with `--json`. */
  print(text: string): Promise<void>;
  /** One line on stderr: something worth knowing besides the result. */
  note(text: string): Promise<void>;
  /** Removed by itself before anything else is printed. */
  readonly progress: Progress;
  /** Cells are texts of strangers. `style`: of a cell, by what it says. */
  table(columns: StyledColumn[], rows: string[][]): string;
  /** A table that is printed page after page, its widths settled by the first. */
  layOutTable(columns: StyledColumn[], sample: string[][]): TableLayout;
  fields(fields: readonly Field[]): string;
}

type StyledColumn = TableColumn & { style?: (cell: string) => string };

/** Makes the output of one run of a command. `json`: whether `--json` was given. */
export function openOutput(context: CliContext, json: boolean): Output {
  const style = createStyle(context.env, context.isTty.stdout);
  const progress = createProgressLine(context);
  const out = async (text: string) => {
    await progress.clear();
    await writeText(context.stdout, text);
  };
  const width = context.isTty.stdout ? context.columns : undefined;
  const bold = (text: string) => byWords(style)("bold", text);
  const layOut: Output["layOutTable"] = (columns, sample) => {
    const toCell = (text: string, index: number) => {
      const cell = terminalText(text);
      return columns[index]?.style?.(cell) ?? cell;
    };
    const toRows = (rows: string[][]) => rows.map((row) => row.map(toCell));
    const titled = columns.map((column) => ({ ...column, title: bold(column.title) }));
    const layout = layOutTable(titled, toRows(sample), width);
    return { head: layout.head, rows: (rows) => layout.rows(toRows(rows)) };
  };
  return {
    json,
    style,
    width,
    asTyped: (text) => asTyped(text, context.ownCommand),
    result: (data, forPeople, meta) =>
      out(json ? `${JSON.stringify(meta === undefined ? { data } : { data, meta })}\n` : forPeople()),
    openList: () => openJsonList(out),
    print: async (text) => {
      if (!json) await out(text);
    },
    note: async (text) => {
      await progress.clear();
      await writeText(context.stderr, `${terminalText(asTyped(text, context.ownCommand))}\n`);
    },
    progress,
    table(columns, rows) {
      const layout = layOut(columns, rows);
      return layout.head() + layout.rows(rows);
    },
    layOutTable: layOut,
    fields: (fields) =>
      formatFields(
        fields.map(([title, value]) => [bold(title), terminalText(value)]),
        width,
      ),
  };
}

/** https://no-color.org: any non-empty `NO_COLOR` means none; `FORCE_COLOR` other than `0` means always. */
export function createStyle(env: CliContext["env"], isTerminal: boolean): Style {
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "" && env.FORCE_COLOR !== "0";
  const enabled = !env.NO_COLOR && (forced || (isTerminal && env.FORCE_COLOR !== "0" && env.TERM !== "dumb"));
  return enabled ? (name, text) => styleText(name, text, { validateStream: false }) : (_name, text) => text;
}

/** For a text that may still be broken between its words. */
export function byWords(style: Style): Style {
  return (name, text) => text.replace(/\S+/g, (word) => style(name, word));
}

function openJsonList(out: (text: string) => Promise<void>): ListWriter {
  let begun = false;
  const begin = async () => {
    if (!begun) await out('{"data":[');
    begun = true;
  };
  let separator = "";
  return {
    item: async (value) => {
      await begin();
      await out(`${separator}\n${JSON.stringify(value)}`);
      separator = ",";
    },
    close: async (meta) => {
      await begin();
      await out(meta === undefined ? "\n]}\n" : `\n],"meta":${JSON.stringify(meta)}}\n`);
    },
    fail: async (error) => {
      if (!begun) return error;
      await out(`\n],"error":${JSON.stringify(errorDocument(error))}}\n`);
      return new DocumentedFailure(error);
    },
  };
}

/** The content of `error` in the one JSON document. */
export function errorDocument(error: AppError): { code: string; message: string; hint?: string } {
  return {
    code: error.code,
    message: error.message,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  };
}

/** Parts of a text for people, with an empty line between them; empty parts are left out. */
export function joinSections(sections: string[]): string {
  const present = sections.map((section) => section.trimEnd()).filter((section) => section !== "");
  return `${present.join("\n\n")}\n`;
}

/** A line on stderr that is rewritten in place while a person waits; silent where stderr is no terminal. */
export interface Progress {
  update(text: string): Promise<void>;
  /** Removes the line. Call it when the waiting is over, also after a failure. */
  clear(): Promise<void>;
}

/**
 * One terminal has one such line: whoever prints something else removes it first, so that texts do not run together.
 */
function createProgressLine({ stderr, isTty, columns = 80 }: CliContext): Progress {
  let shown = "";
  const rewrite = async (text: string) => {
    if (!isTty.stderr || text === shown) return;
    shown = text;
    await writeText(stderr, `\r\u001b[K${text}`);
  };
  return {
    update: (text) => rewrite(fitText(terminalText(text), columns - 1)),
    clear: () => rewrite(""),
  };
}
