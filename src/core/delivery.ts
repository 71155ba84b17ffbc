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

/** Why the delivery exists. `resend`: of one alert, tried at once. `bulk_resend`: of many; they take one message in four. */
export const deliveryPurposes = ["alert", "fallback", "resend", "bulk_resend", "test", "notice"] as const;
export type DeliveryPurpose = (typeof deliveryPurposes)[number];

export function describeResending({ made, arrived }: { made: number; arrived: number }): string {
  return `${groupThousands(arrived)} of ${groupThousands(made)} resent`;
}

const settledStates: readonly DeliveryState[] = ["sent", "failed", "held", "muted", "expired", "digested"];

/** Whether only a person, or the end of quiet hours, can still change the state. */
export function isSettled({ state }: { state: DeliveryState }): boolean {
  return settledStates.includes(state);
}

/** The states that a bulk resend takes up. `held` is none of them: it may have arrived, so a person decides on each. */
export const failedStates = ["failed", "expired"] as const satisfies DeliveryState[];
export type FailedState = (typeof failedStates)[number];

/** The name of a vendor (`vendors/index.ts`). A kept delivery may have one that no longer exists. */
export type ChannelType = string;

export interface Standing {
  destination: string;
  channel: ChannelType;
  recipient: string;
  /** The delivery that replaces this one. */
  resentBy?: string;
}

/**
 * The deliveries that count for an alert's state: the newest of each destination that was not resent. Oldest first.
 * @param hasSeveralRecipients of a channel type: each recipient of a destination counts by itself, as mailboxes do
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

/** The result of a call to a vendor. `detail` is for people, at most 300 characters, without secrets. */
export type Outcome =
  | {
      kind: "sent";
      /** The vendor's id of the message, for edits and replies. */
      ref?: string;
      /** A remark for people about a message that was sent, e.g. "topic gone, sent to the group". */
      note?: string;
      /** What the destination has lost since it was configured. It counts as degraded until a message arrives without this. */
      degraded?: string;
    }
  | {
      kind: "retry";
      reason: ReasonCode;
      detail: string;
      /** Nothing may be tried for this long. Absent: the schedule decides. */
      waitMs?: number;
      /** `false` when the vendor only asked to wait (429): no step of the schedule is used up. Default true. */
      countsAsAttempt?: boolean;
      /** What has to wait: this chat (default) or the whole account. */
      scope?: "destination" | "account";
      /** The destination's new address (a group became a supergroup). Try again at once. */
      movedTo?: string;
    }
  | {
      kind: "rejected";
      /**
       * What is refused. `message`: this rendering; the plain one may pass. `recipient`: this address. `destination`:
       * everything, until a person acts. `account`: the bot or mail account.
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

/** The reason of a delivery whose destination has left the configuration. */
export const orphanReason = "this destination is no longer configured";
