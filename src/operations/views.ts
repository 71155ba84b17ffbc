import type { DestinationView, LogView, RoutesView, RouteView } from "../contract/operations.ts";
import type { DeliveryState } from "../core/delivery.ts";
import type { DestinationHealth, DestinationState } from "../core/destination-status.ts";
import type { StoreHealth } from "../core/ports/administration.ts";
import type { AlertCounts } from "../core/ports/alert-log.ts";
import type { DestinationCounts } from "../core/ports/dispatch.ts";
import type { RetentionRules } from "../core/ports/retention.ts";
import type { RouteStatistics } from "../core/ports/statistics.ts";
import type { Route } from "../core/rules.ts";
import { vendorOf } from "../vendors/index.ts";
import { judged } from "../vendors/verdict.ts";

const rank: Record<DestinationHealth, number> = { ok: 0, degraded: 1, down: 2, paused: 3, dead: 4 };

/** Configuration, health and counts of every destination in one list, in the order of the configuration. */
export function viewDestinations(states: DestinationState[], counts: DestinationCounts[]): DestinationView[] {
  const byName = new Map(counts.map((entry) => [entry.destination, entry]));
  return states.map(({ destination, own, account }) => {
    const status = account && rank[account.health] > rank[own.health] ? account : own;
    const { destination: _, ...counted } = byName.get(destination.name) ?? { destination: "", counts: {} };
    const { failedProbes } = own;
    const isRefused = status.health === "dead" || status.health === "paused";
    return judged({
      name: destination.name,
      channel: destination.type,
      recipients: vendorOf(destination.type).shownRecipients(destination),
      health: status.health,
      reason: status.reason,
      reasonCode: status.reasonCode,
      since: status.health === "ok" ? undefined : status.since,
      nextTryAt: failedProbes ? undefined : isRefused ? status.probeAt : (status.openUntil ?? status.probeAt),
      lastSentAt: own.lastSentAt,
      lastProvenAt: own.lastProvenAt,
      failedProbes: failedProbes && { count: failedProbes.count, detail: failedProbes.detail },
      paused: own.paused,
      movedTo: own.moved?.to,
      definedAt: destination.definedAt,
      ...counted,
    });
  });
}

/** Counts by whole hours. The log's first hour begins with its first alert. */
export function viewRoutes(
  configured: readonly Route[],
  { since: hour, routes }: { since?: number; routes: readonly RouteStatistics[] },
  oldestReceivedAt = 0,
): RoutesView {
  const isFirstHour = hour !== undefined && oldestReceivedAt < hour + 3_600_000;
  const since = isFirstHour ? Math.max(hour, oldestReceivedAt) : hour;
  return { since, routes: configured.map((route) => viewRoute(route, routes)) };
}

function viewRoute(route: Route, known: readonly RouteStatistics[]): RouteView {
  const found = known.find((one) => one.route === route.name);
  const last = found && { at: found.lastAt, id: found.lastId };
  return { ...route, day: found?.day ?? 0, week: found?.week ?? 0, last };
}

/** Only counts that the store keeps anyway, no work that grows with the log. */
export function viewLog(
  health: StoreHealth,
  alerts: AlertCounts,
  destinations: DestinationView[],
  retention: RetentionRules,
): LogView {
  const count = (state: DeliveryState) => destinations.reduce((total, { counts }) => total + (counts[state] ?? 0), 0);
  const waitingSince = destinations.flatMap(({ oldestWaitingAt }) => oldestWaitingAt ?? []);
  const { unrouted, oldestUnroutedAt, bytes, freeBytes, full, damage } = health;
  return {
    alerts,
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
    retention,
  };
}
