import type { Pace } from "./rules.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

export interface RetrySchedule {
  /** Milliseconds: the first is the wait after the first failed attempt. */
  stepsMs: number[];
  /** The wait after the last step. Absent: the delivery fails then. */
  thenEveryMs?: number;
  /** No retry is made later than this after the creation of the delivery. */
  giveUpAfterMs: number;
}

/** For messages that may have arrived, where the destination's policy is `retry`. */
export interface AmbiguousSettings {
  /** Least wait before a repeat. */
  waitMs: number;
  /** After these the delivery is held for a person. */
  maxRepeats: number;
}

/** Stops calls to a destination that fails every time. */
export interface BreakerSettings {
  /** Failures in a row. */
  openAfter: number;
  /** The first pause. Each failed probe doubles it. */
  firstPauseMs: number;
  maxPauseMs: number;
}

/** How the engine delivers. Every value can be set under `delivery:` in the YAML file. */
export interface DeliverySettings {
  schedule: RetrySchedule;
  webhookSchedule: RetrySchedule;
  /** Every wait of a schedule is multiplied by a random factor in [1 − jitter, 1 + jitter]. 0 to 0.5. */
  jitter: number;
  ambiguous: AmbiguousSettings;
  /** A mail's repeat has the same Message-ID. */
  ambiguousEmail: AmbiguousSettings;
  breaker: BreakerSettings;
  /** For all chats of one Telegram bot together. */
  telegramBotPace: Pace;
  /** A claim older than this may be taken over. Longer than `sendTimeoutMs`, or a slow call would be doubled. */
  leaseMs: number;
  /** The limit of one call to a vendor. For mail servers it is `emailSendTimeoutMs`. */
  sendTimeoutMs: number;
  /** A mail server may take ten minutes to answer the end of DATA (RFC 5321, 4.5.3.2.6). */
  emailSendTimeoutMs: number;
  /** How long a shutdown waits for calls in flight, before it records them as ambiguous. */
  shutdownMs: number;
}

/** A new copy for each caller. */
export function defaultDeliverySettings(): DeliverySettings {
  return {
    schedule: {
      stepsMs: [1 * second, 5 * second, 15 * second, 30 * second, 1 * minute, 2 * minute, 5 * minute, 10 * minute],
      thenEveryMs: 15 * minute,
      giveUpAfterMs: 24 * hour,
    },
    webhookSchedule: {
      stepsMs: [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour],
      giveUpAfterMs: 96 * hour,
    },
    jitter: 0.2,
    ambiguous: { waitMs: 30 * second, maxRepeats: 2 },
    ambiguousEmail: { waitMs: 5 * minute, maxRepeats: 1 },
    breaker: { openAfter: 5, firstPauseMs: 30 * second, maxPauseMs: 10 * minute },
    telegramBotPace: { perSecond: 25 },
    leaseMs: 2 * minute,
    sendTimeoutMs: 30 * second,
    emailSendTimeoutMs: 13 * minute,
    shutdownMs: 20 * second,
  };
}
