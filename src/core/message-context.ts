import type { Alert } from "./alert.ts";
import type { DeliveryPurpose } from "./delivery.ts";
import type { Document } from "./message.ts";
import type { Damped, HeldBack } from "./ring.ts";
import type { MessageDetail, MessageExtras } from "./rules.ts";

/** What a message says besides the alert itself. */
export interface MessageContext {
  /** Epoch milliseconds of making the message. */
  now: number;
  purpose: DeliveryPurpose;
  /**
   * A former attempt ended ambiguous: the reader may see this a second time. Says "(possible repeat)" and the alert's
   * id.
   */
  possibleRepeat: boolean;
  /**
   * Said when the alert reaches the reader more than a minute after it was accepted; `why` is one clause for people.
   */
  late?: { byMs: number; why: string };
  /** Set for a `fallback`: the destination that could not take it. */
  insteadOf?: string;
  /** Why that is, in words that follow "because". */
  insteadBecause?: string;
  /** Set when an earlier message of the same alert key is edited, answered or followed. */
  history?: { count: number; firstAt: number; lastAt: number };
  /** An alert of its key was sent here before, be it long ago. Default false. */
  hasEarlier?: boolean;
  /** The message answers the first one, which says what it is about. Default false. */
  isAnswer?: boolean;
  /** For a resolution that comes late: since when the same alert fires again, as its reader knows. */
  firesAgainAt?: number;
  /** Set when the message is the edited first message of an alert that has been resolved: the resolving event. */
  resolvedBy?: Alert;
  /**
   * What did not ring of its key. With `by`: nor did this alert. `isSummary`: the message of a key that is calm, or whose
   * last message was wrong for long.
   */
  damped?: Damped & { isSummary: boolean };
  /** What its route adds. */
  extras?: MessageExtras;
  /** Default `normal`. */
  detail?: MessageDetail;
}

export type DigestReason = "burst" | "outage" | "stale" | "quiet_hours" | "resend" | "release" | "group" | "calm";

export interface DigestContext extends Pick<MessageContext, "now" | "possibleRepeat" | "late"> {
  reason: DigestReason;
  /** For `quiet_hours`: when they are, `HH:MM`; absent when the destination has none any more. */
  quietHours?: { from: string; to: string };
  /** For `group`: its name, see `nameGroup`. */
  groupName?: string;
  /** How many go out together, in several messages. Default: those of this message. */
  total?: number;
  /** The name of the one that it goes to: its link leads to what it got. */
  destination?: string;
  /** What routes add, by the ids of their alerts. */
  extras?: ReadonlyMap<string, MessageExtras>;
  /** What did not ring before them, by the ids of their alerts. */
  damped?: ReadonlyMap<string, HeldBack>;
}

/** Rendering as the engine sees it: pure; the only loss it may make is to cut, saying so. */
export interface Rendering {
  composeAlert(alert: Alert, context: MessageContext): Document;
  /** At least one alert; any order. Says how many, the worst first, and where to read the rest. */
  composeDigest(alerts: Alert[], context: DigestContext): Document;
}
