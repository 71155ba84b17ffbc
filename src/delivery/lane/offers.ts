import type { Log } from "../../core/log.ts";
import type { ClaimedTogether } from "../../core/ports/dispatch.ts";
import type { Claim } from "../plan/plan-claim.ts";
import type { ClaimedOffer, Claims, Offer, Offered } from "./claims.ts";

/**
 * Claims that routing makes for a lane in the commit that makes the delivery: an alert that comes alone is on its way a
 * commit and a listing earlier. A lane offers them only while it knows that nothing is due besides, or the new alert
 * would overtake what waits. It knows that from a listing of all, until anything may have become due: a signal, a
 * delivery without an offer, a claim given back.
 */
export interface Offers {
  /** Something may be due that was not listed. */
  noteChange(): void;
  /** Called before a listing. Until `noteListed` or the end of the turn nothing is offered. */
  beginTurn(): void;
  /** All that was listed is claimed, or nothing was due; without effect when a change came meanwhile. */
  noteListed(): void;
  endTurn(): void;
  /** Nothing was listed, and nothing becomes due before `until`; without effect when a change came meanwhile. */
  noteEmpty(listedAt: number, until: number): void;
  /** For how long a listing would find nothing, as far as is known; 0: it has to be made. Milliseconds. */
  emptyFor(now: number): number;
  /** Nothing is known to be due, and the lane is not looking just now. */
  isOpen(): boolean;
  /** Offers that are not settled. */
  count(): number;
  make(delivery: Offered): Offer | undefined;
  settle(settled: Settled[]): void;
  /** Resolves when no offer is open, and what routing has claimed is handed on. */
  settled(): Promise<void>;
}

/** What has become of an offer. */
export interface Settled {
  offer: Offer;
  /** Undefined: the claim was not made, and the delivery may be due. */
  claimed?: ClaimedTogether;
  /** The store has given no answer: the claim may have been made. */
  isDoubted: boolean;
}

export interface OffersDeps {
  deliverer: Pick<Claims, "offer" | "adopt" | "isLate" | "withdraw">;
  /** Begins them in their order. */
  take(claims: Claim[]): void;
  /** Look for what is due. */
  wake(): void;
  log: Log;
  destination: string;
}

export function createOffers({ deliverer, take, wake, log, destination }: OffersDeps): Offers {
  let isCaughtUp = false;
  let isTurning = false;
  let hasChanged = false;
  let empty: { from: number; until: number } | undefined;
  let count = 0;
  let adopting = Promise.resolve();
  let noteNone = () => {};

  function noteChange(): void {
    isCaughtUp = false;
    hasChanged = true;
    empty = undefined;
  }

  async function adopt(offers: ClaimedOffer[]): Promise<void> {
    try {
      take(await deliverer.adopt(offers));
    } catch (error) {
      // Their lease returns them.
      log.error("delivery.not_adopted", { destination, error: String(error).slice(0, 300) });
    } finally {
      count -= offers.length;
      if (count === 0) wake();
      if (count === 0) noteNone();
    }
  }

  return {
    noteChange,
    beginTurn() {
      isTurning = true;
      hasChanged = false;
    },
    noteListed() {
      isCaughtUp = !hasChanged;
    },
    endTurn() {
      isTurning = false;
    },
    noteEmpty(listedAt, until) {
      empty = hasChanged ? undefined : { from: listedAt, until };
    },
    emptyFor(now) {
      // The clock may have been set back meanwhile.
      const isKnown = empty !== undefined && empty.from <= now && now < empty.until;
      return isKnown && empty ? empty.until - now : 0;
    },
    isOpen: () => isCaughtUp && !isTurning,
    count: () => count,
    make(delivery) {
      const offer = deliverer.offer(delivery);
      if (offer) count += 1;
      return offer;
    },
    settle(settled) {
      const made: ClaimedOffer[] = [];
      for (const { offer, claimed, isDoubted } of settled) {
        const isLate = deliverer.isLate(offer);
        if (claimed && !isLate) made.push({ offer, claimed });
        else {
          // What is late is planned as any other, in its place.
          const answered = claimed ? "made" : "none";
          deliverer.withdraw(offer, isDoubted ? "unknown" : answered);
          count -= 1;
          noteChange();
        }
      }
      if (made.length > 0) adopting = adopting.then(() => adopt(made));
      if (made.length < settled.length) wake();
      if (count === 0) noteNone();
    },
    // Whose commit is under way may become a claim still: whoever has the lane next would take it for a call that was begun.
    settled: () =>
      new Promise((resolve) => {
        noteNone = resolve;
        if (count === 0) resolve();
      }),
  };
}
