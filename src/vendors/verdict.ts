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
interface Seen {
  channel: ChannelType;
  health: DestinationHealth;
  lastSentAt?: number;
  lastProvenAt?: number;
  counts: Partial<Record<DeliveryState, number>>;
}

/** Each message since its trouble began has failed at first, or still does: it does not fail only at times. */
export function takesNothing(destination: { health: DestinationHealth; since?: number; lastSentAt?: number }): boolean {
  const { health, since, lastSentAt = Number.NEGATIVE_INFINITY } = destination;
  return health === "degraded" && since !== undefined && lastSentAt < since;
}

/**
 * A destination with what is said of it. That nothing is known against it is no proof: a reader must not see green where
 * nothing was tried. `provenAt`: when a message, or a probe that proves more than a connection, last got through; undefined:
 * never, or nobody knows when.
 */
export function judged<T extends Seen>(destination: T) {
  const { channel, health, counts, lastSentAt, lastProvenAt } = destination;
  const { probeProves } = vendorOf(channel);
  const proofs = [lastSentAt, probeProves === "connection" ? undefined : lastProvenAt].filter((at) => at !== undefined);
  const provenAt = proofs.length === 0 ? undefined : Math.max(...proofs);
  const { sent = 0, digested = 0, failed = 0, expired = 0 } = counts;
  // What was sent before its time was kept proves it as well.
  const isProven = provenAt !== undefined || sent + digested > 0;
  // It may answer, and refuse each message for what it is: that is tried, and no proof.
  const isRefused = !isProven && failed + expired > 0;
  const verdict: DestinationVerdict = health !== "ok" || isRefused ? "failing" : isProven ? "proven" : "untried";
  return { ...destination, verdict, provenAt, probeProves };
}
