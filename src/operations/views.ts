import { type Clock, within } from "../core/clock.ts";
import type { DeliveryState } from "../core/delivery.ts";
import type { DestinationHealth, DestinationState } from "../core/destination-status.ts";
import type { ConfigurationState } from "../core/judge-configuration.ts";
import type { DestinationView, LogView, Readiness, RouteView, SpoolView } from "../core/operations.ts";
import type { Administration, StoreHealth } from "../core/ports/administration.ts";
import type { AlertCounts } from "../core/ports/alert-log.ts";
import type { DestinationCounts } from "../core/ports/dispatch.ts";
import type { RetentionRules } from "../core/ports/retention.ts";
import type { RouteStatistics } from "../core/ports/statistics.ts";
import type { Route } from "../core/rules.ts";
import { vendorOf } from "../vendors/index.ts";

const rank: Record<DestinationHealth, number> = { ok: 0, degraded: 1, down: 2, paused: 3, dead: 4 };

/** Configuration, health and counts of every destination in one list, in the order of the configuration. */
export function viewDestinations(states: DestinationState[], counts: DestinationCounts[]): DestinationView[] {
  const byName = new Map(counts.map((entry) => [entry.destination, entry]));
  return states.map(({ destination, own, account }) => {
    const status = account && rank[account.health] > rank[own.health] ? account : own;
    const counted = byName.get(destination.name);
    const { failedProbes } = own;
    const isRefused = status.health === "dead" || status.health === "paused";
    return {
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
      counts: counted?.counts ?? {},
      oldestWaitingAt: counted?.oldestWaitingAt,
      lastFailedAt: counted?.lastFailedAt,
      heldByQuietHours: counted?.heldByQuietHours,
    };
  });
}

/** A route with how often it took an alert. */
export function viewRoute(route: Route, known: readonly RouteStatistics[]): RouteView {
  const { name, matchers, to, fallback, isDefault, definedAt } = route;
  const found = known.find((one) => one.route === name);
  return {
    name,
    matchers,
    to,
    continue: route.continue,
    isDefault,
    fallback,
    definedAt,
    day: found?.day ?? 0,
    week: found?.week ?? 0,
    last: found && { at: found.lastAt, id: found.lastId },
  };
}

/** What the store knows in one view: counts that it keeps anyway, nothing that grows with the log. */
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

export interface ReadinessDeps {
  store: Pick<Administration, "health">;
  engine: {
    lastTurnAt(): number;
    laneTurns(): { destination: string; at: number }[];
    /** Default: there is no other. */
    configuration?(): ConfigurationState;
  };
  reader: { problem(): string | undefined };
  /** Absent: there is none. */
  spool?(): SpoolView;
  clock: Clock;
  stopping: AbortSignal;
  /** Default: `stopping`. */
  draining?: AbortSignal;
}

/** The engine goes round every second; this long without a turn means that it hangs. */
export const longestTurnMs = 30_000;
/** A commit takes milliseconds. */
const longestCommitMs = 10_000;

/** Ready: the store commits, the dispatcher turns and so does every lane. A full disk is not ready, since alerts are refused meanwhile. */
export async function readinessOf({
  store,
  engine,
  reader,
  spool,
  clock,
  stopping,
  draining = stopping,
}: ReadinessDeps): Promise<Readiness> {
  const reasons: string[] = [];
  try {
    // A relay that is told to stop says no at once, also to who asked just before: a balancer must not learn late, or a yes that is old.
    const health = draining.aborted ? undefined : await within(store.health(), longestCommitMs, clock, draining);
    if (draining.aborted) reasons.push("it is being stopped");
    else if (health === undefined) reasons.push("the store does not answer");
    else if (health.full) reasons.push("the disk is full: new alerts are answered 503");
    else if (!health.writable) reasons.push("the store does not commit");
  } catch {
    reasons.push(draining.aborted ? "it is being stopped" : "the store does not answer");
  }
  const spooling = spool?.();
  const spooled = spooling?.alerts ?? 0;
  if (reasons.length > 0 && spooled > 0) reasons.push(`${spooled} alerts wait in the spool`);
  const problem = reader.problem();
  if (problem !== undefined) reasons.push(`alerts cannot be read: ${problem}`);
  const idleMs = clock.now() - engine.lastTurnAt();
  if (idleMs > longestTurnMs) reasons.push(`the dispatcher has not turned for ${Math.round(idleMs / 1000)} s`);
  const hung = engine.laneTurns().filter(({ at }) => clock.now() - at > longestTurnMs);
  if (hung.length > 0) reasons.push(describeHung(hung, clock.now()));
  const ready = reasons.length === 0;
  const spools = spooling !== undefined && spooling.problem === undefined && !draining.aborted;
  const configuration = engine.configuration?.() ?? "newest";
  return {
    ready,
    reasons,
    ...(spools && { spools }),
    ...(spooled > 0 && { spooled }),
    ...(configuration !== "newest" && { configuration }),
  };
}

function describeHung(hung: { destination: string; at: number }[], now: number): string {
  const [first, ...others] = hung.sort((a, b) => a.at - b.at);
  const more = others.length === 0 ? "" : ` and of ${others.length} more`;
  return `the lane of ${first?.destination}${more} has not turned for ${Math.round((now - (first?.at ?? now)) / 1000)} s`;
}
