import type { PlannedClaim } from "../../core/ports/routing-desk.ts";
import { insertedColumns } from "../tables.ts";
import { type NewDelivery, toDeliveryRow } from "../transactions/making.ts";
import type { Transaction } from "./database.ts";
import { toArrays, typeNames } from "./tx.ts";

/** A delivery of an alert that is being routed, or of a notice. */
export interface RoutedDelivery extends NewDelivery {
  /** Made with it, under a lane that is held: the transaction has its row. */
  claim?: PlannedClaim;
}

/** What a delivery that is made has not yet. */
const later = [
  ...["attempts", "ambiguous", "last_detail", "last_reason", "form", "progress", "digest_id"],
  ...["lease_until", "resent_by"],
];
/** Of the table, in the order of the parameters. */
const columns: [name: string, type: string][] = [
  ...insertedColumns("deliveries").flatMap(([name, kind]): [string, string][] =>
    later.includes(name) ? [] : [[name, typeNames[kind]]],
  ),
  ["lease_ms", "bigint"],
];
const names = columns.map(([name]) => name);

function toRow({ claim, ...delivery }: RoutedDelivery) {
  const row = toDeliveryRow(delivery);
  if (claim === undefined) return row;
  const { token, lane, leaseMs } = claim;
  return { ...row, state: "sending", due_at: null, claim_token: token, claim_fence: lane.fence, lease_ms: leaseMs };
}

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
  toArrays(names, deliveries.map(toRow));

/** What was claimed with it is due no more; whoever asked for the claim looks whether it was made. */
export function noteDue({ notes }: Transaction, deliveries: readonly RoutedDelivery[]): void {
  if (deliveries.length > 0) notes.changed = true;
  for (const { planned, claim } of deliveries) if (claim === undefined) notes.due.add(planned.destination);
}
