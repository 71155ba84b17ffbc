import type { Clock, Random } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { ClaimedDelivery, DeliveryProgress, NextStep, ThreadUpdate } from "../../core/delivery-job.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { PaceRecord } from "../../core/destination-status.ts";
import { AppError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { Log } from "../../core/log.ts";
import type { DigestReason } from "../../core/message-context.ts";
import type { SendContext } from "../../core/ports/channel.ts";
import type { AttemptRecord } from "../../core/ports/dispatch.ts";
import type { Destination } from "../../core/rules.ts";
import type { Fallbacks } from "../duties/fallbacks.ts";
import type { LaneStore } from "../lane-store.ts";
import type { HealthMemory } from "../memory/health.ts";
import type { PaceMemory } from "../memory/pace.ts";
import { paceKeysOf } from "../plan/accounts.ts";
import { historyOf, leaseOf, timeoutOf } from "../plan/claim-terms.ts";
import { explainFallback } from "../plan/explain-reason.ts";
import { isGoodNews, isStale } from "../plan/plan-claim.ts";
import { decideNext } from "../plan/policy.ts";
import { callChannel } from "./call-channel.ts";

/** A claimed delivery in the state that it had before, with the sender's payload where the message carries it. */
export interface ToldDelivery extends ClaimedDelivery {
  payload?: Json;
}

/** A set of deliveries that were claimed under one token and are told by the same messages. */
export interface Claim {
  token: string;
  leaseUntil: number;
  /** The first is the newest; the rest are told by its message. Never empty. */
  deliveries: [ToldDelivery, ...ToldDelivery[]];
  digest?: { id: string; reason: DigestReason };
}

/** Which call of the claim it is, as the attempt log shows it. */
export type CallLabel = Pick<AttemptRecord, "action" | "part" | "parts">;

/** The calls of one claim: each gets its slot, is made, and is recorded before the next. */
export interface ClaimSession {
  readonly claim: Claim;
  readonly progress: DeliveryProgress;
  /**
   * Waits until the pace allows the next call; the slot of the first was taken with the claim. False when the claim has
   * been given back: the wait is too long to hold it, or the relay is being stopped.
   */
  takeSlot(): Promise<boolean>;
  call(act: (context: SendContext) => Promise<Outcome>): Promise<Outcome>;
  /** Puts the call on the record. `settles`: it was the last one, and the policy decides what follows. */
  record(
    label: CallLabel,
    outcome: Outcome,
    options: { settles: boolean; thread?: ThreadUpdate },
  ): Promise<void>;
  /** After a failure of our own: gives the claim back, unless a call was made that is not on the record. */
  giveBack(): Promise<void>;
}

export interface SessionDeps {
  store: Pick<LaneStore, "recordAttempt" | "releaseClaim">;
  destination: Destination;
  pace: PaceMemory;
  health: HealthMemory;
  fallbacks: Fallbacks;
  /** A call was refused for what the message is. */
  onRefusedMessage(): void;
  settings: DeliverySettings;
  clock: Clock;
  random: Random;
  log: Log;
}

/** Between the parts of a message. Longer, and the claim is better given back: its lease would run out meanwhile. */
const longestSlotWaitMs = 15_000;
/** Between two tries to record what a call came to. */
const recordAgainMs = 1_000;
/** Before what could not be told for a reason of our own is tried again. */
const giveBackForMs = 5_000;

export function openClaimSession(claim: Claim, stop: AbortSignal, deps: SessionDeps): ClaimSession {
  const { store, destination, pace, health, fallbacks, settings, clock, log } = deps;
  const [newest] = claim.deliveries;
  const progress: DeliveryProgress = { ...newest.progress, refs: [...newest.progress.refs] };
  const silent = claim.deliveries.every((delivery) => isStale(delivery, clock.now()) || isGoodNews(delivery));
  let { leaseUntil } = claim;
  let calls = 0;
  let isUnrecorded = false;
  let startedAt = clock.now();
  /** Changed with the next record. */
  let paces: PaceRecord[] = [];

  function decide(outcome: Outcome): NextStep {
    const history = historyOf(claim, destination, progress);
    const next = decideNext(outcome, history, settings, clock.now(), deps.random);
    if (isMove(outcome)) progress.moves = (progress.moves ?? 0) + 1;
    return next;
  }

  /** A call that was made must get on the record, or it is made again: the store is asked until the lease ends. */
  async function keep(record: AttemptRecord): Promise<"recorded" | "late"> {
    for (;;) {
      try {
        return await store.recordAttempt(record, paces);
      } catch (error) {
        const mayPass = error instanceof AppError && error.code === "store_unavailable";
        if (!mayPass || stop.aborted || clock.now() + recordAgainMs >= leaseUntil) throw error;
        log.warn("delivery.record_refused", { destination: destination.name, error: error.message });
        await clock.sleep(recordAgainMs, stop);
      }
    }
  }

  return {
    claim,
    progress,

    async takeSlot() {
      calls += 1;
      if (calls === 1) return true;
      const keys = paceKeysOf(destination, newest.recipient, settings);
      for (;;) {
        const now = clock.now();
        const { at } = pace.nextSlot(keys, now);
        if (at <= now && !stop.aborted) {
          paces = pace.take(keys, now);
          return true;
        }
        if (stop.aborted || at - now > longestSlotWaitMs) {
          await store.releaseClaim(claim.token, Math.max(at, now));
          return false;
        }
        await clock.sleep(at - now, stop);
      }
    },

    call(act) {
      const { moved } = health.of(destination);
      startedAt = clock.now();
      isUnrecorded = true;
      paces.push(...pace.restamp(paceKeysOf(destination, newest.recipient, settings), startedAt));
      const context = {
        recipient: moved?.from === newest.recipient ? moved.to : newest.recipient,
        deliveryId: claim.digest?.id ?? newest.id,
        alertId: newest.alertId,
        receivedAt: newest.receivedAt,
        threadKey: claim.digest?.id ?? newest.alertKey,
        silent,
      };
      return callChannel(
        (signal) => act({ ...context, signal }),
        { timeoutMs: timeoutOf(destination, settings), stop },
        { clock, log },
      );
    },

    async record(label, outcome, { settles, thread }) {
      const now = clock.now();
      const next = settles ? decide(outcome) : undefined;
      const hasFailed = next?.state === "failed" || next?.state === "expired";
      const because = ({ recipient }: ClaimedDelivery) => explainFallback(outcome, destination, recipient);
      const calls = hasFailed ? fallbacks.callsFor<ClaimedDelivery>(claim.deliveries, because) : [];
      const leaseMs = leaseOf(destination, settings);
      const told = {
        ...label,
        outcome: outcome.kind,
        reason: outcome.kind === "sent" ? undefined : outcome.reason,
        detail: outcome.kind === "sent" ? outcome.note : outcome.detail,
        durationMs: now - startedAt,
      };
      paces.push(...pace.parkAfter(outcome, destination, newest.recipient, now));
      // In memory at once: the next call must know it, whether or not this one can be recorded.
      if (outcome.kind === "retry" && outcome.movedTo !== undefined)
        health.noteMove(destination, newest.recipient, outcome.movedTo);
      if (isUnrecorded) health.observe(destination, outcome);
      const result = await keep({
        ...told,
        token: claim.token,
        deliverySeqs: claim.deliveries.map((delivery) => delivery.seq),
        at: startedAt,
        countsAsAttempt: countsAsAttempt(outcome),
        progress,
        next,
        leaseMs: next === undefined ? leaseMs : undefined,
        thread,
        fallbacks: calls,
      });
      isUnrecorded = false;
      leaseUntil = now + leaseMs;
      paces = [];
      if (outcome.kind === "rejected" && outcome.scope === "message") deps.onRefusedMessage();
      if (result === "recorded")
        health.noteEnding({ destination, deliveries: claim.deliveries, outcome, next });
      log.info("delivery.attempted", {
        destination: destination.name,
        delivery: claim.digest?.id ?? newest.id,
        alert: newest.alertId,
        deliveries: claim.deliveries.length,
        ...told,
        state: next?.state,
        late: result === "late" || undefined,
      });
    },

    async giveBack() {
      if (!isUnrecorded) await store.releaseClaim(claim.token, clock.now() + giveBackForMs);
    },
  };
}

function isMove(outcome: Outcome): boolean {
  return outcome.kind === "retry" && outcome.movedTo !== undefined;
}

/** Being asked to wait, and being sent to another address, are not failures. */
function countsAsAttempt(outcome: Outcome): boolean {
  return outcome.kind !== "retry" || (outcome.countsAsAttempt !== false && !isMove(outcome));
}
