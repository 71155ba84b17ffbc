import { resolve } from "node:path";
import type { AlertFilters, ExportFormat } from "../../contract/alert-query.ts";
import type { Client } from "../../contract/client.ts";
import { encode } from "../../contract/encode.ts";
import { exportLines } from "../../contract/export-lines.ts";
import type { AlertView } from "../../contract/operations.ts";
import { alertDetailView } from "../../contract/views/alerts.ts";
import { openReplacement } from "../../ground/files/replace-file.ts";
import { countOf } from "../../ground/text/count-of.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { withClient } from "../relay/connect-relay.ts";
import { unlessMissing } from "../relay/relay-client.ts";
import { fileFailure } from "../shell/failure.ts";
import { maxPageSize } from "./filters.ts";

export interface ExportOptions {
  format: ExportFormat;
  output?: string;
  /** Of each alert all that the log has: decisions, attempts, headers, and the body that it came with. */
  full?: boolean;
}

/** `tocsin alerts export`: page by page, so that a log of any length needs the memory of one page. */
export async function exportAlerts(run: RelayRun, filters: AlertFilters, options: ExportOptions): Promise<void> {
  const { output, context } = run;
  const { format, output: file } = options;
  const writeTo = (write: (text: string) => Promise<void>) =>
    withClient(run, (client) => writeAlerts(run, client, filters, options, write));
  if (file === undefined) {
    const count = await writeTo(output.print);
    await output.note(`${countOf(count, "alert")} exported`);
    return;
  }
  const path = resolve(context.cwd, file);
  const hint = "check that its folder exists, may be written to and has room";
  const refuse = fileFailure("failed", `${path} cannot be written`, hint);
  const target = await openReplacement(path, `${path}.partial`).catch(refuse);
  try {
    const count = await writeTo((text) => target.write(text).catch(refuse));
    const bytes = await target.commit().catch(refuse);
    const data = { file: path, format, alerts: count, bytes };
    await output.result(data, () => `${countOf(count, "alert")}, ${countOf(bytes, "byte")}: ${path}\n`);
  } finally {
    await target.discard();
  }
}

/** How many were written. */
async function writeAlerts(
  { output, context }: RelayRun,
  client: Client,
  filters: AlertFilters,
  { format, full }: ExportOptions,
  write: (text: string) => Promise<void>,
): Promise<number> {
  const lines = exportLines[format];
  let count = 0;
  let cursor: string | undefined;
  do {
    context.signal.throwIfAborted();
    const page = await client.listAlerts({ ...filters, limit: maxPageSize, cursor });
    if (cursor === undefined) await write(lines.head);
    for await (const texts of full ? toFullLines(client, page.data) : [page.data.map(lines.write)]) {
      await write(texts.join(""));
      count += texts.length;
    }
    cursor = page.meta.nextCursor ?? undefined;
    if (cursor !== undefined) await output.progress.update(`${countOf(count, "alert")} so far`);
  } while (cursor !== undefined);
  return count;
}

/** Asked at once: one by one, each waits for the way to the relay and back; more may be more bodies than memory holds. */
const askedAtOnce = 8;

async function* toFullLines(client: Client, alerts: AlertView[]): AsyncGenerator<string[]> {
  for (let from = 0; from < alerts.length; from += askedAtOnce) {
    const some = alerts.slice(from, from + askedAtOnce);
    const asked = await Promise.all(some.map(({ id }) => unlessMissing(client.findAlert({ id }))));
    // One that is missing has been removed since the page was read.
    yield asked.flatMap((alert) => (alert ? `${JSON.stringify(encode(alertDetailView, alert))}\n` : []));
  }
}
