import { isSettled } from "../../core/delivery.ts";
import type { AlertLog, AlertSummary, ChangeCursor } from "../../core/ports/alert-log.ts";
import type { Signals } from "../../core/ports/signals.ts";
import { hasSeveralRecipients } from "../../vendors/index.ts";
import type { Output } from "../shell/output.ts";
import { terminalText } from "../shell/terminal-text.ts";

/** Prints one line an alert once every delivery of it has ended; ends when `stop` is aborted. */
export function narrate(store: Pick<AlertLog, "listChanges"> & Signals, output: Output, stop: AbortSignal): void {
  let cursor: ChangeCursor | undefined;
  let reading = false;
  let again = false;
  const printed = new Set<string>();

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
        if (printed.has(alert.id) || !alert.deliveries.every(isSettled)) continue;
        if (alert.routedAt === undefined) continue;
        printed.add(alert.id);
        await output.print(`${lineOf(alert, output)}\n`);
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

function lineOf(alert: AlertSummary, output: Output): string {
  const { style } = output;
  const time = new Date(alert.receivedAt).toISOString().slice(11, 19);
  const severity = alert.facts?.severity ?? "unknown";
  const status = alert.facts?.status === "resolved" ? "resolved" : severity;
  const went = alert.deliveries.map(({ destination, recipient, channel, state }) => {
    const name = hasSeveralRecipients(channel) ? recipient : destination;
    return state === "sent" ? name : `${name} (${state})`;
  });
  const title = terminalText(alert.facts?.title ?? "")
    .slice(0, 68)
    .padEnd(68);
  const color: Parameters<Output["style"]>[0] =
    status === "critical" ? "red" : status === "warning" ? "yellow" : "green";
  return `${style("dim", time)}  ${style(color, status.padEnd(8))}  ${title}  → ${went.join(", ") || whyNowhere(alert)}`;
}

function whyNowhere({ dropped, repeatOf }: AlertSummary): string {
  if (repeatOf !== undefined) return "repeat of an earlier one, not sent";
  return dropped ? "dropped on purpose" : "no route wants it";
}
