import type { AlertFacts, AlertOrigin, AlertStatus, Severity } from "./alert.ts";
import type { DeliveryPurpose, DeliveryState, ReasonCode } from "./delivery.ts";
import type { MessageForm } from "./message.ts";
import type { DigestReason } from "./message-context.ts";
import type { PlannedDelivery } from "./rules.ts";

/** A delivery in the form that the engine plans with. */
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
  /** When quiet hours, its group or a cause stopped holding the delivery. Absent: never held, or still held. */
  heldUntil?: number;
  receivedAt: number;
  alertKey: string;
  severity: Severity;
  status: AlertStatus;
  /** Counting attempts so far. */
  attempts: number;
  /** How many of them ended ambiguous. */
  ambiguous: number;
  form: MessageForm;
  /** The parts of the message that are known to be delivered, and the vendor's ids of them. */
  progress: DeliveryProgress;
  digestId?: string;
  /** For a fallback: the destination that it replaces. */
  insteadOf?: string;
  /** The fallback destination, until it was called. */
  fallbackTo?: string;
  /** Why the last attempt did not succeed: words for the page, and a code for "late because". */
  lastDetail?: string;
  lastReason?: ReasonCode;
}

export interface DeliveryProgress {
  /** The vendor's ids of the parts that are delivered, in order; null where the vendor gives none. */
  refs: (string | null)[];
  /** What the parts already sent say about time and lateness, so the rest is cut in the same places. */
  madeAt?: number;
  late?: { byMs: number; why: string };
  /** How often the destination has moved during this delivery. */
  moves?: number;
  /** Why the alerts of a digest are sent together; a repeat says the same. */
  digestReason?: DigestReason;
}

export interface ClaimedDelivery extends DueDelivery {
  facts: AlertFacts;
}

/** The fate of a claim's deliveries after an attempt. The delivery policy decides it, purely. */
export type NextStep =
  | { state: "sent" | "digested"; reason: string }
  | { state: "waiting"; reason: string; dueAt: number; form?: MessageForm }
  | { state: "failed" | "held" | "expired"; reason: string };

/** The messages of one alert key in one chat, to edit or answer them. */
export interface Thread {
  destination: string;
  recipient: string;
  alertKey: string;
  /**
   * The first message of the current occurrence, and the alert that it shows now. The ref is absent where the vendor gives
   * none.
   */
  rootRef?: string;
  rootAlertSeq: number;
  /** The last message that pinged. */
  lastRef?: string;
  /** The newest alert among those that were sent. */
  lastAlertSeq: number;
  firstAt: number;
  /** When the last message that pinged was sent. */
  lastNewAt: number;
  lastAt: number;
  count: number;
  severity: Severity;
  status: AlertStatus;
  /** When an alert said that the occurrence is over, while that has not been sent here: it waits, or went out in a digest. */
  overAt?: number;
}

/** Saving an update clears `overAt`. */
export type ThreadUpdate = Omit<Thread, "destination" | "recipient" | "alertKey" | "overAt">;
