import type { PlannedClaim } from "../../core/ports/routing-desk.ts";
import type { PlannedDelivery } from "../../core/rules.ts";
import type { NewDelivery } from "../transactions/making.ts";
import type { Transaction } from "./database.ts";
import { toText } from "./texts.ts";

/** A delivery of an alert that is being routed, or of a notice. */
export interface RoutedDelivery extends NewDelivery {
  /** Made with it, under a lane that is held: the transaction has its row. */
  claim?: PlannedClaim;
}

/** Of the table, in the order of the parameters. */
const columns: [name: string, type: string, of: (delivery: RoutedDelivery) => unknown][] = [
  ["id", "text", ({ id }) => id],
  ["alert_seq", "bigint", ({ alertSeq }) => alertSeq],
  ["destination", "text", ({ planned }) => planned.destination],
  ["channel", "text", ({ planned }) => planned.channel],
  ["recipient", "text", ({ planned }) => planned.recipient],
  ["route", "text", ({ planned }) => planned.route],
  ["purpose", "text", ({ purpose }) => purpose],
  ["instead_of", "text", ({ insteadOf }) => insteadOf],
  ["state", "text", ({ planned, claim }) => (claim === undefined ? planned.state : "sending")],
  ["reason", "text", ({ planned }) => toText(planned.reason)],
  ["created_at", "bigint", ({ at }) => at],
  ["due_at", "bigint", ({ planned, claim }) => (isMuted(planned) || claim !== undefined ? null : planned.dueAt)],
  ["finished_at", "bigint", ({ planned, at }) => (isMuted(planned) ? at : null)],
  ["updates", "text", ({ planned }) => planned.updates],
  ["freshness_ms", "bigint", ({ planned }) => planned.freshnessMs],
  ["fallback_to", "text", ({ planned }) => planned.fallback?.to],
  ["fallback_at", "bigint", ({ planned }) => (isMuted(planned) ? null : planned.fallback?.at)],
  ["instead_because", "text", ({ planned }) => planned.insteadBecause && toText(planned.insteadBecause)],
  ["claim_token", "text", ({ claim }) => claim?.token],
  ["claim_fence", "bigint", ({ claim }) => claim?.lane.fence ?? 0],
  ["lease_ms", "bigint", ({ claim }) => claim?.leaseMs],
];

const isMuted = ({ state }: PlannedDelivery) => state === "muted";
const names = columns.map(([name]) => name);
const leased = "clock_timestamp() + d.lease_ms * interval '1 millisecond'";

/**
 * An INSERT of new deliveries, in their order, in so many parameters as `toParameters` gives, from `$first` on.
 * @param alertSeq what each of them belongs to, in SQL; the given rows are `d`
 * @param from in SQL, what comes beside `d` and decides which of them are made
 */
export const insertDeliveries = (first: number, alertSeq = "d.alert_seq", from = "") => `
  INSERT INTO deliveries (${names.map((name) => (name === "lease_ms" ? "lease_until" : name)).join(", ")})
  SELECT ${names.map((name) => (name === "lease_ms" ? leased : name === "alert_seq" ? alertSeq : `d.${name}`)).join(", ")}
  FROM unnest(${columns.map(([, type], index) => `$${first + index}::${type}[]`).join(", ")}) WITH ORDINALITY
    AS d (${names.join(", ")}, place) ${from}
  ORDER BY d.place`;

/** One array a column. */
export const toParameters = (deliveries: readonly RoutedDelivery[]): unknown[][] =>
  columns.map(([, , of]) => deliveries.map((delivery) => of(delivery) ?? null));

/** What was claimed with it is due no more; whoever asked for the claim looks whether it was made. */
export function noteDue({ notes }: Transaction, deliveries: readonly RoutedDelivery[]): void {
  if (deliveries.length > 0) notes.changed = true;
  for (const { planned, claim } of deliveries) if (claim === undefined) notes.due.add(planned.destination);
}
