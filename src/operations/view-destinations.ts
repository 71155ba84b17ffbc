import type { DestinationHealth, DestinationState } from "../core/destination-status.ts";
import type { DestinationView } from "../core/operations.ts";
import type { DestinationCounts } from "../core/ports/dispatch.ts";
import { recipientsOf } from "../core/recipients.ts";
import type { Destination } from "../core/rules.ts";

const rank: Record<DestinationHealth, number> = { ok: 0, degraded: 1, down: 2, paused: 3, dead: 4 };

/** Configuration, health and counts of every destination in one list, in the order of the configuration. */
export function viewDestinations(states: DestinationState[], counts: DestinationCounts[]): DestinationView[] {
  const byName = new Map(counts.map((entry) => [entry.destination, entry]));
  return states.map(({ destination, own, account }) => {
    const status = account && rank[account.health] > rank[own.health] ? account : own;
    const counted = byName.get(destination.name);
    return {
      name: destination.name,
      channel: destination.type,
      recipients: shownRecipients(destination),
      health: status.health,
      reason: status.reason,
      reasonCode: status.reasonCode,
      since: status.health === "ok" ? undefined : status.since,
      nextTryAt: status.openUntil ?? status.probeAt,
      lastSentAt: own.lastSentAt,
      movedTo: own.moved?.to,
      definedAt: destination.definedAt,
      counts: counted?.counts ?? {},
      oldestWaitingAt: counted?.oldestWaitingAt,
      heldByQuietHours: counted?.heldByQuietHours,
    };
  });
}

/**
 * The addresses of webhooks may hold secrets in path and query, and who knows an ntfy topic can read it: only hosts
 * are shown.
 */
function shownRecipients(destination: Destination): string[] {
  switch (destination.type) {
    case "telegram":
    case "email":
      return recipientsOf(destination);
    case "webhook":
      return [hostOf(destination.url)];
    case "slack":
    case "discord":
      return [hostOf(destination.url.reveal())];
    case "ntfy":
    case "apprise":
      return [hostOf(destination.server)];
  }
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "(no address)";
}
