import type { AlertFilters } from "../../contract/alert-query.ts";
import { summarizeDeliveries } from "../../contract/outcome-words.ts";
import { openAlertLog } from "../relay/alert-log.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import type { AlertOnWire } from "../relay/relay-client.ts";
import { describeAge, toSeconds } from "../shell/amounts.ts";
import type { Output } from "../shell/output.ts";
import { hangText, terminalText } from "../shell/terminal-text.ts";
import { colourOfOutcome, colourOfUrgency, describeDeliveries, shortId, wordsOf } from "./alert-line.ts";
import { isFiltered, readFullPage } from "./filters.ts";

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

/** Below this a table leaves the titles no room. */
const leastTableWidth = 120;
/** Below this the age stands for the time. */
const leastTimeWidth = 72;

function formatList(alerts: AlertOnWire[], output: Output, now: number, filtered: boolean): string {
  if (alerts.length === 0) {
    return filtered ? "No alert fits these filters.\n" : output.asTyped("No alerts yet. Send one with: tocsin test\n");
  }
  if (output.width !== undefined && output.width < leastTableWidth) {
    return alerts.map((alert) => formatInLines(alert, output, now)).join("");
  }
  const urgent = { style: (word: string) => styleUrgency(word, output) };
  const columns = [
    { title: "received (UTC)", keep: true },
    { title: "age", align: "right" as const },
    { title: "severity", keep: true, ...urgent },
    { title: "status", keep: true, ...urgent },
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
      alert.status === "unknown" ? "" : (alert.status ?? ""),
      wordsOf(alert),
      summarizeDeliveries(alert),
      // Cut for people; what reads a pipe goes on with it.
      output.width === undefined ? alert.id : shortId(alert.id),
    ]),
  );
}

/** On a narrow terminal: what it is in the first line, then its whole title, then where it went and why. */
function formatInLines(alert: AlertOnWire, output: Output, now: number): string {
  const { width = leastTableWidth, style } = output;
  const age = describeAge(Date.parse(alert.receivedAt), now);
  const head = [
    style("bold", shortId(alert.id)),
    width < leastTimeWidth ? age : `${toSeconds(alert.receivedAt)}  ${age}`,
    styleUrgency(alert.severity ?? "", output),
    alert.status === "unknown" ? "" : styleUrgency(alert.status ?? "", output),
  ];
  const indented = (text: string) => hangText(terminalText(text), width, 2);
  return [
    head.filter((part) => part !== "").join("  "),
    `  ${indented(wordsOf(alert))}`,
    `  ${style(colourOfOutcome(alert), indented(describeDeliveries(alert)))}`,
    "",
  ].join("\n");
}

function styleUrgency(word: string, output: Output): string {
  const colour = colourOfUrgency(word);
  return colour === undefined ? word : output.style(colour, word);
}
