import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";

/** The cores of a process: the measured one has the first core, the others the second, or both share both. */
export type Place = "server" | "beside" | "anywhere";

const cores: Record<Place, string> = { server: "0", beside: "1", anywhere: "0,1" };

/** What a command prints. Empty: it is missing. */
export function outputOf(file: string, ...input: string[]): string {
  return spawnSync(file, input, { encoding: "utf8" }).stdout?.trim() ?? "";
}

/** Moves this process to these cores. Those that it starts without a place of their own begin there, too. */
export function moveTo(place: Place): void {
  execFileSync("taskset", ["-a", "-c", "-p", cores[place], String(process.pid)], { stdio: "ignore" });
}

const running = new Set<ChildProcess>();
const folders = new Set<string>();

export function start(command: string[], place: Place, env: Record<string, string>) {
  const child = spawn("taskset", ["-c", cores[place], ...command], {
    // Options of the caller's Node, such as those of tsx, must not slow the measured process.
    env: { ...process.env, NODE_OPTIONS: "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // Ctrl-C in a terminal goes to the whole process group, but this module alone decides who ends.
    detached: true,
  });
  running.add(child);
  let lastWords = "";
  child.stderr.on("data", (chunk) => {
    lastWords = (lastWords + chunk).slice(-2_000);
  });
  child.once("exit", (code, signal) => {
    running.delete(child);
    if (!child.killed) console.error(`\n${command.join(" ")} ended by itself (${code ?? signal})\n${lastWords}`);
  });
  return child;
}

/** Kills all children, so each wait for one ends with an error. */
export function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** Runs with a new folder in this checkout, as `/tmp` may be in memory. It is removed afterwards. */
export async function inFolder<T>(run: (folder: string) => T): Promise<Awaited<T>> {
  const folder = mkdtempSync(resolve("tocsin-bench-"));
  folders.add(folder);
  try {
    return await run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    folders.delete(folder);
  }
}

/** Cleans up at any end: no process and no data remain. */
export function cleanUp(): void {
  killAll();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

const statOf = (pid: number | string) =>
  readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ").map(Number) ?? [];

/**
 * The processor time of a process and its children, running or ended, in microseconds, in the steps of the kernel's
 * clock (10 ms).
 */
export function cpuOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").slice(0, -1);
  const ofChildren = children.flatMap((child) => {
    try {
      return statOf(child).slice(11, 13);
    } catch {
      // The process has just ended.
      return [];
    }
  });
  return 10_000 * [...statOf(pid).slice(11, 15), ...ofChildren].reduce((sum, ticks) => sum + ticks, 0);
}

function numberIn(pid: number, file: "io" | "status", name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/${file}`, "utf8"))?.[1]);
}

/** The bytes that a process has had written to the disk. */
export const bytesWritten = (pid: number) => numberIn(pid, "io", "write_bytes");

/** Megabytes (10^6) in memory: now, and the most since its start. */
export function memoryOf(pid: number): { now: number; most: number } {
  const of = (name: string) => (numberIn(pid, "status", name) * 1024) / 1e6;
  return { now: of("VmRSS"), most: of("VmHWM") };
}
