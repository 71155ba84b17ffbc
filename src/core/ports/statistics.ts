import type { DeliveryState } from "../delivery.ts";

/** The states in which a delivery has ended. `held` is not among them: a person has to decide on it. */
export const outcomes = ["sent", "digested", "failed", "expired"] as const satisfies DeliveryState[];
export type EndState = (typeof outcomes)[number];

export type OutcomeCounts = Record<EndState, number>;

export interface PastOutcome {
  alertId: string;
  title: string;
  state: EndState;
  reason: string;
  /** Epoch milliseconds. */
  at: number;
  /** From the acceptance of the alert to the end of the delivery. */
  afterMs: number;
}

export interface DestinationStatistics {
  destination: string;
  /** Deliveries that ended in the last 24 hours and 7 days, in whole hours. A resent delivery counts twice. */
  day: OutcomeCounts;
  week: OutcomeCounts;
  /** From acceptance to sending, in the last 24 hours, within 5 %. Without digests and resends. Absent: none was sent. */
  waits?: { p50Ms: number; p95Ms: number };
  /** The newest alerts' deliveries, oldest first, at most 50. */
  last: PastOutcome[];
}

/** How often a route took an alert, and what became of it. */
export interface RouteStatistics {
  route: string;
  day: number;
  week: number;
  /** However long ago. */
  lastAt: number;
  lastId: string;
}

/** The cost of each does not grow with the log. */
export interface Statistics {
  /** In the order asked. An unknown destination has zeros. */
  destinationStatistics(destinations: readonly string[], now: number): Promise<DestinationStatistics[]>;
  /** `since`: when counting began. Routes that took no alert are left out. */
  routeStatistics(now: number): Promise<{ since?: number; routes: RouteStatistics[] }>;
  /** For each time: the alerts accepted since, with the relay's own notices. */
  countSince(times: readonly number[]): Promise<number[]>;
}
