import type { AlertView } from "../../contract/operations.ts";
import type { Severity } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import { readFullPage } from "./filters.ts";
import { followChanges } from "./follow-changes.ts";
import { createTailLines } from "./tail-lines.ts";

export interface TailOptions {
  /** How many that are there already. */
  lines: number;
  severity?: Severity;
  destination?: string;
}

/** `tocsin alerts tail`: what is there, then what comes, until Ctrl-C. */
export async function tailAlerts(run: RelayRun, { lines, severity, destination }: TailOptions): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  const list = output.json ? output.openList() : undefined;
  const { alertView } = await import("../../contract/views.ts");
  const { encode } = await import("../../contract/encode.ts");
  const linesFor = createTailLines(output);
  /** Versions of those that were there already: the stream may bring them once more. */
  const listed = new Map<string, number>();

  const print = async (alert: AlertView) => {
    if (list !== undefined) return list.item(encode(alertView, alert));
    const lines = linesFor(alert);
    if (lines !== "") await output.print(lines);
  };

  const following = followChanges(context, client, {
    // The stream is open before the log is read, so that nothing falls between the two.
    async onOpen() {
      const [newest] = (await client.listAlerts({ limit: 1 })).data;
      const version = String(newest?.version ?? 0);
      if (lines === 0) return version;
      const { data } = await readFullPage(client, { severity, destination }, { limit: lines }, context.signal);
      for (const alert of data.reverse()) {
        listed.set(alert.id, alert.version);
        await print(alert);
      }
      if (data.length === 0) await output.note("no such alerts yet; waiting for the first");
      return version;
    },
    async onEvent(event) {
      if (event.type === "reset") {
        listed.clear();
        await output.note("the relay's database was put back from a copy; going on from there");
        return;
      }
      if (event.type !== "alert") return;
      const alert = alertView.parse(JSON.parse(event.data));
      if (alert.version <= (listed.get(alert.id) ?? -1)) return;
      if (isWanted(alert, severity, destination)) await print(alert);
    },
    onBreak: (why, pauseMs) => output.note(`${why}; trying again in ${pauseMs / 1_000} s`),
  });
  try {
    await following;
  } catch (error) {
    // What was written so far stays one document.
    throw list !== undefined && error instanceof AppError ? await list.fail(error) : error;
  }
  await list?.close();
}

function isWanted(alert: AlertView, severity?: Severity, destination?: string): boolean {
  if (severity !== undefined && alert.severity !== severity) return false;
  if (destination === undefined) return true;
  return alert.deliveries.some((delivery) => delivery.destination === destination);
}
