import type { ClaimedTogether } from "../../core/ports/dispatch.ts";
import { errorText } from "../../ground/text/error-text.ts";
import type { Claim } from "../plan/plan-claim.ts";
import type { ClaimedOffer, Claims, Offer, Offered } from "./claims.ts";
import type { LaneContext } from "./context.ts";

/** The result of an offer. */
export interface Settled {
  offer: Offer;
  /** Undefined: routing has not made the claim, and the delivery may be due. */
  claimed?: ClaimedTogether;
  /** The store has given no answer: the claim may have been made. */
  isDoubted: boolean;
}

export interface OffersDeps extends Pick<LaneContext, "destination" | "log"> {
  claims: Claims;
  /** Begins the claims in their order. */
  take(claims: Claim[]): void;
  /** Has the lane look for due deliveries. */
  wake(): void;
}

/**
 * Offers of a lane: routing may claim a delivery in the commit that makes it, which saves a lone alert one commit and one listing. A lane
 * makes offers only while it knows that nothing else is due, or the new alert would overtake waiting ones. A full listing tells it so. A
 * signal, a delivery without an offer, or a claim that is given back ends that knowledge.
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

  /** A delivery may be due that was not listed. */
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

  /** All listed deliveries are claimed, or none was due. Without effect when a change came meanwhile. */
  noteListed(): void {
    this.#isCaughtUp = !this.#hasChanged;
  }

  endTurn(): void {
    this.#isTurning = false;
  }

  /** The listing was empty, and nothing becomes due before `until`. Without effect when a change came meanwhile. */
  noteEmpty(listedAt: number, until: number): void {
    this.#empty = this.#hasChanged ? undefined : { from: listedAt, until };
  }

  /** For how many milliseconds a listing would find nothing. 0: not known, so a listing has to be made. */
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
        // A late delivery is planned like any other, in its place.
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
   * Resolves when no offer is open and all claims of routing are handed on. The commit of an open offer may still become a claim, which
   * the next holder of the lane would take for a call that was begun.
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
