import type { ChildProcess } from "node:child_process";
import type { Stream } from "node:stream";
import type { Now, Random } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";

/** Where a command's text goes: `process.stdout` and `process.stderr`, or a collector in a test. */
export interface TextSink {
  /**
   * Calls back when the text was handed over, or with the error (`EPIPE` when nobody reads any more). Bytes are for
   * what must come out as it came in (`alerts show --raw`).
   */
  write(text: string | Uint8Array, callback: (error?: Error | null) => void): unknown;
}

/**
 * All that a command may know of the process it runs in. Commands touch nothing else of `process`, so a test runs them
 * in its own process with `runCli(argv, context)`.
 */
export interface CliContext {
  stdout: TextSink;
  stderr: TextSink;
  stdin: NodeJS.ReadableStream;
  /** `process.env`, with what a `.env` file in the working directory adds. */
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** See `findOwnCommand`. */
  ownCommand: string;
  /** The id of this process. */
  pid: number;
  /**
   * Starts this program anew as a child, with the environment that this process was started with (without `.env`, which
   * the child reads as it then is) and the code that then lies at its place. It has standard input, output and error of
   * this process, `socket` as descriptor 3, and learns of this process's end (see `endWithParent`). Without a socket it
   * has none of these, and what it writes can be read here.
   * @throws NodeJS.ErrnoException when the system starts no process; other reasons for that come as its event `error`.
   */
  startAgain(args: readonly string[], socket?: number | Stream): ChildProcess;
  /**
   * Starts this program anew as a child that shares neither environment nor folder with this process, nor the Ctrl-C of its
   * terminal. It learns of this process's end (see `endWithParent`), and what it writes can be read here.
   * @throws as `startAgain`
   */
  startApart(args: readonly string[], place: { cwd: string; env: Readonly<Record<string, string>> }): ChildProcess;
  /**
   * From now on the end of the process that called `startAgain` or `startApart` counts as a signal to stop, and SIGHUP,
   * which a closed terminal sends to both, is left to that one.
   */
  endWithParent(): void;
  /** For the process that called one of them, as its event `message`; nothing when there is none. */
  tellParent(message: object): void;
  /** Calls at each SIGHUP, which is no longer a signal to stop, but for one of a terminal that was closed. */
  onHangUp(listener: () => void): void;
  /** Whether a person sits at each end. */
  isTty: { stdin: boolean; stdout: boolean; stderr: boolean };
  /** Width of the terminal in columns; `undefined` when stdout is no terminal: then nothing is cut to fit. */
  columns?: number;
  /** See `BodyReaderOptions`. */
  readingThreadEntry?: URL;
  /** See `RelayOptions`. */
  storeThreadEntry?: URL;
  now: Now;
  random: Random;
  /** Resolves after `ms`; rejects with the signal's reason when that comes first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP, with an `AppError("cancelled")` as its reason. */
  signal: AbortSignal;
  /** For a command that has printed its result and yet did not succeed, e.g. `doctor` with findings. Default 0. */
  setExitStatus(status: 0 | 1 | 2): void;
}

/** Thrown when nobody reads stdout any more (`tocsin … | head`): the command ends quietly and counts as done. */
export class OutputClosed extends Error {
  constructor() {
    super("nobody reads the output any more");
    this.name = "OutputClosed";
  }
}

/**
 * Hands text over and waits until it was taken, so that a fast writer never outruns a slow reader.
 * @throws OutputClosed, and AppError `failed` when it cannot be written.
 */
export function writeText(sink: TextSink, text: string | Uint8Array): Promise<void> {
  if (text.length === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    sink.write(text, (error) => {
      if (!error) resolve();
      else reject(toWriteError(error));
    });
  });
}

/** Resolves when all that was handed over before is out, or cannot be written. */
export function untilTaken(sink: TextSink): Promise<void> {
  return new Promise((resolve) => sink.write("", () => resolve()));
}

function toWriteError(cause: Error): Error {
  const code = "code" in cause ? String(cause.code) : "";
  if (["EPIPE", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"].includes(code)) return new OutputClosed();
  const isFull = code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
  const why = isFull ? `no room is left where it goes (${code})` : code || cause.message;
  const hint = isFull ? "Free space there, or write it elsewhere." : undefined;
  return new AppError("failed", `The output cannot be written: ${why}.`, { hint, cause });
}
