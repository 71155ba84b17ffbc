import type { Alert } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import type { Outcome } from "../core/delivery.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { Log } from "../core/log.ts";
import type { Message } from "../core/message.ts";
import type { Channel, Random, SendContext } from "../core/ports.ts";
import type { Destination, PlannedDelivery } from "../core/rules.ts";
import type {
  AttemptRecord,
  ClaimedDelivery,
  DeliveryProgress,
  NextStep,
  PaceRecord,
  Store,
  Thread,
  ThreadUpdate,
} from "../core/store.ts";
import type { DigestReason, Telling } from "../core/telling.ts";
import { accountOf, chatKeyOf, paceKeysOf } from "./accounts.ts";
import { callChannel } from "./call-channel.ts";
import { alertOf, type Composer } from "./compose.ts";
import type { FloodWatch } from "./flood-watch.ts";
import type { HealthKeeper } from "./health-keeper.ts";
import { explainLateness } from "./lateness.ts";
import type { Pacer } from "./pacing.ts";
import { planUpdate, type UpdateStep } from "./plan-update.ts";
import { decideNext } from "./policy.ts";
import { threadAfter } from "./thread-after.ts";

/** A set of deliveries that were claimed under one token and are told by the same messages. */
export interface Claim {
  token: string;
  /** The first is the newest; the rest are told by its message. */
  deliveries: ClaimedDelivery[];
  digest?: { id: string; reason: DigestReason };
}

export interface TellerDeps {
  store: Pick<Store, "recordAttempt" | "releaseClaim" | "findThread" | "findAlertFacts">;
  channel: Channel;
  destination: Destination;
  composer: Composer;
  pacer: Pacer;
  floods: FloodWatch;
  health: HealthKeeper;
  settings: DeliverySettings;
  clock: Clock;
  random: Random;
  log: Log;
  planFallback(destination: string, insteadOf: string): PlannedDelivery[];
}

export interface Teller {
  /** Makes the calls of a claim and records each. Ends when the claim is settled or given back; rejects only if the store does. */
  tell(claim: Claim, stop: AbortSignal): Promise<void>;
}

/** How one call went, as far as the rest of its claim is concerned. */
type Course = "next" | "settled" | "skip";

export function createTeller(deps: TellerDeps): Teller {
  const { store, channel, destination, composer, pacer, floods, health, settings, clock, log } = deps;
  const timeoutMs = destination.type === "email" ? settings.emailSendTimeoutMs : settings.sendTimeoutMs;

  /** The slot of a claim's first call is taken by whoever claims; each further call waits for its own. */
  async function waitForSlot(recipient: string, stop: AbortSignal): Promise<PaceRecord[] | undefined> {
    const keys = paceKeysOf(destination, recipient, settings);
    for (;;) {
      if (stop.aborted) return undefined;
      const now = clock.now();
      const slot = pacer.nextSlot(keys, now);
      if (slot.at <= now) return pacer.take(keys, now);
      await clock.sleep(slot.at - now, stop);
    }
  }

  async function runCalls(claim: Claim, stop: AbortSignal): Promise<void> {
    const session = { claim, calls: 0, progress: { ...(claim.deliveries[0] as ClaimedDelivery).progress } };
    if (claim.digest) {
      const { reason } = claim.digest;
      session.progress.digestReason = reason;
      await sendParts(session, { action: "send" }, digestMessages(claim, session.progress), undefined, stop);
      return;
    }
    const newest = claim.deliveries[0] as ClaimedDelivery;
    const thread = await findThread(newest);
    const steps = planUpdate({
      policy: isUpdatable(newest) ? newest.updates : "new",
      canEdit: channel.edit !== undefined,
      status: newest.status,
      severity: newest.severity,
      thread,
      now: clock.now(),
    });
    for (const [index, step] of steps.entries()) {
      const last = index === steps.length - 1;
      if (step.action === "edit" && session.progress.refs.length > 0) continue;
      const course =
        step.action === "edit"
          ? await edit(session, step, thread, last, stop)
          : await sendParts(
              session,
              step,
              alertMessages(claim, session.progress, historyOf(step, thread, claim)),
              thread,
              stop,
            );
      if (course === "settled") return;
      if (course === "skip" && last && thread) {
        const answer: UpdateStep = { action: "reply", ref: thread.rootRef };
        const history = historyOf(answer, thread, claim);
        await sendParts(session, answer, alertMessages(claim, session.progress, history), thread, stop);
        return;
      }
    }
  }

  function findThread(newest: ClaimedDelivery): Promise<Thread | undefined> {
    if (channel.edit === undefined || !isUpdatable(newest)) return Promise.resolve(undefined);
    return store.findThread(newest.destination, newest.recipient, newest.alertKey);
  }

  function tellingOf(claim: Claim, progress: DeliveryProgress): Telling {
    const newest = claim.deliveries[0] as ClaimedDelivery;
    const now = progress.madeAt ?? clock.now();
    const late =
      progress.madeAt === undefined ? explainLateness(newest, health.of(destination), now) : progress.late;
    progress.madeAt = now;
    progress.late = late;
    return {
      now,
      purpose: newest.purpose,
      possibleRepeat: claim.deliveries.some((delivery) => delivery.ambiguous > 0),
      late,
      insteadOf: newest.insteadOf,
    };
  }

  function alertMessages(claim: Claim, progress: DeliveryProgress, history: Telling["history"]): Message[] {
    const newest = claim.deliveries[0] as ClaimedDelivery;
    return composer.alert(newest, alertOf(newest), { ...tellingOf(claim, progress), history }, destination);
  }

  function digestMessages(claim: Claim, progress: DeliveryProgress): Message[] {
    const oldest = claim.deliveries.reduce((a, b) => (a.receivedAt <= b.receivedAt ? a : b));
    const now = progress.madeAt ?? clock.now();
    const late =
      progress.madeAt === undefined ? explainLateness(oldest, health.of(destination), now) : progress.late;
    progress.madeAt = now;
    progress.late = late;
    const possibleRepeat = claim.deliveries.some((delivery) => delivery.ambiguous > 0);
    const telling = { now, reason: claim.digest?.reason ?? "burst", possibleRepeat, late };
    const form = claim.deliveries.some((delivery) => delivery.form === "plain") ? "plain" : "rich";
    return composer.digest(claim.deliveries, telling, form, destination);
  }

  async function edit(
    session: Session,
    step: Extract<UpdateStep, { action: "edit" }>,
    thread: Thread | undefined,
    last: boolean,
    stop: AbortSignal,
  ): Promise<Course> {
    const messages = await editedMessages(session, step, thread);
    if (messages?.length !== 1 || channel.edit === undefined) return "skip";
    const paces = await pacesOfCall(session, stop);
    if (!paces) return "settled";
    const outcome = await call(
      session,
      stop,
      (context) => channel.edit?.(step.ref, messages[0] as Message, context) as Promise<Outcome>,
    );
    const harmless: Outcome = outcome.kind === "ambiguous" ? { ...outcome, kind: "retry" } : outcome;
    const record = { action: "edit" as const, part: 1, parts: 1 };
    const impossible = harmless.kind === "rejected" && harmless.scope === "message";
    if (impossible || (harmless.kind === "sent" && !last)) {
      await write(session, record, harmless, undefined, paces);
      return impossible ? "skip" : "next";
    }
    const update =
      harmless.kind === "sent"
        ? threadAfter(step, undefined, session.claim.deliveries, thread, clock.now())
        : undefined;
    await write(session, record, harmless, next(session, harmless), paces, update);
    return "settled";
  }

  async function editedMessages(
    session: Session,
    step: Extract<UpdateStep, { action: "edit" }>,
    thread: Thread | undefined,
  ): Promise<Message[] | undefined> {
    const { claim } = session;
    const newest = claim.deliveries[0] as ClaimedDelivery;
    if (!thread) return undefined;
    if (step.shows === "self") return alertMessages(claim, { refs: [] }, historyOf(step, thread, claim));
    const root = await store.findAlertFacts(thread.rootAlertSeq);
    if (!root) return undefined;
    const rootAlert: Alert = { ...root, seq: thread.rootAlertSeq };
    const telling: Telling = {
      now: clock.now(),
      purpose: newest.purpose,
      possibleRepeat: false,
      resolvedBy: alertOf(newest),
      history:
        thread.count > 1
          ? { count: thread.count, firstAt: thread.firstAt, lastAt: thread.lastAt }
          : undefined,
    };
    return composer.alert(newest, rootAlert, telling, destination);
  }

  async function sendParts(
    session: Session,
    step: UpdateStep,
    messages: Message[],
    thread: Thread | undefined,
    stop: AbortSignal,
  ): Promise<Course> {
    const { progress, claim } = session;
    const replyTo = step.action === "send" ? undefined : step.ref;
    while (progress.refs.length < messages.length) {
      const part = progress.refs.length + 1;
      const paces = await pacesOfCall(session, stop);
      if (!paces) return "settled";
      const message = messages[part - 1] as Message;
      const outcome = await call(session, stop, (context) => channel.send(message, { ...context, replyTo }));
      const record = {
        action: replyTo === undefined ? ("send" as const) : ("reply" as const),
        part,
        parts: messages.length,
      };
      if (outcome.kind !== "sent") {
        forgetParts(progress, outcome);
        await write(session, record, outcome, next(session, outcome), paces);
        return "settled";
      }
      progress.refs.push(outcome.ref ?? null);
      const done = progress.refs.length === messages.length;
      const told = claim.deliveries;
      const update =
        done && !claim.digest && isUpdatable(told[0] as ClaimedDelivery)
          ? threadAfter(step, progress.refs[0], told, thread, clock.now())
          : undefined;
      await write(session, record, outcome, done ? next(session, outcome) : undefined, paces, update);
    }
    return "settled";
  }

  async function pacesOfCall(session: Session, stop: AbortSignal): Promise<PaceRecord[] | undefined> {
    session.calls += 1;
    if (session.calls === 1) return [];
    const paces = await waitForSlot((session.claim.deliveries[0] as ClaimedDelivery).recipient, stop);
    if (!paces) await store.releaseClaim(session.claim.token, clock.now());
    return paces;
  }

  async function call(
    session: Session,
    stop: AbortSignal,
    act: (context: SendContext) => Promise<Outcome>,
  ): Promise<Outcome> {
    const newest = session.claim.deliveries[0] as ClaimedDelivery;
    const { moved } = health.of(destination);
    session.startedAt = clock.now();
    return callChannel(
      (signal) =>
        act({
          recipient: moved?.from === newest.recipient ? moved.to : newest.recipient,
          deliveryId: session.claim.digest?.id ?? newest.id,
          alertId: newest.alertId,
          receivedAt: newest.receivedAt,
          threadKey: session.claim.digest?.id ?? newest.alertKey,
          silent: false,
          signal,
        }),
      { timeoutMs, stop },
      { clock, log },
    );
  }

  function next(session: Session, outcome: Outcome): NextStep {
    const { claim, progress } = session;
    const newest = claim.deliveries[0] as ClaimedDelivery;
    const decided = decideNext(
      outcome,
      {
        channel: destination.type,
        onAmbiguous: destination.onAmbiguous,
        createdAt: Math.min(...claim.deliveries.map((delivery) => delivery.createdAt)),
        attempts: Math.max(...claim.deliveries.map((delivery) => delivery.attempts)),
        ambiguous: Math.max(...claim.deliveries.map((delivery) => delivery.ambiguous)),
        form: newest.form,
        moves: progress.moves ?? 0,
        inDigest: claim.digest !== undefined,
      },
      settings,
      clock.now(),
      deps.random,
    );
    if (outcome.kind === "retry" && outcome.movedTo !== undefined) progress.moves = (progress.moves ?? 0) + 1;
    return decided;
  }

  async function write(
    session: Session,
    call: { action: AttemptRecord["action"]; part: number; parts: number },
    outcome: Outcome,
    nextStep: NextStep | undefined,
    paces: PaceRecord[],
    thread?: ThreadUpdate,
  ): Promise<void> {
    const { claim, progress, startedAt = clock.now() } = session;
    const now = clock.now();
    const seqs = claim.deliveries.map((delivery) => delivery.seq);
    await noteOutcome(session, outcome, paces, now);
    const result = await store.recordAttempt(
      {
        token: claim.token,
        deliverySeqs: seqs,
        at: startedAt,
        durationMs: now - startedAt,
        ...call,
        outcome: outcome.kind,
        reason: outcome.kind === "sent" ? undefined : outcome.reason,
        detail: outcome.kind === "sent" ? outcome.note : outcome.detail,
        countsAsAttempt: countsAsAttempt(outcome),
        progress,
        next: nextStep,
        leaseUntil: nextStep === undefined ? leaseEnd(now) : undefined,
        thread,
        fallbacks: isLost(nextStep) ? fallbacksOf(claim) : undefined,
      },
      paces,
    );
    log.info("delivery.attempted", {
      destination: destination.name,
      delivery: claim.digest?.id ?? claim.deliveries[0]?.id,
      alert: claim.deliveries[0]?.alertId,
      told: seqs.length,
      ...call,
      outcome: outcome.kind,
      reason: outcome.kind === "sent" ? undefined : outcome.reason,
      detail: outcome.kind === "sent" ? outcome.note : outcome.detail,
      durationMs: now - startedAt,
      state: nextStep?.state,
      late: result === "late" || undefined,
    });
  }

  async function noteOutcome(
    session: Session,
    outcome: Outcome,
    paces: PaceRecord[],
    now: number,
  ): Promise<void> {
    const newest = session.claim.deliveries[0] as ClaimedDelivery;
    if (outcome.kind === "retry" && outcome.movedTo !== undefined) {
      await health.noteMove(destination, newest.recipient, outcome.movedTo);
    }
    if (outcome.kind === "retry" && outcome.reason === "rate_limited" && outcome.waitMs !== undefined) {
      const until = now + outcome.waitMs;
      const account = accountOf(destination);
      const chat = chatKeyOf(destination, newest.recipient);
      paces.push(pacer.park(chat, until, outcome.detail));
      const wholeAccount = outcome.scope === "account" || floods.note(account ?? chat, chat, now);
      if (account !== undefined && wholeAccount) paces.push(pacer.park(account, until, outcome.detail));
    }
    await health.observe(destination, outcome);
  }

  function leaseEnd(now: number): number {
    return now + Math.max(settings.leaseMs, timeoutMs + 60_000);
  }

  function fallbacksOf(claim: Claim) {
    return claim.deliveries.flatMap((delivery) =>
      delivery.fallbackTo === undefined
        ? []
        : [{ deliverySeq: delivery.seq, planned: deps.planFallback(delivery.fallbackTo, destination.name) }],
    );
  }

  return { tell: runCalls };
}

interface Session {
  claim: Claim;
  calls: number;
  progress: DeliveryProgress;
  startedAt?: number;
}

/** Resends, tests and notices stand for themselves: they neither edit nor are edited. */
function isUpdatable(delivery: ClaimedDelivery): boolean {
  return delivery.purpose === "alert" || delivery.purpose === "fallback";
}

function historyOf(step: UpdateStep, thread: Thread | undefined, claim: Claim): Telling["history"] {
  const told = claim.deliveries.length;
  const newest = claim.deliveries[0] as ClaimedDelivery;
  const lastAt = newest.receivedAt;
  if (step.action === "send" || !thread) {
    const firstAt = Math.min(...claim.deliveries.map((delivery) => delivery.receivedAt));
    return told > 1 ? { count: told, firstAt, lastAt } : undefined;
  }
  return { count: thread.count + told, firstAt: thread.firstAt, lastAt };
}

/** Parts of a message that must be made anew count as not sent: its cuts move, or all of it is marked as a repeat. */
function forgetParts(progress: DeliveryProgress, outcome: Outcome): void {
  const goesOn = outcome.kind === "retry" && outcome.movedTo === undefined && progress.refs.length > 0;
  if (goesOn) return;
  progress.refs = [];
  progress.madeAt = undefined;
  progress.late = undefined;
}

function countsAsAttempt(outcome: Outcome): boolean {
  return outcome.kind === "retry" ? outcome.countsAsAttempt !== false && outcome.movedTo === undefined : true;
}

function isLost(next: NextStep | undefined): boolean {
  return next?.state === "failed" || next?.state === "expired";
}
