import type { DueDelivery } from "../core/store.ts";
import type { DigestReason } from "../core/telling.ts";

export interface ClaimLimits {
  /** More than this many waiting for one recipient are told together. */
  digestOver: number;
  /** A message of this channel can be changed afterwards, so repeats of one key need no message each. */
  canEdit: boolean;
  /** The destination was down and these waited for it. */
  afterOutage: boolean;
}

/** What to tell next. `single` may hold several deliveries of one alert key: the newest is told, with a count of the rest. */
export type ClaimPlan =
  | { kind: "single"; deliveries: DueDelivery[] }
  | { kind: "digest"; deliveries: DueDelivery[]; reason: DigestReason; digestId?: string };

const oneMinuteMs = 60_000;

/**
 * Chooses among the deliveries of one destination that are due now. Pure. In this order:
 * what a person asked for by hand and what the relay has to say itself; what was begun (a digest to repeat, the parts of
 * a long message); what is stale; what is too much; one alert, the oldest first, or the newest first when all are late.
 */
export function planClaim(due: DueDelivery[], limits: ClaimLimits, now: number): ClaimPlan | undefined {
  const byHand = due.find((delivery) => !isDigestible(delivery));
  if (byHand) return { kind: "single", deliveries: [byHand] };
  const recipient = due[0]?.recipient;
  const waiting = due.filter((delivery) => delivery.recipient === recipient);
  return planBegun(waiting) ?? planTogether(waiting, limits, now) ?? planOne(waiting, limits, now);
}

function isDigestible(delivery: DueDelivery): boolean {
  return delivery.purpose === "alert" || delivery.purpose === "fallback";
}

/** What may have reached a reader in part, or perhaps as a whole, is told again as the same message. */
function planBegun(waiting: DueDelivery[]): ClaimPlan | undefined {
  const begun = waiting.find(
    (delivery) => delivery.progress.refs.length > 0 && delivery.digestId === undefined,
  );
  if (begun) return { kind: "single", deliveries: [begun] };
  const first = waiting.find(
    (delivery) =>
      delivery.digestId !== undefined && (delivery.ambiguous > 0 || delivery.progress.refs.length > 0),
  );
  if (!first) return undefined;
  const { digestId } = first;
  const deliveries = waiting.filter((delivery) => delivery.digestId === digestId);
  return { kind: "digest", deliveries, digestId, reason: first.progress.digestReason ?? "burst" };
}

function planTogether(waiting: DueDelivery[], limits: ClaimLimits, now: number): ClaimPlan | undefined {
  const quiet = waiting.filter((delivery) => delivery.state === "held");
  if (quiet.length > 1) return { kind: "digest", deliveries: quiet, reason: "quiet_hours" };
  const stale = waiting.filter(
    (delivery) => delivery.freshnessMs !== undefined && now - delivery.receivedAt > delivery.freshnessMs,
  );
  if (stale.length > 1) return { kind: "digest", deliveries: stale, reason: "stale" };
  if (waiting.length <= limits.digestOver) return undefined;
  return { kind: "digest", deliveries: waiting, reason: limits.afterOutage ? "outage" : "burst" };
}

function planOne(waiting: DueDelivery[], limits: ClaimLimits, now: number): ClaimPlan | undefined {
  const oldest = waiting[0];
  if (!oldest) return undefined;
  const late = now - oldest.createdAt > oneMinuteMs;
  const first = late ? newestOf(waiting) : oldest;
  if (!limits.canEdit || first.updates === "new") return { kind: "single", deliveries: [first] };
  const sameKey = waiting.filter(
    (delivery) =>
      delivery.alertKey === first.alertKey && delivery.status === first.status && delivery.updates !== "new",
  );
  const newest = newestOf(sameKey);
  return { kind: "single", deliveries: [newest, ...sameKey.filter((delivery) => delivery !== newest)] };
}

function newestOf(deliveries: DueDelivery[]): DueDelivery {
  return deliveries.reduce((newest, delivery) => (delivery.alertSeq > newest.alertSeq ? delivery : newest));
}
