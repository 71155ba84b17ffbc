import type { AlertFilters } from "../../web/alert-query.ts";
import { openAlertLog } from "../relay/alert-log.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import type { AlertOnWire } from "../relay/relay-client.ts";
import { describeAge, toSeconds } from "../shell/amounts.ts";
import type { Output } from "../shell/output.ts";
import { fitText, terminalText } from "../shell/terminal-text.ts";
import { isFiltered, readFullPage } from "./filters.ts";
import { summarizeDeliveries } from "./format-alert.ts";

/** `tocsin alerts list`: one page, newest first. */
export async function listAlerts(
  run: RelayRun,
  filters: AlertFilters,
  page: { limit?: number; cursor?: string },
): Promise<void> {
  const { output, context } = run;
  const log = await openAlertLog(run);
  try {
    const { alerts, nextCursor } = await readFullPage(log, filters, page, context.signal);
    await output.result(alerts, () => formatList(alerts, output, context.now(), isFiltered(filters)), {
      nextCursor: nextCursor ?? null,
    });
    if (!output.json && nextCursor !== undefined) await output.note(`older ones: --cursor ${nextCursor}`);
  } finally {
    await log.close();
  }
}

/** Below this the ids, which are never cut, leave the titles no room beside them. */
export const leastTableWidth = 120;

function formatList(alerts: AlertOnWire[], output: Output, now: number, filtered: boolean): string {
  if (alerts.length === 0) {
    return filtered ? "No alert fits these filters.\n" : "No alerts yet. Send one with: tocsin test\n";
  }
  if (output.width !== undefined && output.width < leastTableWidth) {
    return alerts.map((alert) => formatInTwoLines(alert, output, now)).join("");
  }
  const columns = [
    { title: "received (UTC)", keep: true },
    { title: "age", align: "right" as const },
    { title: "severity" },
    { title: "alert" },
    { title: "deliveries" },
    { title: "id", keep: true },
  ];
  return output.table(
    columns,
    alerts.map((alert) => [
      toSeconds(alert.receivedAt),
      describeAge(Date.parse(alert.receivedAt), now),
      alert.severity ?? "",
      alert.title ?? "(not read yet)",
      summarizeDeliveries(alert),
      alert.id,
    ]),
  );
}

function formatInTwoLines(alert: AlertOnWire, output: Output, now: number): string {
  const age = describeAge(Date.parse(alert.receivedAt), now);
  const first = [toSeconds(alert.receivedAt), age, alert.severity ?? "", summarizeDeliveries(alert)]
    .filter((text) => text !== "")
    .join("  ");
  const title = fitText(terminalText(alert.title ?? "(not read yet)"), (output.width ?? 80) - alert.id.length - 4);
  return `${output.style("bold", terminalText(first))}\n  ${alert.id}  ${title}\n`;
}
