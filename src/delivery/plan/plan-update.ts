import { type AlertStatus, isWorse, type Severity } from "../../core/alert.ts";
import type { ClaimedDelivery, Thread, ThreadUpdate } from "../../core/delivery-job.ts";
import type { MessageContext } from "../../core/message-context.ts";
import type { Capabilities } from "../../core/ports/channel.ts";
import { inSightMs, quickRepeatMs } from "../../core/ring.ts";
import type { DeliveryUpdates } from "../../core/rules.ts";
import { groupBy } from "../../ground/group-by.ts";

export type UpdateStep =
  /** A message of its own. */
  | {
      action: "send";
      /** `continues`: tells how often and since when. `apart`: older than the last message. Default: begins something new. */
      place?: "continues" | "apart";
    }
  /** Answers an earlier message. */
  | { action: "reply"; ref: string }
  /** Changes an earlier message, without a ping. */
  | {
      action: "edit";
      ref: string;
      /** `self`: the message then shows this alert. `resolution`: it still shows its own alert, and that it is over. */
      shows: "self" | "resolution";
      /** The changed message does not refer to earlier ones. Default false. */
      standsAlone?: true;
    };

/** What a message says about earlier ones. */
export type ThreadContext = Pick<MessageContext, "history" | "isAnswer" | "firesAgainAt" | "hasEarlier">;

export interface UpdateInput {
  policy: DeliveryUpdates;
  /** No alert of the summary went further than agreed. Default false. */
  isBound?: boolean;
  /** The message names alerts that a cause holds back. Default false. */
  isOfCause?: boolean;
  can: Pick<Capabilities, "edits" | "editsInSight" | "answers" | "joinsByKey" | "carries">;
  /** The alert came before the newest one of its key that was sent here. */
  isOlder: boolean;
  status: AlertStatus;
  severity: Severity;
  thread?: Thread;
  now: number;
}

/**
 * How an alert is sent after earlier messages of its key. Pure.
 *
 * An edit makes no sound, so three things get a new message: a rise in severity, a repeat after a minute, a firing alert after a
 * resolving one. A resolving alert changes the first message and answers it, without a sound. Where messages cannot be changed,
 * each continues the history. An alert that comes too late does not become the last word: a firing alert is not sent when its end
 * was sent, nor is an end to a program that knows of the next firing.
 * @returns an empty list: nothing is sent, and no message is changed
 */
export function planUpdate(input: UpdateInput): UpdateStep[] {
  const { thread, policy, can } = input;
  if (policy === "count") return planCount(input);
  if (policy === "summary") return planSummary(input);
  const isToldOver = !thread || thread.status === "resolved" || input.isOlder;
  if (policy === "later_end" && isToldOver) return changeLast(input, thread);
  if (thread && isContradicted(input, thread)) return [];
  if (!thread || can.joinsByKey) return [{ action: "send" }];
  if (input.status === "resolved") return planResolution(input, thread);
  const wasOver = thread.status === "resolved" || thread.overAt !== undefined;
  if (policy === "new" || wasOver || isOutOfSight(input, thread)) return [{ action: "send" }];
  const answer = answerTo(thread, can);
  if (policy === "reply") return [answer];
  const mayEdit = isQuickRepeat(input, thread) || (policy === "edit" && !isWorse(input.severity, thread.severity));
  return [(can.edits && mayEdit ? editOf(thread) : undefined) ?? answer];
}

/** Only changes a message, without a sound. For a cause that went out in a digest, the first held alert begins a message. */
function planCount(input: UpdateInput): UpdateStep[] {
  const { thread, can, isOfCause = false } = input;
  if (thread === undefined && isOfCause && can.edits) return [{ action: "send" }];
  return thread === undefined || isOutOfSight(input, thread) ? [] : changeLast(input, thread);
}

/** Steps for a summary. None where something newer was sent, or where the last message is right and there is nothing to add. */
function planSummary(input: UpdateInput): UpdateStep[] {
  const { thread, can, isOlder, isBound = false, status } = input;
  if (isOlder || (isBound && thread && isOpen(thread) === (status !== "resolved"))) return [];
  return [thread === undefined || can.joinsByKey ? { action: "send" } : answerTo(thread, can)];
}

function isContradicted({ isOlder, status, can }: UpdateInput, thread: Thread): boolean {
  if (!isOlder) return false;
  if (status !== "resolved") return thread.status === "resolved";
  return thread.status === "firing" && (can.joinsByKey || can.carries === "payload");
}

function changeLast({ isOlder, can }: UpdateInput, thread: Thread | undefined): UpdateStep[] {
  const change = thread && can.edits && !isOlder ? editOf(thread) : undefined;
  return change ? [change] : [];
}

function planResolution(input: UpdateInput, thread: Thread): UpdateStep[] {
  // The key has fired again, so no message may show that it is over.
  if (input.isOlder) return [{ action: "send", place: "apart" }];
  if (input.policy === "new" || isOutOfSight(input, thread)) return [{ action: "send", place: "continues" }];
  const answer = answerTo(thread, input.can);
  if (thread.status === "resolved") {
    const mayEdit = input.policy === "edit" || isQuickRepeat(input, thread);
    return [(input.can.edits && mayEdit ? editOf(thread) : undefined) ?? answer];
  }
  if (thread.rootRef === undefined || !input.can.edits || input.policy === "reply") return [answer];
  if (input.can.editsInSight && thread.lastRef !== undefined) return replaceAll(thread.rootRef, thread.lastRef);
  return [{ action: "edit", ref: thread.rootRef, shows: "resolution" }, answer];
}

/** The last message that rang shows the end, the first one that it is over. No message then shows it as firing. */
function replaceAll(rootRef: string, lastRef: string): UpdateStep[] {
  const end: UpdateStep = { action: "edit", ref: lastRef, shows: "self", standsAlone: true };
  return lastRef === rootRef ? [end] : [{ action: "edit", ref: rootRef, shows: "resolution" }, end];
}

function isOutOfSight({ now }: UpdateInput, thread: Thread): boolean {
  return now - thread.lastAt > inSightMs;
}

/** Answers the thread's first message. Where that is impossible, a message of its own continues the thread. */
export function answerTo({ rootRef }: Thread, can: UpdateInput["can"]): UpdateStep {
  return rootRef === undefined || !can.answers
    ? { action: "send", place: "continues" }
    : { action: "reply", ref: rootRef };
}

function isQuickRepeat({ now, severity }: UpdateInput, thread: Thread): boolean {
  const sinceMs = now - thread.lastNewAt;
  // Negative after the clock was set back. The true time is unknown then, so people get a new message.
  return sinceMs >= 0 && sinceMs < quickRepeatMs && !isWorse(severity, thread.severity);
}

function editOf({ lastRef }: Thread): UpdateStep | undefined {
  return lastRef === undefined ? undefined : { action: "edit", ref: lastRef, shows: "self" };
}

/** Resends, tests and notices neither edit nor are edited. */
export function isUpdatable(delivery: ClaimedDelivery): boolean {
  return delivery.purpose === "alert" || delivery.purpose === "fallback";
}

/** Deliveries that only change a cause's message, for alerts that it holds back, are no firings of the cause. */
const countFirings = (deliveries: readonly ClaimedDelivery[]): number =>
  deliveries.filter(({ updates, extras }) => updates !== "count" || extras?.with === undefined).length;

/** What the message of these deliveries (newest first) says about earlier messages. Pure. */
export function contextOf(
  step: UpdateStep,
  thread: Thread | undefined,
  deliveries: readonly [ClaimedDelivery, ...ClaimedDelivery[]],
): ThreadContext {
  const count = countFirings(deliveries);
  const lastAt = deliveries[0].receivedAt;
  const isNew = step.action === "send" && step.place === undefined;
  if (thread && step.action === "send" && step.place === "apart")
    return isOpen(thread) ? { firesAgainAt: thread.firstAt } : {};
  if (isNew || !thread) {
    const firstAt = Math.min(...deliveries.map((delivery) => delivery.receivedAt));
    return count > 1 ? { history: { count, firstAt, lastAt } } : {};
  }
  const before = occurrenceOf(thread, deliveries[0]);
  return {
    history: { count: before.count + count, firstAt: before.firstAt, lastAt },
    isAnswer: step.action === "reply" || (step.action === "edit" && step.standsAlone !== true),
  };
}

/** A firing alert after a resolved thread begins a new occurrence. */
function occurrenceOf(thread: Thread, { status, receivedAt }: ClaimedDelivery): Pick<Thread, "count" | "firstAt"> {
  return thread.status === "resolved" && status !== "resolved" ? { count: 0, firstAt: receivedAt } : thread;
}

function isOpen({ status, overAt }: Thread): boolean {
  return status !== "resolved" && overAt === undefined;
}

/**
 * The threads of a chat after a digest, by the delivery that it showed of a key. A digest can be neither changed nor answered: what
 * fires again begins anew, and what is over remains over for an alert that comes too late. Pure.
 * @param threads before the digest
 */
export function threadsAfterDigest(
  deliveries: readonly ClaimedDelivery[],
  threads: readonly Thread[],
  { editsInSight = false }: Pick<Capabilities, "editsInSight">,
  now: number,
): Record<number, ThreadUpdate> {
  const told: Record<number, ThreadUpdate> = {};
  for (const ofKey of groupBy(deliveries.filter(isUpdatable), ({ alertKey }) => alertKey).values()) {
    const newest = ofKey[0] as ClaimedDelivery;
    const thread = threads.find(({ alertKey }) => alertKey === newest.alertKey);
    if (thread && newest.alertSeq < thread.lastAlertSeq) continue;
    const { alertSeq, severity, status } = newest;
    const shown = { lastAlertSeq: alertSeq, lastAt: now, severity, status };
    if (status === "resolved" && thread) told[newest.seq] = { ...thread, ...shown };
    else if (status === "resolved" || (thread && !isOpen(thread))) {
      const firstAt = Math.min(...ofKey.map(({ receivedAt }) => receivedAt));
      told[newest.seq] = { ...shown, rootAlertSeq: alertSeq, firstAt, lastNewAt: now, count: countFirings(ofKey) };
    } else if (thread && editsInSight) told[newest.seq] = { ...thread, ...shown, lastRef: undefined };
  }
  return told;
}

/** The chat's thread after a message of these deliveries, with the vendor's id `ref` if any. Undefined: as before. Pure. */
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
      rootRef: ref ?? undefined,
      ...shown,
      rootAlertSeq: newest.alertSeq,
      lastRef: ref ?? undefined,
      lastAlertSeq: newest.alertSeq,
      firstAt: newest.receivedAt,
      lastNewAt: now,
      count: Math.max(1, countFirings(sent)),
    };
  }
  const before = occurrenceOf(thread, newest);
  const goesOn = {
    ...thread,
    ...shown,
    lastAlertSeq: Math.max(thread.lastAlertSeq, newest.alertSeq),
    firstAt: before.firstAt,
    count: before.count + countFirings(sent),
  };
  if (step.action !== "edit") return { ...goesOn, lastRef: ref ?? undefined, lastNewAt: now };
  const showsRoot = step.ref === thread.rootRef && step.shows === "self";
  return { ...goesOn, rootAlertSeq: showsRoot ? newest.alertSeq : thread.rootAlertSeq };
}
