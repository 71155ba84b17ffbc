import type { ClaimedTogether } from "../../core/ports/dispatch.ts";
import { errorText } from "../../ground/text/error-text.ts";
import type { Claim } from "../plan/plan-claim.ts";
import type { ClaimedOffer, Claims, Offer, Offered } from "./claims.ts";
import type { LaneContext } from "./context.ts";

export interface Settled {
  offer: Offer;
  /** Undefined: routing has made no claim, and the delivery may be due. */
  claimed?: ClaimedTogether;
  /** The store gave no answer: the claim may have been made. */
  isDoubted: boolean;
}

export interface OffersDeps extends Pick<LaneContext, "destination" | "log"> {
  claims: Claims;
  /** Begins the claims in their order. */
  take(claims: Claim[]): void;
  wake(): void;
}

/**
 * A lane's offers: routing may claim a delivery in the commit that makes it. That saves a lone alert one commit and one listing.
 * A lane makes offers only while it knows that nothing else is due, since the new alert must not overtake waiting ones. It knows
 * that after a full listing, until a signal, a delivery without an offer, or a claim that is given back.
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

  /** For a delivery that may be due and was not listed. */
  noteChange(): void {
    this.#isCaughtUp = false;
    this.#hasChanged = true;
    this.#empty = undefined;
  }

  /** Called before a listing. Nothing is offered until `noteListed` or the end of the turn. */
  beginTurn(): void {
    this.#isTurning = true;
    this.#hasChanged = false;
  }

  /** All listed deliveries are claimed, or none was due. No effect if a change came meanwhile. */
  noteListed(): void {
    this.#isCaughtUp = !this.#hasChanged;
  }

  endTurn(): void {
    this.#isTurning = false;
  }

  /** The listing was empty, and nothing becomes due before `until`. No effect if a change came meanwhile. */
  noteEmpty(listedAt: number, until: number): void {
    this.#empty = this.#hasChanged ? undefined : { from: listedAt, until };
  }

  /** Milliseconds in which a listing would find nothing. 0: unknown. */
  emptyFor(now: number): number {
    const { from, until } = this.#empty ?? { from: now, until: now };
    // The clock may have been set back meanwhile.
    return from <= now && now < until ? until - now : 0;
  }

  /** Whether an offer may be made: nothing is due as far as is known, and no turn is running. */
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

  /** Resolves when no offer is open and its claims are handed on. The next holder would take a claim here for a running call. */
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
      // The lease of these claims ends by itself.
      log.error("delivery.not_adopted", { destination: destination.name, error: errorText(error) });
    } finally {
      this.#count -= offers.length;
      if (this.#count === 0) wake();
      if (this.#count === 0) this.#noteNone();
    }
  }
}
