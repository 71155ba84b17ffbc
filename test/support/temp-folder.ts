import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder of its own, gone when the test ends. */
export function makeTempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tocsin-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
