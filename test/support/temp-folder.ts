import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { scratch } from "./scratch.ts";

/**
 * A folder of its own, removed also when a process that was just killed still writes there.
 *
 * @param atEnd takes what removes it. Default: it goes when the test ends.
 */
export function makeTempFolder(atEnd: (undo: () => void) => void = onTestFinished): string {
  const folder = mkdtempSync(join(scratch, "tocsin-test-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  return folder;
}
