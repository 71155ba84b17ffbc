import { execFileSync } from "node:child_process";
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { quantile } from "./statistics.ts";

/** Ticks of all processors since the boot. `stolen`: those that the machine's host gave to others. */
export function stolenSoFar(): { all: number; stolen: number } {
  const [, ...ticks] = (readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "").split(/\s+/);
  const numbers = ticks.slice(0, 8).map(Number);
  return { all: numbers.reduce((sum, each) => sum + each, 0), stolen: numbers[7] ?? 0 };
}

export function stealSince(before: { all: number; stolen: number }): number {
  const now = stolenSoFar();
  return (now.stolen - before.stolen) / Math.max(1, now.all - before.all);
}

/** File systems in memory: a sync costs nothing there, so figures would be too good. */
const inMemory = new Map([
  [0x01021994, "tmpfs"],
  [0x858458f6, "ramfs"],
]);

/** Undefined for a disk. */
export function memoryFileSystemOf(folder: string): string | undefined {
  return inMemory.get(statfsSync(folder).type);
}

/** Milliseconds for a write of 4 KiB with its sync. */
export function syncCost(folder: string): { p50: number; p99: number } {
  const path = join(folder, `sync-${process.pid}`);
  const file = openSync(path, "w");
  const page = Buffer.alloc(4096, 1);
  const times = Array.from({ length: 300 }, (_, index) => {
    const startedAt = performance.now();
    writeSync(file, page, 0, page.length, index * page.length);
    fsyncSync(file);
    return performance.now() - startedAt;
  });
  closeSync(file);
  rmSync(path);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

export type Machine = ReturnType<typeof describeMachine>;

export function describeMachine() {
  const run = (file: string, ...input: string[]) => {
    try {
      return execFileSync(file, input, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
    } catch {
      return "";
    }
  };
  const changed = run("git", "status", "--porcelain") === "" ? "" : " and changes";
  return {
    processor: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1e9),
    /** The load of the minute before: above 0.5 or so other programs are at work. */
    load: loadavg()[0] ?? 0,
    kernel: release(),
    node: process.versions.node,
    tocsin: (JSON.parse(readFileSync("package.json", "utf8")) as { version: string }).version,
    commit: `${run("git", "rev-parse", "--short", "HEAD") || "unknown"}${changed}`,
    /** Empty: not installed. */
    alertmanager: /version ([\d.]+)/.exec(run("prometheus-alertmanager", "--version"))?.[1] ?? "",
  };
}
