import { styleText } from "node:util";
import { AppError } from "../../core/errors.ts";
import type { Panel, Section } from "../../panels/panel.ts";
import { type CliContext, OutputClosed, writeText } from "./context.ts";
import { drawPanel } from "./draw-panel.ts";
import { asTyped } from "./own-command.ts";
import { fitText, terminalText } from "./terminal-text.ts";

export type StyleName = "bold" | "dim" | "red" | "green" | "yellow";
export type Style = (name: StyleName, text: string) => string;

/** Thrown after a failure whose JSON document is complete already: what is left is stderr and the exit status. */
export class DocumentedFailure extends AppError {
  constructor(error: AppError) {
    super(error.code, error.message, { hint: error.hint, cause: error.cause });
  }
}

/** What people read: a text as it stands, or what is drawn. */
export type Shown = Panel | Section | string;
type Meta = Record<string, unknown>;
type WriteItems = (items: readonly unknown[], forPeople: () => Shown) => Promise<void>;
type ListWork = (write: WriteItems) => Promise<Meta | undefined>;

export type Output = ReturnType<typeof openOutput>;

/**
 * What one run of a command says. With `--json`, stdout holds exactly one JSON document (`{"data": …}`, or `{"error": …}` written by
 * `runCli`); everything for people goes to stderr. Without it, stdout holds text for people.
 * @param json whether `--json` was given
 */
export function openOutput(context: CliContext, json: boolean) {
  const { now, ownCommand } = context;
  /** Colours for stdout: only on a terminal, unless `NO_COLOR` or `FORCE_COLOR` say otherwise. */
  const style = createStyle(context.env, context.isTty.stdout);
  const progress = createProgressLine(context);
  /** Columns of stdout's terminal; `undefined` when nothing has to fit. */
  const width = context.isTty.stdout ? context.columns : undefined;
  /** As `print` writes it. `all`: with what a panel folds away otherwise. */
  const draw = (shown: Shown, options?: { all?: boolean }): string =>
    typeof shown === "string" ? shown : drawPanel([shown].flat(), { style, width, now: now(), ownCommand, ...options });
  const out = async (text: string) => {
    await progress.clear();
    await writeText(context.stdout, text);
  };
  return {
    ...{ json, style, width, now, ownCommand, draw, progress },
    /** The command's result, once: `data` for machines, or what `forPeople` makes. */
    result: async (data: unknown, forPeople: () => Shown | Promise<Shown>, meta?: Meta): Promise<void> =>
      out(json ? `${JSON.stringify(meta === undefined ? { data } : { data, meta })}\n` : draw(await forPeople())),
    /**
     * A result of unknown length, which `work` writes bit by bit, so that memory stays flat: items for machines, or what
     * `forPeople` makes. `work` returns the `meta`. With `--json` it is one document even if `work` fails: an `error` is then next
     * to the items.
     */
    list: async (work: ListWork): Promise<void> => {
      if (json) await writeJsonList(out, work);
      else await work((_, forPeople) => out(draw(forPeople())));
    },
    /** For people on stdout. Does nothing with `--json`. */
    print: async (shown: Shown): Promise<void> => {
      if (!json) await out(draw(shown));
    },
    /** One line on stderr: something worth knowing besides the result. */
    note: async (text: string): Promise<void> => {
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

/** An exception that nobody expected is a defect; the reader gets its message and where to find more. */
export function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new AppError("internal", `unexpected: ${message === "" ? "an error without a message" : message}`, {
    hint: "this is a defect of Tocsin; run again with LOG_LEVEL=debug to see where it happened",
    cause: thrown,
  });
}

/** The content of `error` in the one JSON document. */
export const errorDocument = ({ code, message, hint }: AppError) => ({ code, message, hint });

/**
 * A line on stderr that is rewritten in place while a person waits; silent where stderr is no terminal. One terminal has one such line:
 * other output removes it first, so that texts do not run together.
 */
function createProgressLine({ stderr, isTty, columns = 80 }: CliContext) {
  let shown = "";
  const rewrite = async (text: string) => {
    if (!isTty.stderr || text === shown) return;
    shown = text;
    await writeText(stderr, `\r\u001b[K${text}`);
  };
  return {
    update: (text: string) => rewrite(fitText(terminalText(text), columns - 1)),
    /** Removes the line. To be called when the waiting is over, also after a failure. */
    clear: () => rewrite(""),
  };
}
