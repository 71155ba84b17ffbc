import { Counter, Histogram } from "../ground/numbers/figures.ts";
import { severities } from "./alert.ts";
import type { Outcome } from "./delivery.ts";
import type { DueDelivery } from "./delivery-job.ts";

/** One relay's deliveries since its start, for metrics. */
export class DeliveryFigures {
  /** Calls by `destination`, `outcome` and `reason` (`none` if sent). */
  readonly attempts = new Counter();
  /** Calls refused for the message itself, by destination. Either our rendering is wrong, or our reading of the refusal. */
  readonly refusedMessages = new Map<string, number>();
  /** Seconds from the acceptance of an alert to its sent message, by `destination` and `severity`. */
  readonly seconds = new Histogram([0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600]);

  constructor(destinations: Iterable<string> = []) {
    for (const destination of destinations)
      for (const severity of severities) this.seconds.expect({ destination, severity });
  }

  noteAttempt(destination: string, outcome: Outcome): void {
    const reason = outcome.kind === "sent" ? "none" : outcome.reason;
    this.attempts.add({ destination, outcome: outcome.kind, reason });
    if (outcome.kind === "rejected" && outcome.scope === "message")
      this.refusedMessages.set(destination, (this.refusedMessages.get(destination) ?? 0) + 1);
  }

  /** Only alerts count: resends, notices and tests do not show how long an alert takes. */
  noteSent(destination: string, deliveries: readonly DueDelivery[], at: number): void {
    for (const { purpose, severity, receivedAt } of deliveries)
      if (purpose === "alert") this.seconds.observe({ destination, severity }, Math.max(0, at - receivedAt) / 1000);
  }
}
