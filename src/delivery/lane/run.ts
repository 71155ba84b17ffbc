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
  /** Called when there is room for more claims, or nothing is in progress any more. */
  onRoom(): void;
  /** Called when a delivery is due again, or is about to be. */
  onGivenBack(): void;
}

const mostAhead = 64;
const horizonMs = 250;
/** Calls that are ambiguous when the process is killed, besides those in flight. */
const mostUnrecorded = 16;
/** A claim that has waited longer is given back: its call needs the rest of the lease. */
const longestWaitMs = 30_000;
/** The weight of earlier calls in the estimated time of the next call. A slower call counts in full. */
const fading = 0.8;

/**
 * The claims of one lane while their calls are made:
 *
 *     claimed, not begun ──▶ called (as many at once as the vendor takes) ──▶ answered, not on record ──▶ on record
 *       at most `mostAhead`,                                                     at most `mostUnrecorded`
 *       of the next `horizonMs`
 *
 * Three things make it quick:
 * - Many deliveries are claimed ahead, depending on the time of recent calls. A vendor that is slow or has just failed has none
 *   ahead. A person's test waits no longer than the horizon. They are fewer than a digest takes, so a burst can still become one
 *   message.
 * - The next call leaves while the one before is being recorded, so attempts share commits.
 * - The next claims are made before the last ones are used up.
 *
 * The next call about an alert key in a chat waits until the one before is recorded. Without that, a resolving alert could
 * overtake its firing one, or go out before its repeat, and would not be the last word.
 *
 * A failed call ends the run: claims that are not begun go back into the queue, and the lane looks again. While the store refuses
 * a record, no call begins.
 */
export class Run {
  readonly #concurrency: number;
  readonly #underWay = new Set<Promise<void>>();
  /** Alert keys of the calls in flight. A digest has no key: nothing else runs with it. */
  readonly #keys = new Set<string>();
  /** Claims whose record the store has refused until now. */
  readonly #refused = new Set<Claim>();
  #claimed: { claim: Claim; stop: AbortSignal; claimedAt: number }[] = [];
  #calling = 0;
  #callMs = horizonMs;

  constructor(private readonly deps: RunDeps) {
    this.#concurrency = concurrencyOf(deps.destination);
  }

  /** How many more deliveries may be claimed in a commit that is made anyway. */
  roomBeside(): number {
    if (this.#refused.size > 0) return 0;
    const most = this.#ahead();
    const free = Math.max(0, this.#concurrency - (most > 0 ? this.#calling : this.#underWay.size));
    return Math.max(0, free + most - this.#claimed.length);
  }

  /** How many more deliveries may be claimed in a commit of their own. */
  room(): number {
    // While more than half of the run is left, too few deliveries would share the commit.
    return this.#claimed.length * 2 > this.#ahead() ? 0 : this.roomBeside();
  }

  /** Begins the claim at once. Resolves when it is settled and recorded. Never rejects. */
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
        // Listings since the call did not show the delivery, as its next step was not recorded.
        if (!hasGoneWell) onGivenBack();
        this.#leave(delivering);
      });
    this.#underWay.add(delivering);
    return delivering;
  }

  /** Whether a call about this alert key is in flight in this chat, or not recorded. */
  isUnderWay(delivery: Pick<DueDelivery, "recipient" | "alertKey">): boolean {
    return this.#keys.has(keyOf(delivery));
  }

  /** Claims that are not begun go back to their places in the queue. A later listing finds them. */
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

  countWaiting(recipient: string): number {
    return this.#claimed.filter(({ claim }) => claim.deliveries[0].recipient === recipient).length;
  }

  /** Whether claims wait, or at least this many are in progress. */
  isBusy(mostUnderWay: number): boolean {
    return this.#claimed.length > 0 || this.#underWay.size >= mostUnderWay;
  }

  /** Begins the claims in order, each as soon as it may. Gives them back when `isOver`. */
  add(claims: Claim[], stop: AbortSignal, isOver = false): void {
    const claimedAt = this.deps.clock.now();
    this.#claimed.push(...claims.map((claim) => ({ claim, stop, claimedAt })));
    if (isOver) this.giveBack();
    else this.#begin();
  }

  /** Gives back claims that are not begun. Resolves when all others have ended. Never rejects. */
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
