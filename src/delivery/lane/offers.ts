import type { ClaimedTogether } from "../../core/ports/dispatch.ts";
import { errorText } from "../../ground/text/error-text.ts";
import type { Claim } from "../plan/plan-claim.ts";
import type { ClaimedOffer, Claims, Offer, Offered } from "./claims.ts";
import type { LaneContext } from "./context.ts";

/** What has become of an offer. */
export interface Settled {
  offer: Offer;
  /** Undefined: the claim was not made, and the delivery may be due. */
  claimed?: ClaimedTogether;
  /** The store has given no answer: the claim may have been made. */
  isDoubted: boolean;
}

export interface OffersDeps extends Pick<LaneContext, "destination" | "log"> {
  claims: Claims;
  /** Begins them in their order. */
  take(claims: Claim[]): void;
  /** Look for what is due. */
  wake(): void;
}

/**
 * Claims that routing makes for a lane in the commit that makes the delivery: an alert that comes alone is on its way a
 * commit and a listing earlier. A lane offers them only while it knows that nothing is due besides, or the new alert
 * would overtake what waits. It knows that from a listing of all, until anything may have become due: a signal, a
 * delivery without an offer, a claim given back.
 */
export class Offers {
  #isCaughtUp = false;
  #isTurning = false;
  #hasChanged = false;
  #empty: { from: number; until: number } | undefined;
  #count = 0;
  #adopting = Promise.resolve();
  #noteNone = () => {};

  constructor(private readonly deps: OffersDeps) {}

  /** Something may be due that was not listed. */
  noteChange(): void {
    this.#isCaughtUp = false;
    this.#hasChanged = true;
    this.#empty = undefined;
  }

  /** Called before a listing. Until `noteListed` or the end of the turn nothing is offered. */
  beginTurn(): void {
    this.#isTurning = true;
    this.#hasChanged = false;
  }

  /** All that was listed is claimed, or nothing was due; without effect when a change came meanwhile. */
  noteListed(): void {
    this.#isCaughtUp = !this.#hasChanged;
  }

  endTurn(): void {
    this.#isTurning = false;
  }

  /** Nothing was listed, and nothing becomes due before `until`; without effect when a change came meanwhile. */
  noteEmpty(listedAt: number, until: number): void {
    this.#empty = this.#hasChanged ? undefined : { from: listedAt, until };
  }

  /** For how long a listing would find nothing, as far as is known; 0: it has to be made. Milliseconds. */
  emptyFor(now: number): number {
    const { from, until } = this.#empty ?? { from: now, until: now };
    // The clock may have been set back meanwhile.
    return from <= now && now < until ? until - now : 0;
  }

  /** Nothing is known to be due, and the lane is not looking just now. */
  isOpen(): boolean {
    return this.#isCaughtUp && !this.#isTurning;
  }

  /** Offers that are not settled. */
  count(): number {
    return this.#count;
  }

  make(delivery: Offered): Offer | undefined {
    const offer = this.deps.claims.offer(delivery);
    if (offer) this.#count += 1;
    return offer;
  }

  settle(settled: Settled[]): void {
    const { claims, wake } = this.deps;
    const made: ClaimedOffer[] = [];
    for (const { offer, claimed, isDoubted } of settled) {
      const isLate = claims.isLate(offer);
      if (claimed && !isLate) made.push({ offer, claimed });
      else {
        // What is late is planned as any other, in its place.
        const answered = claimed ? "made" : "none";
        claims.withdraw(offer, isDoubted ? "unknown" : answered);
        this.#count -= 1;
        this.noteChange();
      }
    }
    if (made.length > 0) this.#adopting = this.#adopting.then(() => this.#adopt(made));
    if (made.length < settled.length) wake();
    if (this.#count === 0) this.#noteNone();
  }

  /**
   * Resolves when no offer is open, and what routing has claimed is handed on. A commit under way may become a claim still:
   * the next holder of the lane would take it for a call that was begun.
   */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#noteNone = resolve;
      if (this.#count === 0) resolve();
    });
  }

  async #adopt(offers: ClaimedOffer[]): Promise<void> {
    const { claims, take, wake, log, destination } = this.deps;
    try {
      take(await claims.adopt(offers));
    } catch (error) {
      // Their lease returns them.
      log.error("delivery.not_adopted", { destination: destination.name, error: errorText(error) });
    } finally {
      this.#count -= offers.length;
      if (this.#count === 0) wake();
      if (this.#count === 0) this.#noteNone();
    }
  }
}
