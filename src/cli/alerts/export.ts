import { resolve } from "node:path";
import type { Client } from "../../contract/client.ts";
import { encode } from "../../contract/encode.ts";
import { exportLines } from "../../contract/export-lines.ts";
import { alertDetailView } from "../../contract/views/alerts.ts";
import { openReplacement } from "../../ground/files/replace-file.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { type RelayRun, withClient } from "../relay/connect-relay.ts";
import { fileFailure } from "../shell/failure.ts";
import { type ExportOptions, filtersOf, findEach, walkLog } from "./alerts.ts";

export async function exportAlerts(run: RelayRun, options: ExportOptions): Promise<void> {
  const { output, context } = run;
  const { format, output: file } = options;
  const writeTo = (write: (text: string) => Promise<void>) =>
    withClient(run, (client) => writeAlerts(run, client, options, write));
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

async function writeAlerts(
  { output, context }: RelayRun,
  client: Client,
  { format, full, ...filters }: ExportOptions,
  write: (text: string) => Promise<void>,
): Promise<number> {
  const lines = exportLines[format];
  let count = 0;
  let head = lines.head;
  for await (const { data: page } of walkLog(client, filtersOf(filters), context.signal)) {
    await write(head);
    head = "";
    if (full) {
      for await (const alert of findEach(client, page, context.signal)) {
        await write(`${JSON.stringify(encode(alertDetailView, alert))}\n`);
        count += 1;
      }
    } else {
      await write(page.map(lines.write).join(""));
      count += page.length;
    }
    await output.progress.update(`${countOf(count, "alert")} so far`);
  }
  return count;
}
