import type { ChannelType } from "../../core/delivery.ts";
import type { DueDelivery } from "../../core/delivery-job.ts";
import type { DestinationStatus } from "../../core/destination-status.ts";
import { explainReason } from "./explain-reason.ts";

const worthSayingMs = 60_000;

export interface LatenessContext {
  status: DestinationStatus;
  channel: ChannelType;
  /** When this process began to deliver, epoch milliseconds. */
  startedAt: number;
  now: number;
}

/** How late a message is, and why in one clause of plain words; `undefined` within the first minute. Pure. */
export function explainLateness(
  delivery: DueDelivery,
  context: LatenessContext,
): { byMs: number; why: string } | undefined {
  const byMs = context.now - delivery.receivedAt;
  if (byMs < worthSayingMs || delivery.purpose === "resend") return undefined;
  return { byMs, why: whyLate(delivery, context) };
}

function whyLate(delivery: DueDelivery, { status, channel, startedAt }: LatenessContext): string {
  // The digest and the small print say that it was resent.
  if (delivery.purpose === "bulk_resend") return "";
  if (delivery.purpose === "fallback")
    return `${delivery.insteadOf ?? "the first destination"} could not take it`;
  if (delivery.lastReason !== undefined) return explainReason(delivery.lastReason, channel);
  if (delivery.lastDetail !== undefined) return "the first try failed";
  if (delivery.state === "held") return "quiet hours";
  if (status.reasonCode !== undefined) return explainReason(status.reasonCode, channel);
  // An alert is accepted only while Tocsin runs, so it has been stopped since.
  return startedAt > delivery.receivedAt ? "Tocsin was restarted" : "queue";
}
