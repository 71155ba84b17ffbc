import { groupThousands } from "../ground/numbers/format-number.ts";
/**
 * One delivery is one alert for one recipient of one destination.
 *
 *     queued ──claim──▶ sending ──sent──────▶ sent │ digested
 *        ▲                 │──rejected─────▶ failed
 *        │                 │──ambiguous────▶ waiting (policy retry) │ held (policy hold)
 *     waiting ◀──retry─────┘
 *     held ──a person or the end of quiet hours──▶ queued
 *     queued, waiting ──too old──▶ expired          muted is decided by routing and is final
 *
 * `queued` has never been tried, `waiting` has a time before which it is not tried again.
 */
export const deliveryStates = [
  "queued",
  "waiting",
  "sending",
  "sent",
  "failed",
  "held",
  "muted",
  "expired",
  "digested",
] as const;
export type DeliveryState = (typeof deliveryStates)[number];

export const attemptOutcomes = ["sent", "retry", "rejected", "ambiguous"] as const;
export type AttemptOutcome = (typeof attemptOutcomes)[number];

/**
 * Why the delivery exists. The message names every purpose but `alert`. A `resend` is for one alert and is tried at once. A
 * `bulk_resend` is one of many: they get one message in four while others are due, as digests when there are many.
 */
export const deliveryPurposes = ["alert", "fallback", "resend", "bulk_resend", "test", "notice"] as const;
export type DeliveryPurpose = (typeof deliveryPurposes)[number];

/** How far a bulk resend is, for every reader. */
export function describeResending({ made, arrived }: { made: number; arrived: number }): string {
  return `${groupThousands(arrived)} of ${groupThousands(made)} resent`;
}

const settledStates: readonly DeliveryState[] = ["sent", "failed", "held", "muted", "expired", "digested"];

/** Whether nobody need wait any more for an outcome: only a person, or the end of quiet hours, changes the state. */
export function isSettled({ state }: { state: DeliveryState }): boolean {
  return settledStates.includes(state);
}

/** States that a bulk resend of failures takes up. A `held` delivery may have arrived, so a person judges each. */
export const failedStates = ["failed", "expired"] as const satisfies DeliveryState[];
export type FailedState = (typeof failedStates)[number];

/** The type of a vendor (`vendors/index.ts` has them all). An old delivery may have a type that no longer exists. */
export type ChannelType = string;

/** The part of a delivery that `standingDeliveries` needs. */
export interface Standing {
  destination: string;
  channel: ChannelType;
  recipient: string;
  /** The delivery that replaces this one. */
  resentBy?: string;
}

/**
 * The deliveries that count for an alert's state: the newest of each destination (of each address, for mail), without those
 * that were resent. `deliveries` are all of one alert, oldest first. The page and the commands count by this.
 * @param hasSeveralRecipients of a channel type: recipients of one destination are independent, as mailboxes are
 */
export function standingDeliveries<T extends Standing>(
  deliveries: readonly T[],
  hasSeveralRecipients: (channel: ChannelType) => boolean,
): T[] {
  const newest = new Map<string, T>();
  for (const delivery of deliveries) {
    if (delivery.resentBy !== undefined) continue;
    const { destination, channel, recipient } = delivery;
    const key = hasSeveralRecipients(channel) ? [destination, recipient] : [destination];
    newest.set(JSON.stringify(key), delivery);
  }
  return [...newest.values()];
}

/**
 * What a channel says about one call to the other side. Expected failures are values, and a channel throws only for bugs.
 * `detail` is for people, at most 300 characters, in our words or the vendor's, without secrets.
 */
export type Outcome =
  | {
      kind: "sent";
      /** The vendor's id of the message, for edits and replies. */
      ref?: string;
      /** Something worth showing that did not stop the delivery, e.g. "topic gone, sent to the group". */
      note?: string;
      /**
       * What the destination has lost since it was configured. It counts as degraded until a message arrives without
       * `degraded`.
       */
      degraded?: string;
    }
  | {
      kind: "retry";
      reason: ReasonCode;
      detail: string;
      /** Milliseconds from now before which nothing may be tried. Absent: the schedule decides. */
      waitMs?: number;
      /** `false` when the other side only asked to wait (429). Then the schedule is not used up. Default true. */
      countsAsAttempt?: boolean;
      /** What has to wait: this chat (default) or the whole account. */
      scope?: "destination" | "account";
      /** The destination's new address (a group became a supergroup). Try again at once. */
      movedTo?: string;
    }
  | {
      kind: "rejected";
      /**
       * `message`: this rendering was refused, the plain one may pass. `recipient`: this address is refused. `destination`: a
       * person has to act before anything can be delivered there. `account`: the bot or mail account is refused.
       */
      scope: "message" | "recipient" | "destination" | "account";
      reason: ReasonCode;
      detail: string;
    }
  | {
      kind: "ambiguous";
      reason: ReasonCode;
      detail: string /** Least wait before a repeat. */;
      waitMs?: number;
    };

/** Reasons in the field's terms; the page and the metrics group by them. */
export const reasonCodes = [
  "connect_failed",
  "dns_failed",
  "tls_failed",
  "timeout_before_send",
  "no_answer",
  "connection_lost",
  "bad_answer",
  "server_error",
  "rate_limited",
  "address_moved",
  "markup_refused",
  "too_long",
  "empty_text",
  "message_refused",
  "chat_not_found",
  "kicked",
  "no_rights",
  "recipient_refused",
  "address_invalid",
  "auth_failed",
  "no_starttls",
  "gone",
  "forbidden_address",
  "reply_target_gone",
  "topic_gone",
  "edit_target_gone",
  "temporary_refusal",
  "process_stopped",
  "breaker_open",
  "paused",
  "gave_up",
  "too_old",
  "destination_removed",
  "render_failed",
  "internal",
] as const;
export type ReasonCode = (typeof reasonCodes)[number];

/** The stored reason of a delivery that failed because its destination has left the configuration. */
export const orphanReason = "this destination is no longer configured";
