import type { AlertFacts, AlertOrigin, AlertStatus, Severity } from "./alert.ts";
import type { DeliveryPurpose, DeliveryState, ReasonCode } from "./delivery.ts";
import type { MessageForm } from "./message.ts";
import type { DigestReason } from "./message-context.ts";
import type { PlannedDelivery } from "./rules.ts";

export interface DueDelivery
  extends Omit<PlannedDelivery, "channel" | "route" | "state" | "fallback" | "mutedBy" | "ring" | "group"> {
  seq: number;
  id: string;
  alertSeq: number;
  alertId: string;
  origin: AlertOrigin;
  purpose: DeliveryPurpose;
  state: DeliveryState;
  createdAt: number;
  /** When the delivery stopped being held by quiet hours, its group or a cause. Absent: never held, or still held. */
  heldUntil?: number;
  receivedAt: number;
  alertKey: string;
  severity: Severity;
  status: AlertStatus;
  /** Attempts that count towards the schedule. */
  attempts: number;
  /** Attempts that ended ambiguous. */
  ambiguous: number;
  form: MessageForm;
  progress: DeliveryProgress;
  digestId?: string;
  /** For a fallback: the destination that it replaces. */
  insteadOf?: string;
  /** The fallback destination, until a delivery to it is made. */
  fallbackTo?: string;
  /** Why the last attempt failed: words for the page, and a code for the message's "late because". */
  lastDetail?: string;
  lastReason?: ReasonCode;
}

export interface DeliveryProgress {
  /** The vendor's ids of the delivered parts, in order; null where the vendor gives none. */
  refs: (string | null)[];
  /** Time and lateness as the sent parts state them. The remaining parts must be cut in the same places. */
  madeAt?: number;
  late?: { byMs: number; why: string };
  /** How often the destination's address has changed during this delivery. */
  moves?: number;
  /** Why the alerts of a digest are sent together. A repeat gives the same reason. */
  digestReason?: DigestReason;
}

export interface ClaimedDelivery extends DueDelivery {
  facts: AlertFacts;
}

/** What becomes of a claim's deliveries after an attempt. */
export type NextStep =
  | { state: "sent" | "digested"; reason: string }
  | { state: "waiting"; reason: string; dueAt: number; form?: MessageForm }
  | { state: "failed" | "held" | "expired"; reason: string };

/** The messages of one alert key in one chat, to edit or answer them. */
export interface Thread {
  destination: string;
  recipient: string;
  alertKey: string;
  /** The first message of the current occurrence, which now shows `rootAlertSeq`. Absent without an id. */
  rootRef?: string;
  rootAlertSeq: number;
  /** The last message that pinged. */
  lastRef?: string;
  lastAlertSeq: number;
  firstAt: number;
  /** When the last message that pinged was sent. */
  lastNewAt: number;
  lastAt: number;
  count: number;
  severity: Severity;
  status: AlertStatus;
  /** When an alert resolved the occurrence without a message here yet: it waits, or went out in a digest. */
  overAt?: number;
}

/** Saving an update clears `overAt`. */
export type ThreadUpdate = Omit<Thread, "destination" | "recipient" | "alertKey" | "overAt">;
