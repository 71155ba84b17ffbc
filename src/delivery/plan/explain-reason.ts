import type { ChannelType, Outcome, ReasonCode } from "../../core/delivery.ts";
import type { DueDelivery } from "../../core/delivery-job.ts";
import type { DestinationStatus } from "../../core/destination-status.ts";
import type { Destination } from "../../core/rules.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { hasSeveralRecipients, vendorOf } from "../../vendors/index.ts";

const longestQuote = 120;

/**
 * A reason in plain words, one clause: "Telegram did not answer". For messages; the page keeps the detail, which is for
 * whoever looks into the cause.
 */
export function explainReason(reason: ReasonCode, channel: ChannelType): string {
  const { otherSide: it, reasons } = vendorOf(channel).words;
  const own = reasons?.[reason];
  if (own !== undefined) return own;
  switch (reason) {
    case "connect_failed":
    case "dns_failed":
    case "tls_failed":
    case "timeout_before_send":
      return `${it} could not be reached`;
    case "no_answer":
    case "connection_lost":
      return `${it} did not answer`;
    case "bad_answer":
      return `${it} did not answer as it should`;
    case "server_error":
      return `${it} had an error`;
    case "rate_limited":
      return `${it} asked us to wait`;
    case "temporary_refusal":
      return `${it} refused it for the time being`;
    case "markup_refused":
    case "too_long":
    case "empty_text":
    case "message_refused":
      return `${it} refused the message`;
    case "recipient_refused":
      return `${it} refused the address`;
    case "chat_not_found":
      return "the chat does not exist, or the bot is not in it";
    case "kicked":
      return "the bot was removed from the group";
    case "no_rights":
      return `${it} does not take messages from us`;
    case "auth_failed":
      return `${it} refused the token or password`;
    case "no_starttls":
      return `${it} offers no encryption`;
    case "gone":
      return "the address there no longer exists";
    case "address_invalid":
    case "forbidden_address":
      return "the address cannot be used";
    case "address_moved":
      return "the group has a new id";
    case "topic_gone":
      return "the topic no longer exists";
    case "reply_target_gone":
    case "edit_target_gone":
      return "the earlier message no longer exists";
    case "process_stopped":
      return "Tocsin was restarted";
    case "breaker_open":
    case "paused":
      return `${it} did not work`;
    case "gave_up":
    case "too_old":
      return "it could not be sent in time";
    case "destination_removed":
      return "the destination is no longer configured";
    case "render_failed":
    case "internal":
      return "of an error in Tocsin";
    default:
      return reason satisfies never;
  }
}

/**
 * As `explainReason`, with the other side's own words where these say what to do: a refusal, never a network's code.
 */
export function explainOutcome(outcome: Exclude<Outcome, { kind: "sent" }>, channel: ChannelType): string {
  const words = explainReason(outcome.reason, channel);
  const quoted = quote(outcome);
  return quoted === "" ? words : `${words} (${quoted})`;
}

/** Why a fallback gets the alert, in words that follow "because". */
export function explainFallback(outcome: Outcome, destination: Destination, recipient: string): string {
  if (outcome.kind === "sent") return `${destination.name} has not taken it`;
  const quoted = quote(outcome);
  if (quoted === "") return `${destination.name} did not get it: ${explainReason(outcome.reason, destination.type)}`;
  return `${hasSeveralRecipients(destination.type) ? recipient : destination.name} refused it (${quoted})`;
}

const refusals: ReadonlySet<ReasonCode> = new Set([
  "recipient_refused",
  "message_refused",
  "too_long",
  "address_invalid",
  "auth_failed",
]);

function quote(outcome: Exclude<Outcome, { kind: "sent" }>): string {
  if (outcome.kind !== "rejected" || !refusals.has(outcome.reason)) return "";
  // What stands before the server's own words says again that it refused.
  const said = outcome.detail.replace(/^The mail server [^:]{1,60}: /, "").replace(/[.\s]{1,9}$/, "");
  return cut(said, longestQuote);
}

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
  if (delivery.purpose === "fallback") return `${delivery.insteadOf ?? "the first destination"} could not take it`;
  if (delivery.lastReason !== undefined) return explainReason(delivery.lastReason, channel);
  if (delivery.lastDetail !== undefined) return "the first try failed";
  if (delivery.state === "held") return "quiet hours";
  if (status.reasonCode !== undefined) return explainReason(status.reasonCode, channel);
  // An alert is accepted only while Tocsin runs, so it has been stopped since.
  return startedAt > delivery.receivedAt ? "Tocsin was restarted" : "queue";
}
