import type { ClaimedDelivery, Thread, ThreadUpdate } from "../../core/delivery-job.ts";
import type { UpdateStep } from "./plan-update.ts";

/**
 * What the chat shows of an alert key after a message of these deliveries went out. Pure. `undefined`: as before.
 * @param ref the vendor's id of the new message, if it gives one
 */
export function threadAfter(
  step: UpdateStep,
  ref: string | null | undefined,
  sent: ClaimedDelivery[],
  thread: Thread | undefined,
  now: number,
): ThreadUpdate | undefined {
  if (step.action === "send" && step.place === "apart") return undefined;
  const newest = sent[0] as ClaimedDelivery;
  const { severity, status } = newest;
  const shown = { lastAt: now, severity, status };
  if (thread === undefined || (step.action === "send" && step.place === undefined)) {
    return {
      ...shown,
      rootRef: ref ?? undefined,
      rootAlertSeq: newest.alertSeq,
      lastRef: ref ?? undefined,
      lastAlertSeq: newest.alertSeq,
      firstAt: newest.receivedAt,
      lastNewAt: now,
      count: sent.length,
    };
  }
  const goesOn = {
    ...thread,
    ...shown,
    lastAlertSeq: Math.max(thread.lastAlertSeq, newest.alertSeq),
    count: thread.count + sent.length,
  };
  if (step.action !== "edit") return { ...goesOn, lastRef: ref ?? undefined, lastNewAt: now };
  const showsRoot = step.ref === thread.rootRef && step.shows === "self";
  return { ...goesOn, rootAlertSeq: showsRoot ? newest.alertSeq : thread.rootAlertSeq };
}
