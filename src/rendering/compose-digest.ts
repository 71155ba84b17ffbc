import { type Alert, type AlertStatus, type Severity, severities } from "../core/alert.ts";
import type { Block, Document, Inline } from "../core/document.ts";
import type { DigestContext, DigestReason } from "../core/message-context.ts";
import { cleanLine, isolate } from "../ground/text/clean.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { lengthWords, resolvedAfterMs } from "./compose-resolution.ts";
import { shortTitle, stateSymbol } from "./headline.ts";
import { bold, link, pageOfAlert, pageOfLog, text, time } from "./inlines.ts";
import { writeAmount } from "./value-line.ts";

const maxItems = 15;
const maxTitleUnits = 100;
const maxValueUnits = 40;

/** Alerts of one alert key, on one line. */
interface DigestItem {
  /** The newest where the newest is a resolution; else the newest of the worst severity among them. */
  alert: Alert;
  /** How many alerts the line stands for. */
  count: number;
  /** Set when it is over: when the first of them fired, epoch milliseconds. */
  firedAt?: number;
}

/**
 * Many alerts in one message: how many, how bad, over which time and why together; the worst and newest by name, those
 * of one alert key on one line; how many more there are and where to read them. The numbers always add up.
 */
export function composeDigest(alerts: Alert[], context: DigestContext, publicUrl: string | undefined): Document {
  const items = gatherDigestItems(alerts);
  const shown = items.slice(0, maxItems);
  const status = statusOf(alerts);
  const severity = worstSeverity(alerts);
  const repeat = context.possibleRepeat ? " (possible repeat)" : "";
  const head = writeHead(alerts, items, context);
  const blocks: Block[] = [
    {
      kind: "heading",
      inlines: [bold(`${context.reason === "quiet_hours" ? "🌙" : stateSymbol(severity, status)} ${head}${repeat}`)],
    },
    { kind: "note", inlines: writeReason(alerts, context) },
    { kind: "list", items: shown.map((item) => writeItem(item, context.now, publicUrl)) },
    ...writeRest(alerts.length, shown),
    ...writeSmallPrint(items, context),
    ...writeEnding(publicUrl),
  ];
  return { subject: `${head}${repeat}`, severity, status, blocks };
}

/** After quiet hours the first question is what is still open; otherwise it is how much and how bad. */
function writeHead(alerts: Alert[], items: DigestItem[], { reason, quietHours }: DigestContext): string {
  const total = countOf(alerts.length, "alert");
  if (reason !== "quiet_hours") return `${total}: ${writeCounts(alerts)}`;
  const hours = quietHours === undefined ? "" : ` (${quietHours.from} to ${quietHours.to})`;
  const open = items.map(({ alert }) => alert).filter((alert) => !isResolved(alert));
  if (open.length === 0) return `While quiet${hours}: ${total}, none still firing`;
  return `While quiet${hours}: ${total}, ${count(open.length)} still firing (${writeCounts(open)})`;
}

function writeItem(item: DigestItem, now: number, publicUrl: string | undefined): Inline[] {
  const { alert, count, firedAt } = item;
  const { severity, status } = alert.facts;
  const page = pageOfAlert(publicUrl, alert.id);
  const title = isolate(shortTitle(alert.facts, maxTitleUnits));
  const number = writeAmount(alert.facts, maxValueUnits);
  const lasted = firedAt === undefined ? "" : ` · over ${lengthWords(resolvedAfterMs(alert, firedAt))}`;
  return [
    text(`${stateSymbol(severity, status)} `),
    page === undefined ? text(title) : link(title, page),
    text(`${count > 1 ? ` ×${count}` : ""}${lasted}${number === "" ? "" : ` · ${number}`} · `),
    time(alert.facts.occurredAt ?? alert.receivedAt, now),
  ];
}

/** `14 critical, 3 warnings, 20 info, 5 resolved`: each alert is in one of these. */
function writeCounts(alerts: Alert[]): string {
  const open = alerts.filter((alert) => !isResolved(alert));
  const ofSeverity = (severity: Severity): number => open.filter((alert) => alert.facts.severity === severity).length;
  const warnings = ofSeverity("warning");
  return [
    countPart(ofSeverity("critical"), "critical"),
    countPart(warnings, warnings === 1 ? "warning" : "warnings"),
    countPart(ofSeverity("info"), "info"),
    countPart(ofSeverity("unknown"), "without severity"),
    countPart(alerts.length - open.length, "resolved"),
  ]
    .filter((part) => part !== undefined)
    .join(", ");
}

/** What they have in common: why they are one message, when they came, how late it is. */
function writeReason(alerts: Alert[], context: DigestContext): Inline[] {
  const times = alerts.map((alert) => alert.receivedAt);
  const firstAt = times.reduce((first, at) => Math.min(first, at), Number.POSITIVE_INFINITY);
  const lastAt = times.reduce((last, at) => Math.max(last, at), Number.NEGATIVE_INFINITY);
  const span = lastAt - firstAt;
  const since = span < 60_000 ? "Received at " : `Received within ${formatDuration(span)} since `;
  return [
    text(`${reasonWords(context.reason, alerts.length, span)}${since}`),
    time(firstAt, context.now),
    text(writeLateness(context)),
  ];
}

function writeLateness({ late, reason }: DigestContext): string {
  const why = cleanLine(late?.why ?? "");
  // The heading of the summary says it already.
  if (late === undefined || (reason === "quiet_hours" && why === "quiet hours")) return "";
  return `. Up to ${formatDuration(late.byMs)} late${why === "" ? "" : `: ${why}`}`;
}

function reasonWords(reason: DigestReason, total: number, spanMs: number): string {
  switch (reason) {
    case "burst":
      return `${countOf(total, "alert")} in ${formatDuration(Math.max(spanMs, 1000))}, sent as one message. `;
    case "outage":
      return "Sent as one message: they could not be delivered when they came. ";
    case "stale":
      return "Sent as one message: too old by now for one each. ";
    case "quiet_hours":
      return "";
    case "resend":
      return "Resent by hand: they could not be delivered when they came. ";
  }
}

function writeRest(total: number, shown: DigestItem[]): Block[] {
  const listed = shown.reduce((sum, item) => sum + item.count, 0);
  if (listed === total) return [];
  return [{ kind: "paragraph", inlines: [text(`and ${count(total - listed)} more`)] }];
}

/** The id by which the reader finds the earlier copy: that of the first line. */
function writeSmallPrint(items: DigestItem[], context: DigestContext): Block[] {
  const first = items[0];
  if (!context.possibleRepeat || first === undefined) return [];
  return [
    {
      kind: "note",
      inlines: [text(`You may have this twice: the first try got no answer. First alert ${first.alert.id}`)],
    },
  ];
}

function writeEnding(publicUrl: string | undefined): Block[] {
  const page = pageOfLog(publicUrl);
  return page === undefined ? [] : [{ kind: "paragraph", inlines: [link("All of them in Tocsin", page)] }];
}

function statusOf(alerts: Alert[]): AlertStatus {
  if (alerts.every(isResolved)) return "resolved";
  return alerts.some((alert) => alert.facts.status === "firing") ? "firing" : "unknown";
}

/** Of what is still open; of everything when nothing is. */
function worstSeverity(alerts: Alert[]): Severity {
  const open = alerts.filter((alert) => !isResolved(alert));
  return (open.length === 0 ? alerts : open)
    .map((alert) => alert.facts.severity)
    .reduce((worst, one) => (severityRank(one) < severityRank(worst) ? one : worst), "info");
}

function countPart(number: number, words: string): string | undefined {
  return number === 0 ? undefined : `${count(number)} ${words}`;
}

function countOf(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function count(number: number): string {
  return number.toLocaleString("en");
}

/** One item for each alert key: what still fires first, the worst first, and of equals the newest first. */
function gatherDigestItems(alerts: Alert[]): DigestItem[] {
  const byKey = new Map<string, Alert[]>();
  for (const alert of alerts.toSorted(newestFirst)) {
    const same = byKey.get(alert.facts.alertKey);
    if (same === undefined) byKey.set(alert.facts.alertKey, [alert]);
    else same.push(alert);
  }
  return [...byKey.values()]
    .flatMap((same): DigestItem[] => {
      const alert = pickShown(same);
      return alert === undefined ? [] : [{ alert, count: same.length, firedAt: firedBefore(alert, same) }];
    })
    .sort((one, other) => rankOf(one.alert) - rankOf(other.alert) || newestFirst(one.alert, other.alert));
}

function isResolved(alert: Alert): boolean {
  return alert.facts.status === "resolved";
}

/** 0 is the worst. An unknown severity may be anything and stands above mere information. */
function severityRank(severity: Severity): number {
  const ranks: Record<Severity, number> = { critical: 0, warning: 1, unknown: 2, info: 3 };
  return ranks[severity];
}

/** `same`: newest first. */
function pickShown(same: Alert[]): Alert | undefined {
  const newest = same[0];
  if (newest === undefined || isResolved(newest)) return newest;
  const worst = Math.min(...same.filter((alert) => !isResolved(alert)).map(rankOf));
  return same.find((alert) => !isResolved(alert) && rankOf(alert) === worst);
}

/** Since the resolution before, if there is one among them. */
function firedBefore(shown: Alert, same: Alert[]): number | undefined {
  if (!isResolved(shown)) return undefined;
  const before = same.slice(same.indexOf(shown) + 1);
  const last = before.findIndex((alert) => !isResolved(alert));
  if (last === -1) return undefined;
  const end = before.findIndex((alert, index) => index > last && isResolved(alert));
  return before.slice(last, end === -1 ? undefined : end).at(-1)?.receivedAt;
}

function rankOf(alert: Alert): number {
  return severityRank(alert.facts.severity) + (isResolved(alert) ? severities.length : 0);
}

function newestFirst(one: Alert, other: Alert): number {
  return other.seq - one.seq;
}
