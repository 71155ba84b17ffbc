import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { endChild } from "../../workshop/children.ts";

/** The cores of a process: the measured one has the first core, the others the second, or both share both. */
export type Place = "server" | "beside" | "anywhere";

const cores: Record<Place, string> = { server: "0", beside: "1", anywhere: "0,1" };

/** Whether the server can have its own core. */
export const canPin = availableParallelism() > 1 && hasCommand("taskset");

export function hasCommand(name: string): boolean {
  try {
    execFileSync("which", [name], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Keeps this process off the server's core. */
export function stepAside(): void {
  if (canPin) execFileSync("taskset", ["-a", "-c", "-p", cores.beside, String(process.pid)], { stdio: "ignore" });
}

const running = new Set<ChildProcess>();
const folders = new Set<string>();

export interface StartOptions {
  place: Place;
  env?: Record<string, string>;
  /** `ipc`: the child sends messages. Default `pipe`: it writes to its standard output. */
  channel?: "ipc" | "pipe";
  /** The child does its work and ends. Default: its end is reported. */
  mayEnd?: boolean;
}

/** `failureOf` has the text of the child's standard error. */
export function start(
  command: string[],
  { place, env = {}, channel = "pipe", mayEnd = false }: StartOptions,
): ChildProcess {
  const [file = "", ...rest] = canPin ? ["taskset", "-c", cores[place], ...command] : command;
  const child = spawn(file, rest, {
    // Options of the caller's Node, such as those of tsx, must not slow the measured process.
    env: { ...process.env, NODE_OPTIONS: "", ...env },
    stdio: channel === "ipc" ? ["ignore", "inherit", "inherit", "ipc"] : ["ignore", "pipe", "pipe"],
    // Ctrl-C in a terminal goes to the whole process group, but this module alone decides who ends.
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

/** The first line of its standard output. @throws when it ends without one, or after a minute */
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

/** On the disk of `root`, as `/tmp` may be in memory. */
export function createFolder(root: string): string {
  const folder = mkdtempSync(join(root, "tocsin-bench-"));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

/** Kills all children, so each wait for one ends with an error. */
export function killAll(): void {
  for (const child of running) {
    ending.add(child);
    child.kill("SIGKILL");
  }
}

/** Cleans up at any end: no process and no data remain. */
export function cleanUp(): void {
  killAll();
  for (const folder of folders) removeFolder(folder);
}

/** The processor time of all threads, in milliseconds, in the steps of the kernel's clock (10 ms). */
export function cpuOf(pid: number): number {
  const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user = 0, system = 0] = fields.split(" ").slice(11, 13).map(Number);
  return 10 * (user + system);
}

/** The bytes that a process has had written to the disk. */
export function bytesWritten(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

/** Processor time as `cpuOf`, with all its running or ended children. */
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
        // The process has just ended.
        return [];
      }
    });
  return 10 * stats.reduce((sum, ticks) => sum + ticks, 0);
}

/** Megabytes (10^6) in memory: now, and the most since its start. */
export function memoryOf(pid: number): { now: number; most: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (name: string) => (Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]) * 1024) / 1e6;
  return { now: of("VmRSS"), most: of("VmHWM") };
}
