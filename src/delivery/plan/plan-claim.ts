import type { AlertFacts } from "../../core/alert.ts";
import type { ClaimedDelivery, DueDelivery, Thread } from "../../core/delivery-job.ts";
import type { Json } from "../../core/json.ts";
import type { MessageForm } from "../../core/message.ts";
import type { DigestReason } from "../../core/message-context.ts";
import type { Capabilities } from "../../core/ports/channel.ts";
import { isDamped } from "../../core/rules.ts";

export interface ClaimLimits {
  /** More waiting deliveries than this for one recipient are sent together. */
  digestOver: number;
  /** Where messages can be changed, repeats of one key need no message each. */
  can: Pick<Capabilities, "edits" | "joinsByKey" | "carries">;
  /** The deliveries waited for a destination that was down. */
  afterOutage: boolean;
  /** Messages since the last bulk resend. */
  sinceResent: number;
  /** Unsent deliveries of keys whose resolving, late or grouped alert is due; for vendors that join by key, of those due longest. */
  ofKeys?: DueDelivery[];
  /** Set when more deliveries are due than were listed. Those that became due from this time on may be missing. */
  cutAt?: number;
}

/** `single` may have several deliveries of one key, newest first: the newest is shown, with a count of the rest. */
export type ClaimPlan =
  | { kind: "single"; deliveries: DueDelivery[] }
  | { kind: "digest"; deliveries: DueDelivery[]; reason: DigestReason; digestId?: string };

/** Deliveries that were claimed under one token, and are sent by the same messages. */
export interface Claim {
  token: string;
  leaseUntil: number;
  /** Newest first. The message shows the first. */
  deliveries: [LoadedDelivery, ...LoadedDelivery[]];
  /** `total`: how many go out together in several messages. */
  digest?: { id: string; reason: DigestReason; total?: number };
  /** The slot of the first call, epoch milliseconds. Absent: none yet. */
  slotAt?: number;
  /** Set where several claims were made together, see `planRun`. */
  ofRun?: {
    /** As it was when the claim was made. */
    thread?: Thread;
    /** The payload was fetched with those of the other claims. */
    isFilled: boolean;
  };
}

/** A claimed delivery in its state from before, with the sender's payload where the message has it. */
export interface LoadedDelivery extends ClaimedDelivery {
  payload?: Json;
}

const oneMinuteMs = 60_000;
/** One message in four is a bulk resend while other alerts wait, so neither starves. */
export const othersPerResent = 3;
/** More due notices than this are sent together: one lost network affects many destinations. */
const fewNotices = 3;

/**
 * Chooses the next message among the due deliveries of one destination. Pure. The order: a manual resend or test; the relay's
 * notices; messages that were begun or perhaps sent (parts of a long message, a repeat); bulk resends in their turn; stale
 * alerts; too many at once; one alert, the oldest first, or the newest first when all are late; other bulk resends.
 *
 * A delivery that does not ring goes alone: a count after all others, a summary among them.
 *
 * A resolving alert does not go before its firing one. It takes the unsent deliveries of its key along, without a sound ("over,
 * lasted 2 min"). Where each alert needs a message of its own (`carries: "payload"`), it waits.
 */
export function planClaim(due: DueDelivery[], limits: ClaimLimits, now: number): ClaimPlan | undefined {
  const manual = due.find(isManual);
  if (manual) return { kind: "single", deliveries: [manual] };
  const listed = new Map(due.map((delivery) => [delivery.seq, delivery]));
  const ofKeys = limits.ofKeys?.map((delivery) => listed.get(delivery.seq) ?? delivery) ?? due;
  if (limits.can.joinsByKey) return planEach(due, ofKeys, limits, now);
  const isInOrder = limits.ofKeys === undefined && !due.some(({ status }) => status === "resolved");
  const ready = isInOrder ? due : [...new Set(due.flatMap((one) => inPlaceOf(one, due, ofKeys, limits, now)))];
  const plan = planAny(ready, limits, now);
  return plan && limits.can.carries !== "payload" ? withOthersOfKey(plan, due, ofKeys, now) : plan;
}

/** How long a resolving alert waits for older deliveries of its key. Those that are unsent then are not sent any more. */
const orderedForMs = 10 * 60_000;

/** An alert that was routed this long after its arrival may have been stored after younger ones, as from a spool. */
const storedLateMs = 1_000;
/** An alert this old goes out together with its resolving one. Longer waits send a claim back into the queue. */
export const withEndAfterMs = 1_000;

/** Since when the delivery could be sent: since its routing or the end of its hold. Its age counts from then. */
export const openSince = ({ createdAt, heldUntil = 0, state, dueAt }: DueDelivery): number =>
  Math.max(createdAt, heldUntil, state === "held" ? dueAt : 0);

/** @param alert `createdAt`: when it was routed */
export const isStoredLate = ({ createdAt, receivedAt }: Pick<DueDelivery, "createdAt" | "receivedAt">): boolean =>
  createdAt - receivedAt >= storedLateMs;

/**
 * Whether one delivery of an alert key precedes the other in a chat. Another relay may store an alert after one that came later,
 * so the order of the log is not enough. The times have no margin for clocks that differ: with one, an alert from a spool would
 * ring after a resolving alert that came 500 ms later.
 */
function isBefore(one: DueDelivery, other: DueDelivery): boolean {
  return (
    (one.alertSeq < other.alertSeq
      ? one.receivedAt <= other.receivedAt
      : isStoredLate(one) && one.receivedAt < other.receivedAt) &&
    one.alertKey === other.alertKey &&
    one.recipient === other.recipient &&
    isOfLog(one)
  );
}

/**
 * The delivery, or the one that must go before it. Empty: that one is not due yet. Before a beginning that another relay stored late
 * goes a repeat of its end, so that a program which may have that end hears of no beginning behind it.
 */
function inPlaceOf(
  delivery: DueDelivery,
  due: DueDelivery[],
  ofKeys: DueDelivery[],
  { can }: ClaimLimits,
  now: number,
): DueDelivery[] {
  if (!isOfLog(delivery) || now - delivery.createdAt > orderedForMs) return [delivery];
  const isProgram = can.carries === "payload";
  const isRepeatedEnd = (end: DueDelivery, first: DueDelivery) => isProgram && isBegun(end) && !isBegun(first);
  const cannotGoAlong = (other: DueDelivery) => isProgram || other.progress.refs.length > 0 || isOfBegunDigest(other);
  const first = ofKeys.find((other) =>
    delivery.status === "resolved"
      ? isBefore(other, delivery) && cannotGoAlong(other) && !isRepeatedEnd(delivery, other)
      : isRepeatedEnd(other, delivery) && isEndOf(other, delivery),
  );
  if (first === undefined) return [delivery];
  return due.includes(first) || (first.dueAt <= now && !isOfBegunDigest(first)) ? [first] : [];
}

/**
 * A late alert takes its resolving one along, also where that waits for its group, but not where quiet hours hold it. A resolving
 * alert takes unsent ones along.
 */
function withOthersOfKey(plan: ClaimPlan, due: DueDelivery[], ofKeys: DueDelivery[], now: number): ClaimPlan {
  // A repeated digest has the same alerts.
  if (plan.kind === "digest" && plan.digestId !== undefined) return plan;
  const { deliveries } = plan;
  if (deliveries.some(isDamped)) return plan;
  const planned = new Set(deliveries);
  const others = [...new Set([...due, ...ofKeys])].filter(
    (other) => !planned.has(other) && other.progress.refs.length === 0 && !isOfBegunDigest(other) && !isDamped(other),
  );
  const late = (plan.kind === "digest" ? deliveries : deliveries.slice(0, 1)).filter(
    (one) =>
      one.progress.refs.length === 0 && (one.attempts > 0 || isBegun(one) || now - one.receivedAt >= withEndAfterMs),
  );
  const ends = others.filter(
    (other) =>
      (other.state !== "held" || other.dueAt <= now || other.groupName !== undefined) &&
      late.some((one) => isEndOf(other, one)),
  );
  const told = [...deliveries, ...ends];
  const beginnings = others.filter((other) => !ends.includes(other) && told.some((end) => isEndOf(end, other)));
  return ends.length + beginnings.length === 0 ? plan : { ...plan, deliveries: newestFirst([...told, ...beginnings]) };
}

export function isEndOf(other: DueDelivery, first: DueDelivery): boolean {
  return other.status === "resolved" && isOfLog(first) && isOfLog(other) && isBefore(first, other);
}

function planAny(due: DueDelivery[], limits: ClaimLimits, now: number): ClaimPlan | undefined {
  const notice = due.find((delivery) => delivery.purpose === "notice");
  const first = notice ?? due.find((delivery) => isResent(delivery) === isTurnOfResent(limits)) ?? due[0];
  const waiting = due.filter(
    (delivery) => delivery.recipient === first?.recipient && (!notice || delivery.purpose === "notice"),
  );
  const begun = planBegun(waiting, limits);
  if (begun?.kind !== "digest" || limits.cutAt !== begun.deliveries[0]?.dueAt)
    return begun ?? planNew(waiting, limits, now);
  // Part of that digest may be missing in the list. Other deliveries go first and make room. Without others, the listed part goes
  // under a new id: a receiver that knows the old id would take it for the same message.
  const others = waiting.filter((delivery) => !isBegun(delivery));
  return planNew(others, limits, now) ?? { ...begun, digestId: undefined };
}

/** The next messages of `planClaim`, as long as each is an untried alert: the outcome of one changes no other. Pure. */
export function planRun(due: DueDelivery[], limits: ClaimLimits, most: number, now: number): ClaimPlan[] {
  const plans: ClaimPlan[] = [];
  // For these vendors the message of one key decides on the next.
  if (limits.can.joinsByKey) return plans;
  let left = due;
  let { ofKeys, sinceResent } = limits;
  while (plans.length < most) {
    const plan = planClaim(left, { ...limits, ofKeys, sinceResent }, now);
    if (plan?.kind !== "single" || !plan.deliveries.every(isUntried)) break;
    const hasResent = plan.deliveries.some(isResent);
    // Other resends may be missing in the list.
    if (hasResent && limits.cutAt !== undefined && !isTurnOfResent({ sinceResent })) break;
    sinceResent = hasResent ? 0 : sinceResent + 1;
    plans.push(plan);
    const planned = new Set(plan.deliveries.map(({ seq }) => seq));
    const isLeft = ({ seq }: DueDelivery) => !planned.has(seq);
    left = left.filter(isLeft);
    ofKeys = ofKeys?.filter(isLeft);
  }
  return plans;
}

export function isTurnOfResent({ sinceResent }: Pick<ClaimLimits, "sinceResent">): boolean {
  return sinceResent >= othersPerResent;
}

export function isResent({ purpose }: Pick<DueDelivery, "purpose">): boolean {
  return purpose === "bulk_resend";
}

function isUntried(delivery: DueDelivery): boolean {
  const { state, attempts } = delivery;
  return isOfLog(delivery) && state === "queued" && attempts === 0 && !isBegun(delivery);
}

/** Whether the order of the log counts for it. A person waits for one of the others, or it is about the relay. */
function isOfLog({ purpose }: DueDelivery): boolean {
  return purpose === "alert" || purpose === "fallback" || purpose === "bulk_resend";
}

/**
 * Sends each delivery alone, in the order of the log, bulk resends in their turn. An incident must not open after it was
 * resolved, and a resolution must not end one that opened later.
 *
 * | of one key | sent now |
 * |---|---|
 * | a resolution is due, earlier ones are unsent | the resolution, for all of them: nobody is paged for what is over |
 * | it fires, an earlier resolution waits for a retry | nothing, until that resolution is sent |
 * | it fires, else | it alone |
 */
function planEach(due: DueDelivery[], ofKeys: DueDelivery[], limits: ClaimLimits, now: number): ClaimPlan | undefined {
  const dueSeqs = new Set(due.map(({ seq }) => seq));
  // More may be due than were listed.
  const isDue = ({ seq, dueAt }: DueDelivery) => dueSeqs.has(seq) || dueAt <= now;
  for (const first of ofKeys.filter(isDue).sort(inTurn(limits))) {
    const ofKey = ofKeys.filter(({ alertKey }) => alertKey === first.alertKey);
    const resolutions = ofKey.filter(({ status }) => status === "resolved");
    const last = newestFirst(resolutions.filter(isDue))[0];
    if (last && last.alertSeq >= first.alertSeq) {
      const deliveries = ofKey.filter((delivery) => delivery.alertSeq <= last.alertSeq);
      return { kind: "single", deliveries: newestFirst(deliveries) };
    }
    if (!resolutions.some(({ alertSeq }) => alertSeq < first.alertSeq)) return { kind: "single", deliveries: [first] };
  }
  return undefined;
}

/** In the order of the log. Bulk resends come first when it is their turn, otherwise last. */
export function inTurn(limits: Pick<ClaimLimits, "sinceResent">) {
  const isLate = (delivery: DueDelivery) => Number(isResent(delivery) !== isTurnOfResent(limits));
  return (one: DueDelivery, other: DueDelivery): number => isLate(one) - isLate(other) || one.alertSeq - other.alertSeq;
}

export function isManual(delivery: Pick<DueDelivery, "purpose">): boolean {
  return delivery.purpose === "resend" || delivery.purpose === "test";
}

/** Whether the delivery is too old for a sound, by its route's freshness. A wait for its group does not count. */
export function isStale(delivery: DueDelivery, now: number): boolean {
  const { freshnessMs, groupName, receivedAt, createdAt } = delivery;
  const waitedMs = groupName === undefined ? 0 : openSince(delivery) - createdAt;
  return freshnessMs !== undefined && now - receivedAt - waitedMs > freshnessMs;
}

/** True for what does not ring, a resolving alert, a notice that needs no action. False for what a person asked for. */
export function isQuiet(
  delivery: Pick<DueDelivery, "purpose" | "status"> &
    Partial<Pick<DueDelivery, "updates">> & { facts: Pick<AlertFacts, "severity"> },
): boolean {
  if (isDamped(delivery)) return true;
  const isForTheMorning = delivery.purpose === "notice" && delivery.facts.severity === "info";
  return isForTheMorning || (delivery.status === "resolved" && !isManual(delivery));
}

/** Whether the route wants no sound. A message that a person asked for has one anyway. */
export function isSilenced(delivery: Pick<DueDelivery, "purpose" | "extras">): boolean {
  return delivery.extras?.silent === true && !isManual(delivery);
}

/** Whether a part of the message, or perhaps all of it, has reached a reader. */
function isBegun(delivery: DueDelivery): boolean {
  return delivery.progress.refs.length > 0 || delivery.ambiguous > 0;
}

/** A repeated digest has the same alerts, so none of them can go with another message. */
function isOfBegunDigest(delivery: DueDelivery): boolean {
  return delivery.digestId !== undefined && isBegun(delivery);
}

/** Sends a begun message again, about the same alerts. They became due at the same moment. */
function planBegun(waiting: DueDelivery[], limits: ClaimLimits): ClaimPlan | undefined {
  const first = waiting.find(isBegun);
  if (!first) return undefined;
  const { digestId } = first;
  if (digestId === undefined) {
    const isTogether = (other: DueDelivery) =>
      other === first || (limits.can.edits && isBegun(other) && isSameMessage(other, first));
    return { kind: "single", deliveries: newestFirst(waiting.filter(isTogether)) };
  }
  const deliveries = newestFirst(waiting.filter((delivery) => delivery.digestId === digestId));
  return { kind: "digest", deliveries, digestId, reason: first.progress.digestReason ?? "burst" };
}

function isSameMessage(one: DueDelivery, other: DueDelivery): boolean {
  return (
    one.digestId === undefined &&
    one.updates !== "new" &&
    other.updates !== "new" &&
    one.alertKey === other.alertKey &&
    one.dueAt === other.dueAt &&
    one.ambiguous === other.ambiguous &&
    one.progress.refs[0] === other.progress.refs[0]
  );
}

function planNew(waiting: DueDelivery[], limits: ClaimLimits, now: number): ClaimPlan | undefined {
  if (waiting[0]?.purpose === "notice") {
    return waiting.length > fewNotices
      ? { kind: "digest", deliveries: newestFirst(waiting), reason: "burst" }
      : { kind: "single", deliveries: waiting.slice(0, 1) };
  }
  const others = waiting.filter((delivery) => !isResent(delivery) && delivery.updates !== "count");
  const resent = planResent(waiting.filter(isResent), limits);
  if (resent && isTurnOfResent(limits)) return resent;
  const count = waiting.find((delivery) => delivery.updates === "count");
  return (
    planTogether(others, limits, now) ??
    planOne(others, limits, now) ??
    resent ??
    (count && { kind: "single", deliveries: [count] })
  );
}

/** A bulk resend is a burst that Tocsin makes. It goes out as one message, newest first, as after an outage. */
function planResent(resent: DueDelivery[], limits: ClaimLimits): ClaimPlan | undefined {
  const deliveries = newestFirst(resent);
  const reason = deliveries.every(({ extras }) => extras?.late !== undefined) ? "release" : "resend";
  if (deliveries.length > limits.digestOver) return { kind: "digest", deliveries, reason };
  const [newest] = deliveries;
  // The oldest of its key: an older one behind it would be the last word.
  const first = deliveries.findLast(
    ({ alertKey, recipient }) => alertKey === newest?.alertKey && recipient === newest.recipient,
  );
  return first && { kind: "single", deliveries: [first] };
}

function planTogether(waiting: DueDelivery[], limits: ClaimLimits, now: number): ClaimPlan | undefined {
  const name = waiting.find(({ groupName }) => groupName !== undefined)?.groupName;
  const grouped = name === undefined ? [] : waiting.filter(({ groupName }) => groupName === name);
  if (grouped.length > 1) return { kind: "digest", deliveries: newestFirst(grouped), reason: "group" };
  const quiet = waiting.filter(
    (delivery) =>
      (delivery.state === "held" && !isDamped(delivery) && delivery.groupName === undefined) ||
      delivery.progress.digestReason === "quiet_hours",
  );
  if (quiet.length > 1) return { kind: "digest", deliveries: newestFirst(quiet), reason: "quiet_hours" };
  const stale = waiting.filter((delivery) => isStale(delivery, now));
  if (stale.length > 1) return { kind: "digest", deliveries: newestFirst(stale), reason: "stale" };
  // Among others, an alert that did not ring would look like a new warning.
  const rings = waiting.filter((delivery) => !isDamped(delivery));
  const reason = limits.afterOutage ? "outage" : "burst";
  if (rings.length > limits.digestOver) return { kind: "digest", deliveries: newestFirst(rings), reason };
  const calm = waiting.filter((delivery) => isDamped(delivery) && !delivery.damped?.isBound);
  return calm.length > limits.digestOver
    ? { kind: "digest", deliveries: newestFirst(calm), reason: "calm" }
    : undefined;
}

function planOne(waiting: DueDelivery[], limits: ClaimLimits, now: number): ClaimPlan | undefined {
  const oldest = waiting[0];
  if (!oldest) return undefined;
  const late = now - oldest.createdAt > oneMinuteMs;
  // A summary must not delay the ring that it reports.
  const rings = waiting.filter((delivery) => !isDamped(delivery));
  const first = late ? (newestFirst(rings)[0] ?? oldest) : oldest;
  if (!limits.can.edits || first.updates === "new" || isDamped(first)) return { kind: "single", deliveries: [first] };
  const sameKey = waiting.filter(
    (delivery) =>
      delivery.alertKey === first.alertKey &&
      delivery.status === first.status &&
      delivery.updates !== "new" &&
      !isDamped(delivery),
  );
  return { kind: "single", deliveries: newestFirst(sameKey) };
}

/** Newest first. Alerts that were stored after their resolving one come last, as the message shows the first. */
function newestFirst(deliveries: DueDelivery[]): DueDelivery[] {
  const sorted = [...deliveries].sort((a, b) => b.alertSeq - a.alertSeq);
  const isBehindEnd = (one: DueDelivery) =>
    isStoredLate(one) && deliveries.some((other) => other.alertSeq < one.alertSeq && isEndOf(other, one));
  const behind = new Set(sorted.filter(isBehindEnd));
  return [...sorted.filter((one) => !behind.has(one)), ...behind];
}

/** Plain where the rich form was refused for all. A refusal of one delivery may come from another message. */
export function formOf({ deliveries }: { deliveries: readonly DueDelivery[] }): MessageForm {
  return deliveries.every((delivery) => delivery.form === "plain") ? "plain" : "rich";
}
