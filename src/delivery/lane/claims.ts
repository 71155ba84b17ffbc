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
  /** The alert was stored before its routing, and may be late. */
  isStored: boolean;
  /** Absent: the body is read again where the message has the payload. */
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

/** A transaction without an answer may commit this much later. Its claim is found when the lease is over. */
const doubtMarginMs = 60_000;
/** Between two tries to take a claim back. Each is a transaction. */
const takeBackEachMs = 5_000;

/** A claim counts as abandoned this long after its channel's time-out. */
const leaseMarginMs = 60_000;

/**
 * How deliveries of one lane become claims. A claim is on disk before its call leaves:
 *
 *     planned, alone or as a digest ──▶ claim ──────────────────────────────┐
 *     planned as a run ──▶ noted in the journal ──▶ claimRun ───────────────┤
 *     about to be routed ──▶ noted ──▶ offer ──▶ routing claims it ──▶ adopt ┼──▶ begin ──▶ called ──▶ end
 *                                         └─ it does not ──▶ withdraw       └──▶ giveBack
 *
 * The journal names claims without a call, and `begin` strikes them out (docs/adr/0011-runs-of-deliveries.md). Where the store
 * gave no answer, the claim may have been made. It is taken back at the lane's next look, and every five seconds until its lease
 * would be over.
 */
export class Claims {
  /** Claims that may have been made, by token. */
  readonly #doubted = new Map<string, Doubt>();
  readonly threads = new ThreadMemory();
  /** Longer than a call may take, or a slow call would be repeated. */
  readonly leaseMs: number;

  constructor(private readonly deps: ClaimsDeps) {
    const { sendTimeoutMs } = settingsOf(deps.destination.type, deps.settings);
    this.leaseMs = Math.max(deps.settings.leaseMs, sendTimeoutMs + leaseMarginMs);
  }

  /** Undefined when no delivery of the plan can be claimed any more. */
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

  /** Makes one claim for each plan, in order, in one commit. Deliveries that cannot be claimed any more are left out. */
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

  /** A token under which routing claims a delivery for this lane. Undefined: the journal cannot note it. */
  offer(delivery: Offered): Offer | undefined {
    const token = this.deps.newId();
    if (!this.deps.journal?.note([token])) return undefined;
    this.threads.hold(delivery);
    return { delivery, token, leaseMs: this.leaseMs, leaseUntil: this.deps.clock.now() + this.leaseMs };
  }

  /** Whether the offer's commit took so long that another message of the key may have gone out. */
  isLate({ leaseUntil }: Offer): boolean {
    return this.deps.clock.now() - (leaseUntil - this.leaseMs) >= withEndAfterMs;
  }

  /** @param claim whether routing has made the claim. `made` and `unknown` are taken back */
  withdraw({ delivery, token }: Offer, claim: "none" | "made" | "unknown"): void {
    this.threads.release(delivery);
    if (claim === "none") this.deps.journal?.forget(token);
    else this.#doubt(token, [delivery], claim === "made");
  }

  /** The claims that routing has made, in the order of their commits. */
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

  /** Reads missing payloads, then strikes the claim from the journal: a call may follow. Rejects as the store does. */
  async begin({ token, deliveries, ofRun }: Claim): Promise<void> {
    if (!ofRun?.isFilled) await this.deps.payloads.fill(deliveries);
    this.deps.journal?.strike(token);
  }

  /** For a claim that is settled, or left to its lease. */
  end({ deliveries: [newest], ofRun }: Claim): void {
    if (ofRun) this.threads.release(newest);
  }

  /** For a claim of a run without a call: its deliveries go back into the queue. Rejects as the store does, see `release`. */
  async giveBack(claim: Claim): Promise<void> {
    try {
      await this.release(claim, placeOf(claim));
    } finally {
      this.threads.release(claim.deliveries[0]);
    }
  }

  /** For a claim whose calls are all recorded: makes its deliveries due again. If the store fails, `takeBack` does it later. */
  async release({ token, deliveries }: Claim, dueAt: number): Promise<void> {
    try {
      await this.deps.store.releaseClaim(token, dueAt, isAnyHeld(deliveries));
      this.deps.journal?.strike(token);
    } catch (error) {
      this.#doubt(token, deliveries, true);
      throw error;
    }
  }

  /** Releases claims that were withdrawn, could not be released, or may have been made. Rejects as the store does. */
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
    // All calls of the claim are recorded, so it counts as untried.
    this.deps.journal?.note([token]);
  }

  /** Reads the payloads of several claims at once. Those for which there is no room are read when their turn comes. */
  async #fill(claims: Claim[]): Promise<void> {
    if (claims.length === 0) return;
    const filled = await this.deps.payloads.fillEach(claims.map(({ deliveries }) => deliveries)).catch(() => []);
    claims.forEach(({ ofRun }, index) => {
      if (ofRun) ofRun.isFilled = filled[index] ?? false;
    });
  }
}

interface Doubt {
  dueAt: number;
  isHeld: boolean;
  isMade: boolean;
  /** `nextAt`: the next try. `until`: the lease is over in any case. */
  nextAt: number;
  until: number;
}

export const placeOf = ({ deliveries }: Claim): number => firstDueAt(deliveries);

/** A delivery that quiet hours held goes out with the others of that night. */
export const isAnyHeld = (deliveries: readonly { state?: DeliveryState }[]): boolean =>
  deliveries.some(({ state }) => state === "held");

const firstDueAt = (deliveries: readonly Pick<DueDelivery, "dueAt">[]): number =>
  Math.min(...deliveries.map(({ dueAt }) => dueAt));

/** Gives claimed deliveries (`sending`) the state and time from before. These say why the message is late. */
function asPlanned(claimed: ClaimedDelivery[], plan: ClaimPlan): ClaimedDelivery[] {
  const planned = new Map<number, DueDelivery>(plan.deliveries.map((delivery) => [delivery.seq, delivery]));
  return claimed.map((delivery) => {
    const { state, dueAt } = planned.get(delivery.seq) ?? delivery;
    return { ...delivery, state, dueAt };
  });
}

/**
 * Threads as the unrecorded messages of a run have left them. The other claims of the run were made before, and have older ones.
 * A thread is kept while a claim of its key is in progress.
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

/** An alert key in a chat. */
export function keyOf({ recipient, alertKey }: Keyed): string {
  return `${recipient}\n${alertKey}`;
}
