import type { DeliveryState } from "../../core/delivery.ts";
import type { ClaimedDelivery, DueDelivery, Thread, ThreadUpdate } from "../../core/delivery-job.ts";
import type { Json } from "../../core/json.ts";
import type { ClaimedTogether } from "../../core/ports/dispatch.ts";
import { settingsOf } from "../../vendors/index.ts";
import { paceKeysOf } from "../plan/accounts.ts";
import { type Claim, type ClaimPlan, type LoadedDelivery, withEndAfterMs } from "../plan/plan-claim.ts";
import type { LaneContext } from "./context.ts";
import type { PayloadReader } from "./payloads.ts";

export interface ClaimsDeps extends LaneContext {
  payloads: PayloadReader;
}

export interface Offered extends Pick<DueDelivery, "destination" | "recipient" | "alertKey" | "status" | "dueAt"> {
  /** Its alert was stored before, and perhaps late. */
  isStored: boolean;
  /** The alert's payload. Absent: its body is read again where the message carries the payload. */
  payload?: Json;
}

export interface Offer {
  delivery: Offered;
  token: string;
  leaseMs: number;
  leaseUntil: number;
}

export interface ClaimedOffer {
  offer: Offer;
  claimed: ClaimedTogether;
}

/** A transaction without an answer may commit this much later, and its claim is found when its lease is over. */
const doubtMarginMs = 60_000;
/** The pause between two tries to take a claim back: each is a transaction. */
const takeBackEachMs = 5_000;

/** A channel is given this long beyond its time-out before its claim counts as abandoned. */
const leaseMarginMs = 60_000;

/**
 * How deliveries of one lane become claims, which is on disk before any call leaves:
 *
 *     planned, alone or as a digest ──▶ claim ──────────────────────────────┐
 *     planned as a run ──▶ noted in the journal ──▶ claimRun ───────────────┤
 *     about to be routed ──▶ noted ──▶ offer ──▶ routing claims it ──▶ adopt ┼──▶ begin ──▶ called ──▶ end
 *                                         └─ it does not ──▶ withdraw       └──▶ giveBack
 *
 * No call was made for a claim that the journal names; `begin` strikes it out (docs/adr/0011-runs-of-deliveries.md). Where the store
 * has given no answer, the claim may have been made: it is taken back at the lane's next look, and every five seconds until its lease
 * would be over.
 */
export class Claims {
  /** Claims that may have been made, by their token. */
  readonly #doubted = new Map<string, Doubt>();
  readonly threads = new ThreadMemory();
  /** Longer than a call may take, so that a slow call is not repeated. */
  readonly leaseMs: number;

  constructor(private readonly deps: ClaimsDeps) {
    const { sendTimeoutMs } = settingsOf(deps.destination.type, deps.settings);
    this.leaseMs = Math.max(deps.settings.leaseMs, sendTimeoutMs + leaseMarginMs);
  }

  /** Claims the planned deliveries. Undefined when none of them can be claimed any more. */
  async claim(plan: ClaimPlan, now: number): Promise<Claim | undefined> {
    const { store, destination, pace, settings, newId } = this.deps;
    const { leaseMs } = this;
    const recipient = plan.deliveries[0]?.recipient ?? "";
    const digestId = plan.kind === "digest" ? (plan.digestId ?? newId()) : undefined;
    const token = newId();
    const deliverySeqs = plan.deliveries.map((delivery) => delivery.seq);
    const slot = pace.take(paceKeysOf(destination, recipient, settings), now);
    const claiming = store.claimDeliveries({ token, deliverySeqs, leaseMs, digestId }, slot);
    claiming.catch(() => this.#doubt(token, plan.deliveries));
    const claimed = await claiming;
    const [newest, ...rest] = asPlanned(claimed, plan);
    if (!newest) return undefined;
    const digest = plan.kind === "digest" && digestId ? { id: digestId, reason: plan.reason } : undefined;
    return { token, leaseUntil: now + leaseMs, slotAt: now, deliveries: [newest, ...rest], digest };
  }

  /**
   * Claims several plans in one commit, each as a claim of its own, in their order. Deliveries that cannot be claimed any more are left
   * out.
   */
  async claimRun(plans: ClaimPlan[], now: number): Promise<Claim[]> {
    const { store, journal, newId } = this.deps;
    const { leaseMs } = this;
    const planned = new Map(plans.map((plan) => [newId(), plan]));
    if (!journal?.note([...planned.keys()])) return [];
    for (const { deliveries } of plans) deliveries.slice(0, 1).forEach(this.threads.hold);
    const inputs = [...planned].map(([token, { deliveries }]) => ({
      token,
      deliverySeqs: deliveries.map(({ seq }) => seq),
      leaseMs,
    }));
    const claims: Claim[] = [];
    let isAnswered = false;
    try {
      const claimed = await store.claimRun(inputs);
      isAnswered = true;
      for (const { token, deliveries, thread } of claimed) {
        const [newest, ...rest] = asPlanned(deliveries, planned.get(token) as ClaimPlan);
        if (!newest) continue;
        const ofRun = { thread, isFilled: false };
        claims.push({ token, leaseUntil: now + leaseMs, deliveries: [newest, ...rest], ofRun });
        planned.delete(token);
      }
    } finally {
      for (const [token, { deliveries }] of planned) {
        deliveries.slice(0, 1).forEach(this.threads.release);
        if (isAnswered) journal.forget(token);
        else this.#doubt(token, deliveries);
      }
    }
    await this.#fill(claims);
    return claims;
  }

  /** A token under which routing claims a delivery that it makes for this lane. Undefined: the journal cannot note it. */
  offer(delivery: Offered): Offer | undefined {
    const token = this.deps.newId();
    if (!this.deps.journal?.note([token])) return undefined;
    this.threads.hold(delivery);
    return { delivery, token, leaseMs: this.leaseMs, leaseUntil: this.deps.clock.now() + this.leaseMs };
  }

  /** Whether the offer is so old that another message of its key may have gone out since. A commit that hung makes it so old. */
  isLate({ leaseUntil }: Offer): boolean {
    return this.deps.clock.now() - (leaseUntil - this.leaseMs) >= withEndAfterMs;
  }

  /** @param claim whether routing has made the claim: `made` and `unknown` are taken back */
  withdraw({ delivery, token }: Offer, claim: "none" | "made" | "unknown"): void {
    this.threads.release(delivery);
    if (claim === "none") this.deps.journal?.forget(token);
    else this.#doubt(token, [delivery], claim === "made");
  }

  /** The claims that routing has made under offers, in the order of their commits. */
  async adopt(offers: ClaimedOffer[]): Promise<Claim[]> {
    const claims = offers.flatMap(({ offer, claimed: { deliveries, thread } }): Claim[] => {
      const { token, leaseUntil, delivery } = offer;
      const [one] = deliveries;
      if (one === undefined) return [];
      const { dueAt, payload } = delivery;
      const newest: LoadedDelivery = Object.assign(one, { state: "queued" as const, dueAt, payload });
      return [{ token, leaseUntil, deliveries: [newest], ofRun: { thread, isFilled: payload !== undefined } }];
    });
    await this.#fill(claims.filter(({ ofRun }) => ofRun?.isFilled === false));
    return claims;
  }

  /** Reads the payloads that the claim lacks, then strikes it from the journal: a call may follow. Rejects as the store does. */
  async begin({ token, deliveries, ofRun }: Claim): Promise<void> {
    if (!ofRun?.isFilled) await this.deps.payloads.fill(deliveries);
    this.deps.journal?.strike(token);
  }

  /** The claim is settled, or was left to its lease. */
  end({ deliveries: [newest], ofRun }: Claim): void {
    if (ofRun) this.threads.release(newest);
  }

  /** Puts a claim of a run that was not begun back where it was in the queue. Rejects if the store does, see `release`. */
  async giveBack(claim: Claim): Promise<void> {
    try {
      await this.release(claim, placeOf(claim));
    } finally {
      this.threads.release(claim.deliveries[0]);
    }
  }

  /** Makes a claim due again whose calls are all on record. Rejects if the store does; `takeBack` then releases the claim. */
  async release({ token, deliveries }: Claim, dueAt: number): Promise<void> {
    try {
      await this.deps.store.releaseClaim(token, dueAt, isAnyHeld(deliveries));
      this.deps.journal?.strike(token);
    } catch (error) {
      this.#doubt(token, deliveries, true);
      throw error;
    }
  }

  /** Releases the claims that were withdrawn, could not be released, or may have been made. Rejects if the store does. */
  async takeBack(): Promise<void> {
    const { store, journal, clock } = this.deps;
    for (const [token, one] of this.#doubted) {
      const now = clock.now();
      const isOver = now >= one.until;
      if (!isOver && now < one.nextAt) continue;
      if (!isOver) await store.releaseClaim(token, one.dueAt, one.isHeld);
      one.nextAt = now + takeBackEachMs;
      if (!isOver && !one.isMade) continue;
      this.#doubted.delete(token);
      journal?.forget(token);
    }
  }

  #doubt(
    token: string,
    deliveries: readonly (Pick<DueDelivery, "dueAt"> & { state?: DeliveryState })[],
    isMade = false,
  ): void {
    const now = this.deps.clock.now();
    const until = now + this.leaseMs + doubtMarginMs;
    const isHeld = isAnyHeld(deliveries);
    this.#doubted.set(token, { dueAt: firstDueAt(deliveries), isHeld, isMade, nextAt: now, until });
    // All calls of the claim are on record, so it counts as untried.
    this.deps.journal?.note([token]);
  }

  /** Reads the payloads of several claims together. Those that have no room are read when their turn comes. */
  async #fill(claims: Claim[]): Promise<void> {
    if (claims.length === 0) return;
    const filled = await this.deps.payloads.fillEach(claims.map(({ deliveries }) => deliveries)).catch(() => []);
    claims.forEach(({ ofRun }, index) => {
      if (ofRun) ofRun.isFilled = filled[index] ?? false;
    });
  }
}

/** A claim that may have been made, or could not be released. */
interface Doubt {
  dueAt: number;
  isHeld: boolean;
  /** It was made. */
  isMade: boolean;
  /** When it is tried again, and when it is over in any case. */
  nextAt: number;
  until: number;
}

/** Its place in the queue: a message for several deliveries has the place of the first. */
export const placeOf = ({ deliveries }: Claim): number => firstDueAt(deliveries);

/** One of them was held by quiet hours: it goes out with the others of that night. */
export const isAnyHeld = (deliveries: readonly { state?: DeliveryState }[]): boolean =>
  deliveries.some(({ state }) => state === "held");

const firstDueAt = (deliveries: readonly Pick<DueDelivery, "dueAt">[]): number =>
  Math.min(...deliveries.map(({ dueAt }) => dueAt));

/** Gives claimed deliveries, which are `sending`, the state and time from before: these say why the message is late. */
function asPlanned(claimed: ClaimedDelivery[], plan: ClaimPlan): ClaimedDelivery[] {
  const planned = new Map<number, DueDelivery>(plan.deliveries.map((delivery) => [delivery.seq, delivery]));
  return claimed.map((delivery) => {
    const { state, dueAt } = planned.get(delivery.seq) ?? delivery;
    return { ...delivery, state, dueAt };
  });
}

/**
 * The threads that messages without a record on disk have changed: the other claims of the run have read the thread as it was before.
 * A thread is kept while a claim of its key is under way. A later claim reads it from the store.
 */
class ThreadMemory {
  readonly #known = new Map<string, { claims: number; thread?: Thread }>();

  hold = (delivery: Keyed): void => {
    const entry = this.#known.get(keyOf(delivery));
    if (entry) entry.claims += 1;
    else this.#known.set(keyOf(delivery), { claims: 1 });
  };

  release = (delivery: Keyed): void => {
    const entry = this.#known.get(keyOf(delivery));
    if (!entry) return;
    entry.claims -= 1;
    if (entry.claims === 0) this.#known.delete(keyOf(delivery));
  };

  note({ destination, recipient, alertKey }: DueDelivery, update: ThreadUpdate): void {
    const entry = this.#known.get(keyOf({ recipient, alertKey }));
    if (entry) entry.thread = { destination, recipient, alertKey, ...update };
  }

  latest(delivery: Keyed): Thread | undefined {
    return this.#known.get(keyOf(delivery))?.thread;
  }
}

type Keyed = Pick<DueDelivery, "recipient" | "alertKey">;

/** An alert key in a chat of the lane. */
export function keyOf({ recipient, alertKey }: Keyed): string {
  return `${recipient}\n${alertKey}`;
}
