import type { AlertView } from "../../contract/operations.ts";
import { summarizeDeliveries } from "../../contract/words.ts";
import { describeAge, toSeconds } from "../shell/amounts.ts";
import type { Output } from "../shell/output.ts";
import { hangText, terminalText } from "../shell/terminal-text.ts";
import { colourOfOutcome, describeDeliveries, shortId, styleUrgency, wordsOf } from "./alert-line.ts";

/** Below this a table leaves the titles no room. */
const leastTableWidth = 120;
/** Below this the age stands for the time. */
const leastTimeWidth = 72;

/** One page of the log, newest first. `filtered`: it is not all of it. */
export function formatList(alerts: AlertView[], output: Output, now: number, filtered: boolean): string {
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
      describeAge(alert.receivedAt, now),
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
function formatInLines(alert: AlertView, output: Output, now: number): string {
  const { width = leastTableWidth, style } = output;
  const age = describeAge(alert.receivedAt, now);
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
