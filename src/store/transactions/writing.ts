import type { PlannedClaim, RoutingRecord } from "../../core/ports/routing-desk.ts";
import type { Decision } from "../../core/rules.ts";
import { type InsertedRow, insertedColumns } from "../tables.ts";
import { type NewDelivery, toDeliveryRow } from "./making.ts";
import type { Unrouted } from "./repeats.ts";

/** A delivery of an alert that is being routed. */
export interface RoutedDelivery extends NewDelivery {
  /** Made with it, under a lane that is held: the transaction has its row. */
  claim?: PlannedClaim;
}

/** What a delivery that is made has not yet, but for its lease, which is by the database's clock. */
const later = [
  ...["attempts", "ambiguous", "last_detail", "last_reason", "form", "progress", "digest_id"],
  ...["lease_until", "resent_by"],
];
/** The columns of `toRoutedRow`. */
export const newColumns = insertedColumns("deliveries").filter(([name]) => !later.includes(name));

/** @returns with `lease_ms`: null for one that is not claimed */
export function toRoutedRow({ claim, ...delivery }: RoutedDelivery) {
  const row = toDeliveryRow(delivery);
  if (claim === undefined) return { ...row, claim_token: null, lease_ms: null };
  const { token, lane, leaseMs } = claim;
  return {
    ...row,
    state: "sending" as const,
    due_at: null,
    claim_token: token,
    claim_fence: lane.fence,
    lease_ms: leaseMs,
  };
}

/** How one alert is routed. A repeat has neither decisions nor deliveries. */
export interface RoutedAlert {
  record: RoutingRecord;
  alert: Unrouted;
  decisions: Decision[];
  isUnmatched: boolean;
  isDropped: boolean;
  deliveries: RoutedDelivery[];
}

/** What routing fills of an alert. */
export const toRoutedColumns = ({ record, alert, decisions, isUnmatched, isDropped }: RoutedAlert) => ({
  routed_at: record.routedAt,
  severity: record.facts.severity,
  status: record.facts.status,
  alert_key: record.facts.alertKey,
  unmatched: isUnmatched ? 1 : 0,
  dropped: isDropped ? 1 : 0,
  facts: JSON.stringify(record.facts),
  decisions: JSON.stringify(decisions),
  fingerprint: alert.fingerprint ?? null,
  repeat_of: alert.repeatOf ?? null,
});

export interface NewRequest {
  row: InsertedRow<"requests">;
  /** Default of `routed`: it waits for routing. */
  alerts: {
    row: Pick<InsertedRow<"alerts">, "id" | "item" | "origin" | "source" | "received_at">;
    routed?: RoutedAlert;
  }[];
}

/** The relay whose requests they are, where several relays share a database. */
export interface AskedBy {
  /** Which relay routes first what is not routed yet. Default: whichever looks first. */
  router?: string;
  /** When the first of them asked, by the database's clock. Epoch milliseconds. */
  askedAt: number;
}

/** The positions of alerts and deliveries that were written, by their ids. */
export type Written = ReadonlyMap<string, number>;
