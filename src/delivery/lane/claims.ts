import type { Clock } from "../../core/clock.ts";
import type { DeliveryState } from "../../core/delivery.ts";
import type { ClaimedDelivery, DueDelivery } from "../../core/delivery-job.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { NewId } from "../../core/id.ts";
import type { Json } from "../../core/json.ts";
import type { ClaimJournal } from "../../core/ports/claim-journal.ts";
import type { ClaimedTogether } from "../../core/ports/dispatch.ts";
import type { Destination } from "../../core/rules.ts";
import type { LaneStore } from "../lane-store.ts";
import type { PaceMemory } from "../memory/pace.ts";
import type { ThreadMemory } from "../memory/threads.ts";
import { paceKeysOf } from "../plan/accounts.ts";
import { type Claim, type ClaimPlan, type LoadedDelivery, withEndAfterMs } from "../plan/plan-claim.ts";
import type { PayloadReader } from "./payloads.ts";

/**
 * How deliveries of one lane become claims, which is on disk before any call leaves:
 *
 *     planned, alone or as a digest ──▶ claim ──────────────────────────────┐
 *     planned as a run ──▶ noted in the journal ──▶ claimRun ───────────────┤
 *     about to be routed ──▶ noted ──▶ offer ──▶ routing claims it ──▶ adopt ┼──▶ begin ──▶ called ──▶ end
 *                                         └─ it does not ──▶ withdraw       └──▶ giveBack
 *
 * What stands in the journal was not called; `begin` strikes it out (docs/adr/0011-runs-of-deliveries.md). Where the store has
 * given no answer, nobody knows whether a claim was made: it is taken back with the lane's next look, and every five seconds until it would be over.
 */
export interface Claims {
  /** Takes what was planned; undefined when nothing of it can be taken any more. */
  claim(plan: ClaimPlan, now: number): Promise<Claim | undefined>;
  /**
   * Takes what was planned together, each as a claim of its own, in one commit and in its order. What cannot be taken
   * any more is left out.
   */
  claimRun(plans: ClaimPlan[], now: number): Promise<Claim[]>;
  /** A token under which routing claims what it makes for this lane; undefined: it cannot be noted. */
  offer(delivery: Offered): Offer | undefined;
  /** What routing has claimed under an offer, in the order of their commits. */
  adopt(claimed: ClaimedOffer[]): Promise<Claim[]>;
  /** It was made so long ago that more of its key may have been told meanwhile, as where its commit hung. */
  isLate(offer: Offer): boolean;
  /** @param claim what became of it: `made` and `unknown` are taken back */
  withdraw(offer: Offer, claim: "none" | "made" | "unknown"): void;
  /** From here on a call of it may have left. Reads the payloads that it lacks. Rejects as the store does. */
  begin(claim: Claim): Promise<void>;
  /** It is settled, or was left to its lease. */
  end(claim: Claim): void;
  /** Puts a claim of a run that was not begun back where it was in the queue. Rejects if the store does, see `release`. */
  giveBack(claim: Claim): Promise<void>;
  /** No call of it is off the record: it is due again at this time. Rejects if the store does; `takeBack` then releases it. */
  release(claim: Claim, dueAt: number): Promise<void>;
  /** Does so with all that were withdrawn, could not be released, or may have been made. Rejects if the store does. */
  takeBack(): Promise<void>;
}

export interface Offered extends Pick<DueDelivery, "destination" | "recipient" | "alertKey" | "status" | "dueAt"> {
  /** Its alert was stored before, and perhaps late. */
  isStored: boolean;
  /** What the alert is made of. Absent: its body is read again where the message carries it. */
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

export interface ClaimsDeps {
  store: Pick<LaneStore, "claimDeliveries" | "claimRun" | "releaseClaim">;
  /** Absent: `claimRun` takes nothing, and nothing is offered. */
  journal?: ClaimJournal;
  destination: Destination;
  threads: ThreadMemory;
  payloads: PayloadReader;
  pace: PaceMemory;
  settings: DeliverySettings;
  /** Longer than a call may take, so that a slow one is not doubled. */
  leaseMs: number;
  clock: Clock;
  newId: NewId;
}

/** A transaction without an answer may commit this much later, and its claim is found when its lease is over. */
const doubtMarginMs = 60_000;
/** Between two tries to take a claim back: each is a transaction. */
const takeBackEachMs = 5_000;

export function createClaims(deps: ClaimsDeps): Claims {
  const { store, journal, destination, threads, pace, settings, leaseMs, clock } = deps;
  /** Claims that may have been made, by their token. */
  const doubted = new Map<string, { dueAt: number; isHeld: boolean; isMade: boolean; nextAt: number; until: number }>();

  function doubt(
    token: string,
    deliveries: readonly (Pick<DueDelivery, "dueAt"> & { state?: DeliveryState })[],
    isMade = false,
  ): void {
    const now = clock.now();
    const until = now + leaseMs + doubtMarginMs;
    doubted.set(token, { dueAt: firstDueAt(deliveries), isHeld: isAnyHeld(deliveries), isMade, nextAt: now, until });
    // No call was made under it that is not on record.
    journal?.note([token]);
  }

  async function claim(plan: ClaimPlan, now: number): Promise<Claim | undefined> {
    const recipient = plan.deliveries[0]?.recipient ?? "";
    const digestId = plan.kind === "digest" ? (plan.digestId ?? deps.newId()) : undefined;
    const token = deps.newId();
    const deliverySeqs = plan.deliveries.map((delivery) => delivery.seq);
    const slot = pace.take(paceKeysOf(destination, recipient, settings), now);
    const claiming = store.claimDeliveries({ token, deliverySeqs, leaseMs, digestId }, slot);
    claiming.catch(() => doubt(token, plan.deliveries));
    const claimed = await claiming;
    const [newest, ...rest] = asPlanned(claimed, plan);
    if (!newest) return undefined;
    const digest = plan.kind === "digest" && digestId ? { id: digestId, reason: plan.reason } : undefined;
    return { token, leaseUntil: now + leaseMs, slotAt: now, deliveries: [newest, ...rest], digest };
  }

  async function claimRun(plans: ClaimPlan[], now: number): Promise<Claim[]> {
    const planned = new Map(plans.map((plan) => [deps.newId(), plan]));
    if (!journal?.note([...planned.keys()])) return [];
    for (const { deliveries } of plans) deliveries.slice(0, 1).forEach(threads.hold);
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
        claims.push({
          token,
          leaseUntil: now + leaseMs,
          deliveries: [newest, ...rest],
          ofRun: { thread, isFilled: false },
        });
        planned.delete(token);
      }
    } finally {
      for (const [token, { deliveries }] of planned) {
        deliveries.slice(0, 1).forEach(threads.release);
        if (isAnswered) journal.forget(token);
        else doubt(token, deliveries);
      }
    }
    await fillRun(claims);
    return claims;
  }

  /** Whatever it has no room for, or could not be read together, is fetched when its turn comes. */
  async function fillRun(claims: Claim[]): Promise<void> {
    if (claims.length === 0) return;
    const filled = await deps.payloads.fillEach(claims.map(({ deliveries }) => deliveries)).catch(() => []);
    claims.forEach(({ ofRun }, index) => {
      if (ofRun) ofRun.isFilled = filled[index] ?? false;
    });
  }

  function offer(delivery: Offered): Offer | undefined {
    const token = deps.newId();
    if (!journal?.note([token])) return undefined;
    threads.hold(delivery);
    return { delivery, token, leaseMs, leaseUntil: clock.now() + leaseMs };
  }

  const isLate = ({ leaseUntil }: Offer) => clock.now() - (leaseUntil - leaseMs) >= withEndAfterMs;

  function withdraw({ delivery, token }: Offer, claim: "none" | "made" | "unknown"): void {
    threads.release(delivery);
    if (claim === "none") journal?.forget(token);
    else doubt(token, [delivery], claim === "made");
  }

  async function takeBack(): Promise<void> {
    for (const [token, one] of doubted) {
      const now = clock.now();
      const isOver = now >= one.until;
      if (!isOver && now < one.nextAt) continue;
      if (!isOver) await store.releaseClaim(token, one.dueAt, one.isHeld);
      one.nextAt = now + takeBackEachMs;
      if (!isOver && !one.isMade) continue;
      doubted.delete(token);
      journal?.forget(token);
    }
  }

  async function adopt(offers: ClaimedOffer[]): Promise<Claim[]> {
    const claims = offers.flatMap(
      ({ offer: { delivery, token, leaseUntil }, claimed: { deliveries, thread } }): Claim[] => {
        const [one] = deliveries;
        if (one === undefined) return [];
        const { dueAt, payload } = delivery;
        const isFilled = payload !== undefined;
        const newest: LoadedDelivery = Object.assign(one, { state: "queued" as const, dueAt, payload });
        return [{ token, leaseUntil, deliveries: [newest], ofRun: { thread, isFilled } }];
      },
    );
    await fillRun(claims.filter(({ ofRun }) => ofRun?.isFilled === false));
    return claims;
  }

  async function release({ token, deliveries }: Claim, dueAt: number): Promise<void> {
    try {
      await store.releaseClaim(token, dueAt, isAnyHeld(deliveries));
      journal?.strike(token);
    } catch (error) {
      doubt(token, deliveries, true);
      throw error;
    }
  }

  async function giveBack(claim: Claim): Promise<void> {
    try {
      await release(claim, placeOf(claim));
    } finally {
      threads.release(claim.deliveries[0]);
    }
  }

  async function begin({ token, deliveries, ofRun }: Claim): Promise<void> {
    if (!ofRun?.isFilled) await deps.payloads.fill(deliveries);
    journal?.strike(token);
  }

  function end({ deliveries: [newest], ofRun }: Claim): void {
    if (ofRun) threads.release(newest);
  }

  return { claim, claimRun, offer, adopt, isLate, withdraw, begin, end, giveBack, release, takeBack };
}

/** Where it was in the queue: one message stands at the first that it tells of. */
export const placeOf = ({ deliveries }: Claim): number => firstDueAt(deliveries);

/** As one that was held by quiet hours it is told with the others of that night again. */
export const isAnyHeld = (deliveries: readonly { state?: DeliveryState }[]): boolean =>
  deliveries.some(({ state }) => state === "held");

const firstDueAt = (deliveries: readonly Pick<DueDelivery, "dueAt">[]): number =>
  Math.min(...deliveries.map(({ dueAt }) => dueAt));

/** They are `sending` now, and due no more; what they were before says why they are late. */
function asPlanned(claimed: ClaimedDelivery[], plan: ClaimPlan): ClaimedDelivery[] {
  const planned = new Map<number, DueDelivery>(plan.deliveries.map((delivery) => [delivery.seq, delivery]));
  return claimed.map((delivery) => {
    const { state, dueAt } = planned.get(delivery.seq) ?? delivery;
    return { ...delivery, state, dueAt };
  });
}
