import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { outputOf } from "./processes.ts";
import { quantile } from "./statistics.ts";

/** Ticks of all processors since the boot, and those that the machine's host gave to others. */
function readTicks(): [all: number, stolen: number] {
  const [, ...ticks] = (readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "").split(/\s+/).map(Number);
  return [ticks.slice(0, 8).reduce((sum, each) => sum + each, 0), ticks[7] ?? 0];
}

/** Returns a function for the share of time since then that the host gave to others. */
export function watchSteal(): () => number {
  const [allBefore, stolenBefore] = readTicks();
  return () => {
    const [all, stolen] = readTicks();
    return (stolen - stolenBefore) / Math.max(1, all - allBefore);
  };
}

/** Milliseconds for a write of 4 KiB with its sync. */
export function syncCost(folder: string): { p50: number; p99: number } {
  const file = openSync(join(folder, "sync"), "w");
  const page = Buffer.alloc(4096, 1);
  const times = Array.from({ length: 300 }, (_, index) => {
    const startedAt = performance.now();
    writeSync(file, page, 0, page.length, index * page.length);
    fsyncSync(file);
    return performance.now() - startedAt;
  });
  closeSync(file);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

export function describeMachine() {
  const changed = outputOf("git", "status", "--porcelain") === "" ? "" : " and changes";
  return {
    processor: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1e9),
    /** The load of the minute before: above 0.5 or so other programs are at work. */
    load: loadavg()[0] ?? 0,
    kernel: release(),
    node: process.versions.node,
    tocsin: (JSON.parse(readFileSync("package.json", "utf8")) as { version: string }).version,
    commit: `${outputOf("git", "rev-parse", "--short", "HEAD") || "unknown"}${changed}`,
    /** Empty: not installed. */
    alertmanager: /version ([\d.]+)/.exec(outputOf("prometheus-alertmanager", "--version"))?.[1] ?? "",
  };
}
