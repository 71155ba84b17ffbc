import type { AlertView } from "../../contract/operations.ts";
import { byState, standingOf, summarizeDeliveries, toneOf, type Whereabouts, whyNone } from "../../contract/words.ts";
import { type DeliveryState, deliveryStates, isSettled } from "../../core/delivery.ts";
import { writeShortNumber } from "../../ground/numbers/format-number.ts";
import { type Cell, type Fact, factsOf, type Panel, paragraph, say, type Tone, tableOf } from "../../panels/panel.ts";
import { numberBeside } from "../../rendering/value-line.ts";
import { hasSeveralRecipients } from "../../vendors/index.ts";
import { toSeconds } from "../shell/instants.ts";
import type { Output } from "../shell/output.ts";

/** What lists and `tail` show of an alert: its short id, its words, their colours, and where it went. */

/** The last characters are random; the first ones are a time, which alerts of one minute share. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** What messages and pages call it; of a relay that is too old to say that, its title as sent. */
export function wordsOf({ headline, title }: Pick<AlertView, "headline" | "title">): string {
  return headline ?? title ?? "(not read yet)";
}

const urgencyTones: Readonly<Record<string, Tone>> = {
  critical: "bad",
  warning: "busy",
  info: "off",
  resolved: "good",
};

/** A severity or a status in its colour. */
export function urgencyCell(word: string | null): Cell {
  const tone = urgencyTones[word ?? ""];
  return tone === undefined ? (word ?? undefined) : { chip: word ?? "", tone };
}

/** `24,318,772.1 USD`; empty without a value, and where its words say it already. */
export function amountOf(alert: Pick<AlertView, "facts" | "headline" | "title">): string {
  const { facts } = alert;
  const { value, unit } = facts ?? {};
  if (facts === null || value === undefined) return "";
  const shown = numberBeside(value, facts);
  const short = writeShortNumber(value, { besides: [value, facts.threshold ?? ""] });
  if ([value, shown, short].some((number) => wordsOf(alert).includes(number))) return "";
  return unit === undefined ? shown : `${shown} ${unit}`;
}

/** Where it went, with the names and the reasons of what did not get through: `6 sent, 1 failed: ops (chat not found)`. */
export function describeDeliveries(alert: Whereabouts): string {
  const none = whyNone(alert);
  if (none !== undefined) return none.words;
  const parts = [...byState(alert, outcomesFirst)].map(([state, deliveries]) => {
    if (state === "digested") return `${deliveries.length} in a digest`;
    const count = `${deliveries.length} ${state}`;
    return state === "sent" ? count : `${count}: ${nameWithReasons(deliveries)}`;
  });
  return parts.join(", ");
}

/** What is certain before what is open. */
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

/** Bad as soon as something did not get through; off for what needs nobody. */
export function toneOfOutcome(alert: Whereabouts): Tone {
  const tones = standingOf(alert).map(({ state }) => toneOf(state));
  if (tones.includes("bad") || alert.routingError !== undefined) return "bad";
  return alert.unmatched || tones.includes("busy") ? "busy" : "off";
}

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

const remembered = 1_000;

/**
 * Two lines an alert: `→` when it came, and `←` once nothing more happens to it unless a person acts. What lies between
 * is no news, unless something fails or is late; that, a resend, and what quiet hours let go end in another `←`.
 */
export function createTailLines(output: Output): (alert: AlertView) => string {
  /** Of each alert that was shown: how it ended last. */
  const endings = new Map<string, string | undefined>();
  let day = "";

  /** Times on a terminal are short, so each day has a line of its own; in a pipe each line says all. */
  function line(mark: string, { id }: AlertView, at: number, words: Cell): string {
    const time = toSeconds(at);
    if (output.width === undefined) return output.draw(factsOf([[`${mark} ${time}  ${id}`, words]]));
    const next = time.slice(0, 10);
    const head = day === next ? "" : `${output.style("dim", `${next} (UTC)`)}\n`;
    day = next;
    return head + output.draw(factsOf([[`${mark} ${time.slice(11, 19)}  ${shortId(id)}`, words]]));
  }

  return (alert) => {
    if (alert.routedAt === null) return "";
    const isNew = !endings.has(alert.id);
    const ending = isNews(alert) ? describeDeliveries(alert) : undefined;
    const before = endings.get(alert.id);
    endings.delete(alert.id);
    endings.set(alert.id, ending);
    if (endings.size > remembered) endings.delete(endings.keys().next().value ?? "");
    const came = isNew ? line("→", alert, alert.receivedAt, whatCame(alert)) : "";
    if (ending === undefined || ending === before) return came;
    const endedAt = Math.max(alert.routedAt, ...alert.deliveries.map(({ finishedAt = 0 }) => finishedAt));
    return came + line("←", alert, endedAt, { chip: ending, tone: toneOfOutcome(alert) });
  };
}

/** What is over is no emergency, whatever it was. */
function whatCame(alert: AlertView): Cell {
  const word = alert.status === "resolved" ? alert.status : (alert.severity ?? "unknown");
  const amount = amountOf(alert);
  const space = " ".repeat(Math.max(0, 8 - word.length));
  return say`${urgencyCell(word)}${{ words: space }}  ${wordsOf(alert)}${amount !== "" && `  ${amount}`}`;
}

/** A try that long after the alert came is late enough to be told before it ends. */
const lateMs = 60_000;

/** It has ended everywhere; or something failed or is late, which nobody should learn only when all the rest has ended. */
function isNews(alert: AlertView): boolean {
  const standing = standingOf(alert);
  const open = standing.filter((delivery) => !isSettled(delivery));
  if (open.some(({ state }) => state !== "waiting")) return false;
  const isLate = ({ dueAt }: { dueAt?: number }) => dueAt !== undefined && dueAt - alert.receivedAt >= lateMs;
  return open.every(isLate) || standing.some(({ state }) => state === "failed" || state === "expired");
}
