import { styleText } from "node:util";
import type { Now } from "../../core/clock.ts";
import type { AppError } from "../../core/errors.ts";
import type { Panel, Section } from "../../panels/panel.ts";
import { type CliContext, writeText } from "./context.ts";
import { drawPanel } from "./draw-panel.ts";
import { asTyped } from "./own-command.ts";
import { fitText, terminalText } from "./terminal-text.ts";

export type StyleName = "bold" | "dim" | "red" | "green" | "yellow";
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

/** What people read: a text as it stands, or what is drawn. */
export type Shown = Panel | Section | string;

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
  readonly now: Now;
  /** A command of Tocsin as the person at this terminal types it. */
  readonly ownCommand: string;
  /** The command's result, once: `data` for machines, or what `forPeople` makes. */
  result(data: unknown, forPeople: () => Shown | Promise<Shown>, meta?: Record<string, unknown>): Promise<void>;
  /** Begins a result that is written item by item. Only with `--json`; text for people goes through `print`. */
  openList(): ListWriter;
  /** For people on stdout. Does nothing with `--json`. */
  print(shown: Shown): Promise<void>;
  /** As `print` writes it. `all`: with what a panel folds away otherwise. */
  draw(shown: Shown, options?: { all?: boolean }): string;
  /** One line on stderr: something worth knowing besides the result. */
  note(text: string): Promise<void>;
  /** Removed by itself before anything else is printed. */
  readonly progress: Progress;
}

/** Makes the output of one run of a command. `json`: whether `--json` was given. */
export function openOutput(context: CliContext, json: boolean): Output {
  const { now, ownCommand } = context;
  const style = createStyle(context.env, context.isTty.stdout);
  const progress = createProgressLine(context);
  const width = context.isTty.stdout ? context.columns : undefined;
  const draw: Output["draw"] = (shown, options) =>
    typeof shown === "string" ? shown : drawPanel([shown].flat(), { style, width, now: now(), ownCommand, ...options });
  const out = async (text: string) => {
    await progress.clear();
    await writeText(context.stdout, text);
  };
  return {
    ...{ json, style, width, now, ownCommand, draw, progress },
    result: async (data, forPeople, meta) =>
      out(json ? `${JSON.stringify(meta === undefined ? { data } : { data, meta })}\n` : draw(await forPeople())),
    openList: () => openJsonList(out),
    print: async (shown) => {
      if (!json) await out(draw(shown));
    },
    note: async (text) => {
      await progress.clear();
      await writeText(context.stderr, `${terminalText(asTyped(text, ownCommand))}\n`);
    },
  };
}

/** https://no-color.org: any non-empty `NO_COLOR` means none; `FORCE_COLOR` other than `0` means always. */
export function createStyle(env: CliContext["env"], isTerminal: boolean): Style {
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "" && env.FORCE_COLOR !== "0";
  const enabled = !env.NO_COLOR && (forced || (isTerminal && env.FORCE_COLOR !== "0" && env.TERM !== "dumb"));
  return enabled ? (name, text) => styleText(name, text, { validateStream: false }) : (_name, text) => text;
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
