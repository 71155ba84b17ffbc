import { PassThrough } from "node:stream";
import { runCli } from "../../src/cli/program.ts";
import type { CliContext } from "../../src/cli/shell/context.ts";
import { readingThreadEntry } from "./reader.ts";

export interface CliRun {
  status: 0 | 1 | 2;
  stdout: string;
  stderr: string;
  /** The one JSON document of stdout. Throws when stdout is not exactly one. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails by itself when that is not there
  json(): any;
}

/** A context without a terminal whose time does not pass: `sleep` moves `now` on at once. */
export function createTestContext(overrides: Partial<CliContext> = {}): {
  context: CliContext;
  stdout(): string;
  stderr(): string;
} {
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
    startAgain: () => {
      throw new Error("a test in this process starts none");
    },
    startApart: () => {
      throw new Error("a test in this process starts none");
    },
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

function collector(chunks: string[]): CliContext["stdout"] {
  return {
    write: (text, callback) => {
      chunks.push(typeof text === "string" ? text : Buffer.from(text).toString("latin1"));
      callback();
    },
  };
}
