import type { Alert } from "./alert.ts";
import type { DeliveryPurpose } from "./delivery.ts";
import type { Document } from "./message.ts";
import type { Damped, HeldBack } from "./ring.ts";
import type { MessageDetail, MessageExtras } from "./rules.ts";

export interface MessageContext {
  /** When the message is made, epoch milliseconds. */
  now: number;
  purpose: DeliveryPurpose;
  /** Whether an earlier attempt ended ambiguous. The message then says "(possible repeat)" and the alert's id. */
  possibleRepeat: boolean;
  /** Present more than a minute after the alert was accepted. `why` is one clause for people. */
  late?: { byMs: number; why: string };
  /** For a `fallback`: the destination that could not take the alert. */
  insteadOf?: string;
  /** The reason for the fallback, in words that follow "because". */
  insteadBecause?: string;
  /** Present when the message edits, answers or follows an earlier one of the key. */
  history?: { count: number; firstAt: number; lastAt: number };
  /** Whether this chat ever got an alert of the key. Default false. */
  hasEarlier?: boolean;
  /** Whether the message answers the first one, which names the subject. Default false. */
  isAnswer?: boolean;
  /** For a late resolution: since when the alert fires again. */
  firesAgainAt?: number;
  /** The resolving alert, when the message is a first message that is edited. */
  resolvedBy?: Alert;
  /** Alerts of the key that did not ring. `by`: this one does not either. `isSummary`: sums up a key, or corrects a message. */
  damped?: Damped & { isSummary: boolean };
  extras?: MessageExtras;
  /** Default `normal`. */
  detail?: MessageDetail;
}

export type DigestReason = "burst" | "outage" | "stale" | "quiet_hours" | "resend" | "release" | "group" | "calm";

export interface DigestContext extends Pick<MessageContext, "now" | "possibleRepeat" | "late"> {
  reason: DigestReason;
  /** For `quiet_hours`: their times, `HH:MM`. Absent when the destination no longer has any. */
  quietHours?: { from: string; to: string };
  /** For `group`: its name, see `nameGroup`. */
  groupName?: string;
  /** Alerts that go out together in several messages. Default: the alerts of this message. */
  total?: number;
  /** The destination's name, for a link to its alerts. */
  destination?: string;
  /** The routes' additions, by alert id. */
  extras?: ReadonlyMap<string, MessageExtras>;
  /** The alerts that did not ring before these, by alert id. */
  damped?: ReadonlyMap<string, HeldBack>;
}

/** Pure. Text may only be lost by cutting, and the message then says so. */
export interface Rendering {
  composeAlert(alert: Alert, context: MessageContext): Document;
  /**
   * Takes at least one alert, newest first as a claim has them: a beginning that was stored behind its end comes after it. The digest gives
   * their number, shows the worst first, and links the rest.
   */
  composeDigest(alerts: Alert[], context: DigestContext): Document;
}
