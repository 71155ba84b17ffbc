import type { AlertView } from "../../contract/operations.ts";
import { summarizeDeliveries } from "../../contract/words.ts";
import { type Fact, factsOf, type Panel, paragraph, say, tableOf } from "../../panels/panel.ts";
import { toSeconds } from "../shell/amounts.ts";
import { describeDeliveries, shortId, toneOfOutcome, urgencyCell, wordsOf } from "./alert-line.ts";

/** Columns below which a table leaves the titles no room. */
const leastTableWidth = 120;

/** One page of the log, newest first. `isFiltered`: it is not all of it. `width` of the terminal. */
export function logPanel(alerts: readonly AlertView[], isFiltered: boolean, width?: number): Panel {
  if (alerts.length === 0) {
    if (isFiltered) return [paragraph`No alert fits these filters.`];
    return [paragraph`No alerts yet. Send one with: ${{ code: "tocsin test" }}`];
  }
  if (width !== undefined && width < leastTableWidth) return [factsOf(alerts.map(toFact))];
  const columns = {
    "received (UTC)": ({ receivedAt }: AlertView) => toSeconds(receivedAt),
    age: ({ receivedAt }: AlertView) => ({ age: receivedAt }),
    severity: ({ severity }: AlertView) => urgencyCell(severity),
    status: ({ status }: AlertView) => status !== "unknown" && urgencyCell(status),
    alert: wordsOf,
    deliveries: summarizeDeliveries,
    // Cut for people; what reads a pipe goes on with it.
    id: ({ id }: AlertView) => (width === undefined ? id : shortId(id)),
  };
  return [tableOf(alerts, columns, { keep: ["received (UTC)", "age", "severity", "status", "id"] })];
}

/** On a narrow terminal, beside its id: what it is, its whole title, then where it went and why. */
function toFact(alert: AlertView): Fact {
  const { id, severity, status, receivedAt } = alert;
  const urgencies = [urgencyCell(severity), status !== "unknown" && urgencyCell(status)].flatMap((cell) =>
    cell ? [cell, " "] : [],
  );
  const outcome = { chip: describeDeliveries(alert), tone: toneOfOutcome(alert) };
  return [shortId(id), say`${urgencies}${{ age: receivedAt }} · ${wordsOf(alert)} · ${outcome}`];
}
