import type { Alert } from "./alert.ts";
import type { DeliveryPurpose } from "./delivery.ts";
import type { Document } from "./message.ts";
import type { Damped, HeldBack } from "./ring.ts";
import type { MessageDetail, MessageExtras } from "./rules.ts";

/** What a message says besides the alert itself. */
export interface MessageContext {
  /** When the message is made, epoch milliseconds. */
  now: number;
  purpose: DeliveryPurpose;
  /**
   * Whether the reader may see this a second time, since an earlier attempt ended ambiguous. The message then says "(possible
   * repeat)" and the alert's id.
   */
  possibleRepeat: boolean;
  /** Set when the alert reaches the reader more than a minute after it was accepted. `why` is one clause for people. */
  late?: { byMs: number; why: string };
  /** For a `fallback`: the destination that could not take the alert. */
  insteadOf?: string;
  /** The reason for the fallback, in words that follow "because". */
  insteadBecause?: string;
  /** Set when an earlier message of the alert key is edited, answered or followed. */
  history?: { count: number; firstAt: number; lastAt: number };
  /** Whether an alert of its key was sent here before, however long ago. Default false. */
  hasEarlier?: boolean;
  /** Whether the message answers the first one, which names the subject. Default false. */
  isAnswer?: boolean;
  /** For a late resolution: since when the alert fires again, as the reader knows. */
  firesAgainAt?: number;
  /** The resolving alert, when the message is the edited first message of a resolved one. */
  resolvedBy?: Alert;
  /**
   * Alerts of the key that did not ring. With `by`: this alert does not ring either. `isSummary`: the message is for a key that
   * is calm, or whose last message was wrong for a long time.
   */
  damped?: Damped & { isSummary: boolean };
  /** The route's additions. */
  extras?: MessageExtras;
  /** Default `normal`. */
  detail?: MessageDetail;
}

export type DigestReason = "burst" | "outage" | "stale" | "quiet_hours" | "resend" | "release" | "group" | "calm";

export interface DigestContext extends Pick<MessageContext, "now" | "possibleRepeat" | "late"> {
  reason: DigestReason;
  /** For `quiet_hours`: their times, `HH:MM`. Absent when the destination has none any more. */
  quietHours?: { from: string; to: string };
  /** For `group`: its name, see `nameGroup`. */
  groupName?: string;
  /** The number of alerts that go out together in several messages. Default: the alerts of this message. */
  total?: number;
  /** The destination's name. The link leads to the alerts that it got. */
  destination?: string;
  /** The routes' additions, by alert id. */
  extras?: ReadonlyMap<string, MessageExtras>;
  /** The alerts that did not ring before these, by alert id. */
  damped?: ReadonlyMap<string, HeldBack>;
}

/** Rendering for the engine. Pure. It may lose text only by cutting, and the message says so. */
export interface Rendering {
  composeAlert(alert: Alert, context: MessageContext): Document;
  /** Takes at least one alert, in any order. The digest says how many there are, the worst first, and where to read the rest. */
  composeDigest(alerts: Alert[], context: DigestContext): Document;
}
