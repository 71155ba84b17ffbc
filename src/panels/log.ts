import type { AlertView } from "../contract/operations.ts";
import {
  byState,
  countedAs,
  lookOf,
  standingOf,
  summarizeDeliveries,
  type Whereabouts,
  whyNone,
} from "../contract/words.ts";
import { type DeliveryState, deliveryStates, isSettled } from "../core/delivery.ts";
import { hasSeveralRecipients } from "../vendors/index.ts";
import type { Cell, Fact, Panel, Tone } from "./panel.ts";
import { factsOf, paragraph, say, tableOf } from "./sections.ts";

/** The last characters are random. The first ones are the time, which alerts of one minute share. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** The words of messages and pages, or the title as sent where an older relay gives none. */
export function wordsOf({ headline, title }: Pick<AlertView, "headline" | "title">): string {
  return headline ?? title ?? "(not read yet)";
}

const urgencyTones: Readonly<Record<string, Tone>> = {
  critical: "bad",
  warning: "busy",
  info: "off",
  resolved: "good",
};

export function urgencyCell(word: string | null): Cell {
  const tone = urgencyTones[word ?? ""];
  return tone === undefined ? (word ?? undefined) : { chip: word ?? "", tone };
}

/** `6 sent, 1 failed: ops (chat not found)`. */
export function describeDeliveries(alert: Whereabouts): string {
  const none = whyNone(alert);
  if (none !== undefined) return none.words;
  const parts = [...byState(alert, outcomesFirst)].map(([state, deliveries]) => {
    if (state === "digested") return `${deliveries.length} in a digest`;
    const count = `${deliveries.length} ${countedAs(state)}`;
    return state === "sent" ? count : `${count}: ${nameWithReasons(deliveries)}`;
  });
  return parts.join(", ");
}

const isOpen = (state: DeliveryState) => !isSettled({ state });
const outcomesFirst = deliveryStates.toSorted((a, b) => Number(isOpen(a)) - Number(isOpen(b)));

/** `ops, desk (chat not found); mail (550 spam)`: each reason once. */
function nameWithReasons(deliveries: AlertView["deliveries"]): string {
  const byReason = new Map<string, string[]>();
  for (const { destination, channel, recipient, reason } of deliveries) {
    const name = hasSeveralRecipients(channel) ? recipient : destination;
    byReason.set(reason, [...(byReason.get(reason) ?? []), name]);
  }
  return [...byReason].map(([why, names]) => `${names.join(", ")}${why === "" ? "" : ` (${why})`}`).join("; ");
}

/** Bad as soon as one delivery failed. Off where nobody has to act. */
export function toneOfOutcome(alert: Whereabouts): Tone {
  const tones = standingOf(alert).map((delivery) => lookOf(delivery)[1]);
  if (tones.includes("bad") || alert.routingError !== undefined) return "bad";
  return alert.unmatched || tones.includes("busy") ? "busy" : "off";
}

/** In a narrower terminal a table leaves the titles no room. */
const leastTableWidth = 120;

/** Newest first. `isFiltered`: the log has more alerts. `width`: of the terminal. */
export function logPanel(alerts: readonly AlertView[], isFiltered: boolean, width?: number): Panel {
  if (alerts.length === 0) {
    if (isFiltered) return [paragraph`No alert fits these filters.`];
    return [paragraph`No alerts yet. Send one with: ${{ code: "tocsin test" }}`];
  }
  if (width !== undefined && width < leastTableWidth) return [factsOf(alerts.map(toFact))];
  const columns = {
    "received (UTC)": ({ receivedAt }: AlertView) => ({ clock: receivedAt }),
    age: ({ receivedAt }: AlertView) => ({ age: receivedAt }),
    severity: ({ severity }: AlertView) => urgencyCell(severity),
    status: ({ status }: AlertView) => status !== "unknown" && urgencyCell(status),
    alert: wordsOf,
    deliveries: summarizeDeliveries,
    // Shortened for people. A reader of a pipe gets the whole id.
    id: ({ id }: AlertView) => (width === undefined ? id : shortId(id)),
  };
  return [tableOf(alerts, columns, { keep: ["received (UTC)", "age", "severity", "status", "id"] })];
}

/** For a narrow terminal: next to the id the urgency, the whole title, then the destinations with reasons. */
function toFact(alert: AlertView): Fact {
  const { id, severity, status, receivedAt } = alert;
  const urgencies = [urgencyCell(severity), status !== "unknown" && urgencyCell(status)].flatMap((cell) =>
    cell ? [cell, " "] : [],
  );
  const outcome = { chip: describeDeliveries(alert), tone: toneOfOutcome(alert) };
  return [shortId(id), say`${urgencies}${{ age: receivedAt }} · ${wordsOf(alert)} · ${outcome}`];
}
