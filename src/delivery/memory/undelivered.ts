import type { AlertFacts } from "../../core/alert.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { DueDelivery, NextStep } from "../../core/delivery-job.ts";
import type { DestinationStatus, UndeliveredTale } from "../../core/destination-status.ts";
import type { Destination } from "../../core/rules.ts";
import { explainOutcome } from "../plan/explain-reason.ts";

/** What came of the deliveries of one claim or of one that was abandoned. */
export interface Ending {
  destination: Pick<Destination, "name" | "type">;
  deliveries: readonly (Pick<DueDelivery, "alertId" | "purpose" | "recipient" | "fallbackTo"> & {
    /** Absent when the claim was abandoned. */
    facts?: AlertFacts;
  })[];
  outcome: Outcome;
  next: NextStep | undefined;
}

/**
 * Remembers the alerts that ended without a message for certain while their destination goes on working: a refused
 * mail, an unknown recipient, a schedule that is used up, a call without an answer that a person has to judge. Nothing
 * else would say so. It is kept with the destination's status, which is saved within a second.
 */
export interface UndeliveredWatch {
  note(ending: Ending): void;
  /** What is due to be told; it stays due until `told`. */
  listDue(now: number): UndeliveredTale[];
  told(tale: UndeliveredTale, now: number): void;
}

type Undelivered = NonNullable<DestinationStatus["undelivered"]>;

/** After a notice about a destination the next one waits this long and counts what has come together. */
const quietMs = 10 * 60_000;
const titlesKept = 5;

/** @param keep called with all that is to be known of a destination after a restart. */
export function createUndeliveredWatch(
  saved: DestinationStatus[],
  keep: (destination: string, undelivered: Undelivered) => void,
): UndeliveredWatch {
  const known = new Map(saved.map(({ name, undelivered = {} }) => [name, undelivered]));

  function change(destination: string, changes: Undelivered): void {
    const undelivered = { ...known.get(destination), ...changes };
    known.set(destination, undelivered);
    keep(destination, undelivered);
  }

  return {
    note({ destination: { name: destination, type }, deliveries, outcome, next }) {
      if (next === undefined || outcome.kind === "sent" || !isUnheard(outcome, next)) return;
      const lost = deliveries.filter((delivery) => isLost(delivery, next));
      if (lost.length === 0) return;
      const before = known.get(destination)?.tale;
      const recipients = [...(before?.recipients ?? []), ...lost.map(({ recipient }) => recipient)];
      const titles = [
        ...(before?.titles ?? []),
        ...lost.map(({ facts, alertId }) => facts?.title ?? alertId),
      ];
      const tale = {
        destination,
        failed: (before?.failed ?? 0) + (next.state === "failed" ? lost.length : 0),
        held: (before?.held ?? 0) + (next.state === "held" ? lost.length : 0),
        recipients: unique(recipients),
        titles: unique(titles).slice(0, titlesKept),
        reason: explainOutcome(outcome, type),
      };
      change(destination, { tale });
    },
    listDue: (now) =>
      [...known.values()].flatMap(({ tale, toldAt = Number.NEGATIVE_INFINITY }) => {
        const sinceMs = now - toldAt;
        return tale !== undefined && (sinceMs < 0 || sinceMs >= quietMs) ? [tale] : [];
      }),
    told(tale, now) {
      // What has come since it was listed is told the next time.
      const isAll = known.get(tale.destination)?.tale === tale;
      change(tale.destination, isAll ? { tale: undefined, toldAt: now } : { toldAt: now });
    },
  };
}

/** A destination or account that is refused as a whole has a notice of its own, which says that alerts fail or wait. */
function isUnheard(outcome: Outcome, next: NextStep): boolean {
  if (next.state !== "failed" && next.state !== "held") return false;
  return outcome.kind !== "rejected" || outcome.scope === "message" || outcome.scope === "recipient";
}

/** Somebody waits for one resend or a test, a notice must not cause notices, and a fallback delivers the alert itself. */
function isLost({ purpose, fallbackTo }: Ending["deliveries"][number], next: NextStep): boolean {
  const isFallingBack = next.state === "failed" && fallbackTo !== undefined;
  const isWatched = purpose === "resend" || purpose === "test" || purpose === "notice";
  return !isWatched && !isFallingBack;
}

function unique(texts: string[]): string[] {
  return [...new Set(texts)];
}

/** @param link where the page lists them */
export function writeUndeliveredNotice(tale: UndeliveredTale, link: string | undefined): AlertFacts {
  const { destination, failed, held } = tale;
  return {
    title: failed > 0 ? `${count(failed, tale)} did not reach ${destination}` : askWhetherItArrived(tale),
    text: [
      failed > 0 && held > 0 ? `${count(held, tale)} more may or may not have arrived.` : "",
      failed > 0
        ? "Resend what failed at Destinations on the page."
        : "Look there. If it is missing, resend it from the page.",
    ]
      .filter(Boolean)
      .join(" "),
    severity: failed > 0 ? "critical" : "warning",
    status: "firing",
    format: "empty",
    alertKey: `tocsin:undelivered:${destination}`,
    source: "Tocsin",
    link,
    fields: fieldsOf(tale),
    notes: [],
  };
}

/** What the title does not say already. */
function fieldsOf(tale: UndeliveredTale): AlertFacts["fields"] {
  const { destination, titles, recipients, reason } = tale;
  const named = namedIn(tale);
  // A mail to three has one title.
  const isCut =
    titles.length === titlesKept || (!goesToSeveral(tale) && titles.length < tale.failed + tale.held);
  const shown = isCut ? [...titles, "and more, see the page"] : titles;
  return [
    ...(named === undefined ? [{ name: "alerts", value: shown.join("; ") }] : []),
    ...(recipients.every((recipient) => recipient === destination)
      ? []
      : [{ name: "recipient", value: recipients.join(", ") }]),
    { name: "reason", value: reason },
  ];
}

function askWhetherItArrived(tale: UndeliveredTale): string {
  const named = namedIn(tale);
  const what = named === undefined ? `these ${count(tale.held, tale)}` : `"${named}"`;
  return `Did ${what} reach ${tale.destination}?`;
}

/** The one alert that nobody knows of, which the title of the notice names. */
function namedIn({ failed, held, titles }: UndeliveredTale): string | undefined {
  return failed === 0 && held === 1 ? titles[0] : undefined;
}

/** Of a destination with several mailboxes each gets a message of its own, and one alert counts once for each. */
function count(number: number, tale: UndeliveredTale): string {
  const word = goesToSeveral(tale) ? "message" : "alert";
  return number === 1 ? `1 ${word}` : `${number} ${word}s`;
}

function goesToSeveral({ recipients }: UndeliveredTale): boolean {
  return recipients.length > 1;
}
