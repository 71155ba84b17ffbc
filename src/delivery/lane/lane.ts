import type { DueDelivery } from "../../core/delivery-job.ts";
import { errorText } from "../../ground/text/error-text.ts";
import { recipientsOf } from "../../vendors/index.ts";
import type { Prober } from "../duties/prober.ts";
import { concurrencyOf, paceKeysOf } from "../plan/accounts.ts";
import { explainReason } from "../plan/explain-reason.ts";
import { isProbed } from "../plan/health.ts";
import {
  type Claim,
  type ClaimLimits,
  type ClaimPlan,
  isManual,
  isResent,
  othersPerResent,
  planClaim,
  planRun,
} from "../plan/plan-claim.ts";
import type { Claims, Offer, Offered } from "./claims.ts";
import type { LaneContext } from "./context.ts";
import type { Deliverer } from "./deliver.ts";
import type { LaneQueue } from "./lane-queue.ts";
import { Offers, type Settled } from "./offers.ts";
import { Run } from "./run.ts";

export interface LaneStop {
  claiming: AbortSignal;
  calls: AbortSignal;
}

export interface LaneDeps extends LaneContext {
  queue: LaneQueue;
  prober: Prober;
  claims: Claims;
  deliverer: Deliverer;
}

interface OpenTurn {
  isTrying: boolean;
  /** Whether several deliveries may be claimed at once. */
  isQuick: boolean;
  isShort: boolean;
}

/** The lane looks at least this often, in case a signal was lost. */
const pollMs = 5_000;
/** The wait when every due delivery waits for an earlier resolving alert of its key. */
const heldBackLookMs = 1_000;
/** Rows that are enough for the longest run and the next one. A row that is not claimed is listed again. */
const shortList = 128;
/** How often the queue of a shut destination is read at most. */
const shutLookMs = 1_000;

/**
 * Sends to one destination. Lanes share nothing, so none can delay another. The calls of all lanes together have no limit: calls
 * that hang would use it up.
 *
 *     paused by a person ──▶ what a person asked for is tried; all else waits
 *     probe due ──▶ ask, then look again
 *     shut (dead, paused, breaker open) ──▶ what a person asked for is tried; all else waits, for the dead an hour at most
 *     open ──▶ wait for a slot ──▶ list ──▶ plan ──▶ claim and deliver (deliver.ts) ──▶ look again
 *                                   └──▶ nothing is due, nor will be before T: until then no listing but for a change
 *                                             └──▶ no pace, nothing but alerts: claim a run of them (run.ts) ──▶ look again
 */
export class Lane {
  readonly #concurrency: number;
  readonly #canRun: boolean;
  readonly #run: Run;
  readonly #offers: Offers;
  #stopped: LaneStop | undefined;
  #isWoken = false;
  #endRest = () => {};
  /** The last outage, until everything that waited for its end is sent. */
  #outage: "down" | "dead" | undefined;
  /** Deliveries to a dead destination are put off until then at most. */
  #putOffUntil = Number.NEGATIVE_INFINITY;
  #lookAgainAt = 0;
  /** Whether a delivery waits for a later time. A resolving alert may have to go with it, or the other way round. */
  #hasLater = true;
  #lastTurnAt: number;
  #sinceResent = othersPerResent;

  constructor(private readonly deps: LaneDeps) {
    this.#concurrency = concurrencyOf(deps.destination);
    this.#canRun = deps.journal !== undefined;
    this.#lastTurnAt = deps.clock.now();
    const look = () => this.#look();
    this.#run = new Run({ ...deps, onRoom: look, onGivenBack: () => this.#noteChange() });
    this.#offers = new Offers({ ...deps, take: (claims) => this.#take(claims), wake: look });
  }

  wake(): void {
    this.#noteChange();
    this.#look();
  }

  /** Offers to claim a delivery that routing is about to make. Undefined: a listing will find it. Each offer must be settled. */
  offer(delivery: Offered): Offer | undefined {
    const { clock } = this.deps;
    const isTaken =
      this.#stopped?.claiming.aborted === false &&
      this.#offers.isOpen() &&
      this.#isWell() &&
      (!this.#hasLater || (delivery.status !== "resolved" && !delivery.isStored)) &&
      !this.#isBounded(delivery.recipient) &&
      this.#slotWait(delivery.recipient, clock.now()) === 0 &&
      this.#offers.count() < this.#run.roomBeside();
    const made = isTaken ? this.#offers.make(delivery) : undefined;
    if (!made) this.#noteChange();
    return made;
  }

  /** Nothing is claimed, and no call is in flight. */
  isIdle(): boolean {
    const { calls } = this.deps;
    return calls.underWay() === 0 && this.#offers.count() === 0 && !this.#run.isBusy(1);
  }

  /** Ends when `claiming` is aborted and all calls have ended. `calls` ends those in flight. Never rejects. */
  async run(stop: LaneStop): Promise<void> {
    const { claims, destination, clock, log } = this.deps;
    this.#stopped = stop;
    stop.claiming.addEventListener("abort", () => this.#look(), { once: true });
    while (!stop.claiming.aborted) {
      this.#isWoken = false;
      let waitMs = pollMs;
      try {
        waitMs = await this.#takeTurn(stop);
        this.#lastTurnAt = clock.now();
      } catch (error) {
        log.error("lane.failed", { destination: destination.name, error: errorText(error) });
      }
      this.#offers.endTurn();
      if (waitMs > 0 && !this.#isWoken) await this.#rest(Math.min(waitMs, pollMs));
    }
    await this.#offers.settled();
    await claims.takeBack().catch(() => {});
    await this.#run.end();
  }

  settle(settled: Settled[]): void {
    this.#offers.settle(settled);
  }

  /** For a pause: claims that are not begun go back into the queue. */
  giveBack(): void {
    this.#run.giveBack();
  }

  /** Idle, and the last listing found nothing due. */
  isQuiet(): boolean {
    return this.isIdle() && !this.#isPaused() && this.#offers.emptyFor(this.deps.clock.now()) > 0;
  }

  /** When the lane last took a turn or ended a call, epoch milliseconds. It takes a turn every few seconds. */
  turnedAt(): number {
    const { calls, clock } = this.deps;
    return calls.underWay() > 0 ? clock.now() : Math.max(this.#lastTurnAt, calls.lastEndedAt() ?? 0);
  }

  /** Takes over claims that routing has made. */
  #take(claims: Claim[]): void {
    const stop = this.#stopped;
    if (stop) this.#run.add(claims, stop.calls, stop.claiming.aborted || this.#isPaused());
  }

  #look(): void {
    this.#isWoken = true;
    this.#endRest();
  }

  /** Each alert ends a rest, so a rest must cost no more than a timer and a promise. */
  #rest(ms: number): Promise<void> {
    const { clock } = this.deps;
    return new Promise((resolve) => {
      const cancel = clock.after(ms, resolve);
      this.#endRest = () => {
        cancel();
        resolve();
      };
    });
  }

  #noteChange(): void {
    this.#hasLater = true;
    this.#offers.noteChange();
  }

  #isPaused(): boolean {
    const { destination, health } = this.deps;
    return health.of(destination).paused !== undefined;
  }

  /** Whether the destination may be called without a probe. */
  #isWell(): boolean {
    const { destination, health } = this.deps;
    const status = health.of(destination);
    if (status.paused !== undefined) return false;
    const isProbing = [health.ofAccount(destination), status].some((entry) => entry && isProbed(entry));
    return this.#canRun && this.#outage === undefined && !isProbing && status.openUntil === undefined;
  }

  /** Does what can be done now. Returns the milliseconds until there may be more. */
  async #takeTurn(stop: LaneStop): Promise<number> {
    const { prober, claims, destination, health, clock } = this.deps;
    // Claims that routing makes go first: their deliveries are older than any that a listing finds.
    if (this.#offers.count() > 0) return pollMs;
    this.#offers.beginTurn();
    await claims.takeBack();
    const now = clock.now();
    const status = health.of(destination);
    if (status.paused !== undefined) return await this.#takePausedTurn(stop.calls, now);
    const probed = [health.ofAccount(destination), status].find((entry) => entry && isProbed(entry));
    let askAt = probed?.probeAt ?? 0;
    if (probed && askAt <= now) {
      this.#outage = status.health === "dead" ? "dead" : "down";
      const trial = await prober.probe(stop.claiming);
      if (trial.kind === "probed") return 0;
      askAt = trial.until;
    }
    const openUntil = status.openUntil ?? 0;
    const isShut = probed !== undefined || openUntil > now;
    const isTrying = isShut || status.openUntil !== undefined;
    const isQuick =
      !isTrying && this.#canRun && !recipientsOf(destination).some((recipient) => this.#isBounded(recipient));
    if (isQuick ? this.#run.room() === 0 : this.#run.isBusy(isTrying ? 1 : this.#concurrency)) return pollMs;
    if (isShut) return await this.#takeShutTurn(askAt, stop.calls, now);
    const emptyMs = isTrying || this.#outage !== undefined ? 0 : this.#offers.emptyFor(now);
    if (emptyMs > 0) return emptyMs;
    // Asked before the queue is read: otherwise each new alert for a slow chat would read all that wait.
    const slotMs = Math.min(...recipientsOf(destination).map((recipient) => this.#slotWait(recipient, now)));
    return slotMs > 0 ? slotMs : await this.#takeOpenTurn({ isTrying, isQuick, isShort: true }, stop.calls, now);
  }

  async #takeOpenTurn(turn: OpenTurn, stop: AbortSignal, now: number): Promise<number> {
    const { store, queue, destination, channel, health } = this.deps;
    const sinceResent = this.#sinceResent;
    const afterOutage = this.#outage !== undefined || turn.isTrying;
    const most = turn.isShort ? this.#lengthOfShortList(turn.isQuick) : undefined;
    const { resumedAt } = health.of(destination);
    const look = { isRecovering: afterOutage, isOpen: true, most, resumedAt, sinceResent };
    const { due, ofKeys, cutAt } = await queue.list(look, now);
    const waits = new Map(due.map(({ recipient }) => [recipient, this.#slotWait(recipient, now)]));
    const open = due.filter(({ recipient }) => waits.get(recipient) === 0);
    const ready = open.filter((delivery) => !this.#run.isUnderWay(delivery));
    const claimed = this.#run.countWaiting(ready[0]?.recipient ?? "");
    if (claimed > 0 && ready.length + claimed > destination.digestOver) {
      this.#run.giveBack();
      return 0;
    }
    // All that a dead destination has missed becomes one message.
    const limits: ClaimLimits = {
      digestOver: this.#outage === "dead" ? Math.min(1, destination.digestOver) : destination.digestOver,
      can: channel.can,
      afterOutage,
      sinceResent,
      ofKeys,
      cutAt,
    };
    const plans = turn.isQuick ? planRun(ready, limits, this.#run.room(), now) : [];
    if (plans.length > 0) {
      const claims = await this.deps.claims.claimRun(plans, now);
      this.#run.add(claims, stop);
      for (const claim of claims) this.#noteMessage(claim);
      const taken = claims.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
      if (cutAt === undefined && taken === due.length) this.#offers.noteListed();
      if (claims.length > 0) return 0;
    }
    const plan = planClaim(ready, limits, now);
    const isPart = most !== undefined && cutAt !== undefined;
    // The short list may lack some of the group: with many recipients its first rows are all of one alert.
    const isOfMore = plan?.kind === "digest" || plan?.deliveries.some(({ groupName }) => groupName !== undefined);
    if (isPart && open.length > 0 && (plan === undefined || isOfMore))
      return await this.#takeOpenTurn({ ...turn, isShort: false }, stop, now);
    // A delivery alone waits for those before it: their records may change its message.
    if (plan && this.#run.isBusy(this.#concurrency)) return pollMs;
    if (plan) return await this.#claimAndDeliver(plan, stop, now);
    if (open.length > 0) return heldBackLookMs;
    if (due.length > 0) return Math.min(...waits.values());
    this.#outage = undefined;
    this.#offers.noteListed();
    this.#hasLater = false;
    const nextAt = await store.nextDueAt(destination.name);
    this.#hasLater ||= nextAt !== undefined;
    const waitMs = nextAt === undefined ? pollMs : Math.max(1, nextAt - now);
    this.#offers.noteEmpty(now, now + Math.min(waitMs, pollMs));
    return waitMs;
  }

  /** Undefined where a digest needs fewer deliveries than a short list has. All due ones must then be listed. */
  #lengthOfShortList(isQuick: boolean): number | undefined {
    const { digestOver } = this.deps.destination;
    if (digestOver < shortList) return undefined;
    const isForRun = isQuick && digestOver >= 2 * shortList;
    return isForRun ? Math.min(shortList, Math.max(shortList / 16, this.#run.room())) : shortList;
  }

  /** Tries what a person asked for. Puts off the queue of a dead destination, with its fallbacks. Any other queue waits. */
  async #takeShutTurn(askAt: number, stop: AbortSignal, now: number): Promise<number> {
    const { queue, destination, health } = this.deps;
    if (this.#lookAgainAt > now && this.#lookAgainAt <= now + shutLookMs) return this.#lookAgainAt - now;
    this.#lookAgainAt = now + shutLookMs;
    const { health: own, openUntil, resumedAt } = health.of(destination);
    if (openUntil !== undefined) this.#outage ??= "down";
    const { due, cutAt } = await queue.list({ isRecovering: false, isOpen: false, resumedAt }, now);
    const manual = due.find(isManual);
    if (manual) return await this.#claimAndDeliver({ kind: "single", deliveries: [manual] }, stop, now);
    if (own === "dead" && due.length > 0) {
      await this.#putOff(due, askAt, now);
      if (cutAt !== undefined) return shutLookMs;
    }
    return openUntil === undefined ? pollMs : Math.max(1, openUntil - now);
  }

  /** @param askAt the next probe of the destination or its account */
  async #putOff(due: DueDelivery[], askAt: number, now: number): Promise<void> {
    const { queue, destination, health } = this.deps;
    this.#outage = "dead";
    if (this.#putOffUntil < now && due.every(({ state }) => state === "queued")) health.noteNeeded(destination);
    const { reason, reasonCode, resumedAt, probeAt = 0 } = health.of(destination);
    const cause = reasonCode === undefined ? "" : `: ${explainReason(reasonCode, destination.type)}`;
    this.#putOffUntil = Math.max(probeAt, askAt, now + pollMs);
    const why = {
      reason: `${destination.name} cannot be reached: ${reason}`,
      because: `${destination.name} gets no alerts${cause}`,
      probeAt: this.#putOffUntil,
      resumedAt,
    };
    await queue.putOff(due, why, now);
  }

  /** Sends a test or a resend that a person asked for. After the pause the rest goes out as after an outage. */
  async #takePausedTurn(stop: AbortSignal, now: number): Promise<number> {
    const { queue } = this.deps;
    if (this.#lookAgainAt > now && this.#lookAgainAt <= now + shutLookMs) return this.#lookAgainAt - now;
    this.#lookAgainAt = now + shutLookMs;
    this.#outage ??= "down";
    if (this.#run.isBusy(1)) return shutLookMs;
    const { due } = await queue.list({ isRecovering: false, isOpen: true, isPaused: true }, now);
    const manual = due.find(isManual);
    return manual === undefined
      ? pollMs
      : await this.#claimAndDeliver({ kind: "single", deliveries: [manual] }, stop, now);
  }

  async #claimAndDeliver(plan: ClaimPlan, stop: AbortSignal, now: number): Promise<number> {
    const recipient = plan.deliveries[0]?.recipient ?? "";
    const slotMs = this.#slotWait(recipient, now);
    if (slotMs > 0) return slotMs;
    const claim = await this.deps.claims.claim(plan, now);
    if (!claim) return 0;
    this.#noteMessage(claim);
    const delivering = this.#run.deliverAlone(claim, stop);
    if (this.#concurrency === 1) await delivering;
    return 0;
  }

  #noteMessage({ deliveries }: Pick<ClaimPlan, "deliveries">): void {
    this.#sinceResent = deliveries.some(isResent) ? 0 : this.#sinceResent + 1;
  }

  #isBounded(recipient: string): boolean {
    const { destination, pace, settings } = this.deps;
    return pace.isBounded(paceKeysOf(destination, recipient, settings));
  }

  #slotWait(recipient: string, now: number): number {
    const { destination, pace, settings } = this.deps;
    return Math.max(0, pace.nextSlot(paceKeysOf(destination, recipient, settings), now).at - now);
  }
}
