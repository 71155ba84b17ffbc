import type { Clock } from "../core/clock.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { Channel } from "../core/ports.ts";
import type { Destination, PlannedDelivery } from "../core/rules.ts";
import type { DueDelivery, FallbackCall, Store } from "../core/store.ts";
import { concurrencyOf, paceKeysOf } from "./accounts.ts";
import { callChannel } from "./call-channel.ts";
import { type Claim, leaseEnd } from "./claim-session.ts";
import { type HealthKeeper, isProbed } from "./health-keeper.ts";
import type { Pacer } from "./pacing.ts";
import { type ClaimPlan, planClaim } from "./plan-claim.ts";
import { scheduleOf } from "./policy.ts";
import type { Teller } from "./teller.ts";

/** The way out to one destination. Lanes share nothing that one could hold up for another. */
export interface Lane {
  /** Something may have become due. */
  nudge(): void;
  /** Runs until `stop` is aborted and all calls have ended. Never rejects. */
  run(stop: { claiming: AbortSignal; calls: AbortSignal }): Promise<void>;
}

export interface LaneDeps {
  store: Pick<Store, "listDue" | "nextDueAt" | "claimDeliveries" | "finishDeliveries" | "releaseClaim">;
  destination: Destination;
  channel: Channel;
  teller: Teller;
  pacer: Pacer;
  health: HealthKeeper;
  settings: DeliverySettings;
  clock: Clock;
  newId: NewId;
  log: Log;
  planFallback(destination: string, insteadOf: string): PlannedDelivery[];
}

/** As many as a digest may account for at once. */
const mostDue = 2000;
/** The safety net under a lost nudge. */
const pollMs = 5_000;
const probeTimeoutMs = 20_000;
/** Longer than any wait of the schedule for chats and mail. */
const longestAheadMs = 30 * 60_000;

export function createLane(deps: LaneDeps): Lane {
  const { store, destination, channel, teller, pacer, health, settings, clock, newId, log } = deps;
  const inFlight = new Set<Promise<void>>();
  let wake = new AbortController();
  let wasDown = false;

  function nudge(): void {
    wake.abort("nudged");
  }

  async function run(stop: { claiming: AbortSignal; calls: AbortSignal }): Promise<void> {
    while (!stop.claiming.aborted) {
      wake = new AbortController();
      const waitMs = await takeTurn(stop.calls).catch((error: unknown) => {
        log.error("lane.failed", { destination: destination.name, error: String(error).slice(0, 300) });
        return pollMs;
      });
      if (waitMs > 0)
        await clock.sleep(Math.min(waitMs, pollMs), AbortSignal.any([wake.signal, stop.claiming]));
    }
    await Promise.all(inFlight);
  }

  /** Does what can be done now; how long there is nothing more to do. */
  async function takeTurn(stop: AbortSignal): Promise<number> {
    const now = clock.now();
    const status = health.of(destination);
    const account = health.ofAccount(destination);
    const probed = [account, status].find((entry) => entry && isProbed(entry));
    if (probed && (probed.probeAt ?? 0) <= now) {
      await probe(stop);
      return 0;
    }
    const all = await listClaimable(now);
    const due = await endOverdue(all, now);
    if (due.length < all.length) return 0;
    if (probed) return await takeBlockedTurn(due, probed === account, stop, now);
    if (status.openUntil !== undefined && status.openUntil > now) {
      wasDown = true;
      return status.openUntil - now;
    }
    return await takeOpenTurn(due, stop, now);
  }

  /**
   * What is due; after an outage also what waits for a later try, since the waits were for a destination that was down.
   * A repeat after an ambiguous outcome, and quiet hours, keep their time.
   */
  async function listClaimable(now: number): Promise<DueDelivery[]> {
    const recovering = wasDown || health.of(destination).openUntil !== undefined;
    if (!recovering) return store.listDue(destination.name, now, mostDue);
    const ahead = await store.listDue(destination.name, now + longestAheadMs, mostDue);
    return ahead.filter(
      (delivery) => delivery.dueAt <= now || (delivery.state === "waiting" && delivery.ambiguous === 0),
    );
  }

  async function takeOpenTurn(due: DueDelivery[], stop: AbortSignal, now: number): Promise<number> {
    const trying = health.of(destination).openUntil !== undefined;
    if (inFlight.size >= (trying ? 1 : concurrencyOf(destination))) return pollMs;
    const { digestOver } = destination;
    const afterOutage = wasDown || trying;
    const plan = planClaim(due, { digestOver, canEdit: channel.edit !== undefined, afterOutage }, now);
    if (!plan) {
      wasDown = false;
      const nextAt = await store.nextDueAt(destination.name);
      return nextAt === undefined ? pollMs : Math.max(1, nextAt - now);
    }
    return await claimAndTell(plan, stop, now);
  }

  /** Dead: nothing of the queue can arrive, so it fails at once and fallbacks take over. Paused: it waits. A person's own try always goes. */
  async function takeBlockedTurn(
    due: DueDelivery[],
    accountPaused: boolean,
    stop: AbortSignal,
    now: number,
  ): Promise<number> {
    const byHand = due.find((delivery) => delivery.purpose === "resend" || delivery.purpose === "test");
    if (byHand && inFlight.size === 0)
      return await claimAndTell({ kind: "single", deliveries: [byHand] }, stop, now);
    if (!accountPaused && health.of(destination).health === "dead") {
      const rest = due.filter((delivery) => delivery !== byHand);
      const reason = `${destination.name} cannot be reached: ${health.of(destination).reason}`;
      await finish(rest, { state: "failed", reason }, now);
    }
    return pollMs;
  }

  async function claimAndTell(plan: ClaimPlan, stop: AbortSignal, now: number): Promise<number> {
    const recipient = plan.deliveries[0]?.recipient ?? "";
    const keys = paceKeysOf(destination, recipient, settings);
    const slot = pacer.nextSlot(keys, now);
    if (slot.at > now) return slot.at - now;
    const digestId = plan.kind === "digest" ? (plan.digestId ?? newId()) : undefined;
    const token = newId();
    const deliveries = await store.claimDeliveries(
      {
        token,
        deliverySeqs: plan.deliveries.map((delivery) => delivery.seq),
        now,
        leaseUntil: leaseEnd(destination, settings, now),
        digestId,
      },
      pacer.take(keys, now),
    );
    const [newest, ...rest] = deliveries;
    if (!newest) return 0;
    const digest =
      plan.kind === "digest" && digestId !== undefined ? { id: digestId, reason: plan.reason } : undefined;
    const telling = tell({ token, deliveries: [newest, ...rest], digest }, stop);
    if (concurrencyOf(destination) === 1) await telling;
    return 0;
  }

  function tell(claim: Claim, stop: AbortSignal): Promise<void> {
    const telling = teller
      .tell(claim, stop)
      .catch((error: unknown) => {
        log.error("delivery.unrecorded", {
          destination: destination.name,
          error: String(error).slice(0, 300),
        });
      })
      .finally(() => {
        inFlight.delete(telling);
        nudge();
      });
    inFlight.add(telling);
    return telling;
  }

  /** Ends what nobody wants any more; returns the rest. */
  async function endOverdue(due: DueDelivery[], now: number): Promise<DueDelivery[]> {
    const { giveUpAfterMs } = scheduleOf(destination.type, settings);
    const overdue = due.filter(
      (delivery) => delivery.state !== "held" && now - delivery.createdAt > giveUpAfterMs,
    );
    const hours = Math.round(giveUpAfterMs / 3_600_000);
    await finish(overdue, { state: "expired", reason: `could not be delivered within ${hours} h` }, now);
    return overdue.length === 0 ? due : due.filter((delivery) => !overdue.includes(delivery));
  }

  async function finish(
    deliveries: DueDelivery[],
    next: { state: "failed" | "expired"; reason: string },
    now: number,
  ): Promise<void> {
    if (deliveries.length === 0) return;
    const fallbacks = deliveries.flatMap((delivery): FallbackCall[] =>
      delivery.fallbackTo === undefined
        ? []
        : [{ deliverySeq: delivery.seq, planned: deps.planFallback(delivery.fallbackTo, destination.name) }],
    );
    await store.finishDeliveries(
      deliveries.map((delivery) => delivery.seq),
      next,
      now,
      fallbacks,
    );
    log.warn("delivery.ended", { destination: destination.name, count: deliveries.length, ...next });
  }

  async function probe(stop: AbortSignal): Promise<void> {
    const recipient =
      health.of(destination).moved?.to ?? ("chatId" in destination ? destination.chatId : destination.name);
    const outcome = await callChannel(
      (signal) => channel.probe(recipient, signal),
      { timeoutMs: probeTimeoutMs, stop },
      { clock, log },
    );
    log.info("destination.probed", { destination: destination.name, outcome: outcome.kind });
    await health.observeProbe(destination, outcome);
  }

  return { nudge, run };
}
