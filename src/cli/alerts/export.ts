import { resolve } from "node:path";
import { AppError } from "../../core/errors.ts";
import { openReplacement } from "../../ground/files/replace-file.ts";
import type { AlertFilters } from "../../web/alert-query.ts";
import { type AlertLog, openAlertLog } from "../relay/alert-log.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import type { AlertOnWire } from "../relay/relay-client.ts";
import { countOf } from "../shell/amounts.ts";
import { csvHead, toCsvLine } from "./csv.ts";
import { maxPageSize } from "./filters.ts";

export interface ExportOptions {
  format: "ndjson" | "csv";
  output?: string;
}

/** `tocsin alerts export`: page by page, so that a log of any length needs the memory of one page. */
export async function exportAlerts(
  run: RelayRun,
  filters: AlertFilters,
  { format, output: file }: ExportOptions,
): Promise<void> {
  const { output, context } = run;
  if (output.json && file === undefined) {
    throw new AppError("usage", "with --json the export itself cannot go to stdout", {
      hint: "say --output FILE",
    });
  }
  const log = await openAlertLog(run);
  try {
    if (file === undefined) {
      const count = await writeAlerts(run, log, filters, format, output.print);
      await output.note(`${countOf(count, "alert")} exported`);
      return;
    }
    const path = resolve(context.cwd, file);
    const refuse = (error: NodeJS.ErrnoException): never => {
      throw new AppError("failed", `${path} cannot be written (${error.code ?? "unknown"})`, {
        hint: "check that its folder exists, may be written to and has room",
      });
    };
    const target = await openReplacement(path, `${path}.partial`).catch(refuse);
    try {
      const write = (text: string) => target.write(text).catch(refuse);
      const count = await writeAlerts(run, log, filters, format, write);
      const bytes = await target.commit().catch(refuse);
      const data = { file: path, format, alerts: count, bytes };
      await output.result(data, () => `${countOf(count, "alert")}, ${countOf(bytes, "byte")}: ${path}\n`);
    } finally {
      await target.discard();
    }
  } finally {
    await log.close();
  }
}

async function writeAlerts(
  { output, context }: RelayRun,
  log: AlertLog,
  filters: AlertFilters,
  format: ExportOptions["format"],
  write: (text: string) => Promise<void>,
): Promise<number> {
  const toLine = format === "csv" ? toCsvLine : toJsonLine;
  if (format === "csv") await write(csvHead);
  let count = 0;
  let cursor: string | undefined;
  do {
    context.signal.throwIfAborted();
    const page = await log.listAlerts(filters, { limit: maxPageSize, cursor });
    await write(page.alerts.map(toLine).join(""));
    count += page.alerts.length;
    cursor = page.nextCursor;
    if (cursor !== undefined) await output.progress.update(`${countOf(count, "alert")} so far`);
  } while (cursor !== undefined);
  return count;
}

function toJsonLine(alert: AlertOnWire): string {
  return `${JSON.stringify(alert)}\n`;
}
