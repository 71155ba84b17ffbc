import { createTailLines } from "../../src/cli/alerts/tail-lines.ts";
import type { Output } from "../../src/cli/shell/output.ts";
import { viewAlert } from "../../src/contract/make-views.ts";
import type { AlertLog, ChangeCursor } from "../../src/core/ports/alert-log.ts";
import type { Signals } from "../../src/core/ports/signals.ts";

/** Columns of a line at most, so that it fits beside a browser. */
export const widestLine = 100;

/** Prints the log as `tocsin alerts tail` does: each alert as it comes, and how it ended; until `stop` is aborted. */
export function narrate(
  store: Pick<AlertLog, "listChanges"> & Signals,
  publicUrl: string,
  output: Output,
  stop: AbortSignal,
): void {
  const linesFor = createTailLines({ ...output, width: Math.min(output.width ?? widestLine, widestLine) });
  let cursor: ChangeCursor | undefined;
  let reading = false;
  let again = false;

  async function read(): Promise<void> {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    do {
      again = false;
      const changes = await store.listChanges(cursor, 200);
      for (const alert of changes) {
        cursor = alert.cursor;
        await output.print(linesFor(viewAlert(alert, { publicUrl })));
      }
      again ||= changes.length === 200;
    } while (again && !stop.aborted);
    reading = false;
  }

  const off = store.subscribe("changed", () => {
    read().catch(() => {});
  });
  stop.addEventListener("abort", off, { once: true });
}
