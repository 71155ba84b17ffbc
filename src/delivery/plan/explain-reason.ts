import type { ChannelType, Outcome, ReasonCode } from "../../core/delivery.ts";
import type { DueDelivery } from "../../core/delivery-job.ts";
import type { DestinationStatus } from "../../core/destination-status.ts";
import { type Destination, isDamped } from "../../core/rules.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { hasSeveralRecipients, vendorOf } from "../../vendors/index.ts";
import { openSince } from "./plan-claim.ts";

const longestQuote = 120;

/** A reason in one plain clause, for messages: "Telegram did not answer". The page shows the detail instead. */
export function explainReason(reason: ReasonCode, channel: ChannelType): string {
  const { otherSide, reasons } = vendorOf(channel).words;
  // A row may have the code of another version. The code is better than nothing.
  return reasons?.[reason] ?? reasonWords(otherSide)[reason] ?? reason;
}

function reasonWords(it: string): Record<ReasonCode, string> {
  return {
    connect_failed: `${it} could not be reached`,
    dns_failed: `${it} could not be reached`,
    tls_failed: `${it} could not be reached`,
    timeout_before_send: `${it} could not be reached`,
    no_answer: `${it} did not answer`,
    connection_lost: `${it} did not answer`,
    bad_answer: `${it} did not answer as it should`,
    server_error: `${it} had an error`,
    rate_limited: `${it} asked us to wait`,
    temporary_refusal: `${it} refused it for the time being`,
    markup_refused: `${it} refused the message`,
    too_long: `${it} refused the message`,
    empty_text: `${it} refused the message`,
    message_refused: `${it} refused the message`,
    recipient_refused: `${it} refused the address`,
    chat_not_found: "the chat does not exist, or the bot is not in it",
    kicked: "the bot was removed from the group",
    no_rights: `${it} does not take messages from us`,
    auth_failed: `${it} refused the token or password`,
    no_starttls: `${it} offers no encryption`,
    gone: "the address there no longer exists",
    address_invalid: "the address cannot be used",
    forbidden_address: "the address cannot be used",
    address_moved: "the group has a new id",
    topic_gone: "the topic no longer exists",
    reply_target_gone: "the earlier message no longer exists",
    edit_target_gone: "the earlier message no longer exists",
    process_stopped: "Tocsin was restarted",
    breaker_open: `${it} did not work`,
    paused: `${it} did not work`,
    gave_up: "it could not be sent in time",
    too_old: "it could not be sent in time",
    destination_removed: "the destination is no longer configured",
    render_failed: "of an error in Tocsin",
    internal: "of an error in Tocsin",
  };
}

/** As `explainReason`, but with the vendor's words for a refusal, since they may say what to do. */
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
  // The part in front repeats that the server refused.
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

/** How late a message is, and why, in one clause. Undefined within the first minute. Pure. */
export function explainLateness(
  delivery: DueDelivery,
  context: LatenessContext,
): { byMs: number; why: string } | undefined {
  const byMs = context.now - delivery.receivedAt;
  if (byMs < worthSayingMs || delivery.purpose === "resend" || isDamped(delivery)) return undefined;
  const waited = delivery.state === "held" && delivery.groupName !== undefined;
  if (waited && context.now - delivery.dueAt < worthSayingMs) return undefined;
  return { byMs, why: whyLate(delivery, context) };
}

function whyLate(delivery: DueDelivery, { status, channel, startedAt }: LatenessContext): string {
  // The message already says that it was resent.
  if (delivery.purpose === "bulk_resend") return delivery.extras?.late ?? "";
  if (delivery.purpose === "fallback") return `${delivery.insteadOf ?? "the first destination"} could not take it`;
  if (delivery.lastReason !== undefined) return explainReason(delivery.lastReason, channel);
  if (delivery.lastDetail !== undefined) return "the first try failed";
  const isOfOthers = delivery.groupName !== undefined;
  if (delivery.state === "held" && !isOfOthers) return "quiet hours";
  if (delivery.createdAt < (status.resumedAt ?? 0)) return "the destination was paused";
  if (status.reasonCode !== undefined) return explainReason(status.reasonCode, channel);
  // Alerts are accepted only while Tocsin runs. It was stopped since.
  const since = openSince({ ...delivery, createdAt: delivery.receivedAt });
  if (startedAt > since) return "Tocsin was restarted";
  if (isOfOthers) return "it waited for others";
  return since > delivery.receivedAt ? "it was held" : "queue";
}
