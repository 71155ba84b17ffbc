import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder of its own, gone when the test ends, also when a process that was just killed still writes there. */
export function makeTempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tocsin-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  return folder;
}
