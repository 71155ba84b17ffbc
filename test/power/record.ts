import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { longestString, tracedCalls } from "./trace.ts";

const bin = fileURLToPath(new URL("../../bin/tocsin.js", import.meta.url));

export type Recorder = Awaited<ReturnType<typeof startRecorder>>;
export type RecordedRelay = Awaited<ReturnType<Recorder["serve"]>>;

/** Parts of a recording's folder. */
export const recordingPaths = (folder: string) => ({
  trace: join(folder, "trace"),
  disk: join(folder, "disk"),
  printed: join(folder, "printed"),
  /** What the load has sent, and what it was answered. */
  sent: join(folder, "sent.json"),
  /** What the disk held at the beginning, and what had been promised by then; absent: nothing. */
  found: join(folder, "found"),
  earlier: join(folder, "earlier.json"),
});

/**
 * A folder in which programs run under strace, all in one trace. Nothing else may write to it.
 * @throws an error that says how to get strace where it is missing or may not trace.
 */
export async function startRecorder(path: string) {
  mkdirSync(path, { recursive: true });
  // As the kernel names it, and with it the trace.
  const folder = realpathSync(path);
  const { trace, disk, printed } = recordingPaths(folder);
  mkdirSync(disk, { recursive: true });
  mkdirSync(printed, { recursive: true });
  const options = ["-f", "--seccomp-bpf", "-y", "-xx", "-qq", "--signal=none", "-s", String(longestString)];
  const args = [...options, "-o", trace, "-e", `trace=${tracedCalls.map((name) => `?${name}`).join(",")}`, "sh"];
  const shell = spawn("strace", args, { cwd: folder, stdio: ["pipe", "pipe", "pipe"] });
  const ask = talkTo(shell);
  await ask("echo ready");
  // Two levels that are not there yet, as after a `mkdir` that nobody has synced.
  const dataDir = join(disk, "state", "data");
  let serial = 0;

  /** Runs in the background; its standard output is recorded. */
  async function launch(program: string[], env: Record<string, string>) {
    serial += 1;
    const out = join(printed, `${serial}.out`);
    const settings = Object.entries({ DATA_DIR: dataDir, UV_USE_IO_URING: "0", ...env });
    const words = ["env", ...settings.map(([key, value]) => `${key}=${value}`), process.execPath, ...program];
    const command = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const log = join(folder, `${serial}.log`);
    const pid = Number(await ask(`${command} >'${out}' 2>'${log}' </dev/null & echo $!`));
    return {
      pid,
      read: () => (existsSync(out) ? readFileSync(out, "utf8") : ""),
      async ended() {
        const status = await ask(`wait ${pid}; echo $?`);
        if (status !== "0") throw new Error(`${program.join(" ")} ended with ${status}: ${readFileSync(log, "utf8")}`);
      },
    };
  }

  async function run(program: string[], env: Record<string, string> = {}): Promise<void> {
    await (await launch(program, env)).ended();
  }

  return {
    /** Below `disk` lies everything that the power cut is to be survived by. */
    ...{ disk, dataDir },
    /** Starts a relay; resolves when it listens. */
    async serve(env: Record<string, string>) {
      const { pid, read, ended } = await launch([bin, "serve", "--json"], { PORT: "0", LOG_LEVEL: "warn", ...env });
      while (!read().includes("\n")) {
        if (!existsSync(`/proc/${pid}`)) await ended();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const { url } = (JSON.parse(read()) as { data: { url: string } }).data;
      const secret = (name: string) => readFileSync(join(dataDir, "secrets", name), "utf8").trim();
      return {
        url,
        hookUrl: `${url}/hooks/${secret("webhook-secret")}`,
        adminToken: secret("admin-token"),
        async stop() {
          process.kill(pid, "SIGTERM");
          await ended();
        },
      };
    },
    /** Runs a command of the program to its end. */
    command: (command: string[], env?: Record<string, string>) => run([bin, ...command], env),
    /** Runs a script of this folder to its end; what it prints is part of the recording. */
    script: (name: string, more: string[]) => run([fileURLToPath(new URL(name, import.meta.url)), ...more]),
    async end() {
      const exited = once(shell, "exit");
      shell.stdin?.end("exit\n");
      await exited;
    },
  };
}

/** Gives the shell a line and returns the line that it answers. */
function talkTo(shell: ChildProcess): (line: string) => Promise<string> {
  const lines = createInterface({ input: shell.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  let complaints = "";
  shell.stderr?.on("data", (chunk) => {
    complaints += chunk;
  });
  const failed = new Promise<never>((_, reject) => {
    shell.on("error", () => reject(new Error("strace is missing: sudo apt-get install strace")));
    shell.on("exit", (status) => reject(new Error(`strace ended with ${status}: ${complaints}`)));
  });
  failed.catch(() => {});
  shell.stdin?.on("error", () => {});
  return async (line) => {
    shell.stdin?.write(`${line}\n`);
    const { value } = await Promise.race([lines.next(), failed]);
    return value as string;
  };
}

/** What the load knows: by id of an alert, the body that it came with. */
export interface SentRecord {
  bodies: string[];
  accepted: Record<string, { body: string; items: number }>;
}

export function saveSent(folder: string, record: SentRecord): void {
  writeFileSync(recordingPaths(folder).sent, JSON.stringify(record));
}

export const loadSent = (folder: string): SentRecord =>
  JSON.parse(readFileSync(recordingPaths(folder).sent, "utf8")) as SentRecord;
