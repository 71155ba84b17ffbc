import type { ChildProcess } from "node:child_process";
import type { Stream } from "node:stream";
import type { Now, Random } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";

/** `process.stdout` and `process.stderr`, or a collector in a test. */
export interface TextSink {
  /** Calls back when the text was taken, or with the error (`EPIPE` when nobody reads any more). */
  write(text: string | Uint8Array, callback: (error?: Error | null) => void): unknown;
}

/** The process as commands know it. They use nothing else of `process`, so a test can run them in its own process. */
export interface CliContext {
  stdout: TextSink;
  stderr: TextSink;
  stdin: NodeJS.ReadableStream;
  /** `process.env`, with the additions of a `.env` file in the working directory. */
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  ownCommand: string;
  pid: number;
  /**
   * Starts this program anew as a child, with the code that is now on disk. Its environment is this process's original
   * one, without `.env`, which the child reads itself. With `socket` as descriptor 3 it shares standard input, output
   * and error. Otherwise it has none, and its output can be read here. It hears of this process's end (see
   * `endWithParent`).
   * @throws NodeJS.ErrnoException when the system starts no process; other reasons for that come as its event `error`.
   */
  startAgain(args: readonly string[], socket?: number | Stream): ChildProcess;
  /** Like `startAgain`, with its own environment and folder, and without the Ctrl-C of the terminal. */
  startApart(args: readonly string[], place: { cwd: string; env: Readonly<Record<string, string>> }): ChildProcess;
  /** The end of the parent process now counts as a signal to stop. SIGHUP is left to the parent: both get it. */
  endWithParent(): void;
  /** Sends an event `message` to the process that started this one. Does nothing where that left no channel. */
  tellParent(message: object): void;
  /** Calls the listener at each SIGHUP. Only the SIGHUP of a closed terminal still stops the command. */
  onHangUp(listener: () => void): void;
  isTty: { stdin: boolean; stdout: boolean; stderr: boolean };
  /** Columns of the terminal. Undefined when stdout is no terminal: then no text is cut. */
  columns?: number;
  readingThreadEntry?: URL;
  storeThreadEntry?: URL;
  now: Now;
  random: Random;
  /** Resolves after `ms`. Rejects with the signal's reason when that comes first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP, with an `AppError("cancelled")` as its reason. */
  signal: AbortSignal;
  /** For a command that has printed its result and still did not succeed, e.g. `doctor` with findings. Default 0. */
  setExitStatus(status: 0 | 1 | 2): void;
}

/** Thrown when nobody reads stdout any more (`tocsin … | head`): the command ends silently and counts as done. */
export class OutputClosed extends Error {
  constructor() {
    super("nobody reads the output any more");
    this.name = "OutputClosed";
  }
}

/** Waits for a slow reader, so memory does not fill. @throws OutputClosed, and AppError `failed` */
export function writeText(sink: TextSink, text: string | Uint8Array): Promise<void> {
  if (text.length === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    sink.write(text, (error) => {
      if (!error) resolve();
      else reject(toWriteError(error));
    });
  });
}

/** Resolves when all earlier text was taken, or cannot be written. */
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
