import type { DueDelivery } from "../../core/delivery-job.ts";
import { logFailure } from "../../core/log.ts";
import { concurrencyOf } from "../plan/accounts.ts";
import type { Claim } from "../plan/plan-claim.ts";
import { type Claims, keyOf } from "./claims.ts";
import type { LaneContext } from "./context.ts";
import type { Deliverer } from "./deliver.ts";

export interface RunDeps extends Pick<LaneContext, "destination" | "clock" | "log"> {
  claims: Claims;
  deliverer: Deliverer;
  /** There is room for more claims, or nothing is under way any more. */
  onRoom(): void;
  /** Something is due again, or about to be. */
  onGivenBack(): void;
}

const mostAhead = 64;
const horizonMs = 250;
/** When the process is killed, at most this many calls are ambiguous in addition to those under way. */
const mostUnrecorded = 16;
/** A claim waits no longer: it needs the rest of its lease for its own call. */
const longestWaitMs = 30_000;
/** The weight of former calls when the next one's time is estimated. A call that took longer counts at once. */
const fading = 0.8;

/**
 * What one lane has claimed and works off. Three things make it quick, and none of them weakens a promise:
 *
 *     claimed, not begun ──▶ called (as many at once as the vendor takes) ──▶ answered, not on record ──▶ on record
 *       at most `mostAhead`,                                                     at most `mostUnrecorded`
 *       of the next `horizonMs`
 *
 * - Deliveries are claimed ahead, many at a time. How many follows from how long calls took lately, so that a slow
 *   vendor, or one that has just failed, has none; what a person asks for waits no longer behind them than the horizon;
 *   and they are few enough that what is too much can still be sent together.
 * - The next call leaves while the former one is put on record, so attempts share commits.
 * - The next claims are made before the last ones are used up.
 *
 * The next call about an alert key in a chat waits until the former one is on record. An end that overtakes its beginning,
 * or goes out while its beginning has to be repeated, would not be the last word.
 *
 * A call that does not go well ends the run: what is not begun goes back into the queue, where it was, and the lane looks
 * anew. A store that refuses a record lets no further call begin until it takes it.
 */
export class Run {
  /** Calls at once. */
  readonly #concurrency: number;
  readonly #underWay = new Set<Promise<void>>();
  /** Alert keys of the calls among them. A digest has none of its own: nothing else is under way with it. */
  readonly #keys = new Set<string>();
  /** Claims whose record the store has refused so far. */
  readonly #refused = new Set<Claim>();
  #claimed: { claim: Claim; stop: AbortSignal; claimedAt: number }[] = [];
  #calling = 0;
  /** What the next call is thought to take. Nothing is known of the first. */
  #callMs = horizonMs;

  constructor(private readonly deps: RunDeps) {
    this.#concurrency = concurrencyOf(deps.destination);
  }

  /** How many more may be claimed with a commit that is made anyway. */
  roomBeside(): number {
    if (this.#refused.size > 0) return 0;
    const most = this.#ahead();
    const free = Math.max(0, this.#concurrency - (most > 0 ? this.#calling : this.#underWay.size));
    return Math.max(0, free + most - this.#claimed.length);
  }

  /** How many more deliveries may be claimed now, by a commit for them. */
  room(): number {
    // With more than half of it still there the commit would be shared by few.
    return this.#claimed.length * 2 > this.#ahead() ? 0 : this.roomBeside();
  }

  /** Begins it at once. Resolves when it is settled and on record. Never rejects. */
  deliverAlone(claim: Claim, stop: AbortSignal): Promise<void> {
    const { deliverer, clock, log, onGivenBack, destination } = this.deps;
    const calledAt = clock.now();
    let isCalling = true;
    let hasGoneWell = false;
    const key = keyOf(claim.deliveries[0]);
    this.#calling += 1;
    this.#keys.add(key);
    const endCall = (isWell: boolean): void => {
      if (!isCalling) return;
      isCalling = false;
      hasGoneWell = isWell;
      this.#calling -= 1;
      const tookMs = Math.max(1, clock.now() - calledAt);
      this.#callMs = isWell ? Math.max(tookMs, this.#callMs * fading + tookMs * (1 - fading)) : horizonMs;
      if (!isWell) this.giveBack();
      this.#begin();
      if (this.#calling === 0) deliverer.flush();
    };
    const delivering = deliverer
      .deliver(claim, stop, {
        onAnswered: endCall,
        onRefused: () => void this.#refused.add(claim),
      })
      .catch(logFailure(log, "delivery.unrecorded", { destination: destination.name }))
      .finally(() => {
        this.#refused.delete(claim);
        this.#keys.delete(key);
        endCall(false);
        // Only now its next step is on record: what was listed since the call did not have it.
        if (!hasGoneWell) onGivenBack();
        this.#leave(delivering);
      });
    this.#underWay.add(delivering);
    return delivering;
  }

  /** A call about this alert key is under way in this chat, or not on record. */
  isUnderWay(delivery: Pick<DueDelivery, "recipient" | "alertKey">): boolean {
    return this.#keys.has(keyOf(delivery));
  }

  /** Puts what is not begun back into the queue, where it was: a listing that is asked for behind this finds it. */
  giveBack(): void {
    const { claims, destination, log, onGivenBack } = this.deps;
    const rest = this.#claimed;
    this.#claimed = [];
    onGivenBack();
    for (const { claim } of rest) {
      const giving = claims
        .giveBack(claim)
        .catch(logFailure(log, "delivery.not_given_back", { destination: destination.name }))
        .finally(() => this.#leave(giving));
      this.#underWay.add(giving);
    }
  }

  /** Claims for this recipient that are not begun. */
  countWaiting(recipient: string): number {
    return this.#claimed.filter(({ claim }) => claim.deliveries[0].recipient === recipient).length;
  }

  /** Claims wait, or as many as this are under way. */
  isBusy(mostUnderWay: number): boolean {
    return this.#claimed.length > 0 || this.#underWay.size >= mostUnderWay;
  }

  /** Begins them in their order, each as soon as it may; gives them back when nothing may begin any more. */
  add(claims: Claim[], stop: AbortSignal, isOver = false): void {
    const claimedAt = this.deps.clock.now();
    this.#claimed.push(...claims.map((claim) => ({ claim, stop, claimedAt })));
    if (isOver) this.giveBack();
    else this.#begin();
  }

  /** Gives back what is not begun; resolves when all else has ended. Never rejects. */
  async end(): Promise<void> {
    this.giveBack();
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #ahead(): number {
    const { digestOver } = this.deps.destination;
    const each = Math.max(0, Math.floor(horizonMs / this.#callMs) - 1);
    return Math.min(mostAhead, each * this.#concurrency, Math.floor(digestOver / 2));
  }

  #mayBegin(): boolean {
    const mostUnderWay = this.#concurrency + (this.#ahead() > 0 ? mostUnrecorded : 0);
    return this.#calling < this.#concurrency && this.#underWay.size < mostUnderWay && this.#refused.size === 0;
  }

  #begin(): void {
    const { clock } = this.deps;
    while (this.#mayBegin()) {
      const place = this.#claimed.findIndex(({ claim }) => !this.isUnderWay(claim.deliveries[0]));
      const next = this.#claimed[place];
      if (next === undefined) return;
      const { claim, stop, claimedAt } = next;
      const waitedMs = clock.now() - claimedAt;
      if (stop.aborted || waitedMs < 0 || waitedMs > longestWaitMs) this.giveBack();
      else {
        this.#claimed.splice(place, 1);
        void this.deliverAlone(claim, stop);
      }
    }
  }

  #leave(done: Promise<void>): void {
    const { onRoom } = this.deps;
    this.#underWay.delete(done);
    this.#begin();
    if (this.#underWay.size === 0 || this.room() > 0) onRoom();
  }
}
