import type { DeliveryState } from "../delivery.ts";

/** How deliveries end. What a person has to judge (`held`) has not ended. */
export const outcomes = ["sent", "digested", "failed", "expired"] as const satisfies DeliveryState[];
export type EndState = (typeof outcomes)[number];

export type OutcomeCounts = Record<EndState, number>;

/** What became of one delivery. */
export interface PastOutcome {
  alertId: string;
  title: string;
  state: EndState;
  /** Why; in words for people. */
  reason: string;
  /** When it ended, epoch milliseconds. */
  at: number;
  /** From the alert's being accepted to that. */
  afterMs: number;
}

export interface DestinationStatistics {
  destination: string;
  /** Deliveries that ended in the last 24 hours and 7 days, counted in whole hours; what was resent ended twice. */
  day: OutcomeCounts;
  week: OutcomeCounts;
  /**
   * How long alerts took from being accepted to being sent, in those 24 hours, to 5 %. Without digests and resends. Absent:
   * none was sent.
   */
  waits?: { p50Ms: number; p95Ms: number };
  /** The outcomes of the newest alerts, oldest first, at most 50. */
  last: PastOutcome[];
}

/** How often a route took an alert: sent it somewhere, muted, held or dropped it. */
export interface RouteStatistics {
  route: string;
  day: number;
  week: number;
  /** The last one, however long ago. */
  lastAt: number;
  lastId: string;
}

/** Each costs as much for a long log as for a short one. */
export interface Statistics {
  /** In the order asked; of a destination that nothing is known of all are 0. */
  destinationStatistics(destinations: readonly string[], now: number): Promise<DestinationStatistics[]>;
  /** Counts of the routes that ever took an alert since they are counted; `since`: from then on. */
  routeStatistics(now: number): Promise<{ since?: number; routes: RouteStatistics[] }>;
  /** How many alerts were accepted at or after each of these times, the relay's own notices among them. */
  countSince(times: readonly number[]): Promise<number[]>;
}
