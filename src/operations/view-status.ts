import type { DeliveryState } from "../core/delivery.ts";
import type { DestinationView, LogView } from "../core/operations.ts";
import type { StoreHealth } from "../core/ports/administration.ts";
import type { AlertCounts } from "../core/ports/alert-log.ts";

/** What the store knows in one view: counts that it keeps anyway, nothing that grows with the log. */
export function viewLog(health: StoreHealth, alerts: AlertCounts, destinations: DestinationView[]): LogView {
  const count = (state: DeliveryState) =>
    destinations.reduce((total, { counts }) => total + (counts[state] ?? 0), 0);
  const waitingSince = destinations.flatMap(({ oldestWaitingAt }) => oldestWaitingAt ?? []);
  const { unrouted, oldestUnroutedAt, bytes, freeBytes, full, damage } = health;
  return {
    alerts: { total: alerts.total, lastReceivedAt: alerts.lastReceivedAt },
    queue: {
      unrouted,
      oldestUnroutedAt,
      queued: count("queued"),
      waiting: count("waiting"),
      sending: count("sending"),
      held: count("held"),
      failed: count("failed"),
      expired: count("expired"),
      oldestWaitingAt: waitingSince.length === 0 ? undefined : Math.min(...waitingSince),
    },
    destinations,
    disk: { databaseBytes: bytes, freeBytes, full, damage },
  };
}
