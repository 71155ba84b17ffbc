import { isWorse, type Severity, severities } from "../../core/alert.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { DeliveryFigures } from "../../core/delivery-figures.ts";
import type { ClaimedDelivery, DeliveryProgress, NextStep, Thread, ThreadUpdate } from "../../core/delivery-job.ts";
import type { PaceRecord } from "../../core/destination-status.ts";
import { isStoreAway } from "../../core/errors.ts";
import type { Message } from "../../core/message.ts";
import type { SendContext } from "../../core/ports/channel.ts";
import type { AttemptRecord } from "../../core/ports/dispatch.ts";
import { type DeliveryUpdates, isDamped } from "../../core/rules.ts";
import { RecentMap } from "../../ground/recent-map.ts";
import { errorText } from "../../ground/text/error-text.ts";
import { settingsOf } from "../../vendors/index.ts";
import { paceKeysOf } from "../plan/accounts.ts";
import { explainFallback, explainLateness } from "../plan/explain-reason.ts";
import {
  type Claim,
  isEndOf,
  isManual,
  isQuiet,
  isSilenced,
  isStale,
  isStoredLate,
  openSince,
  withEndAfterMs,
} from "../plan/plan-claim.ts";
import type { PlanFallbacks } from "../plan/plan-fallbacks.ts";
import {
  answerTo,
  contextOf,
  isUpdatable,
  planUpdate,
  type ThreadContext,
  threadAfter,
  threadsAfterDigest,
  type UpdateStep,
} from "../plan/plan-update.ts";
import { decideNext, historyOf } from "../plan/policy.ts";
import { advance } from "../plan/progress.ts";
import { type Claims, placeOf } from "./claims.ts";
import { type Composer, composeClaimed, composeDigest, composeResolved } from "./compose.ts";
import type { LaneContext } from "./context.ts";
import type { LanePictures } from "./pictures.ts";

export interface DeliveryListener {
  /** Called when the last call has ended, before its record is on disk. @param isWell the message was sent */
  onAnswered(isWell: boolean): void;
  /** Called when the store has refused to record a call. It is asked again until the lease ends. */
  onRefused(): void;
}

export interface DelivererDeps extends LaneContext {
  claims: Claims;
  composer: Composer;
  planFallbacks: PlanFallbacks;
  /** Absent: messages of this destination have no pictures. */
  pictures?: LanePictures;
  /** False: another relay may hold the lane, so no call may leave. */
  mayCall(): boolean;
  figures: DeliveryFigures;
  /** When this process began to deliver, epoch milliseconds. */
  startedAt: number;
}

/** One claim while its calls are made. */
interface Work {
  readonly claim: Claim;
  readonly stop: AbortSignal;
  readonly listener?: DeliveryListener;
  readonly silent: boolean;
  /** Never changed in place: `advance` makes the next one. */
  progress: DeliveryProgress;
  leaseUntil: number;
  /** The slot that the claim took for its next call. Undefined: none yet. */
  slotAt: number | undefined;
  /** A call was made and not recorded. */
  isUnrecorded: boolean;
  calledAt?: number;
  /** Saved with the next record. */
  paces: PaceRecord[];
  /** What was sent about the keys of a digest, before it. */
  threads?: Thread[];
  /** Ends of what a fallback was told. */
  endsElsewhere: ClaimedDelivery[];
}

/**
 * What follows a step. `settled`: nothing, the claim is settled or given back. `impossible`: the last step was an edit that could
 * not be made.
 */
type Course = "settled" | "next" | "impossible";

/** The call as the attempt log shows it. */
type CallLabel = Pick<AttemptRecord, "action" | "part" | "parts">;
const onlyEdit: CallLabel = { action: "edit", part: 1, parts: 1 };
const onlySend: CallLabel = { action: "send", part: 1, parts: 1 };

/** The longest wait for a slot between the parts of a message. Beyond it the claim is given back. */
const longestSlotWaitMs = 15_000;
/** Between two tries to record a call. */
const recordAgainMs = 1_000;
/** Unsent deliveries of a key among which the message of a cause is searched. */
const mostUnsent = 100;
/** The wait of a delivery that failed for a reason of Tocsin's own. */
const giveBackForMs = 5_000;

/**
 * The story of one delivery, or of several that are sent together, from the plan to the record.
 *
 *     plan (lane.ts, plan-claim) ──▶ claim ──▶ steps (plan-update): edit, answer or send
 *
 *     for each step, for each part of its message:
 *       compose ──▶ take a slot ──▶ call ──▶ judge (policy) ──▶ remember (pace, health) ──▶ write ──▶ log
 *                      │ a long wait, or the relay stops: the claim is given back, with the parts that were sent
 *
 *     after a part that was sent the next follows; after any other outcome the claim is settled:
 *
 * | outcome | delivery | progress | pace | health |
 * |---|---|---|---|---|
 * | sent | next part; at the end sent or digested | one part more | – | well |
 * | retry | waiting, by the schedule; failed at its end | stays | parked (2) | a failure more; down after five |
 * | retry: 429 | waiting as long as asked (30 s if not said); uses up no try | stays | parked (1) | as before |
 * | retry: moved | at once, to the new address; thrice | anew, a move more | – | keeps the address |
 * | rejected: message | once more as plain text, then failed | anew | – | well |
 * | rejected: recipient | failed | anew | – | well |
 * | rejected: destination | waiting, for an hour, until it works again | anew | – | dead, probed |
 * | rejected: account | waiting until the account is accepted again | anew | – | the account is paused |
 * | ambiguous | waiting, then marked as a repeat; or held | anew | parked (2) | a failure more |
 *
 * The columns are decided in `plan/policy.ts`, `plan/progress.ts`, `memory/pace.ts` and `plan/health.ts`.
 *
 * (1) The chat is parked. The whole bot is, when the account is meant, or when two of its chats ask within ten seconds.
 * Afterwards two more chats must ask. The wait is written with the attempt (`deliveries.due_at`, `paces.parked_until`), so it
 * outlives a restart. Everything waits for it: the next slot, the parts of a long message, probes, manual resends. A delivery
 * waits as long as its schedule lasts. (2) Only if a wait was asked for, and never after a mail. A claim that recovery ends is
 * ambiguous too, and says nothing about health.
 *
 * A delivery that fails for good, or finds its destination dead, makes its fallback in the same transaction. An alert that
 * reached nobody is remembered for a notice. After an impossible edit the next step follows, or the alert answers the message
 * that could not be changed. The store is asked to record a call until the lease ends, since a call without a record would be
 * made again. A relay that has lost the lane writes nothing more, and the next holder recovers its claims. A message that is sent
 * and recorded may then get its picture (pictures.ts).
 */
export class Deliverer {
  /** A chat's last message of each group, or of quiet hours. Later ones are silent, unless they have something worse. */
  readonly #lastOfGroups = new RecentMap<string, { dueAt: number; rang: Severity | undefined; total: number }>(100);

  constructor(private readonly deps: DelivererDeps) {}

  /** Makes and records the calls of a claim. Ends when the claim is settled or given back. Rejects as the store does. */
  async deliver(claimed: Claim, stop: AbortSignal, listener?: DeliveryListener): Promise<void> {
    const { clock, claims } = this.deps;
    const [newest] = claimed.deliveries;
    const work: Work = {
      claim: claimed,
      stop,
      listener,
      silent: isSilent(claimed, clock.now()) || this.#hasRung(claimed),
      progress: newest.progress,
      leaseUntil: claimed.leaseUntil,
      slotAt: claimed.slotAt,
      isUnrecorded: false,
      paces: [],
      endsElsewhere: [],
    };
    try {
      await claims.begin(claimed);
      work.endsElsewhere = await this.#listEndsElsewhere(claimed);
      if (claimed.digest) {
        work.progress = advance(work.progress, { kind: "digest", reason: claimed.digest.reason });
        claimed.digest.total = await this.#countTotal(claimed, clock.now());
        work.threads = await this.#findThreads(claimed);
        await this.#send(work, { action: "send" }, undefined);
      } else await this.#deliverAlert(work);
    } catch (error) {
      if (!work.isUnrecorded) await claims.release(claimed, clock.now() + giveBackForMs).catch(() => {});
      throw error;
    } finally {
      claims.end(claimed);
    }
  }

  async #deliverAlert(work: Work): Promise<void> {
    const { channel, clock } = this.deps;
    const { deliveries } = work.claim;
    const [newest] = deliveries;
    const { status, severity } = newest;
    const isUpdate = isUpdatable(newest);
    const thread = isUpdate ? await this.#findThread(work.claim) : undefined;
    const policy = isUpdate ? policyOf(deliveries) : "new";
    const isOfCause = policy === "count" && newest.extras?.with !== undefined;
    const toldAt = isOfCause && thread === undefined ? await this.#findUnsent(newest) : undefined;
    if (toldAt !== undefined) {
      await this.deps.claims.release(work.claim, Math.max(toldAt, clock.now() + giveBackForMs));
      return;
    }
    const steps = planUpdate({
      policy,
      isOfCause,
      isBound: newest.damped?.isBound,
      can: channel.can,
      isOlder: thread !== undefined && (await this.#isOlder(newest, thread)),
      status,
      severity,
      thread,
      now: clock.now(),
    });
    for (const [index, step] of steps.entries()) {
      const isLast = index === steps.length - 1;
      const course =
        step.action === "edit" && thread
          ? await this.#edit(work, step, thread, isLast)
          : await this.#send(work, step, thread);
      if (course === "settled") return;
    }
    const settle = (label: CallLabel, outcome: Outcome) => this.#record(work, label, outcome, "settles");
    if (policy === "later_end" && (steps.length === 0 || thread?.status === "resolved"))
      return settle(onlyEdit, withoutCall.laterEnd);
    if (isDamped(newest)) return settle(onlyEdit, isOfCause ? withoutCall.listedLater : withoutCall.countedOnly);
    if (steps.length === 0)
      return settle(onlySend, status === "resolved" ? withoutCall.firedSince : withoutCall.overBefore);
    // The only step was an edit, and it was impossible. The alert answers that message instead.
    await this.#send(work, thread ? answerTo(thread, channel.can) : { action: "send" }, thread);
  }

  /** When the unsent message of a cause is due. The alerts that the cause holds back wait for it. */
  async #findUnsent({ alertKey, alertSeq, recipient }: ClaimedDelivery): Promise<number | undefined> {
    const { store, destination } = this.deps;
    const unsent = await store.listByKeys(destination.name, [alertKey], mostUnsent);
    return unsent.find((one) => one.alertSeq === alertSeq && one.recipient === recipient && !isDamped(one))?.dueAt;
  }

  /**
   * Whether the alert came before the last one that the thread shows. Another relay, or a spool, may store an alert late. A
   * firing alert that came later is always newer. A resolving alert is newer than one that came before it and was stored late.
   */
  async #isOlder(delivery: ClaimedDelivery, { lastAlertSeq }: Thread): Promise<boolean> {
    const { store, destination } = this.deps;
    const { alertSeq, receivedAt, status } = delivery;
    const isBefore = alertSeq < lastAlertSeq;
    if (alertSeq === lastAlertSeq || (!isBefore && !isStoredLate(delivery))) return isBefore;
    const last = await store.findAlertFacts(lastAlertSeq, destination.name);
    if (last === undefined) return isBefore;
    const isLastLate = isStoredLate({ createdAt: last.routedAt, receivedAt: last.receivedAt });
    if (isBefore && status === "resolved" && !isLastLate) return true;
    return receivedAt === last.receivedAt ? isBefore : receivedAt < last.receivedAt;
  }

  async #findThread({ deliveries: [newest], ofRun }: Claim): Promise<Thread | undefined> {
    const { store, destination } = this.deps;
    if (ofRun) return this.deps.claims.threads.latest(newest) ?? ofRun.thread;
    return await store.findThread(destination.name, newest.recipient, newest.alertKey);
  }

  async #findThreads({ deliveries }: Claim): Promise<Thread[]> {
    const { store, destination } = this.deps;
    const keys = deliveries.filter(isUpdatable).map(({ alertKey }) => alertKey);
    return await store.findThreads(destination.name, deliveries[0].recipient, [...new Set(keys)]);
  }

  /** A fallback that was told the beginning does not hear of the end by itself. */
  async #listEndsElsewhere({ deliveries }: Claim): Promise<ClaimedDelivery[]> {
    const { store, destination } = this.deps;
    const ends = deliveries.filter(
      (one) => one.status === "resolved" && one.fallbackTo !== undefined && isUpdatable(one),
    );
    if (ends.length === 0) return [];
    const told = await store.listToldInstead(destination.name, [...new Set(ends.map(({ alertKey }) => alertKey))]);
    return ends.filter(({ alertKey }) => told.includes(alertKey));
  }

  /** Changes an earlier message. An ambiguous edit is made again, which does no harm. */
  async #edit(
    work: Work,
    step: Extract<UpdateStep, { action: "edit" }>,
    thread: Thread,
    isLast: boolean,
  ): Promise<Course> {
    const { channel, clock } = this.deps;
    const { edit } = channel;
    const skipped = isLast ? "impossible" : "next";
    // Once a part is sent, no edit replaces the message.
    const messages = work.progress.refs.length > 0 ? [] : await this.#composeEdit(work, step, thread);
    const [message] = messages ?? [];
    if (messages?.length !== 1 || !message || !edit) return skipped;
    const endEdit = this.deps.pictures?.beginEdit(step.ref, message);
    if (endEdit === "impossible") return skipped;
    if (!(await this.#takeSlot(work))) {
      endEdit?.(undefined);
      return "settled";
    }
    const answer = await this.#call(work, (context) => edit(step.ref, message, context));
    endEdit?.(answer);
    const outcome: Outcome = answer.kind === "ambiguous" ? { ...answer, kind: "retry" } : answer;
    const isRefused = outcome.kind === "rejected" && outcome.scope === "message";
    const goesOn = isRefused || (outcome.kind === "sent" && !isLast);
    const { deliveries } = work.claim;
    const update = outcome.kind === "sent" ? threadAfter(step, undefined, deliveries, thread, clock.now()) : undefined;
    await this.#record(work, onlyEdit, outcome, goesOn ? "more follows" : "settles", goesOn ? undefined : update);
    if (outcome.kind === "sent" && step.shows === "self") {
      // The picture of the earlier alert would contradict the text.
      this.deps.pictures?.noteSent({
        deliveries,
        isAlone: true,
        message,
        ref: step.ref,
        context: this.#contextFor(work),
      });
    }
    if (!goesOn) return "settled";
    return isRefused ? skipped : "next";
  }

  async #send(work: Work, step: UpdateStep, thread: Thread | undefined): Promise<Course> {
    const { channel, clock } = this.deps;
    const { claim } = work;
    const messages = this.#composeParts(work, step, thread);
    if (messages === undefined) {
      await this.#record(work, onlySend, uncomposable, "settles");
      return "settled";
    }
    const replyTo = step.action === "reply" ? step.ref : undefined;
    while (work.progress.refs.length < messages.length) {
      const part = work.progress.refs.length + 1;
      const message = messages[part - 1] as Message;
      if (!(await this.#takeSlot(work))) return "settled";
      const outcome = await this.#call(work, (context) => channel.send(message, { replyTo, ...context }));
      const isLast = part === messages.length;
      const isWhole = outcome.kind === "sent" && isLast && !claim.digest && isUpdatable(claim.deliveries[0]);
      await this.#record(
        work,
        { action: replyTo === undefined ? "send" : "reply", part, parts: messages.length },
        outcome,
        outcome.kind === "sent" && !isLast ? "more follows" : "settles",
        isWhole ? threadAfter(step, firstRef(work, outcome), claim.deliveries, thread, clock.now()) : undefined,
      );
      if (outcome.kind !== "sent") return "settled";
      this.deps.pictures?.noteSent({
        deliveries: claim.deliveries,
        isAlone: messages.length === 1 && !claim.digest && claim.deliveries.length === 1,
        message,
        ref: outcome.ref,
        context: this.#contextFor(work),
      });
    }
    return "settled";
  }

  /** The progress keeps the times that the message names. After a restart a long message is then cut in the same places. */
  #composeParts(work: Work, step: UpdateStep, thread: Thread | undefined): Message[] | undefined {
    const { destination, composer } = this.deps;
    const { claim } = work;
    work.progress = this.#composedNow(work.progress, claim);
    return this.#unlessUnwritable(claim, () =>
      claim.digest
        ? composeDigest(composer, destination, claim, work.progress)
        : composeClaimed(composer, destination, claim, work.progress, saidBefore(step, thread, claim)),
    );
  }

  async #composeEdit(
    { claim }: Work,
    step: Extract<UpdateStep, { action: "edit" }>,
    thread: Thread,
  ): Promise<Message[] | undefined> {
    const { store, destination, composer, clock } = this.deps;
    if (step.shows === "self") {
      const context = saidBefore(step, thread, claim);
      return this.#unlessUnwritable(claim, () =>
        composeClaimed(composer, destination, claim, this.#composedNow({ refs: [] }, claim), context),
      );
    }
    const root = await store.findAlertFacts(thread.rootAlertSeq, destination.name);
    if (!root) return undefined;
    const rootAlert = { ...root, seq: thread.rootAlertSeq };
    return this.#unlessUnwritable(claim, () =>
      composeResolved(composer, destination, claim, rootAlert, thread, clock.now()),
    );
  }

  #composedNow(progress: DeliveryProgress, { deliveries, digest }: Claim): DeliveryProgress {
    const { destination, health, clock, startedAt } = this.deps;
    const [newest] = deliveries;
    const said = digest ? deliveries.reduce((a, b) => (a.receivedAt <= b.receivedAt ? a : b)) : newest;
    const now = clock.now();
    const context = { status: health.of(destination), channel: destination.type, startedAt, now };
    return advance(progress, { kind: "composed", at: now, late: explainLateness(said, context) });
  }

  /** Undefined when the message cannot be composed in any form. That is a bug of Tocsin, and must not stop other messages. */
  #unlessUnwritable({ deliveries }: Claim, compose: () => Message[]): Message[] | undefined {
    const { log } = this.deps;
    try {
      return compose();
    } catch (error) {
      const alert = deliveries[0].alertId;
      log.error("delivery.unwritable", { alert, error: errorText(error) });
      return undefined;
    }
  }

  /** Waits until the pace allows the next call. False: the wait is too long or the relay stops; the claim was given back. */
  async #takeSlot(work: Work): Promise<boolean> {
    const { claims, destination, channel, health, pace, settings, clock, mayCall } = this.deps;
    const { claim, stop } = work;
    // Later claims of the run go back to their places in the queue, so this one must too.
    const isUntried = claim.ofRun !== undefined && work.progress.refs.length === 0 && !work.isUnrecorded;
    const keys = paceKeysOf(destination, claim.deliveries[0].recipient, settings);
    const release = (at: number) => claims.release(claim, isUntried ? placeOf(claim) : at);
    // If the channel cannot be loaded, the call fails and gives the reason.
    await channel.prepare?.().catch(() => {});
    for (;;) {
      // The destination was paused after the claim. The person was shown that nothing more is sent.
      const isHeldUp = health.of(destination).paused !== undefined && !isManual(claim.deliveries[0]);
      if (!mayCall() || (isHeldUp && work.calledAt === undefined)) {
        await release(clock.now());
        return false;
      }
      const now = clock.now();
      const { slotAt } = work;
      work.slotAt = undefined;
      // Other calls may have come between, if the commit of the claim took long.
      if (slotAt !== undefined && pace.mayUse(keys, slotAt, now)) return true;
      if (slotAt !== undefined) pace.giveBack(keys, slotAt);
      const { at, why } = pace.nextSlot(keys, now);
      if (at <= now && !stop.aborted) {
        work.paces = pace.take(keys, now);
        return true;
      }
      // A delivery that the vendor makes wait goes back into the queue, where a resolving alert can join it. The lane's own pace
      // is waited for here, since each claim takes a slot.
      const isParked = why !== undefined && work.calledAt === undefined && work.progress.refs.length === 0;
      const longestMs = isParked ? withEndAfterMs : longestSlotWaitMs;
      if (stop.aborted || at - now > longestMs) {
        await release(Math.max(at, now));
        return false;
      }
      await clock.sleep(at - now, stop);
    }
  }

  #call(work: Work, act: (context: SendContext) => Promise<Outcome>): Promise<Outcome> {
    const { destination, pace, settings, clock } = this.deps;
    const timeoutMs = settingsOf(destination.type, settings).sendTimeoutMs;
    const calledAt = clock.now();
    work.calledAt = calledAt;
    work.isUnrecorded = true;
    const { recipient } = work.claim.deliveries[0];
    work.paces.push(...pace.restamp(paceKeysOf(destination, recipient, settings), calledAt));
    const context = this.#contextFor(work);
    return this.deps.calls.make((signal) => act({ signal, ...context }), { timeoutMs, stop: work.stop });
  }

  #contextFor({ claim, silent }: Work): Omit<SendContext, "signal"> {
    const { destination, health } = this.deps;
    const [newest] = claim.deliveries;
    const { moved } = health.of(destination);
    const id = claim.digest?.id;
    return {
      recipient: moved?.from === newest.recipient ? moved.to : newest.recipient,
      deliveryId: id ?? newest.id,
      alertId: newest.alertId,
      receivedAt: newest.receivedAt,
      threadKey: id ?? newest.alertKey,
      silent,
      mayCall: this.deps.mayCall,
    };
  }

  async #record(
    work: Work,
    label: CallLabel,
    outcome: Outcome,
    course: "settles" | "more follows",
    thread?: ThreadUpdate,
  ): Promise<void> {
    const { claims, destination, channel, health, figures, settings, clock, random, log } = this.deps;
    const { claim, threads } = work;
    const [newest] = claim.deliveries;
    const now = clock.now();
    const { calledAt = now } = work;
    let next: NextStep | undefined;
    if (course === "settles")
      next = decideNext(outcome, historyOf(claim, destination, work.progress), settings, now, random);
    // A successful edit is no part of a message.
    const isOfParts = label.action !== "edit" || outcome.kind !== "sent";
    if (work.isUnrecorded && isOfParts) work.progress = advance(work.progress, { kind: "called", outcome });
    this.#remember(work, outcome, now);
    const said = {
      ...label,
      outcome: outcome.kind,
      reason: outcome.kind === "sent" ? undefined : outcome.reason,
      detail: outcome.kind === "sent" ? outcome.note : outcome.detail,
      durationMs: now - calledAt,
    };
    const writing = this.#write(work, {
      token: claim.token,
      ...said,
      deliverySeqs: claim.deliveries.map((delivery) => delivery.seq),
      at: calledAt,
      countsAsAttempt: countsAsAttempt(outcome),
      progress: work.progress,
      next,
      leaseMs: next === undefined ? claims.leaseMs : undefined,
      thread,
      threads:
        next?.state === "digested" && threads
          ? threadsAfterDigest(claim.deliveries, threads, channel.can, now)
          : undefined,
      fallbacks: this.#fallbacksAfter(work, outcome, next, now),
    });
    if (thread) claims.threads.note(newest, thread);
    if (next) work.listener?.onAnswered(outcome.kind === "sent");
    const result = await writing;
    work.isUnrecorded = false;
    work.leaseUntil = now + claims.leaseMs;
    work.paces = [];
    figures.noteAttempt(destination.name, outcome);
    if (next?.state === "digested") this.#noteGroup(work);
    if (result === "recorded" && (next?.state === "sent" || next?.state === "digested"))
      figures.noteSent(destination.name, claim.deliveries, now);
    if (result === "recorded") health.noteEnding({ destination, deliveries: claim.deliveries, outcome, next });
    log.info("delivery.attempted", {
      destination: destination.name,
      delivery: claim.digest?.id ?? newest.id,
      alert: newest.alertId,
      deliveries: claim.deliveries.length,
      ...said,
      state: next?.state,
      late: result === "late" || undefined,
    });
  }

  /** How many deliveries go out together in several messages. Undefined: it is one message, or the number is unknown. */
  async #countTotal(claim: Claim, now: number): Promise<number | undefined> {
    const { store, destination } = this.deps;
    const { deliveries, digest } = claim;
    if (!isTogether(digest)) return undefined;
    const [{ recipient, groupName }] = deliveries;
    return (
      this.#lastWith(claim)?.total ??
      deliveries.length + (await store.countDueTogether(destination.name, recipient, groupName, now))
    );
  }

  /** The last message of the claim's group, if both were due together. */
  #lastWith({ deliveries }: Claim) {
    if (this.#lastOfGroups.size === 0) return undefined;
    const key = groupKeyOf(deliveries[0]);
    const last = this.#lastOfGroups.get(key);
    return last && deliveries.every((one) => groupKeyOf(one) === key && openSince(one) <= last.dueAt)
      ? last
      : undefined;
  }

  /** Whether the group's last message made a sound for something at least as bad. */
  #hasRung(claim: Claim): boolean {
    const worst = this.#lastWith(claim)?.rang;
    return worst !== undefined && claim.deliveries.every(({ facts }) => !isWorse(facts.severity, worst));
  }

  #noteGroup({ claim, silent }: Work): void {
    const { deliveries, digest } = claim;
    if (!isTogether(digest)) return;
    const loud = silent ? [] : deliveries.filter((one) => !isQuiet(one) && !isSilenced(one));
    const worst = severities[Math.min(...loud.map(({ facts }) => severities.indexOf(facts.severity)))];
    const rang = worst ?? this.#lastWith(claim)?.rang;
    const dueAt = Math.max(...deliveries.map(openSince));
    const { total = deliveries.length } = digest;
    this.#lastOfGroups.set(groupKeyOf(deliveries[0]), { dueAt, rang, total });
  }

  #fallbacksAfter({ claim, endsElsewhere }: Work, outcome: Outcome, next: NextStep | undefined, now: number) {
    const { destination } = this.deps;
    if (next?.state === "sent" || next?.state === "digested")
      return this.deps.planFallbacks(endsElsewhere, () => "its beginning was sent here", now);
    const isDead = outcome.kind === "rejected" && outcome.scope === "destination";
    if (next?.state !== "failed" && next?.state !== "expired" && !isDead) return [];
    const because = ({ recipient }: ClaimedDelivery) => explainFallback(outcome, destination, recipient);
    return this.deps.planFallbacks<ClaimedDelivery>(claim.deliveries, because, now);
  }

  /** In memory: the next call must know the outcome even if it cannot be recorded. */
  #remember(work: Work, outcome: Outcome, now: number): void {
    const { destination, pace, health } = this.deps;
    const { recipient } = work.claim.deliveries[0];
    work.paces.push(...pace.parkAfter(outcome, destination, recipient, now));
    if (outcome.kind === "retry" && outcome.movedTo !== undefined)
      health.noteMove(destination, recipient, outcome.movedTo);
    if (work.isUnrecorded) health.observe(destination, outcome);
  }

  /** A call without a record would be made again, so the store is asked until the lease ends. */
  async #write(work: Work, attempt: AttemptRecord): Promise<"recorded" | "late"> {
    const { store, destination, clock, log } = this.deps;
    for (;;) {
      try {
        return await store.recordAttempt(attempt, work.paces);
      } catch (error) {
        const mayPass = isStoreAway(error);
        const isOver = work.stop.aborted || clock.now() + recordAgainMs >= work.leaseUntil;
        if (!mayPass || isOver) throw error;
        work.listener?.onRefused();
        log.warn("delivery.record_refused", { destination: destination.name, error: error.message });
        await clock.sleep(recordAgainMs, work.stop);
      }
    }
  }
}

function policyOf(deliveries: Claim["deliveries"]): DeliveryUpdates {
  const [{ status }] = deliveries;
  // A ring among them needs a message, even if the newest is a quick repeat that would only change one.
  if (status !== "resolved" && deliveries.some(({ updates }) => updates === "reply")) return "reply";
  // A later end counts as the first one while the earlier end is unsent.
  return deliveries.find(({ updates }) => updates !== "later_end")?.updates ?? "later_end";
}

function saidBefore(step: UpdateStep, thread: Thread | undefined, { deliveries }: Claim): ThreadContext {
  return { hasEarlier: thread !== undefined, ...contextOf(step, thread, deliveries) };
}

const uncomposable: Outcome = {
  kind: "rejected",
  scope: "message",
  reason: "render_failed",
  detail: "the message could not be written, which is a defect of Tocsin; its log says more",
};

const noCall = (note: string): Outcome => ({ kind: "sent", note });

/** Outcomes of deliveries that need no call. */
const withoutCall = {
  laterEnd: noCall(
    "no new message: people were told before that it is over, and no message could be changed to show the later end",
  ),
  countedOnly: noCall(
    "no message: it does not ring, and there was none to change or nothing new to say; the next message of its key counts it",
  ),
  listedLater: noCall("no message: there was none to change; the message that it is over lists what it held back"),
  overBefore: noCall("no message: it came too late, and people were told before that it is over"),
  firedSince: noCall("no message: it came too late, and it was told before that this has fired again since"),
};

/** Deliveries of a group are due together, and those of quiet hours. Any other delivery is alone. */
function groupKeyOf({ id, groupName, recipient, state, progress }: ClaimedDelivery): string {
  const isOfQuietHours = state === "held" || progress.digestReason === "quiet_hours";
  return JSON.stringify([recipient, groupName ?? (isOfQuietHours ? "" : id)]);
}

const isTogether = (digest: Claim["digest"]): digest is NonNullable<Claim["digest"]> =>
  digest?.reason === "group" || digest?.reason === "quiet_hours";

/** Whether no alert makes a sound: each is stale, over, silenced by its route, or sent together with its end. */
function isSilent({ deliveries, digest }: Claim, now: number): boolean {
  const [newest] = deliveries;
  if (digest === undefined && isQuiet(newest)) return true;
  const isOver = (delivery: ClaimedDelivery) => deliveries.some((other) => isEndOf(other, delivery));
  return deliveries.every(
    (delivery) => isStale(delivery, now) || isQuiet(delivery) || isSilenced(delivery) || isOver(delivery),
  );
}

/** The vendor's id of the first part. Undefined until the last part. */
function firstRef({ progress: { refs } }: Work, outcome: Outcome): string | null | undefined {
  if (refs.length > 0) return refs[0];
  return outcome.kind === "sent" ? outcome.ref : undefined;
}

/** A request to wait, or a new address, is no failure. */
function countsAsAttempt(outcome: Outcome): boolean {
  return outcome.kind !== "retry" || (outcome.countsAsAttempt !== false && outcome.movedTo === undefined);
}
