import { stripVTControlCharacters, styleText } from "node:util";
import stringWidth from "string-width";
import { AppError } from "../../core/errors.ts";
import { graphemesOf } from "../../ground/text/graphemes.ts";
import type { Panel, Section } from "../../panels/panel.ts";
import { type CliContext, OutputClosed, writeText } from "./context.ts";
import { drawPanel } from "./draw-panel.ts";
import { asTyped } from "./own-command.ts";

export type StyleName = "bold" | "dim" | "red" | "green" | "yellow";
export type Style = (name: StyleName, text: string) => string;

/** Thrown after a failure whose JSON document is already complete: only stderr and the exit status are left. */
export class DocumentedFailure extends AppError {
  constructor(error: AppError) {
    super(error.code, error.message, { hint: error.hint, cause: error.cause });
  }
}

/** The result for people: a text, or a panel to draw. */
export type Shown = Panel | Section | string;
type Meta = Record<string, unknown>;
type WriteItems = (items: readonly unknown[], forPeople: () => Shown) => Promise<void>;
type ListWork = (write: WriteItems) => Promise<Meta | undefined>;

export type Output = ReturnType<typeof openOutput>;

/** With `--json`, stdout has exactly one JSON document, and stderr all text for people. */
export function openOutput(context: CliContext, json: boolean) {
  const { now, ownCommand } = context;
  /** Colours on stdout: only on a terminal, unless `NO_COLOR` or `FORCE_COLOR` are set. */
  const style = createStyle(context.env, context.isTty.stdout);
  const progress = createProgressLine(context);
  /** Columns of stdout's terminal. Undefined: no limit. */
  const width = context.isTty.stdout ? context.columns : undefined;
  /** The text that `print` writes. `all`: with the folded parts of a panel. */
  const draw = (shown: Shown, options?: { all?: boolean }): string =>
    typeof shown === "string" ? shown : drawPanel([shown].flat(), { style, width, now: now(), ownCommand, ...options });
  const out = async (text: string) => {
    await progress.clear();
    await writeText(context.stdout, text);
  };
  return {
    ...{ json, style, width, now, ownCommand, draw, progress },
    /** The command's result, once: `data` for machines, or the result of `forPeople`. */
    result: async (data: unknown, forPeople: () => Shown | Promise<Shown>, meta?: Meta): Promise<void> =>
      out(json ? `${JSON.stringify(meta === undefined ? { data } : { data, meta })}\n` : draw(await forPeople())),
    /**
     * `work` writes a result of unknown length bit by bit, and returns the `meta`. If it fails with `--json`, an
     * `error` is next to the items.
     */
    list: async (work: ListWork): Promise<void> => {
      if (json) await writeJsonList(out, work);
      else await work((_, forPeople) => out(draw(forPeople())));
    },
    /** For people on stdout. Does nothing with `--json`. */
    print: async (shown: Shown): Promise<void> => {
      if (!json) await out(draw(shown));
    },
    /** One line on stderr: a fact besides the result. */
    note: async (text: string): Promise<void> => {
      await progress.clear();
      await writeText(context.stderr, `${terminalText(asTyped(text, ownCommand))}\n`);
    },
  };
}

/** https://no-color.org: any non-empty `NO_COLOR` means no colours. `FORCE_COLOR` other than `0` means always. */
export function createStyle(env: CliContext["env"], isTerminal: boolean): Style {
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "" && env.FORCE_COLOR !== "0";
  const enabled = !env.NO_COLOR && (forced || (isTerminal && env.FORCE_COLOR !== "0" && env.TERM !== "dumb"));
  return enabled ? (name, text) => styleText(name, text, { validateStream: false }) : (_name, text) => text;
}

async function writeJsonList(out: (text: string) => Promise<void>, work: ListWork): Promise<void> {
  let separator = '{"data":[';
  const write: WriteItems = async (items) => {
    for (const item of items) {
      await out(`${separator}\n${JSON.stringify(item)}`);
      separator = ",";
    }
  };
  const end = (beside: string) => out(`${separator === "," ? "" : separator}\n]${beside}}\n`);
  try {
    const meta = await work(write);
    await end(meta === undefined ? "" : `,"meta":${JSON.stringify(meta)}`);
  } catch (thrown) {
    if (thrown instanceof OutputClosed || separator !== ",") throw thrown;
    const error = asAppError(thrown);
    await end(`,"error":${JSON.stringify(errorDocument(error))}`);
    throw new DocumentedFailure(error);
  }
}

/** Any other exception is a defect. The reader gets its message, and how to find more. */
export function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new AppError("internal", `unexpected: ${message === "" ? "an error without a message" : message}`, {
    hint: "this is a defect of Tocsin; run again with LOG_LEVEL=debug to see where it happened",
    cause: thrown,
  });
}

export const errorDocument = ({ code, message, hint }: AppError) => ({ code, message, hint });

/** Rewrites one line on stderr while a person waits. Other output removes it first. Silent without a terminal. */
function createProgressLine({ stderr, isTty, columns = 80 }: CliContext) {
  let shown = "";
  const rewrite = async (text: string) => {
    if (!isTty.stderr || text === shown) return;
    shown = text;
    await writeText(stderr, `\r\u001b[K${text}`);
  };
  return {
    update: (text: string) => rewrite(fitText(terminalText(text), columns - 1)),
    /** Must be called at the end of the wait, also after a failure. */
    clear: () => rewrite(""),
  };
}

/**
 * Characters that could move the cursor, change colours, or reorder or hide text become codes. Line breaks and tabs
 * become spaces, since a value is one cell or one line.
 */
export function terminalText(text: string): string {
  return text.replace(/[\t\n\r\u2028\u2029]+/g, " ").replace(unsafeCharacters, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xff ? `\\u{${code.toString(16)}}` : `\\x${code.toString(16).padStart(2, "0")}`;
  });
}

/** `terminalText` for a text of several lines. */
export function terminalLines(text: string): string {
  return text.split("\n").map(terminalText).join("\n");
}

/** C0 and C1 controls, bidirectional overrides and isolates, zero-width characters, lone surrogates. */
const unsafeCharacters =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|\p{Cs}/gu;

/** Cuts text to at most `width` columns. A cut text ends in `…`. Never splits a character. */
export function fitText(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  return width < 1 ? "" : `${firstColumns(text, width - 1)}…`;
}

/** Breaks between words. With `keepsWords` a wider word gets a line of its own, so an address can be copied. */
export function wrapText(text: string, width: number, { keepsWords = false } = {}): string[] {
  const lines: string[] = [];
  // The width is added up: measuring the line anew at each word takes seconds for a long line.
  let used = 0;
  for (const word of text.split(" ")) {
    const wordWidth = stringWidth(word);
    if (lines.length > 0 && used + 1 + wordWidth <= width) {
      lines.push(`${lines.pop()} ${word}`);
      used += 1 + wordWidth;
      continue;
    }
    const pieces = keepsWords || wordWidth <= width ? [word] : breakWord(stripVTControlCharacters(word), width);
    lines.push(...pieces);
    used = stringWidth(pieces.at(-1) ?? "");
  }
  return lines;
}

function breakWord(word: string, width: number): string[] {
  const pieces: string[] = [];
  for (let rest = word; rest !== ""; ) {
    const [first] = graphemesOf(rest);
    const piece = firstColumns(rest, width) || (first?.segment ?? rest);
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return pieces;
}

function firstColumns(text: string, width: number): string {
  let taken = "";
  let used = 0;
  for (const { segment } of graphemesOf(text)) {
    used += stringWidth(segment);
    if (used > width) break;
    taken += segment;
  }
  return taken;
}

/** Further lines begin `indent` columns from the left. Without a width nothing is broken. */
export function hangText(text: string, width: number | undefined, indent: number): string {
  if (width === undefined || width < indent + leastHanging) return text;
  return wrapText(text, width - indent, { keepsWords: true }).join(`\n${" ".repeat(indent)}`);
}

/** With fewer columns each line would have a single word, so the terminal breaks the line itself. */
const leastHanging = 16;
