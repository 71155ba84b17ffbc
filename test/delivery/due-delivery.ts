import type { ClaimedDelivery, DueDelivery, Thread } from "../../src/core/delivery-job.ts";
import { anAlert } from "../support/facts.ts";

export const now = Date.UTC(2026, 10, 21, 12);

/** A delivery that became due now; `changes` is what a test is about. */
export function dueDelivery(seq: number, changes: Partial<DueDelivery> = {}): DueDelivery {
  return {
    seq,
    id: `delivery-${seq}`,
    alertSeq: seq,
    alertId: `alert-${seq}`,
    origin: "hook",
    destination: "chat",
    recipient: "-100",
    purpose: "alert",
    state: "queued",
    reason: "",
    dueAt: now,
    createdAt: now,
    receivedAt: now,
    alertKey: `key-${seq}`,
    severity: "warning",
    status: "firing",
    attempts: 0,
    ambiguous: 0,
    form: "rich",
    progress: { refs: [] },
    updates: "auto",
    ...changes,
  };
}

export function claimedDelivery(seq: number, changes: Partial<ClaimedDelivery> = {}): ClaimedDelivery {
  return {
    ...dueDelivery(seq),
    facts: anAlert({ title: `Alert ${seq}`, alertKey: `key-${seq}` }),
    ...changes,
  };
}

export function threadOf(changes: Partial<Thread> = {}): Thread {
  return {
    destination: "chat",
    recipient: "-100",
    alertKey: "key",
    rootRef: "11",
    rootAlertSeq: 1,
    lastRef: "12",
    lastAlertSeq: 2,
    firstAt: now - 600_000,
    lastNewAt: now - 300_000,
    lastAt: now - 300_000,
    count: 2,
    severity: "warning",
    status: "firing",
    ...changes,
  };
}
