import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { endChild } from "../../workshop/children.ts";

/** Where a process may run: what is measured on the first core and all else on the second, or both on both. */
export type Place = "server" | "beside" | "anywhere";

const cores: Record<Place, string> = { server: "0", beside: "1", anywhere: "0,1" };

/** Whether the server can have a core for itself. */
export const canPin = availableParallelism() > 1 && hasCommand("taskset");

export function hasCommand(name: string): boolean {
  try {
    execFileSync("which", [name], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** This process, too, keeps away from the server's core. */
export function stepAside(): void {
  if (canPin) execFileSync("taskset", ["-a", "-c", "-p", cores.beside, String(process.pid)], { stdio: "ignore" });
}

const running = new Set<ChildProcess>();
const folders = new Set<string>();

export interface StartOptions {
  place: Place;
  env?: Record<string, string>;
  /** With `ipc` the child talks by messages. Default `pipe`: by its standard output. */
  channel?: "ipc" | "pipe";
  /** It does its work and ends. Default: that it ends by itself is reported. */
  mayEnd?: boolean;
}

/** What it writes to its standard error is kept for `failureOf`. */
export function start(
  command: string[],
  { place, env = {}, channel = "pipe", mayEnd = false }: StartOptions,
): ChildProcess {
  const [file = "", ...rest] = canPin ? ["taskset", "-c", cores[place], ...command] : command;
  const child = spawn(file, rest, {
    // An option of the caller's Node, such as one of tsx, must not slow down what is measured.
    env: { ...process.env, NODE_OPTIONS: "", ...env },
    stdio: channel === "ipc" ? ["ignore", "inherit", "inherit", "ipc"] : ["ignore", "pipe", "pipe"],
    // Ctrl-C in a terminal goes to the whole process group; who ends when is said here alone.
    detached: true,
  });
  running.add(child);
  let lastWords = "";
  child.stderr?.on("data", (chunk) => {
    lastWords = (lastWords + chunk).slice(-2_000);
  });
  child.once("exit", (code, signal) => {
    running.delete(child);
    if (!ending.has(child) && (!mayEnd || code !== 0))
      console.error(`\n${command.join(" ")} ended by itself (${code ?? signal})\n${lastWords}`);
  });
  return child;
}

/** The first line of its standard output. @throws when it ends without one, which it has to do in a minute */
export async function firstLine(child: ChildProcess): Promise<string> {
  let text = "";
  const lastResort = setTimeout(() => child.kill("SIGKILL"), 60_000);
  lastResort.unref();
  for await (const chunk of child.stdout ?? []) {
    clearTimeout(lastResort);
    text += chunk;
    const end = text.indexOf("\n");
    if (end >= 0) {
      child.stdout?.resume();
      return text.slice(0, end);
    }
  }
  throw new Error(`${child.spawnargs.join(" ")} ended before it was ready`);
}

const ending = new Set<ChildProcess>();

export async function end(child: ChildProcess): Promise<void> {
  ending.add(child);
  await endChild(child, [["SIGKILL", 15_000]]);
}

/** On the disk of `root`, never under a `/tmp` that may be memory. */
export function createFolder(root: string): string {
  const folder = mkdtempSync(join(root, "tocsin-bench-"));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

/** Each wait for one of them ends with an error then. */
export function killAll(): void {
  for (const child of running) {
    ending.add(child);
    child.kill("SIGKILL");
  }
}

/** At the end, however it comes: nothing runs on and nothing is left on the disk. */
export function cleanUp(): void {
  killAll();
  for (const folder of folders) removeFolder(folder);
}

/** Processor time of all threads so far, in milliseconds, in the steps of the kernel's clock (10 ms). */
export function cpuOf(pid: number): number {
  const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user = 0, system = 0] = fields.split(" ").slice(11, 13).map(Number);
  return 10 * (user + system);
}

/** What a process has had written to the disk so far. */
export function bytesWritten(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

/** Processor time as `cpuOf`, with all processes that it has started and that run, or that it has outlived. */
export function cpuOfAll(pid: number): number {
  const stats = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [head = "", fields = ""] = readFileSync(`/proc/${name}/stat`, "utf8").split(") ");
        const [, parent = 0, ...others] = fields.split(" ").map(Number);
        const [user = 0, system = 0, ofChildren = 0, systemOfChildren = 0] = others.slice(9, 13);
        const own = Number.parseInt(head, 10);
        if (own === pid) return [user + system + ofChildren + systemOfChildren];
        return parent === pid ? [user + system] : [];
      } catch {
        // It has just ended.
        return [];
      }
    });
  return 10 * stats.reduce((sum, ticks) => sum + ticks, 0);
}

/** Megabytes (10^6) in memory now, and at most since its start. */
export function memoryOf(pid: number): { now: number; most: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (name: string) => (Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]) * 1024) / 1e6;
  return { now: of("VmRSS"), most: of("VmHWM") };
}
