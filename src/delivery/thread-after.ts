import type { ClaimedDelivery, Thread, ThreadUpdate } from "../core/store.ts";
import type { UpdateStep } from "./plan-update.ts";

/** What the chat shows of an alert key after a message of these deliveries went out. Pure. */
export function threadAfter(
  step: UpdateStep,
  ref: string | null | undefined,
  told: ClaimedDelivery[],
  thread: Thread | undefined,
  now: number,
): ThreadUpdate | undefined {
  const newest = told[0] as ClaimedDelivery;
  const { severity, status } = newest;
  const shown = { lastAt: now, severity, status };
  if (step.action === "edit" && thread) {
    const showsRoot = step.ref === thread.rootRef && step.shows === "self";
    const rootAlertSeq = showsRoot ? newest.alertSeq : thread.rootAlertSeq;
    return { ...thread, ...shown, rootAlertSeq, count: thread.count + told.length };
  }
  if (ref === null || ref === undefined) return undefined;
  if (step.action === "reply" && thread) {
    return { ...thread, ...shown, lastRef: ref, lastNewAt: now, count: thread.count + told.length };
  }
  return {
    ...shown,
    rootRef: ref,
    rootAlertSeq: newest.alertSeq,
    lastRef: ref,
    firstAt: newest.receivedAt,
    lastNewAt: now,
    count: told.length,
  };
}
