import { resolve } from "node:path";
import { csvHead, toCsvLine } from "../../contract/alert-csv.ts";
import type { AlertFilters } from "../../contract/alert-query.ts";
import { AppError } from "../../core/errors.ts";
import { openReplacement } from "../../ground/files/replace-file.ts";
import { type AlertLog, openAlertLog } from "../relay/alert-log.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import type { AlertOnWire } from "../relay/relay-client.ts";
import { countOf } from "../shell/amounts.ts";
import { maxPageSize } from "./filters.ts";

export interface ExportOptions {
  format: "ndjson" | "csv";
  output?: string;
  /** Of each alert all that the log has: decisions, attempts, headers, and the body that it came with. */
  full?: boolean;
}

/** `tocsin alerts export`: page by page, so that a log of any length needs the memory of one page. */
export async function exportAlerts(
  run: RelayRun,
  filters: AlertFilters,
  { format, output: file, full = false }: ExportOptions,
): Promise<void> {
  const { output, context } = run;
  const log = await openAlertLog(run);
  const toChunks = full ? (alerts: AlertOnWire[]) => toFullChunks(log, alerts) : toChunk[format];
  try {
    if (file === undefined) {
      const count = await writeAlerts(run, log, filters, { head: heads[format], toChunks, write: output.print });
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
      const count = await writeAlerts(run, log, filters, { head: heads[format], toChunks, write });
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

/** Of a page: lines, and how many alerts they are. */
interface Chunk {
  text: string;
  alerts: number;
}

interface Writing {
  head: string;
  toChunks(alerts: AlertOnWire[]): AsyncIterable<Chunk> | Iterable<Chunk>;
  write(text: string): Promise<void>;
}

async function writeAlerts(
  { output, context }: RelayRun,
  log: AlertLog,
  filters: AlertFilters,
  { head, toChunks, write }: Writing,
): Promise<number> {
  if (head !== "") await write(head);
  let count = 0;
  let cursor: string | undefined;
  do {
    context.signal.throwIfAborted();
    const page = await log.listAlerts({ ...filters, limit: maxPageSize, cursor });
    for await (const { text, alerts } of toChunks(page.data)) {
      await write(text);
      count += alerts;
    }
    cursor = page.meta.nextCursor ?? undefined;
    if (cursor !== undefined) await output.progress.update(`${countOf(count, "alert")} so far`);
  } while (cursor !== undefined);
  return count;
}

const heads = { ndjson: "", csv: csvHead };
const toChunk = {
  ndjson: (alerts: AlertOnWire[]) => [{ text: alerts.map(toJsonLine).join(""), alerts: alerts.length }],
  csv: (alerts: AlertOnWire[]) => [{ text: alerts.map(toCsvLine).join(""), alerts: alerts.length }],
};

/** Asked at once: one by one, each waits for the way to the relay and back; more may be more bodies than memory holds. */
const askedAtOnce = 8;

async function* toFullChunks(log: AlertLog, alerts: AlertOnWire[]): AsyncGenerator<Chunk> {
  for (let from = 0; from < alerts.length; from += askedAtOnce) {
    const asked = await Promise.all(alerts.slice(from, from + askedAtOnce).map(({ id }) => log.findAlert({ id })));
    // One that is missing has been removed since the page was read.
    const found = asked.filter((alert) => alert !== undefined);
    yield { text: found.map(toJsonLine).join(""), alerts: found.length };
  }
}

function toJsonLine(alert: AlertOnWire): string {
  return `${JSON.stringify(alert)}\n`;
}
