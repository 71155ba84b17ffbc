import type { Clock } from "../../core/clock.ts";
import type { DueDelivery } from "../../core/delivery-job.ts";
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
import {
  type ClaimLimits,
  type ClaimPlan,
  isManual,
  isResent,
  othersPerResent,
  planClaim,
  planRun,
} from "../plan/plan-claim.ts";
import type { Calls } from "./call-channel.ts";
import type { Offer, Offered } from "./claims.ts";
import type { Deliverer } from "./deliver.ts";
import type { LaneQueue } from "./lane-queue.ts";
import { createOffers, type Offers } from "./offers.ts";
import { createRun } from "./run.ts";

/**
 * The way out to one destination. Lanes share nothing that one could hold up for another, and there is no bound on all
 * their calls together: it would let those that hang stop the rest.
 *
 *     paused by a person ──▶ what a person asked for is tried; all else waits
 *     probe due ──▶ ask, then look again
 *     shut (dead, paused, breaker open) ──▶ what a person asked for is tried; all else waits, for the dead an hour at most
 *     open ──▶ wait for a slot ──▶ list ──▶ plan ──▶ claim and deliver (deliver.ts) ──▶ look again
 *                                   └──▶ nothing is due, nor will be before T: until then no listing but for a change
 *                                             └──▶ no pace, nothing but alerts: claim a run of them (run.ts) ──▶ look again
 */
export interface Lane {
  /** Something may have become due: look at once. */
  wake(): void;
  /** It was paused: what was claimed ahead and not begun goes back into the queue. */
  giveBack(): void;
  /**
   * Asked for each delivery that routing is about to make here. Undefined: it is to be found as any other.
   * What is offered has to be settled.
   */
  offer(delivery: Offered): Offer | undefined;
  settle: Offers["settle"];
  /** Nothing is claimed, and no call is under way. */
  isIdle(): boolean;
  /** It is idle, and nothing is due either, as far as it has looked. */
  isQuiet(): boolean;
  /**
   * When it last came round without a fault, epoch milliseconds: every few seconds, however little there is to do. While
   * a call is under way, which surely ends, it counts as coming round.
   */
  turnedAt(): number;
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
  calls: Pick<Calls, "underWay" | "lastEndedAt">;
  deliverer: Deliverer;
  /** Deliveries may be claimed ahead. */
  canRun: boolean;
  pace: PaceMemory;
  health: HealthMemory;
  settings: DeliverySettings;
  clock: Clock;
  log: Log;
}

interface OpenTurn {
  isTrying: boolean;
  /** Several may be claimed at once. */
  isQuick: boolean;
  isShort: boolean;
}

/** The safety net under a lost signal. */
const pollMs = 5_000;
/** All that is due waits for an earlier resolution of its key. */
const heldBackLookMs = 1_000;
/**
 * Enough for the longest run and for the one behind it. A shorter run needs less: each row is read, sent between threads
 * and looked at, and what is not claimed is listed again.
 */
const shortList = 128;
/** A shut destination is looked at no more often, however many alerts come for it. */
const shutLookMs = 1_000;

export function createLane(deps: LaneDeps): Lane {
  const { queue, prober, destination, channel, calls, deliverer, pace, health, settings, clock, log } = deps;
  const concurrency = concurrencyOf(destination);
  const { name, digestOver } = destination;
  const run = createRun({
    deliverer,
    concurrency,
    digestOver,
    clock,
    log,
    onRoom: look,
    onGivenBack: noteChange,
    destination: name,
  });
  let isWoken = false;
  let endRest = () => {};
  /** What waited for its end has not all been sent yet. */
  let outage: "down" | "dead" | undefined;
  /** Nothing waits for a dead destination beyond this time. */
  let putOffUntil = Number.NEGATIVE_INFINITY;
  let stopped: LaneStop | undefined;
  let lookAgainAt = 0;
  /** Something waits for a later time, as far as is known: an end may have to go along with it, or behind it, and what was stored late with its end. */
  let hasLater = true;
  let lastTurnAt = clock.now();
  let sinceResent = othersPerResent;

  const offers = createOffers({
    deliverer,
    take: (claims) => stopped && run.add(claims, stopped.calls, stopped.claiming.aborted || isPaused()),
    wake: look,
    log,
    destination: name,
  });

  function look(): void {
    isWoken = true;
    endRest();
  }

  /** Each alert ends one, so it costs no more than its timer. */
  function rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(ms, resolve);
      endRest = () => {
        cancel();
        resolve();
      };
    });
  }

  function noteChange(): void {
    hasLater = true;
    offers.noteChange();
  }

  function wake(): void {
    noteChange();
    look();
  }

  function offer(delivery: Offered): Offer | undefined {
    const isTaken =
      stopped?.claiming.aborted === false &&
      offers.isOpen() &&
      isWell() &&
      (!hasLater || (delivery.status !== "resolved" && !delivery.isStored)) &&
      !isBounded(delivery.recipient) &&
      slotWait(delivery.recipient, clock.now()) === 0 &&
      offers.count() < run.roomBeside();
    const made = isTaken ? offers.make(delivery) : undefined;
    if (!made) noteChange();
    return made;
  }

  function isIdle(): boolean {
    return calls.underWay() === 0 && offers.count() === 0 && !run.isBusy(1);
  }

  function isPaused(): boolean {
    return health.of(destination).paused !== undefined;
  }

  /** Nothing has to be tried out first. */
  function isWell(): boolean {
    const status = health.of(destination);
    if (status.paused !== undefined) return false;
    const isProbing = [health.ofAccount(destination), status].some((entry) => entry && isProbed(entry));
    return deps.canRun && outage === undefined && !isProbing && status.openUntil === undefined;
  }

  async function runLane(stop: LaneStop): Promise<void> {
    stopped = stop;
    stop.claiming.addEventListener("abort", look, { once: true });
    while (!stop.claiming.aborted) {
      isWoken = false;
      let waitMs = pollMs;
      try {
        waitMs = await takeTurn(stop);
        lastTurnAt = clock.now();
      } catch (error) {
        log.error("lane.failed", { destination: destination.name, error: String(error).slice(0, 300) });
      }
      offers.endTurn();
      if (waitMs > 0 && !isWoken) await rest(Math.min(waitMs, pollMs));
    }
    await offers.settled();
    await deliverer.takeBack().catch(() => {});
    await run.end();
  }

  /** Does what can be done now; how long there is nothing more to do. */
  async function takeTurn(stop: LaneStop): Promise<number> {
    // What routing has claimed goes first: it was made before what a listing finds.
    if (offers.count() > 0) return pollMs;
    offers.beginTurn();
    await deliverer.takeBack();
    const now = clock.now();
    const status = health.of(destination);
    if (status.paused !== undefined) return await takePausedTurn(stop.calls, now);
    const probed = [health.ofAccount(destination), status].find((entry) => entry && isProbed(entry));
    let askAt = probed?.probeAt ?? 0;
    if (probed && askAt <= now) {
      outage = status.health === "dead" ? "dead" : "down";
      const trial = await prober.probe(stop.claiming);
      if (trial.kind === "probed") return 0;
      askAt = trial.until;
    }
    const openUntil = status.openUntil ?? 0;
    const isShut = probed !== undefined || openUntil > now;
    const isTrying = isShut || status.openUntil !== undefined;
    const isQuick = !isTrying && deps.canRun && !recipientsOf(destination).some(isBounded);
    if (isQuick ? run.room() === 0 : run.isBusy(isTrying ? 1 : concurrency)) return pollMs;
    if (isShut) return await takeShutTurn(askAt, stop.calls, now);
    const emptyMs = isTrying || outage !== undefined ? 0 : offers.emptyFor(now);
    if (emptyMs > 0) return emptyMs;
    // Before the queue is read: with many waiting for a slow chat, each new one would have all of them read again.
    const slotMs = Math.min(...recipientsOf(destination).map((recipient) => slotWait(recipient, now)));
    return slotMs > 0 ? slotMs : await takeOpenTurn({ isTrying, isQuick, isShort: true }, stop.calls, now);
  }

  async function takeOpenTurn(turn: OpenTurn, stop: AbortSignal, now: number): Promise<number> {
    const afterOutage = outage !== undefined || turn.isTrying;
    const most = turn.isShort ? lengthOfShortList(turn.isQuick) : undefined;
    const { resumedAt } = health.of(destination);
    const look = { isRecovering: afterOutage, isOpen: true, most, resumedAt, sinceResent };
    const { due, ofKeys, cutAt } = await queue.list(look, now);
    const waits = new Map(due.map(({ recipient }) => [recipient, slotWait(recipient, now)]));
    const open = due.filter(({ recipient }) => waits.get(recipient) === 0);
    const ready = open.filter((delivery) => !run.isUnderWay(delivery));
    const claimed = run.countWaiting(ready[0]?.recipient ?? "");
    if (claimed > 0 && ready.length + claimed > digestOver) {
      run.giveBack();
      return 0;
    }
    // What a dead one has missed comes as one message, however little it is.
    const limits: ClaimLimits = {
      digestOver: outage === "dead" ? Math.min(1, digestOver) : digestOver,
      can: channel.can,
      afterOutage,
      sinceResent,
      ofKeys,
      cutAt,
    };
    const plans = turn.isQuick ? planRun(ready, limits, run.room(), now) : [];
    if (plans.length > 0) {
      const claims = await deliverer.claimRun(plans, now);
      run.add(claims, stop);
      for (const claim of claims) noteMessage(claim);
      const taken = claims.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
      if (cutAt === undefined && taken === due.length) offers.noteListed();
      if (claims.length > 0) return 0;
    }
    const plan = planClaim(ready, limits, now);
    const isPart = most !== undefined && cutAt !== undefined;
    if (isPart && open.length > 0 && (plan === undefined || plan.kind === "digest"))
      return await takeOpenTurn({ ...turn, isShort: false }, stop, now);
    // What goes alone waits for those before it, whose record may change what it has to say.
    if (plan && run.isBusy(concurrency)) return pollMs;
    if (plan) return await claimAndDeliver(plan, stop, now);
    if (open.length > 0) return heldBackLookMs;
    if (due.length > 0) return Math.min(...waits.values());
    outage = undefined;
    offers.noteListed();
    hasLater = false;
    const nextAt = await queue.nextDueAt();
    hasLater ||= nextAt !== undefined;
    const waitMs = nextAt === undefined ? pollMs : Math.max(1, nextAt - now);
    offers.noteEmpty(now, now + Math.min(waitMs, pollMs));
    return waitMs;
  }

  /** Undefined where fewer are sent together: all of them have to be in view. */
  function lengthOfShortList(isQuick: boolean): number | undefined {
    if (digestOver < shortList) return undefined;
    const isForRun = isQuick && digestOver >= 2 * shortList;
    return isForRun ? Math.min(shortList, Math.max(shortList / 16, run.room())) : shortList;
  }

  /** What a person asked for is tried. Of a dead one the queue is put off and fallbacks take over; else it waits. */
  async function takeShutTurn(askAt: number, stop: AbortSignal, now: number): Promise<number> {
    if (lookAgainAt > now && lookAgainAt <= now + shutLookMs) return lookAgainAt - now;
    lookAgainAt = now + shutLookMs;
    const { health: own, openUntil, resumedAt } = health.of(destination);
    if (openUntil !== undefined) outage ??= "down";
    const { due, cutAt } = await queue.list({ isRecovering: false, isOpen: false, resumedAt }, now);
    const manual = due.find(isManual);
    if (manual) return await claimAndDeliver({ kind: "single", deliveries: [manual] }, stop, now);
    if (own === "dead" && due.length > 0) {
      await putOff(due, askAt, now);
      if (cutAt !== undefined) return shutLookMs;
    }
    return openUntil === undefined ? pollMs : Math.max(1, openUntil - now);
  }

  /** @param askAt no probe is made before, be it for the account or for a silence that was asked for */
  async function putOff(due: DueDelivery[], askAt: number, now: number): Promise<void> {
    outage = "dead";
    if (putOffUntil < now && due.every(({ state }) => state === "queued")) health.noteNeeded(destination);
    const { reason, reasonCode, resumedAt, probeAt = 0 } = health.of(destination);
    const cause = reasonCode === undefined ? "" : `: ${explainReason(reasonCode, destination.type)}`;
    putOffUntil = Math.max(probeAt, askAt, now + pollMs);
    const why = {
      reason: `${name} cannot be reached: ${reason}`,
      because: `${name} gets no alerts${cause}`,
      probeAt: putOffUntil,
      resumedAt,
    };
    await queue.putOff(due, why, now);
  }

  /** A test, or the resend of one alert, is asked for by somebody who means it. What waits is told as after an outage. */
  async function takePausedTurn(stop: AbortSignal, now: number): Promise<number> {
    if (lookAgainAt > now && lookAgainAt <= now + shutLookMs) return lookAgainAt - now;
    lookAgainAt = now + shutLookMs;
    outage ??= "down";
    if (run.isBusy(1)) return shutLookMs;
    const { due } = await queue.list({ isRecovering: false, isOpen: true, isPaused: true }, now);
    const manual = due.find(isManual);
    return manual === undefined ? pollMs : await claimAndDeliver({ kind: "single", deliveries: [manual] }, stop, now);
  }

  async function claimAndDeliver(plan: ClaimPlan, stop: AbortSignal, now: number): Promise<number> {
    const recipient = plan.deliveries[0]?.recipient ?? "";
    const slotMs = slotWait(recipient, now);
    if (slotMs > 0) return slotMs;
    const claim = await deliverer.claim(plan, now);
    if (!claim) return 0;
    noteMessage(claim);
    const delivering = run.deliverAlone(claim, stop);
    if (concurrency === 1) await delivering;
    return 0;
  }

  function noteMessage({ deliveries }: Pick<ClaimPlan, "deliveries">): void {
    sinceResent = deliveries.some(isResent) ? 0 : sinceResent + 1;
  }

  function isBounded(recipient: string): boolean {
    return pace.isBounded(paceKeysOf(destination, recipient, settings));
  }

  function slotWait(recipient: string, now: number): number {
    return Math.max(0, pace.nextSlot(paceKeysOf(destination, recipient, settings), now).at - now);
  }

  return {
    wake,
    giveBack: run.giveBack,
    offer,
    settle: offers.settle,
    isIdle,
    isQuiet: () => isIdle() && !isPaused() && offers.emptyFor(clock.now()) > 0,
    turnedAt: () => (calls.underWay() > 0 ? clock.now() : Math.max(lastTurnAt, calls.lastEndedAt() ?? 0)),
    run: runLane,
  };
}
