import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import type { Now } from "../core/ports.ts";

/**
 * A file of zeros that is given up when the disk is full. In WAL mode even a DELETE and a checkpoint need room; what the
 * file gives back lets deliveries be recorded and the page be read while new alerts are refused.
 */
export interface Ballast {
  isSpent(): boolean;
  /** Gives the room back. False when it was spent already. */
  spend(): boolean;
  /** Lays it by again when there is room for it twice over; looks at most once a second. True when it is there. */
  restore(): boolean;
}

export function createBallast(
  options: { path: string; bytes: number },
  deps: { freeBytes: () => number; now: Now },
): Ballast {
  const { path, bytes } = options;
  let spent = false;
  let lookedAt = Number.NEGATIVE_INFINITY;
  if (bytes > 0 && sizeOf(path) !== bytes) spent = !write();

  function write(): boolean {
    if (deps.freeBytes() < bytes * 2) return false;
    try {
      writeZeros(path, bytes);
      return true;
    } catch {
      rmSync(path, { force: true });
      return false;
    }
  }

  return {
    isSpent: () => spent,
    spend() {
      if (spent) return false;
      spent = true;
      lookedAt = deps.now();
      rmSync(path, { force: true });
      return true;
    },
    restore() {
      if (deps.now() - lookedAt < 1000) return false;
      lookedAt = deps.now();
      if (bytes === 0 || write()) spent = false;
      return !spent;
    },
  };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? -1;
}

function writeZeros(path: string, bytes: number): void {
  const file = openSync(path, "w", 0o600);
  try {
    const zeros = new Uint8Array(1024 * 1024);
    for (let written = 0; written < bytes; ) {
      written += writeSync(file, zeros, 0, Math.min(zeros.length, bytes - written));
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
