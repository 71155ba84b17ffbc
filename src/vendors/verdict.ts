import type { ChannelType, DeliveryState } from "../core/delivery.ts";
import type { DestinationHealth } from "../core/destination-status.ts";
import { vendorOf } from "./index.ts";

/**
 * What can honestly be said of a destination. `proven`: a message, or a probe that is as good as one or has shown that
 * the login is accepted, got through. `untried`: nothing speaks against it, and nothing was ever tried. `failing`: the
 * last that was heard of it is a failure.
 */
export const destinationVerdicts = ["proven", "untried", "failing"] as const;
export type DestinationVerdict = (typeof destinationVerdicts)[number];

/** What is asked of a destination to judge it. */
export interface Judged {
  channel: ChannelType;
  health: DestinationHealth;
  lastSentAt?: number;
  lastProvenAt?: number;
  counts: Partial<Record<DeliveryState, number>>;
}

/** When a message, or a probe that proves more than a connection, last got through. Undefined: never, or nobody knows when. */
export function provenAt({ channel, lastSentAt, lastProvenAt }: Omit<Judged, "health" | "counts">): number | undefined {
  const proofs = [lastSentAt, vendorOf(channel).probeProves === "connection" ? undefined : lastProvenAt];
  const known = proofs.filter((at) => at !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Each message since its trouble began has failed at first, or still does: it does not fail only at times. */
export function takesNothing(destination: { health: DestinationHealth; since?: number; lastSentAt?: number }): boolean {
  const { health, since, lastSentAt = Number.NEGATIVE_INFINITY } = destination;
  return health === "degraded" && since !== undefined && lastSentAt < since;
}

/** That nothing is known against a destination is no proof: whoever looks must not see green where nothing was tried. */
export function judgeDestination(destination: Judged): DestinationVerdict {
  if (destination.health !== "ok") return "failing";
  const { sent = 0, digested = 0, failed = 0, expired = 0 } = destination.counts;
  // What was sent before its time was kept proves it as well.
  if (provenAt(destination) !== undefined || sent + digested > 0) return "proven";
  // It may answer, and refuse each message for what it is: that is tried, and no proof.
  return failed + expired > 0 ? "failing" : "untried";
}
