import { type Alert, type AlertStatus, resolvedAfterMs, type Severity, severities } from "../core/alert.ts";
import { distancePercentOf } from "../core/computed-facts.ts";
import { placeOf, type SubjectName, writeFactLine } from "../core/fact-line.ts";
import { isNameOfCause, writeGroup } from "../core/group.ts";
import type { Block, Document, Inline } from "../core/message.ts";
import type { DigestContext } from "../core/message-context.ts";
import type { BareSubject, NameOf } from "../core/subject-name.ts";
import { cutTitle, shortTitle, writeTitle } from "../core/title.ts";
import { groupBy } from "../ground/group-by.ts";
import { withoutGroups } from "../ground/numbers/decimal.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { cleanLine, isolate } from "../ground/text/clean.ts";
import { countOf } from "../ground/text/count-of.ts";
import { formatDuration, isInstant } from "../ground/time/time-format.ts";
import { lengthWords } from "./compose-resolution.ts";
import { writeUnrung } from "./damped-line.ts";
import { stateSymbol } from "./headline.ts";
import { bold, link, note, pageOfAlert, pageOfLog, paragraph, text, time, writeExtras } from "./inlines.ts";
import { writeAmount } from "./value-line.ts";

const maxItems = 15;
/** The most lines for a group: it is one incident, and people look for its parts. */
const maxGroupItems = 50;
/** The most lines for critical alerts that are over: the first line counts them, and they come last. */
const maxOverItems = 5;
const maxTitleUnits = 100;
/** Ends that have no line are named up to this many. */
const maxOverNames = 12;
const maxNameUnits = 48;
const maxValueUnits = 40;
/** The most parts in a break-down by measure or chain. The others are counted together. */
const maxParts = 3;
/** Alerts within this time have no times of their own. */
const oneMomentMs = 60_000;
/** Severities whose beginning must not be missed when only a later alert of the key has a line. */
export const wakes: readonly Severity[] = ["critical", "warning"];

/** Digests that are no news have their own symbol. */
const symbolsOf: Partial<Record<DigestContext["reason"], string>> = { quiet_hours: "🌙", calm: "🔕" };

/** Alerts of one alert key, on one line. */
interface DigestItem {
  /** The newest alert, if it is a resolution or the digest follows quiet hours. Otherwise the newest of the worst severity. */
  alert: Alert;
  all: Alert[];
  /** When the first of the alerts fired, if they are over, epoch milliseconds. */
  firedAt?: number;
}

/** The worst and largest alert keys have a line each. The rest is counted, with a link to exactly these alerts. */
export function composeDigest(
  alerts: Alert[],
  context: DigestContext,
  publicUrl: string | undefined,
  nameOf?: NameOf,
): Document {
  const isReceipt = context.reason === "quiet_hours";
  const items = gatherDigestItems(alerts, isReceipt);
  const [shown, rest] = chooseShown(items, context.reason === "group" ? maxGroupItems : maxItems);
  const status = statusOf(alerts);
  const severity = worstSeverity(alerts);
  const span = spanOf(alerts);
  const group = groupOf(context);
  const kinds = writeKinds(alerts) || group;
  const head = writeHead(alerts, items, span, context);
  // When all alerts have one severity, the first line has room for their kinds.
  const isShort = kinds !== "" && !head.includes(":") && head.length + kinds.length <= 108;
  const repeat = context.possibleRepeat ? " (possible repeat)" : "";
  const subject = `${head}${isShort ? `: ${kinds}` : ""}${repeat}`;
  const symbols = new Set(shown.map(({ alert }) => symbolOf(alert)));
  const named = nameOf && ((subject: BareSubject) => nameOf(subject, context.now));
  const layout = { ...context, publicUrl, named, hasSymbol: symbols.size > 1, hasTime: span.ms >= oneMomentMs };
  const said = group !== "" && kinds === group ? { ...context, groupName: undefined } : context;
  const reason = note(writeReason(span, said));
  // A locked phone shows the largest alert right after the first line. The reason comes first where the alerts are old.
  const isLate = writeLateness(context) !== "" || context.reason === "outage" || context.reason === "stale";
  const blocks: Block[] = [
    {
      kind: "heading",
      inlines: [bold(`${symbolsOf[context.reason] ?? stateSymbol(severity, status)} ${subject}`)],
    },
    ...(kinds === "" || isShort ? [] : [paragraph([text(kinds)])]),
    ...(isLate ? [reason] : []),
    {
      kind: "list",
      items: [...(isReceipt ? writeWorst(alerts, shown, layout) : []), ...shown.map((item) => writeItem(item, layout))],
    },
    ...writeRest(rest, context.reason !== "calm", layout),
    ...writeSaid(items, context),
    ...(isLate ? [] : [reason]),
    ...writeSmallPrint(items, context),
    ...writeEnding(alerts.length, span, context, publicUrl),
  ];
  return { subject, severity, status, blocks };
}

/** The first items, and critical ones that are over, unless they would replace one that is still critical. */
function chooseShown(items: DigestItem[], most: number): [shown: DigestItem[], rest: DigestItem[]] {
  const critical = items.filter(({ all }) => all.some(({ facts }) => facts.severity === "critical"));
  const over = critical.filter(({ alert }) => isResolved(alert));
  const room = Math.min(maxOverItems, Math.max(0, most - (critical.length - over.length)));
  const named = new Set(over.slice(0, room));
  const others = items.filter((item) => !named.has(item)).slice(0, most - named.size);
  const shown = new Set([...others, ...named]);
  return [items.filter((item) => shown.has(item)), items.filter((item) => !shown.has(item))];
}

type Span = ReturnType<typeof spanOf>;

function spanOf(alerts: Alert[]) {
  const times = alerts.map(({ receivedAt }) => receivedAt);
  const [firstAt, lastAt] = [Math.min(...times), Math.max(...times)];
  return { firstAt, lastAt, ms: lastAt - firstAt };
}

/** After quiet hours the reader first asks what is still open. Otherwise: how much, how bad, how fast. */
function writeHead(
  alerts: Alert[],
  items: DigestItem[],
  span: Span,
  { reason, quietHours, total: all = 0 }: DigestContext,
): string {
  const isPart = all > alerts.length;
  const total = `${isPart ? `${groupThousands(alerts.length)} of ` : ""}${countOf(Math.max(all, alerts.length), "alert")}`;
  const firing = firingOf(items.map(({ alert }) => alert).filter((alert) => !isResolved(alert)));
  if (reason === "calm") return `Calm: ${countOf(items.length, "key")}, ${writeStill(firing)}`;
  if (reason !== "quiet_hours") {
    const during = alerts.length === 1 ? "" : ` in ${formatDuration(Math.max(span.ms, 1000))}`;
    const counts = writeCounts(alerts);
    if (isPart || counts.includes(",")) return `${total}${during}: ${counts}`;
    return `${/^\S+ (?:info|without)/.test(counts) ? total : counts}${during}`;
  }
  const hours = quietHours === undefined ? "" : ` (${quietHours.from} to ${quietHours.to})`;
  return writeWhile(`quiet${hours}`, total, firing);
}

type Firing = Partial<Record<Severity, number>>;

function firingOf(open: Alert[]): Firing {
  const firing: Firing = {};
  for (const { facts } of open) firing[facts.severity] = (firing[facts.severity] ?? 0) + 1;
  return firing;
}

export function writeWhile(held: string, alerts: string, firing: Firing): string {
  return `While ${held}: ${alerts}, ${writeStill(firing)}`;
}

function writeStill(firing: Firing): string {
  const open = Object.values(firing).reduce((sum, one) => sum + one, 0);
  return open === 0
    ? "none still firing"
    : `${groupThousands(open)} still firing (${writeSeverities(firing).join(", ")})`;
}

/** `14 pool TVL, 11 pool price, 9 other (eth 12, bsc 9, base 8 …)`. Empty where the kind of most alerts is unknown. */
function writeKinds(alerts: Alert[]): string {
  if (alerts.length < 2) return "";
  const places = alerts.map(({ facts }) => placeOf(facts));
  const sum = (counts: [string, number][]): number => counts.reduce((all, [, one]) => all + one, 0);
  const measures = countEach(places.map(({ measure }) => measure));
  if (sum(measures) * 2 < alerts.length) return "";
  const shown = measures.slice(0, maxParts);
  const others = alerts.length - sum(shown);
  const what = [
    ...shown.map(([name, one]) => `${groupThousands(one)} ${name}`),
    ...(others > 0 ? [`${groupThousands(others)} other`] : []),
  ];
  const chains = countEach(places.map(({ chain }) => chain));
  const where = chains
    .slice(0, maxParts)
    .map(([name, one]) => (chains.length === 1 ? name : `${name} ${groupThousands(one)}`));
  const more = chains.length > maxParts ? " …" : "";
  return `${what.join(", ")}${where.length === 0 ? "" : ` (${where.join(", ")}${more})`}`;
}

/** The most frequent first. Empty names do not count. */
function countEach(names: string[]): [name: string, count: number][] {
  const same = groupBy(names, (name) => name);
  same.delete("");
  return [...same].map(([name, { length }]): [string, number] => [name, length]).sort((a, b) => b[1] - a[1]);
}

/** The common facts of a group's alerts: `chain eth`, `held back while bridge down fired`. */
function groupOf({ reason, groupName }: DigestContext): string {
  if (reason !== "group" || groupName === undefined) return "";
  return isNameOfCause(groupName) ? `held back while ${writeGroup(groupName)} fired` : writeGroup(groupName);
}

interface ItemLayout extends Pick<DigestContext, "now" | "extras" | "damped"> {
  named: SubjectName | undefined;
  publicUrl: string | undefined;
  hasSymbol: boolean;
  hasTime: boolean;
}

/** One alert as a line of a digest, without a link. */
export function writeAlertLine(alert: Alert, now: number): Inline[] {
  const layout = { now, publicUrl: undefined, named: undefined, hasSymbol: false, hasTime: true };
  return writeItem({ alert, all: [alert] }, layout);
}

function writeItem({ alert, all, firedAt }: DigestItem, layout: ItemLayout): Inline[] {
  const { now, extras, damped, named, publicUrl, hasSymbol, hasTime } = layout;
  const { facts } = alert;
  const page = pageOfAlert(publicUrl, alert.id);
  const line = alert.origin === "hook" ? writeFactLine(facts, named) : undefined;
  const made = extras?.get(alert.id)?.title ?? ((isResolved(alert) && line?.over) || line?.title);
  const title = isolate(
    made === undefined ? shortTitle(facts, maxTitleUnits) : cutTitle(made, maxTitleUnits + maxValueUnits),
  );
  const number = made === undefined || made === writeTitle(facts) ? writeAmount(facts, maxValueUnits) : "";
  const lasted = firedAt === undefined ? "" : ` · over ${lengthWords(resolvedAfterMs(alert, firedAt))}`;
  const unrung = writeUnrung(all.flatMap(({ id }) => damped?.get(id) ?? []));
  const times = all.length > 1 ? ` ×${groupThousands(all.length)}` : "";
  const after = `${times}${lasted}${number === "" ? "" : ` · ${number}`}${hasTime ? " · " : ""}`;
  return [
    ...(hasSymbol ? [text(`${symbolOf(alert)} `)] : []),
    page === undefined ? text(title) : link(title, page),
    ...(after === "" ? [] : [text(after)]),
    ...(hasTime ? [time(facts.occurredAt ?? alert.receivedAt, now)] : []),
    ...(unrung === "" ? [] : [text(unrung)]),
  ];
}

/** Among equals the furthest past its threshold. Empty where the list shows an equally bad one that still fires. */
function writeWorst(alerts: Alert[], shown: DigestItem[], layout: ItemLayout): Inline[][] {
  const farOf = ({ facts }: Alert): number => Number(distancePercentOf(facts));
  const isWorseThan = (one: Alert, other: Alert): boolean =>
    rankOf(one) === rankOf(other) ? farOf(one) > farOf(other) : rankOf(one) < rankOf(other);
  const [first, ...others] = alerts.filter((alert) => !isResolved(alert));
  if (first === undefined) return [];
  const worst = others.reduce((one, other) => (isWorseThan(other, one) ? other : one), first);
  const isSaid = shown.some(({ alert }) => !isResolved(alert) && !isWorseThan(worst, alert));
  if (isSaid || !wakes.includes(worst.facts.severity)) return [];
  const line = writeItem({ alert: worst, all: [worst] }, { ...layout, hasSymbol: true, hasTime: true });
  const isOver = shown.some(({ all }) => all.includes(worst) && all[0] !== undefined && isResolved(all[0]));
  return [[text("Worst: "), ...line, ...(isOver ? [text("; over")] : [])]];
}

function symbolOf({ facts }: Alert): string {
  return stateSymbol(facts.severity, facts.status);
}

/** `14 critical, 3 warnings, 20 info, 5 resolved`: each alert counts once. */
function writeCounts(alerts: Alert[]): string {
  const open = alerts.filter((alert) => !isResolved(alert));
  const resolved = countPart(alerts.length - open.length, "resolved");
  return [...writeSeverities(firingOf(open)), resolved].filter((part) => part !== undefined).join(", ");
}

function writeSeverities({ critical = 0, warning = 0, info = 0, unknown = 0 }: Firing): string[] {
  return [
    countPart(critical, "critical"),
    countPart(warning, warning === 1 ? "warning" : "warnings"),
    countPart(info, "info"),
    countPart(unknown, "without severity"),
  ].filter((part) => part !== undefined);
}

/** The reason for one message, the time of the alerts, and the delay. */
function writeReason(span: Span, context: DigestContext): Inline[] {
  const { now } = context;
  const until = span.ms < oneMomentMs ? [] : [text(" to "), time(span.lastAt, now)];
  return [text(`${reasonWords(context)}Received `), time(span.firstAt, now), ...until, text(writeLateness(context))];
}

function writeLateness({ late, reason }: DigestContext): string {
  const why = cleanLine(late?.why ?? "");
  // The heading of the summary says so already.
  if (late === undefined || (reason === "quiet_hours" && why === "quiet hours")) return "";
  return `. Up to ${formatDuration(late.byMs)} late${why === "" ? "" : `: ${why}`}`;
}

const reasons: Record<DigestContext["reason"], string> = {
  burst: "Sent as one message. ",
  outage: "Sent as one message: they could not be delivered when they arrived. ",
  stale: "Sent as one message: too old by now for one each. ",
  quiet_hours: "",
  calm: "These did not ring. ",
  group: "",
  resend: "Resent: they could not be delivered when they arrived. ",
  release: "Released: a mute had held them back. ",
};

function reasonWords({ reason, groupName }: DigestContext): string {
  if (reason !== "group" || groupName === undefined) return reasons[reason];
  return isNameOfCause(groupName)
    ? `Held back while ${writeGroup(groupName)} fired. `
    : `Sent as one message for the group ${writeGroup(groupName)}. `;
}

/**
 * `and 17 more: 12 critical, 5 resolved. Over: ETH TVL; BTC price`. Alerts whose beginning is not in this digest are named,
 * since earlier messages show them as firing. The alerts of a calm digest had no such message.
 */
function writeRest(items: DigestItem[], namesOver: boolean, layout: Pick<ItemLayout, "extras" | "named">): Block[] {
  if (items.length === 0) return [];
  const left = items.flatMap(({ all }) => all);
  const over = items.filter(({ alert, firedAt }) => namesOver && isResolved(alert) && firedAt === undefined);
  const names = over.slice(0, maxOverNames).map(({ alert }) => nameIn(layout, alert));
  const others = over.length - names.length;
  const more = others > 0 ? ` and ${groupThousands(others)} more` : "";
  const ended = names.length === 0 ? "" : `. Over: ${names.join("; ")}${more}`;
  return [paragraph([text(`and ${groupThousands(left.length)} more: ${writeCounts(left)}${ended}`)])];
}

/** A name that the reader knows from the first line of the alert's earlier messages. */
function nameIn({ extras, named }: Pick<ItemLayout, "extras" | "named">, { id, origin, facts }: Alert): string {
  const line = origin === "hook" ? writeFactLine(facts, named) : undefined;
  // The sender's title alone may be the same for all its alerts.
  const ofFacts = line?.over === "" ? line.title : line?.steady;
  return isolate(cutTitle(extras?.get(id)?.title ?? ofFacts ?? writeTitle(facts), maxNameUnits));
}

/** The words of routes for alerts that still fire: each note once, and links that all share. */
function writeSaid(items: DigestItem[], { extras }: DigestContext): Block[] {
  const firing = items.flatMap(({ alert }) => (isResolved(alert) ? [] : (extras?.get(alert.id) ?? {})));
  const noted = groupBy(firing, ({ note = "" }) => note);
  noted.delete("");
  const notes = [...noted].slice(0, maxParts).map(([note, { length }]) => {
    return length === firing.length ? note : `${note} (${groupThousands(length)} of ${groupThousands(firing.length)})`;
  });
  const isShared = ({ url }: { url: string }) => firing.every(({ links }) => links?.some((one) => one.url === url));
  const links = firing[0]?.links?.filter(isShared);
  return [...notes.flatMap((note) => writeExtras({ note })), ...writeExtras({ links })];
}

/** The id of the first line's alert, by which the reader finds the earlier copy. */
function writeSmallPrint(items: DigestItem[], context: DigestContext): Block[] {
  const first = items[0];
  if (!context.possibleRepeat || first === undefined) return [];
  return [note([text(`You may have this twice: the first try got no answer. First alert ${first.alert.id}`)])];
}

/** A link to the log with exactly these alerts, by their destination and the times of the first and last one. */
function writeEnding(
  total: number,
  { firstAt, lastAt }: Span,
  { destination }: DigestContext,
  publicUrl?: string,
): Block[] {
  const log = pageOfLog(publicUrl);
  if (log === undefined) return [];
  const words = total === 1 ? "Show it" : `Show these ${groupThousands(total)}`;
  if (destination === undefined || !isInstant(firstAt) || !isInstant(lastAt)) return [paragraph([link(words, log)])];
  const [from, to] = [new Date(firstAt).toISOString(), new Date(lastAt).toISOString()];
  const filter = new URLSearchParams({ destination, state: "digested", from, to });
  return [paragraph([link(words, `${log}?${filter}`)])];
}

function statusOf(alerts: Alert[]): AlertStatus {
  if (alerts.every(isResolved)) return "resolved";
  return alerts.some((alert) => alert.facts.status === "firing") ? "firing" : "unknown";
}

/** The worst severity that is still open. If nothing is open, the worst of all. */
function worstSeverity(alerts: Alert[]): Severity {
  const open = alerts.filter((alert) => !isResolved(alert));
  return (open.length === 0 ? alerts : open)
    .map((alert) => alert.facts.severity)
    .reduce((worst, one) => (ranks[one] < ranks[worst] ? one : worst), "info");
}

function countPart(number: number, words: string): string | undefined {
  return number === 0 ? undefined : `${groupThousands(number)} ${words}`;
}

/** One item for each alert key: firing ones first, the worst first, then the largest, then the newest. */
function gatherDigestItems(alerts: Alert[], latestOnly: boolean): DigestItem[] {
  return [...groupBy(alerts, ({ facts }) => facts.alertKey).values()]
    .flatMap((same): DigestItem[] => {
      const alert = latestOnly ? same[0] : pickShown(same);
      return alert === undefined ? [] : [{ alert, all: same, firedAt: firedBefore(alert, same) }];
    })
    .map((item) => ({ ...item, size: sizeOf(item.alert), money: isOfMoney(item.alert) ? 0 : 1 }))
    .sort((one, other) => rankOf(one.alert) - rankOf(other.alert) || one.money - other.money || other.size - one.size);
}

/** The size of the number alone. An alert without a number comes last. */
function sizeOf({ facts: { value } }: Alert): number {
  const size = Math.abs(Number(withoutGroups(value ?? "x")));
  return Number.isFinite(size) ? size : -1;
}

/** Only amounts of money are compared: a trillion wei are a large number and little money. */
function isOfMoney({ facts: { value, unit } }: Alert): boolean {
  return value !== undefined && (unit === undefined || /^\s*(?:usd[a-z]{0,2}|us\$|\$|dollars?|eur|€)\s*$/i.test(unit));
}

function isResolved(alert: Alert): boolean {
  return alert.facts.status === "resolved";
}

/** 0 is the worst. An unknown severity may be anything, so it ranks above `info`. */
const ranks: Record<Severity, number> = { critical: 0, warning: 1, unknown: 2, info: 3 };

function pickShown(same: Alert[]): Alert | undefined {
  const newest = same[0];
  if (newest === undefined || isResolved(newest)) return newest;
  const worst = Math.min(...same.filter((alert) => !isResolved(alert)).map(rankOf));
  return same.find((alert) => !isResolved(alert) && rankOf(alert) === worst);
}

/** When the alerts began to fire, since the previous resolution if there is one. */
function firedBefore(shown: Alert, same: Alert[]): number | undefined {
  if (!isResolved(shown)) return undefined;
  const before = same.slice(same.indexOf(shown) + 1);
  const last = before.findIndex((alert) => !isResolved(alert));
  if (last === -1) return undefined;
  const end = before.findIndex((alert, index) => index > last && isResolved(alert));
  return before.slice(last, end === -1 ? undefined : end).at(-1)?.receivedAt;
}

function rankOf(alert: Alert): number {
  return ranks[alert.facts.severity] + (isResolved(alert) ? severities.length : 0);
}
