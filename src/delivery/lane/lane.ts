import type { Clock } from "../../core/clock.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { Log } from "../../core/log.ts";
import type { Channel } from "../../core/ports/channel.ts";
import type { Destination } from "../../core/rules.ts";
import { recipientsOf } from "../../vendors/index.ts";
import type { Prober } from "../duties/prober.ts";
import type { HealthMemory } from "../memory/health.ts";
import type { PaceMemory } from "../memory/pace.ts";
import { concurrencyOf, paceKeysOf } from "../plan/accounts.ts";
import { explainReason } from "../plan/explain-reason.ts";
import { isProbed } from "../plan/health.ts";
import { type ClaimPlan, isManual, planClaim } from "../plan/plan-claim.ts";
import type { Deliverer } from "./deliver.ts";
import type { LaneQueue } from "./lane-queue.ts";

/**
 * The way out to one destination. Lanes share nothing that one could hold up for another, and there is no bound on all
 * their calls together: it would let those that hang stop the rest.
 *
 *     probe due ──▶ ask, then look again
 *     shut (dead, paused, breaker open) ──▶ what a person asked for is tried; what waits for the dead fails
 *     open ──▶ wait for a slot ──▶ list ──▶ plan ──▶ claim and deliver (deliver.ts) ──▶ look again
 */
export interface Lane {
  /** Something may have become due: look at once. */
  wake(): void;
  /** Runs until `claiming` is aborted and all calls have ended; `calls` ends those under way. Never rejects. */
  run(stop: LaneStop): Promise<void>;
}

export interface LaneStop {
  claiming: AbortSignal;
  calls: AbortSignal;
}

export interface LaneDeps {
  queue: LaneQueue;
  prober: Prober;
  destination: Destination;
  channel: Channel;
  deliverer: Deliverer;
  pace: PaceMemory;
  health: HealthMemory;
  settings: DeliverySettings;
  clock: Clock;
  log: Log;
}

/** The safety net under a lost signal. */
const pollMs = 5_000;
/** All that is due waits for an earlier resolution of its key. */
const heldBackLookMs = 1_000;
/** A shut destination is looked at no more often, however many alerts come for it. */
const shutLookMs = 1_000;

export function createLane(deps: LaneDeps): Lane {
  const { queue, prober, destination, channel, deliverer, pace, health, settings, clock, log } = deps;
  const inFlight = new Set<Promise<void>>();
  let waiting = new AbortController();
  let wasDown = false;
  let lookAgainAt = 0;

  function wake(): void {
    waiting.abort();
  }

  async function run(stop: LaneStop): Promise<void> {
    stop.claiming.addEventListener("abort", wake, { once: true });
    while (!stop.claiming.aborted) {
      waiting = new AbortController();
      const waitMs = await takeTurn(stop).catch((error: unknown) => {
        log.error("lane.failed", { destination: destination.name, error: String(error).slice(0, 300) });
        return pollMs;
      });
      if (waitMs > 0) await clock.sleep(Math.min(waitMs, pollMs), waiting.signal);
    }
    await Promise.all(inFlight);
  }

  /** Does what can be done now; how long there is nothing more to do. */
  async function takeTurn(stop: LaneStop): Promise<number> {
    const now = clock.now();
    const status = health.of(destination);
    const probed = [health.ofAccount(destination), status].find((entry) => entry && isProbed(entry));
    if (probed && (probed.probeAt ?? 0) <= now) {
      const trial = await prober.probe(stop.claiming);
      if (trial.kind === "probed") return 0;
    }
    const openUntil = status.openUntil ?? 0;
    const isShut = probed !== undefined || openUntil > now;
    const isTrying = isShut || status.openUntil !== undefined;
    if (inFlight.size >= (isTrying ? 1 : concurrencyOf(destination))) return pollMs;
    if (isShut) return await takeShutTurn(stop.calls, now);
    // Before the queue is read: with many waiting for a slow chat, each new one would have all of them read again.
    const slotMs = Math.min(...recipientsOf(destination).map((recipient) => slotWait(recipient, now)));
    return slotMs > 0 ? slotMs : await takeOpenTurn(isTrying, stop.calls, now);
  }

  async function takeOpenTurn(isTrying: boolean, stop: AbortSignal, now: number): Promise<number> {
    const afterOutage = wasDown || isTrying;
    const { due, ofKeys, cutAt } = await queue.list({ isRecovering: afterOutage, isOpen: true }, now);
    const waits = new Map(due.map(({ recipient }) => [recipient, slotWait(recipient, now)]));
    const ready = due.filter(({ recipient }) => waits.get(recipient) === 0);
    const { digestOver } = destination;
    const plan = planClaim(ready, { digestOver, can: channel.can, afterOutage, ofKeys, cutAt }, now);
    if (plan) return await claimAndDeliver(plan, stop, now);
    if (ready.length > 0) return heldBackLookMs;
    if (due.length > 0) return Math.min(...waits.values());
    wasDown = false;
    const nextAt = await queue.nextDueAt();
    return nextAt === undefined ? pollMs : Math.max(1, nextAt - now);
  }

  /** Dead: nothing of the queue can arrive, so it fails at once and fallbacks take over. Paused or down: it waits. */
  async function takeShutTurn(stop: AbortSignal, now: number): Promise<number> {
    if (lookAgainAt > now && lookAgainAt <= now + shutLookMs) return lookAgainAt - now;
    lookAgainAt = now + shutLookMs;
    const { health: own, reason, reasonCode, openUntil } = health.of(destination);
    if (openUntil !== undefined) wasDown = true;
    const { due, cutAt } = await queue.list({ isRecovering: false, isOpen: false }, now);
    const manual = due.find(isManual);
    if (manual) return await claimAndDeliver({ kind: "single", deliveries: [manual] }, stop, now);
    if (own === "dead" && due.length > 0) {
      const why = reasonCode === undefined ? "" : `: ${explainReason(reasonCode, destination.type)}`;
      const because = `${destination.name} gets no alerts${why}`;
      await queue.fail(due, `${destination.name} cannot be reached: ${reason}`, because, now);
      if (cutAt !== undefined) return shutLookMs;
    }
    return openUntil === undefined ? pollMs : Math.max(1, openUntil - now);
  }

  async function claimAndDeliver(plan: ClaimPlan, stop: AbortSignal, now: number): Promise<number> {
    const recipient = plan.deliveries[0]?.recipient ?? "";
    const slotMs = slotWait(recipient, now);
    if (slotMs > 0) return slotMs;
    const claim = await deliverer.claim(plan, now);
    if (!claim) return 0;
    const delivering = deliverer
      .deliver(claim, stop)
      .catch((error: unknown) => {
        log.error("delivery.unrecorded", {
          destination: destination.name,
          error: String(error).slice(0, 300),
        });
      })
      .finally(() => {
        inFlight.delete(delivering);
        wake();
      });
    inFlight.add(delivering);
    if (concurrencyOf(destination) === 1) await delivering;
    return 0;
  }

  function slotWait(recipient: string, now: number): number {
    return Math.max(0, pace.nextSlot(paceKeysOf(destination, recipient, settings), now).at - now);
  }

  return { wake, run };
}
