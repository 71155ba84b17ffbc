import type { DeliveryProgress } from "../../core/delivery-job.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { MessageForm } from "../../core/message.ts";
import type { Destination } from "../../core/rules.ts";
import type { Claim } from "../lane/claim-session.ts";
import { isByHand } from "./plan-claim.ts";
import type { DeliveryHistory } from "./policy.ts";

/** A channel is given this long beyond its time-out before its claim counts as abandoned. */
const leaseMarginMs = 60_000;

export function timeoutOf(destination: Destination, settings: DeliverySettings): number {
  return destination.type === "email" ? settings.emailSendTimeoutMs : settings.sendTimeoutMs;
}

export function leaseOf(destination: Destination, settings: DeliverySettings): number {
  return Math.max(settings.leaseMs, timeoutOf(destination, settings) + leaseMarginMs);
}

/** A refusal of the rich form is written to all that were told together, so one alone says nothing about this message. */
export function formOf({ deliveries }: Claim): MessageForm {
  return deliveries.every((delivery) => delivery.form === "plain") ? "plain" : "rich";
}

/**
 * What the policy is to know of deliveries that are told together. They fare alike, so those that have been tried least
 * speak for all: what is told with an alert a day old does not fail with it. Of repeats the most counts, since each may
 * be a double.
 */
export function historyOf(
  claim: Claim,
  destination: Destination,
  progress: DeliveryProgress,
): DeliveryHistory {
  const { deliveries, digest } = claim;
  return {
    channel: destination.type,
    onAmbiguous: destination.onAmbiguous,
    createdAt: Math.max(...deliveries.map((delivery) => delivery.createdAt)),
    attempts: Math.min(...deliveries.map((delivery) => delivery.attempts)),
    ambiguous: Math.max(...deliveries.map((delivery) => delivery.ambiguous)),
    form: formOf(claim),
    moves: progress.moves ?? 0,
    inDigest: digest !== undefined,
    byHand: isByHand(deliveries[0]),
  };
}
