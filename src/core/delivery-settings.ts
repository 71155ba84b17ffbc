import type { Pace } from "./rules.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Waits between the attempts of one delivery. */
export interface RetrySchedule {
  /** The wait after the first failed attempt, after the second, and so on. Milliseconds. */
  stepsMs: number[];
  /** The wait when the steps are used up. Absent: the delivery fails after the last step. Milliseconds. */
  thenEveryMs?: number;
  /** Counted from the creation of the delivery. A retry that would fall after it is not made. Milliseconds. */
  giveUpAfterMs: number;
}

/** Applies when a message may have arrived, and the destination's policy is `retry`. */
export interface AmbiguousSettings {
  /** Least wait before a repeat, milliseconds. */
  waitMs: number;
  /** Repeats made at most. After them the delivery is held for a person. */
  maxRepeats: number;
}

/** Stops trying a destination that fails every time. Waiting at an open breaker is no attempt. */
export interface BreakerSettings {
  /** Failures in a row that open it. */
  openAfter: number;
  /** First pause; each failed probe doubles it. Milliseconds. */
  firstPauseMs: number;
  maxPauseMs: number;
}

/** How the engine delivers. Every value can be set under `delivery:` in the YAML file. */
export interface DeliverySettings {
  /** For every channel except outgoing webhooks. */
  schedule: RetrySchedule;
  webhookSchedule: RetrySchedule;
  /** Every wait of a schedule is multiplied by a random factor in [1 − jitter, 1 + jitter]. 0 to 0.5. */
  jitter: number;
  ambiguous: AmbiguousSettings;
  /** E-mail is repeated under the same Message-ID, once and later. */
  ambiguousEmail: AmbiguousSettings;
  breaker: BreakerSettings;
  /** For all chats of one Telegram bot together. */
  telegramBotPace: Pace;
  /** An older claim may be taken over. Longer than `sendTimeoutMs`, so a slow send is not doubled. Milliseconds. */
  leaseMs: number;
  /** One call to a vendor, from claim to outcome. Mail servers get `emailSendTimeoutMs`. Milliseconds. */
  sendTimeoutMs: number;
  /** A mail server may take ten minutes to answer the end of DATA (RFC 5321, 4.5.3.2.6). Milliseconds. */
  emailSendTimeoutMs: number;
  /** How long a shutdown waits for sends in flight before it records them as ambiguous. Milliseconds. */
  shutdownMs: number;
}

/** The defaults. Each caller gets its own copy. */
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
