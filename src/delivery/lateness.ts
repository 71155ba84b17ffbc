import type { DestinationStatus, DueDelivery } from "../core/store.ts";

const worthSayingMs = 60_000;

/** How late a message is, and why in one clause; `undefined` within the first minute. Pure. */
export function explainLateness(
  delivery: DueDelivery,
  status: DestinationStatus,
  now: number,
): { byMs: number; why: string } | undefined {
  const byMs = now - delivery.receivedAt;
  if (byMs < worthSayingMs || delivery.purpose === "resend") return undefined;
  return { byMs, why: whyLate(delivery, status) };
}

function whyLate(delivery: DueDelivery, status: DestinationStatus): string {
  // The digest and the small print say that it was resent.
  if (delivery.purpose === "bulk_resend") return "";
  if (delivery.purpose === "fallback")
    return `${delivery.insteadOf ?? "the first destination"} could not take it`;
  if (delivery.lastDetail !== undefined) return delivery.lastDetail;
  if (delivery.state === "held") return "quiet hours";
  if (status.reason !== "") return status.reason;
  return "other messages were before it, or Tocsin was not running";
}
