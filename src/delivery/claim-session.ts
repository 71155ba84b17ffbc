import type { Clock } from "../core/clock.ts";
import type { Outcome } from "../core/delivery.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { Log } from "../core/log.ts";
import type { Random, SendContext } from "../core/ports.ts";
import type { Destination, PlannedDelivery } from "../core/rules.ts";
import type {
  AttemptRecord,
  ClaimedDelivery,
  DeliveryProgress,
  FallbackCall,
  NextStep,
  PaceRecord,
  Store,
  ThreadUpdate,
} from "../core/store.ts";
import type { DigestReason } from "../core/telling.ts";
import { accountOf, chatKeyOf, paceKeysOf } from "./accounts.ts";
import { callChannel } from "./call-channel.ts";
import type { FloodWatch } from "./flood-watch.ts";
import type { HealthKeeper } from "./health-keeper.ts";
import type { Pacer } from "./pacing.ts";
import { decideNext } from "./policy.ts";

/** A set of deliveries that were claimed under one token and are told by the same messages. */
export interface Claim {
  token: string;
  /** The first is the newest; the rest are told by its message. Never empty. */
  deliveries: [ClaimedDelivery, ...ClaimedDelivery[]];
  digest?: { id: string; reason: DigestReason };
}

/** Which call of the claim it is, as the attempt log shows it. */
export type CallLabel = Pick<AttemptRecord, "action" | "part" | "parts">;

/** The calls of one claim: each gets its slot, is made, and is recorded before the next. */
export interface ClaimSession {
  readonly claim: Claim;
  readonly progress: DeliveryProgress;
  /**
   * Waits until the pace allows the next call; the slot of the first was taken with the claim. False when the relay is
   * being stopped meanwhile: the claim has been given back.
   */
  takeSlot(): Promise<boolean>;
  call(act: (context: SendContext) => Promise<Outcome>): Promise<Outcome>;
  /** Puts the call on the record. `settles`: it was the last one, and the policy decides what follows. */
  record(
    label: CallLabel,
    outcome: Outcome,
    options: { settles: boolean; thread?: ThreadUpdate },
  ): Promise<void>;
}

export interface SessionDeps {
  store: Pick<Store, "recordAttempt" | "releaseClaim">;
  destination: Destination;
  pacer: Pacer;
  floods: FloodWatch;
  health: HealthKeeper;
  settings: DeliverySettings;
  clock: Clock;
  random: Random;
  log: Log;
  planFallback(destination: string, insteadOf: string): PlannedDelivery[];
}

/** A channel is given this long beyond its time-out before its claim counts as abandoned. */
const leaseMarginMs = 60_000;

export function timeoutOf(destination: Destination, settings: DeliverySettings): number {
  return destination.type === "email" ? settings.emailSendTimeoutMs : settings.sendTimeoutMs;
}

export function leaseEnd(destination: Destination, settings: DeliverySettings, now: number): number {
  return now + Math.max(settings.leaseMs, timeoutOf(destination, settings) + leaseMarginMs);
}

export function openClaimSession(claim: Claim, stop: AbortSignal, deps: SessionDeps): ClaimSession {
  const { store, destination, pacer, floods, health, settings, clock, log } = deps;
  const [newest] = claim.deliveries;
  const progress: DeliveryProgress = { ...newest.progress, refs: [...newest.progress.refs] };
  let calls = 0;
  let startedAt = clock.now();
  /** Changed with the next record. */
  let paces: PaceRecord[] = [];

  function decide(outcome: Outcome): NextStep {
    const next = decideNext(
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
    if (isMove(outcome)) progress.moves = (progress.moves ?? 0) + 1;
    return next;
  }

  async function heed(outcome: Outcome, now: number): Promise<void> {
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

  function fallbacksAfter(next: NextStep | undefined): FallbackCall[] {
    if (next?.state !== "failed" && next?.state !== "expired") return [];
    return claim.deliveries.flatMap(({ seq, fallbackTo }) =>
      fallbackTo === undefined
        ? []
        : [{ deliverySeq: seq, planned: deps.planFallback(fallbackTo, destination.name) }],
    );
  }

  return {
    claim,
    progress,

    async takeSlot() {
      calls += 1;
      if (calls === 1) return true;
      const keys = paceKeysOf(destination, newest.recipient, settings);
      while (!stop.aborted) {
        const now = clock.now();
        const slot = pacer.nextSlot(keys, now);
        if (slot.at <= now) {
          paces = pacer.take(keys, now);
          return true;
        }
        await clock.sleep(slot.at - now, stop);
      }
      await store.releaseClaim(claim.token, clock.now());
      return false;
    },

    call(act) {
      const { moved } = health.of(destination);
      startedAt = clock.now();
      const context = {
        recipient: moved?.from === newest.recipient ? moved.to : newest.recipient,
        deliveryId: claim.digest?.id ?? newest.id,
        alertId: newest.alertId,
        receivedAt: newest.receivedAt,
        threadKey: claim.digest?.id ?? newest.alertKey,
        silent: false,
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
      await heed(outcome, now);
      const told = {
        ...label,
        outcome: outcome.kind,
        reason: outcome.kind === "sent" ? undefined : outcome.reason,
        detail: outcome.kind === "sent" ? outcome.note : outcome.detail,
        durationMs: now - startedAt,
      };
      const result = await store.recordAttempt(
        {
          ...told,
          token: claim.token,
          deliverySeqs: claim.deliveries.map((delivery) => delivery.seq),
          at: startedAt,
          countsAsAttempt: countsAsAttempt(outcome),
          progress,
          next,
          leaseUntil: next === undefined ? leaseEnd(destination, settings, now) : undefined,
          thread,
          fallbacks: fallbacksAfter(next),
        },
        paces,
      );
      paces = [];
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
  };
}

function isMove(outcome: Outcome): boolean {
  return outcome.kind === "retry" && outcome.movedTo !== undefined;
}

/** Being asked to wait, and being sent to another address, are not failures. */
function countsAsAttempt(outcome: Outcome): boolean {
  return outcome.kind !== "retry" || (outcome.countsAsAttempt !== false && !isMove(outcome));
}
