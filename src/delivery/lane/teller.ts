import type { Outcome } from "../../core/delivery.ts";
import type { ClaimedDelivery, DeliveryProgress, Thread } from "../../core/delivery-job.ts";
import type { Message } from "../../core/message.ts";
import type { Channel } from "../../core/ports/channel.ts";
import type { LaneStore } from "../lane-store.ts";
import { planUpdate, type UpdateStep } from "../plan/plan-update.ts";
import { threadAfter } from "../plan/thread-after.ts";
import { type Claim, type ClaimSession, openClaimSession, type SessionDeps } from "./claim-session.ts";
import { createClaimWriter, type ThreadContext } from "./claim-writer.ts";
import type { Composer } from "./compose.ts";
import type { PayloadReader } from "./payloads.ts";

export interface TellerDeps extends SessionDeps {
  store: Pick<LaneStore, "recordAttempt" | "releaseClaim" | "findThread" | "findAlertFacts">;
  payloads: PayloadReader;
  channel: Channel;
  composer: Composer;
  /** When this process began to deliver, epoch milliseconds. */
  startedAt: number;
}

export interface Teller {
  /** Makes the calls of a claim and records each. Ends when the claim is settled or given back; rejects if the store does. */
  tell(claim: Claim, stop: AbortSignal): Promise<void>;
}

/** How a step went: the claim is settled (or given back), the next step follows, or this one cannot be done. */
type Course = "settled" | "next" | "impossible";

type EditStep = Extract<UpdateStep, { action: "edit" }>;

export function createTeller(deps: TellerDeps): Teller {
  const { store, channel, destination, clock, log } = deps;
  const writer = createClaimWriter({ ...deps, destination });

  async function tellAlert(session: ClaimSession): Promise<void> {
    const [newest] = session.claim.deliveries;
    const thread = await findThread(newest);
    const steps = planUpdate({
      policy: isUpdatable(newest) ? newest.updates : "new",
      canEdit: channel.edit !== undefined,
      alertSeq: newest.alertSeq,
      status: newest.status,
      severity: newest.severity,
      thread,
      now: clock.now(),
    });
    for (const [index, step] of steps.entries()) {
      const course =
        step.action === "edit"
          ? await edit(session, step, thread, index === steps.length - 1)
          : await send(session, step, thread);
      if (course === "settled") return;
    }
    // The one step was an edit that cannot be done, so the alert answers the message that it could not change.
    const ref = thread?.rootRef;
    await send(session, ref === undefined ? { action: "send" } : { action: "reply", ref }, thread);
  }

  function findThread(newest: ClaimedDelivery): Promise<Thread | undefined> {
    if (!isUpdatable(newest)) return Promise.resolve(undefined);
    return store.findThread(newest.destination, newest.recipient, newest.alertKey);
  }

  /** Changes an earlier message. An edit that nobody answered for is made again: that changes nothing more. */
  async function edit(
    session: ClaimSession,
    step: EditStep,
    thread: Thread | undefined,
    settles: boolean,
  ): Promise<Course> {
    const { claim, progress } = session;
    const begun = progress.refs.length > 0;
    const messages = thread && !begun ? await editedMessages(session, step, thread) : undefined;
    const [message] = messages ?? [];
    if (messages?.length !== 1 || !message || !channel.edit) return settles ? "impossible" : "next";
    if (!(await session.takeSlot())) return "settled";
    const answer = await session.call((context) => editOn(channel, step.ref, message, context));
    const outcome: Outcome = answer.kind === "ambiguous" ? { ...answer, kind: "retry" } : answer;
    const label = { action: "edit", part: 1, parts: 1 } as const;
    if (outcome.kind === "rejected" && outcome.scope === "message") {
      await session.record(label, outcome, { settles: false });
      return settles ? "impossible" : "next";
    }
    if (outcome.kind === "sent" && !settles) {
      await session.record(label, outcome, { settles: false });
      return "next";
    }
    const told =
      outcome.kind === "sent"
        ? threadAfter(step, undefined, claim.deliveries, thread, clock.now())
        : undefined;
    await session.record(label, outcome, { settles: true, thread: told });
    return "settled";
  }

  async function editedMessages(
    session: ClaimSession,
    step: EditStep,
    thread: Thread,
  ): Promise<Message[] | undefined> {
    const { claim } = session;
    if (step.shows === "self")
      return write(session, () => writer.alert(claim, { refs: [] }, contextOf(step, thread, claim)));
    const root = await store.findAlertFacts(thread.rootAlertSeq);
    return (
      root && write(session, () => writer.resolved(claim, { ...root, seq: thread.rootAlertSeq }, thread))
    );
  }

  /** Sends what is not yet delivered of the parts. */
  async function send(session: ClaimSession, step: UpdateStep, thread: Thread | undefined): Promise<Course> {
    const { progress, claim } = session;
    const messages = write(session, () =>
      claim.digest
        ? writer.digest(claim, progress)
        : writer.alert(claim, progress, contextOf(step, thread, claim)),
    );
    if (messages === undefined) {
      await session.record({ action: "send", part: 1, parts: 1 }, unwritable, { settles: true });
      return "settled";
    }
    const replyTo = step.action === "reply" ? step.ref : undefined;
    const action = replyTo === undefined ? "send" : "reply";
    while (progress.refs.length < messages.length) {
      const part = progress.refs.length + 1;
      const message = messages[part - 1] as Message;
      if (!(await session.takeSlot())) return "settled";
      const outcome = await session.call((context) => channel.send(message, { ...context, replyTo }));
      const label = { action, part, parts: messages.length } as const;
      if (outcome.kind !== "sent") {
        forgetParts(progress, outcome);
        await session.record(label, outcome, { settles: true });
        return "settled";
      }
      progress.refs.push(outcome.ref ?? null);
      const settles = part === messages.length;
      const updates = settles && !claim.digest && isUpdatable(claim.deliveries[0]);
      const told = updates
        ? threadAfter(step, progress.refs[0], claim.deliveries, thread, clock.now())
        : undefined;
      await session.record(label, outcome, { settles, thread: told });
    }
    return "settled";
  }

  /** `undefined` when it cannot be written in any form; that is a defect of ours, and no reason to keep the rest waiting. */
  function write(session: ClaimSession, make: () => Message[]): Message[] | undefined {
    try {
      return make();
    } catch (error) {
      const alert = session.claim.deliveries[0].alertId;
      log.error("delivery.unwritable", { alert, error: String(error).slice(0, 300) });
      return undefined;
    }
  }

  return {
    async tell(claimed, stop) {
      const session = openClaimSession(claimed, stop, deps);
      try {
        await deps.payloads.fill(claimed.deliveries);
        if (claimed.digest) {
          session.progress.digestReason = claimed.digest.reason;
          await send(session, { action: "send" }, undefined);
        } else await tellAlert(session);
      } catch (error) {
        // What cannot be given back either returns by its lease.
        await session.giveBack().catch(() => {});
        throw error;
      }
    },
  };
}

const unwritable: Outcome = {
  kind: "rejected",
  scope: "message",
  reason: "render_failed",
  detail: "the message could not be written, which is a defect of Tocsin; its log says more",
};

function editOn(
  channel: Channel,
  ref: string,
  message: Message,
  context: Parameters<Channel["send"]>[1],
): Promise<Outcome> {
  if (!channel.edit) throw new Error(`a ${channel.type} channel cannot edit`);
  return channel.edit(ref, message, context);
}

/** Resends, tests and notices stand for themselves: they neither edit nor are edited. */
function isUpdatable(delivery: ClaimedDelivery): boolean {
  return delivery.purpose === "alert" || delivery.purpose === "fallback";
}

/** What the message has to say of those before it. */
function contextOf(step: UpdateStep, thread: Thread | undefined, { deliveries }: Claim): ThreadContext {
  const count = deliveries.length;
  const lastAt = deliveries[0].receivedAt;
  const isNew = step.action === "send" && step.place === undefined;
  if (thread && step.action === "send" && step.place === "apart")
    return isOpen(thread) ? { firesAgainAt: thread.firstAt } : {};
  if (isNew || !thread) {
    const firstAt = Math.min(...deliveries.map((delivery) => delivery.receivedAt));
    return count > 1 ? { history: { count, firstAt, lastAt } } : {};
  }
  return {
    history: { count: thread.count + count, firstAt: thread.firstAt, lastAt },
    isAnswer: step.action !== "send",
  };
}

function isOpen({ status, overAt }: Thread): boolean {
  return status !== "resolved" && overAt === undefined;
}

/** Parts of a message that must be made anew count as not sent: its cuts move, or all of it is marked as a repeat. */
function forgetParts(progress: DeliveryProgress, outcome: Outcome): void {
  const goesOn = outcome.kind === "retry" && outcome.movedTo === undefined && progress.refs.length > 0;
  if (goesOn) return;
  progress.refs = [];
  progress.madeAt = undefined;
  progress.late = undefined;
}
