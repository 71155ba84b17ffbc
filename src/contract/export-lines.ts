import { isInstant } from "../ground/time/time-format.ts";
import type { ExportFormat } from "./alert-query.ts";
import { encode, toIso } from "./encode.ts";
import type { AlertView } from "./operations.ts";
import { alertView } from "./views/alerts.ts";
import { summarizeDeliveries } from "./words.ts";

type Column = [title: string, read: (alert: AlertView) => string | null | undefined];

const columns: Column[] = [
  ["id", (alert) => alert.id],
  ["received_at", (alert) => writeInstant(alert.receivedAt)],
  ["origin", (alert) => alert.origin],
  ["severity", (alert) => alert.severity],
  ["status", (alert) => alert.status],
  ["title", (alert) => alert.title],
  ...factColumns("metric", "token", "chain", "value", "previousValue", "threshold", "unit"),
  ["occurred_at", ({ facts }) => writeInstant(facts?.occurredAt)],
  ...factColumns("source", "externalId", "alertKey", "link", "text"),
  ["routed_at", (alert) => writeInstant(alert.routedAt)],
  ["outcome", summarizeDeliveries],
  ["deliveries", (alert) => alert.deliveries.map(describeDelivery).join("; ")],
  ["page", (alert) => alert.url],
];

function factColumns(...names: TextFact[]): Column[] {
  return names.map((name) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    ({ facts }) => facts?.[name],
  ]);
}
type Facts = NonNullable<AlertView["facts"]>;
type TextFact = { [K in keyof Facts]-?: Facts[K] extends string | undefined ? K : never }[keyof Facts];

/** The beginning of a formula (OWASP, CSV injection). Some spreadsheets skip invisible characters before it. */
const formula = /^[\p{Cf}\p{Z}\p{Mn}\u115f\u1160\u3164\uffa0]*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/u;
/** A formula after characters at which some spreadsheets split in spite of quotes: semicolons and tabs. */
const formulaWithin = /([;\t\r\n]"{0,3})(?=[\p{Cf}\p{Z}\p{Mn}\u115f\u1160\u3164\uffa0]*[=+\-@])/gu;
const plainNumber = /^[-+]?\d{1,40}(?:\.\d{1,40})?$/;
/** Control characters: cells cannot show them, and a terminal may obey them. */
const controls = /[^\P{Cc}\t\r\n]/gu;

/** NDJSON as in lists, CSV as records of RFC 4180. */
export const exportLines: Readonly<Record<ExportFormat, { head: string; write(alert: AlertView): string }>> = {
  ndjson: { head: "", write: (alert) => `${JSON.stringify(encode(alertView, alert))}\n` },
  csv: {
    head: toLine(columns.map(([title]) => title)),
    write: (alert) => toLine(columns.map(([, read]) => read(alert) ?? "")),
  },
};

/** An empty cell for a number that is no instant: senders write anything. */
function writeInstant(at: number | null | undefined): string | undefined {
  return typeof at === "number" && isInstant(at) ? toIso(at) : undefined;
}

function describeDelivery({ destination, recipient, state, reason }: AlertView["deliveries"][number]): string {
  const to = recipient === destination ? destination : `${destination} ${recipient}`;
  return state === "sent" || reason === "" ? `${to}: ${state}` : `${to}: ${state} (${reason})`;
}

function toLine(cells: string[]): string {
  return `${cells.map(toCell).join(",")}\r\n`;
}

/** An apostrophe turns a formula into text. A number with its sign stays a number. */
function toCell(text: string): string {
  const shown = text.replace(controls, "\u{fffd}").replace(formulaWithin, "$1'");
  const inert = formula.test(shown) && !plainNumber.test(shown) ? `'${shown}` : shown;
  return /[",;\t\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
