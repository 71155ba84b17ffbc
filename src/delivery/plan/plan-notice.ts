import type { AlertFacts } from "../../core/alert.ts";
import type { DestinationHealth, DestinationStatus, UndeliveredSummary } from "../../core/destination-status.ts";
import { ownFacts } from "../../core/own-facts.ts";
import type { Destination } from "../../core/rules.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { sentence } from "../../ground/text/plain-text.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { adviseOn } from "../../vendors/verdict.ts";
import { explainReason } from "./explain-reason.ts";

/** A notice about a destination or an account, with the state to remember. */
export interface DueNotice {
  /** Absent: people had no notice that the destination was bad, so they need none that it works again. */
  says?: "worse" | "better";
  notice: NonNullable<DestinationStatus["notice"]>;
}

/** After "worse" and "better" the next "worse" waits this long. A destination that flaps gets one pair. */
const quietMs = 10 * 60_000;
/** Titles that a summary of undelivered alerts names. */
export const titlesKept = 5;

/**
 * Compares the present state with the last notice. A restart, a store that refuses, or a time without a destination for notices
 * thus only delays a notice. Pure.
 *
 *     bad, no notice ──▶ "worse" ──well──▶ "better"             well, no notice ──▶ nothing
 *     "worse" ──a worse kind: dead──▶ "worse" again             "better" ──the same again within 10 min──▶ waits
 * @param canSend whether there is a destination for the notice
 */
export function planNotice(status: DestinationStatus, canSend: boolean, now: number): DueNotice | undefined {
  const { notice: last, health } = status;
  if (ranks[health] > 0) {
    const isNew = last === undefined || (last.over ? last.health !== health : ranks[health] > ranks[last.health]);
    const isAgain = last?.over === true && now - last.at >= quietMs;
    const wasUnsent = last !== undefined && !last.sent && !last.over && canSend;
    if (!isNew && !isAgain && !wasUnsent) return undefined;
    return { says: "worse", notice: { health, at: now, sent: canSend, over: false } };
  }
  if (health !== "ok" || last === undefined || last.over) return undefined;
  const over = { ...last, over: true };
  return last.sent ? { says: "better", notice: over } : { notice: over };
}

/** Ranks above 0 are bad. A state that a person has to mend ranks highest. */
const ranks: Record<DestinationHealth, number> = { ok: 0, degraded: 0, down: 1, paused: 2, dead: 3 };

/** Alerts that wait, or have failed and were not resent. */
export interface Undelivered {
  waiting: number;
  failed: number;
}

export interface NoticeContext {
  /** Destinations that the status is about. Several may share an account. */
  concerned: Pick<Destination, "name" | "type" | "definedAt">[];
  /** Leads to the destination on the page. */
  link: string | undefined;
  /** Over all concerned destinations. Absent: unknown. */
  undelivered?: Undelivered;
  /** For "better": how long it was bad, counted from the notice. */
  afterMs?: number;
}

export function writeNotice(
  says: "worse" | "better",
  status: DestinationStatus,
  { concerned, link, undelivered, afterMs }: NoticeContext,
): AlertFacts {
  const what = concerned.map(({ name }) => name).join(", ");
  const isWorse = says === "worse";
  const after = afterMs === undefined || afterMs <= 0 ? "" : ` after ${formatDuration(afterMs)}`;
  return ownFacts({
    title: `${titleOf(status, what, concerned.length > 1)}${isWorse ? "" : after}`,
    text: isWorse ? describeTrouble(status, concerned[0], undelivered) : describeRest(undelivered),
    severity: isWorse ? "critical" : "info",
    status: isWorse ? "firing" : "resolved",
    key: `destination:${status.name}`,
    link,
  });
}

function titleOf(status: DestinationStatus, what: string, several: boolean): string {
  switch (status.health) {
    case "dead":
      return `${what} ${several ? "get" : "gets"} no alerts`;
    case "paused":
      return `${what} ${several ? "are" : "is"} paused: the account was refused`;
    case "down":
      if (status.reasonCode === "temporary_refusal") return `${what} ${several ? "put" : "puts"} alerts off`;
      return `${what} ${several ? "do" : "does"} not answer`;
    case "ok":
    case "degraded":
      return `${what} ${several ? "work" : "works"} again`;
  }
}

/** What is wrong, what to do, and how many alerts wait. */
function describeTrouble(
  { health, reasonCode }: DestinationStatus,
  destination: Pick<Destination, "type" | "definedAt"> | undefined,
  undelivered: Undelivered | undefined,
): string {
  if (destination === undefined) return "";
  const { type: channel, definedAt } = destination;
  const cause = reasonCode === undefined ? "" : `${sentence(explainReason(reasonCode, channel))}. `;
  const { waiting = 0, failed = 0 } = undelivered ?? {};
  const advice = adviseOn(
    { health, reasonCode, channel, definedAt },
    { where: " at Destinations on the page", waiting },
  );
  return `${cause}${advice}${failed === 0 ? "" : `\n${countOf(failed, "alert")} did not arrive so far.`}`;
}

/** What is left to do when the destination works again. */
function describeRest(undelivered: Undelivered | undefined): string {
  if (undelivered === undefined) return "What did not arrive meanwhile can be resent at Destinations on the page.";
  const { waiting, failed } = undelivered;
  const rest =
    waiting === 0 ? "" : `${countOf(waiting, "alert")} that waited ${waiting === 1 ? "follows" : "follow"} now.`;
  if (failed === 0) return rest === "" ? "All alerts have arrived." : rest;
  const lost = `${countOf(failed, "alert")} did not arrive: resend ${failed === 1 ? "it" : "them"} at Destinations on the page.`;
  return rest === "" ? lost : `${lost} ${rest}`;
}

/** For alerts whose destination has left the configuration. */
export function writeOrphanNotice(destination: string, count: number): AlertFacts {
  const alerts = count === 1 ? "1 delivery" : `${count} deliveries`;
  return ownFacts({
    title: `${alerts} waited for ${destination}, which is not in the configuration any more`,
    text: "They failed, or went to their fallback. If it has another name now, resend them to that from the page.",
    severity: "warning",
    status: "firing",
    key: `orphans:${destination}`,
    fields: [{ name: "destination", value: destination }],
  });
}

/** @param link where the page lists them */
export function writeUndeliveredNotice(summary: UndeliveredSummary, link: string | undefined): AlertFacts {
  const { destination, failed, held } = summary;
  return ownFacts({
    title: failed > 0 ? `${count(failed, summary)} did not reach ${destination}` : askWhetherItArrived(summary),
    text: [
      failed > 0 && held > 0 ? `${count(held, summary)} more may or may not have arrived.` : "",
      failed > 0
        ? "Press Resend at Destinations on the page."
        : "No answer came. Look there; if it is missing, press Resend on the page.",
    ]
      .filter(Boolean)
      .join(" "),
    severity: failed > 0 ? "critical" : "warning",
    status: "firing",
    key: `undelivered:${destination}`,
    link,
    fields: fieldsOf(summary),
  });
}

/** What the title does not say. */
function fieldsOf(summary: UndeliveredSummary): AlertFacts["fields"] {
  const { destination, titles, recipients, reason } = summary;
  const named = namedIn(summary);
  // Three failures of one mail to three mailboxes have one title.
  const isCut =
    titles.length === titlesKept || (!goesToSeveral(summary) && titles.length < summary.failed + summary.held);
  const shown = isCut ? [...titles, "and more, see the page"] : titles;
  return [
    ...(named === undefined ? [{ name: "alerts", value: shown.join("; ") }] : []),
    ...(recipients.every((recipient) => recipient === destination)
      ? []
      : [{ name: "recipient", value: recipients.join(", ") }]),
    { name: "reason", value: reason },
  ];
}

function askWhetherItArrived(summary: UndeliveredSummary): string {
  const named = namedIn(summary);
  const what = named === undefined ? `these ${count(summary.held, summary)}` : `"${named}"`;
  return `Did ${what} reach ${summary.destination}?`;
}

/** The alert that the title names: the only one that nobody got. */
function namedIn({ failed, held, titles }: UndeliveredSummary): string | undefined {
  return failed === 0 && held === 1 ? titles[0] : undefined;
}

/** With several mailboxes each gets a message, so an alert counts once for each. */
function count(number: number, summary: UndeliveredSummary): string {
  const word = goesToSeveral(summary) ? "message" : "alert";
  return number === 1 ? `1 ${word}` : `${number} ${word}s`;
}

function goesToSeveral({ recipients }: UndeliveredSummary): boolean {
  return recipients.length > 1;
}
