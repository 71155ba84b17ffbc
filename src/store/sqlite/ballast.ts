import { randomFillSync } from "node:crypto";
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import type { Now } from "../../core/clock.ts";

/** A file that is removed when the disk is full. In its room deliveries are recorded, as even a DELETE needs room. */
export class Ballast {
  readonly #path: string;
  readonly #bytes: number;
  readonly #deps: { freeBytes: () => number; now: Now };
  #spent: boolean;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** Looks for the file, and writes nothing: call `restore` when the database is open. `bytes` 0: no ballast. */
  constructor({ path, bytes }: { path: string; bytes: number }, deps: { freeBytes: () => number; now: Now }) {
    this.#path = path;
    this.#bytes = bytes;
    this.#deps = deps;
    this.#spent = bytes > 0 && sizeOf(path) !== bytes;
  }

  /** The room is not reserved: it was given back, or the disk had none for it. */
  isSpent(): boolean {
    return this.#spent;
  }

  /** Gives the room back. False when it was spent already. */
  spend(): boolean {
    if (this.#spent) return false;
    this.#spent = true;
    this.#lookedAt = this.#deps.now();
    this.#remove();
    return true;
  }

  /** Reserves the room again when the disk has twice as much. Looks at most once a second. True when it is reserved. */
  restore(): boolean {
    if (!this.#spent) return true;
    const now = this.#deps.now();
    // If the clock was set back, this must not wait until the old time returns.
    if (now >= this.#lookedAt && now - this.#lookedAt < 1000) return false;
    this.#lookedAt = now;
    this.#spent = this.#bytes > 0 && !this.#write();
    return !this.#spent;
  }

  #write(): boolean {
    try {
      if (this.#deps.freeBytes() < this.#bytes * 2) return false;
      fillFile(this.#path, this.#bytes);
      return true;
    } catch {
      // Without the whole file the disk counts as full. The next try is a second later.
      this.#remove();
      return false;
    }
  }

  #remove(): void {
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // A file that cannot be removed gives no room back. The next write then fails and reports it.
    }
  }
}

/** 0 for a file that does not exist. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Random bytes: zeros take no room on a compressing file system, and would give none back. */
function fillFile(path: string, bytes: number): void {
  const file = openSync(path, "w", 0o600);
  try {
    const block = new Uint8Array(Math.min(bytes, 1024 * 1024));
    for (let written = 0; written < bytes; ) {
      randomFillSync(block);
      written += writeSync(file, block, 0, Math.min(block.length, bytes - written));
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
