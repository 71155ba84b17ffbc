import type { AlertView } from "../../contract/operations.ts";
import { byState, standingOf, toneOf, type Whereabouts, whyNone } from "../../contract/words.ts";
import { type DeliveryState, deliveryStates, isSettled } from "../../core/delivery.ts";
import { writeShortNumber } from "../../ground/numbers/format-number.ts";
import type { Cell, Tone } from "../../panels/panel.ts";
import { numberBeside } from "../../rendering/value-line.ts";
import { hasSeveralRecipients } from "../../vendors/index.ts";

/** What lists and `tail` show of an alert: its short id, its words, their colours, and where it went. */

/** The last characters are random; the first ones are a time, which alerts of one minute share. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** What messages and pages call it; of a relay that is too old to say that, its title as sent. */
export function wordsOf({ headline, title }: Pick<AlertView, "headline" | "title">): string {
  return headline ?? title ?? "(not read yet)";
}

const urgencyTones: Readonly<Record<string, Tone>> = { critical: "bad", warning: "busy", resolved: "good" };

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
