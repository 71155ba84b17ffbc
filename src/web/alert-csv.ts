import type { AlertOnWire } from "./api/to-wire.ts";
import { summarizeDeliveries } from "./outcome-words.ts";

type Column = [title: string, read: (alert: AlertOnWire) => string | null | undefined];

const columns: Column[] = [
  ["id", (alert) => alert.id],
  ["received_at", (alert) => alert.receivedAt],
  ["origin", (alert) => alert.origin],
  ["severity", (alert) => alert.severity],
  ["status", (alert) => alert.status],
  ["title", (alert) => alert.title],
  ["metric", ({ facts }) => facts?.metric],
  ["token", ({ facts }) => facts?.token],
  ["chain", ({ facts }) => facts?.chain],
  ["value", ({ facts }) => facts?.value],
  ["previous_value", ({ facts }) => facts?.previousValue],
  ["threshold", ({ facts }) => facts?.threshold],
  ["unit", ({ facts }) => facts?.unit],
  ["occurred_at", ({ facts }) => facts?.occurredAt],
  ["source", ({ facts }) => facts?.source],
  ["external_id", ({ facts }) => facts?.externalId],
  ["alert_key", ({ facts }) => facts?.alertKey],
  ["link", ({ facts }) => facts?.link],
  ["text", ({ facts }) => facts?.text],
  ["routed_at", (alert) => alert.routedAt],
  ["outcome", summarizeDeliveries],
  ["deliveries", (alert) => alert.deliveries.map(describeDelivery).join("; ")],
  ["page", (alert) => alert.url],
];

export const csvHead = toLine(columns.map(([title]) => title));

/** One alert as a record of RFC 4180, ended by CRLF. */
export function toCsvLine(alert: AlertOnWire): string {
  return toLine(columns.map(([, read]) => read(alert) ?? ""));
}

function describeDelivery({ destination, recipient, state, reason }: AlertOnWire["deliveries"][number]): string {
  const to = recipient === destination ? destination : `${destination} ${recipient}`;
  return state === "sent" || reason === "" ? `${to}: ${state}` : `${to}: ${state} (${reason})`;
}

function toLine(cells: string[]): string {
  return `${cells.map(toCell).join(",")}\r\n`;
}

/**
 * A spreadsheet takes a cell that begins with one of these for a formula, and runs it (OWASP, CSV injection); behind an
 * apostrophe it is text.
 */
function toCell(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
