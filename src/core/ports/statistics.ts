import type { DeliveryState } from "../delivery.ts";

/** How deliveries end. A `held` delivery has not ended: a person has to judge it. */
export const outcomes = ["sent", "digested", "failed", "expired"] as const satisfies DeliveryState[];
export type EndState = (typeof outcomes)[number];

export type OutcomeCounts = Record<EndState, number>;

/** The end of one delivery. */
export interface PastOutcome {
  alertId: string;
  title: string;
  state: EndState;
  /** The reason in words for people. */
  reason: string;
  /** When it ended, epoch milliseconds. */
  at: number;
  /** The time from the acceptance of the alert to the end of the delivery. */
  afterMs: number;
}

export interface DestinationStatistics {
  destination: string;
  /** Deliveries that ended in the last 24 hours and 7 days, counted in whole hours. A resent delivery ended twice. */
  day: OutcomeCounts;
  week: OutcomeCounts;
  /**
   * How long alerts took from acceptance to sending, in the last 24 hours, to 5 %. Without digests and resends. Absent: none
   * was sent.
   */
  waits?: { p50Ms: number; p95Ms: number };
  /** The ends of the newest alerts' deliveries, oldest first, at most 50. */
  last: PastOutcome[];
}

/** How often a route took an alert: sent, muted, held or dropped it. */
export interface RouteStatistics {
  route: string;
  day: number;
  week: number;
  /** When the last alert came, however long ago. */
  lastAt: number;
  lastId: string;
}

/** The cost of each does not grow with the log. */
export interface Statistics {
  /** In the order asked. An unknown destination has zeros. */
  destinationStatistics(destinations: readonly string[], now: number): Promise<DestinationStatistics[]>;
  /** Counts of the routes that took an alert since counting began, at `since`. */
  routeStatistics(now: number): Promise<{ since?: number; routes: RouteStatistics[] }>;
  /** Counts the alerts that were accepted at or after each of these times, including the relay's own notices. */
  countSince(times: readonly number[]): Promise<number[]>;
}
