import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { onTestFinished } from "vitest";
import { runCli } from "../../src/cli/program.ts";
import type { CliContext } from "../../src/cli/shell/context.ts";
import { AppError } from "../../src/core/errors.ts";
import { readingThreadEntry } from "./reader.ts";

export interface CliRun {
  status: 0 | 1 | 2;
  stdout: string;
  stderr: string;
  /** The one JSON document of stdout. Throws when stdout is not exactly one. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails by itself when that is not there
  json(): any;
}

const startsNone = () => {
  throw new Error("a test in this process starts none");
};

/** A context without a terminal whose time does not pass: `sleep` moves `now` on at once. */
export function createTestContext(overrides: Partial<CliContext> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  let at = Date.UTC(2026, 10, 21, 12);
  const context: CliContext = {
    stdout: collector(out),
    stderr: collector(err),
    stdin: new PassThrough(),
    env: {},
    cwd: process.cwd(),
    ownCommand: "tocsin",
    pid: process.pid,
    startAgain: startsNone,
    startApart: startsNone,
    endWithParent() {},
    tellParent() {},
    onHangUp() {},
    isTty: { stdin: false, stdout: false, stderr: false },
    readingThreadEntry,
    now: () => at,
    random: () => 0.5,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      at += ms;
    },
    signal: new AbortController().signal,
    setExitStatus: () => {},
    ...overrides,
  };
  return { context, stdout: () => out.join(""), stderr: () => err.join("") };
}

/** Runs one command line in this process: `await runTocsin(["upstream", "account"], { env })`. */
export async function runTocsin(argv: string[], overrides: Partial<CliContext> = {}): Promise<CliRun> {
  const { env } = overrides;
  // At the usual port somebody else's relay may run on this machine.
  const apart = env && { PORT: "1", ...env };
  const { context, stdout, stderr } = createTestContext({ ...overrides, ...(apart && { env: apart }) });
  const status = await runCli(argv, context);
  return { status, stdout: stdout(), stderr: stderr(), json: () => JSON.parse(stdout()) };
}

/** Standard input that holds this text, and ends. */
export const stdinOf = (text: string): PassThrough => new PassThrough().end(text);

const collector = (chunks: string[]): CliContext["stdout"] => ({
  write: (text, callback) => {
    chunks.push(typeof text === "string" ? text : Buffer.from(text).toString("latin1"));
    callback();
  },
});

/** A program as a process of its own, which ends with the test at the latest: what it has said so far, and at its end. */
export function startCommand([file = "", ...args]: string[], { env, ...options }: SpawnOptions = {}) {
  const given: SpawnOptions = { stdio: ["ignore", "pipe", "pipe"], ...options };
  const child: ChildProcess = spawn(file, args, { ...given, env: { PATH: process.env.PATH, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.setEncoding("utf8").on("data", (chunk: string) => {
      said[name] += chunk;
    });
  const ended = once(child, "close").then(([status]) => ({ status: status as number | null, ...said }));
  return { child, said, ended };
}

/** Node with these arguments, in the same way. */
export const startProgram = (argv: string[], options?: SpawnOptions) =>
  startCommand([process.execPath, ...argv], options);

/** Starts one command line in this process, by the real clock. It ends with the test at the latest. */
export function startTocsin(argv: string[], overrides: Partial<CliContext> = {}) {
  const stopping = new AbortController();
  const listeners = new Set<() => void>();
  let all = "";
  const { context, stdout, stderr } = createTestContext({
    now: Date.now,
    sleep: (ms, signal) => delay(ms, undefined, { signal }),
    signal: stopping.signal,
    ...overrides,
  });
  const note = (text: unknown) => {
    all += text;
    for (const listener of listeners) listener();
  };
  const heard = (sink: CliContext["stdout"]): CliContext["stdout"] => {
    // Questions are drawn on a stream.
    if (sink instanceof PassThrough) return sink.on("data", note);
    return {
      write(text, callback) {
        const result = sink.write(text, callback);
        note(text);
        return result;
      },
    };
  };
  const ended = runCli(argv, { ...context, stdout: heard(context.stdout), stderr: heard(context.stderr) }).then(
    (status): CliRun => ({ status, stdout: stdout(), stderr: stderr(), json: () => JSON.parse(stdout()) }),
  );
  const stop = () => {
    stopping.abort(new AppError("cancelled", "stopped by SIGINT"));
    return ended;
  };
  onTestFinished(async () => void (await stop()));
  return {
    /** Resolves when stdout and stderr together hold it; it must not end before. */
    shows: (text: string | RegExp) =>
      new Promise<void>((resolve, reject) => {
        const look = () => {
          if (!all.match(text)) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
        void ended.then(() => reject(new Error(`it ended without ${text}:\n${all}`)));
      }),
    /** What it has written to stdout and stderr, as it came. */
    output: () => all,
    stdout,
    /** Resolves when it ends by itself. */
    ended,
    /** Ctrl-C. */
    stop,
  };
}

/**
 * A person at a terminal who answers each question as it comes: by keys, or by an act whose result, if any, are the keys. Later
 * questions are looked for behind the one that was answered.
 */
export function personWho(...answers: [question: string | RegExp, keys: string | (() => unknown)][]) {
  const [stdin, stderr] = [new PassThrough(), new PassThrough()];
  let said = "";
  let all = "";
  stderr.on("data", (chunk) => {
    const words = stripVTControlCharacters(String(chunk));
    all += words;
    said += words;
    const [question, keys] = answers[0] ?? [];
    if (question === undefined || !said.match(question)) return;
    answers.shift();
    said = "";
    setImmediate(async () => {
      const typed = typeof keys === "function" ? await keys() : keys;
      if (typeof typed === "string") stdin.write(typed);
    });
  });
  return {
    terminal: { stdin, stderr, isTty: { stdin: true, stdout: false, stderr: true } },
    /** What was said to the person. */
    said: () => all,
    /** Questions that were not put. */
    unasked: () => answers.map(([question]) => question),
  };
}
