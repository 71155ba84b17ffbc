import type { AlertFacts } from "../core/alert.ts";
import type { RoutingRecord } from "../core/ports/routing-desk.ts";
import type { Decision, PlannedDelivery } from "../core/rules.ts";
import { readTime } from "../ground/time/read-time.ts";

/** Another alert of the same key that says that it is over, since the key last fired. Routed before, and mostly accepted before. */
export interface EarlierEnd {
  id: string;
  facts: AlertFacts;
  /** Where that was sent, or is about to be. */
  told: readonly Pick<PlannedDelivery, "destination" | "recipient">[];
}

/** The most ends of a key that are looked at. */
export const mostEnds = 20;
/** A delivery in one of these has told nobody. */
export const untoldStates = "('failed', 'expired', 'muted')";

/**
 * What of an alert that is over has still to be sent. Pure. Senders repeat their ends: Prometheus for a quarter of an hour, and
 * Alertmanager with each notification of the group. A destination that has heard that this occurrence is over does not hear it again; a
 * later end changes the message where the channel can do so.
 *
 * @param earlier newest first
 * @returns the deliveries at the places that they have in the record
 */
export function withoutToldEnd(
  { decisions, deliveries, facts, endEdits = [] }: RoutingRecord,
  earlier: readonly EarlierEnd[],
): { decisions: Decision[]; deliveries: (PlannedDelivery | undefined)[] } {
  const other = earlier.findIndex((one) => !isSameOccurrence(one.facts, facts));
  const same = other === -1 ? earlier : earlier.slice(0, other);
  const isLater = same.every((one) => (facts.occurredAt ?? 0) > (one.facts.occurredAt ?? 0));
  const toldBy = ({ destination, recipient }: PlannedDelivery) =>
    same.find(({ told }) => told.some((one) => one.destination === destination && one.recipient === recipient));
  const left = deliveries.map((planned): PlannedDelivery | undefined => {
    if (planned.state === "muted" || toldBy(planned) === undefined) return planned;
    if (!isLater || !endEdits.includes(planned.destination)) return undefined;
    return { ...planned, updates: "later_end", fallback: undefined };
  });
  return {
    decisions: decisions.map((decision) => {
      const its = deliveries.filter(({ destination }) => destination === decision.destination);
      const by = its.map(toldBy).find((one) => one !== undefined);
      const isLeft = left.some((planned) => planned?.destination === decision.destination);
      if (by === undefined || isLeft || (decision.result !== "deliver" && decision.result !== "held")) return decision;
      return {
        ...decision,
        result: "contained",
        reason: `${decision.reason}; not sent, as the message of alert ${by.id} says already that it is over`,
      };
    }),
    deliveries: left,
  };
}

function isSameOccurrence(one: AlertFacts, other: AlertFacts): boolean {
  const start = startOf(one);
  if (start !== undefined || startOf(other) !== undefined) return start === startOf(other);
  return one.occurredAt !== undefined && one.occurredAt === other.occurredAt;
}

/**
 * When the occurrence began, by a field of the alert itself. A time of day, or the start of something inside the alert
 * (`window.startTime`, `service.startedAt`), is the same in every occurrence.
 */
function startOf({ fields }: AlertFacts): number | undefined {
  return fields
    .filter(({ name }) => /^start(?:s|ed)?_?(?:at|time)$/i.test(name))
    .map(({ value }) => readTime(value)?.at)
    .find((at) => at !== undefined);
}
