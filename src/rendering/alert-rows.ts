import type { Alert, AlertFacts, AlertField } from "../core/alert.ts";
import type { Block, Inline } from "../core/message.ts";
import { readMetricKey } from "../core/metric-key.ts";
import type { BareSubject } from "../core/subject-name.ts";
import { cleanLine, isolate } from "../ground/text/clean.ts";
import { cut } from "../ground/text/graphemes.ts";
import { isLinkable } from "../ground/text/linkable.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { code, link, markLongWords, text, time } from "./inlines.ts";

type Row = Extract<Block, { kind: "fields" }>["rows"][number];

const maxLabelUnits = 80;
const maxLinkTextUnits = 60;
/** Differences up to this come from senders' clocks and queues. A larger one deserves a line. */
const worthShowingMs = 2 * 60 * 1000;

/**
 * Leaves out what the first line says, metric keys, and the time of a fresh alert, which the chat shows.
 * @param said the first line in lower case
 * @param learned the subject whose learned name is shown: two subjects may share a name
 */
export function writeAlertRows(alert: Alert, now: number, said: string, learned?: BareSubject): Row[] {
  return [...writeAddress(learned, alert.facts), ...writeRows(alert, writeTimes(alert, now), said)];
}

export function writeAllRows(alert: Alert, now: number): Row[] {
  const times: Row[] = [];
  const { occurredAt } = alert.facts;
  if (occurredAt !== undefined) times.push({ label: "When", value: [{ kind: "time", at: occurredAt }] });
  if (alert.origin === "hook") times.push({ label: "Received", value: [time(alert.receivedAt, now)] });
  return writeRows(alert, times);
}

/** @param title the first line in lower case. A fact in it gets no row. Default: each known fact gets one */
function writeRows({ facts, origin }: Alert, times: Row[], title?: string): Row[] {
  const said = title ?? "";
  const isOurs = origin === "notice";
  const rows = writePlace(facts, said);
  const metric = cleanLine(facts.metric ?? "");
  const isSaid = said.includes(metric.toLowerCase()) || said.includes(metric.toLowerCase().replaceAll("_", " "));
  if (metric !== "" && !isSaid && (title === undefined || readMetricKey(metric) === undefined))
    rows.push({ label: "Metric", value: [code(metric)] });
  const source = cleanLine(facts.source ?? "");
  if (source !== "" && !isOurs && !said.includes(source.toLowerCase()))
    rows.push({ label: "From", value: markLongWords(source) });
  rows.push(...times);
  if (facts.link !== undefined && !isOurs) rows.push({ label: "Link", value: [writeLink(facts.link)] });
  return rows;
}

export function writeFields(fields: AlertField[]): Row[] {
  return fields.map((field) => ({
    label: isolate(cut(cleanLine(field.name), maxLabelUnits)) || "?",
    value: markLongWords(cleanLine(field.value, " ⏎ ")),
  }));
}

function writePlace(facts: AlertFacts, said: string): Row[] {
  const token = cleanLine(facts.token ?? "");
  const chain = cleanLine(facts.chain ?? "");
  const isChainSaid = chain === "" || (said !== "" && said.includes(chain.toLowerCase()));
  const onChain = isChainSaid ? [] : [text(" on "), ...markLongWords(chain)];
  if (token !== "" && (said === "" || !said.includes(token.toLowerCase())))
    return [{ label: "Token", value: [...markLongWords(token), ...onChain] }];
  return isChainSaid ? [] : [{ label: "Chain", value: markLongWords(chain) }];
}

/** The address behind a learned name. The fact `token` has a row already. */
function writeAddress(learned: BareSubject | undefined, { token }: AlertFacts): Row[] {
  if (learned === undefined || token === learned.address) return [];
  return [{ label: learned.kind === "pool" ? "Pool" : "Token", value: [code(cleanLine(learned.address))] }];
}

/** The sender's time where it differs from ours. Our time where the message is later than the alert. */
function writeTimes({ receivedAt, origin, facts }: Alert, now: number): Row[] {
  const { occurredAt } = facts;
  const isLate = Math.abs(now - receivedAt) > worthShowingMs;
  const received: Row[] = isLate && origin === "hook" ? [{ label: "Received", value: [time(receivedAt, now)] }] : [];
  const apartMs = occurredAt === undefined ? 0 : receivedAt - occurredAt;
  if (occurredAt === undefined || Math.abs(apartMs) <= worthShowingMs) return received;
  const apart = `${formatDuration(Math.abs(apartMs))} ${apartMs > 0 ? "before" : "after"} it was received`;
  return [{ label: "When", value: [time(occurredAt, now), text(`, ${apart}`)] }, ...received];
}

/** Shows the address itself, cut where it is long, so no link hides where it leads. */
function writeLink(href: string): Inline {
  const shown = cleanLine(href);
  return isLinkable(href) ? link(cut(shown, maxLinkTextUnits), href) : text(shown);
}
