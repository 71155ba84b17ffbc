import type { Acceptance, ArrivalInbox, Inbox } from "../../core/ports/inbox.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import type { RecordedAlert, RoutingDesk, RoutingDraft } from "../../core/ports/routing-desk.ts";
import type { Offer, Offered } from "./claims.ts";
import type { Lane } from "./lane.ts";

/** A destination's lane and its fence. Undefined while this relay does not run the lane. */
export type FindLane = (destination: string) => { lane: Pick<Lane, "offer" | "settle">; fence: LaneFence } | undefined;

/** An offer for one delivery of an alert. `alert`: its place among the drafts. `place`: the delivery's place in its draft. */
type Offering = { alert: number; place: number; lane: Pick<Lane, "offer" | "settle">; fence: LaneFence; offer: Offer };

type KnownOfAlert = Pick<Offered, "isStored" | "payload">;

/** Records and accepts as the store does. An idle lane claims its deliveries in the same commit, and calls at once. */
export type ClaimingDesk = Pick<RoutingDesk, "recordRouting"> & ArrivalInbox;

/** Asks the lanes for offers, and passes these to the commit that makes the deliveries. Others come with the next listing. */
export function createClaimingDesk(
  store: Pick<RoutingDesk, "recordRouting"> & Inbox,
  findLane: FindLane,
): ClaimingDesk {
  function offersFor(
    alert: number,
    { deliveries, purpose, facts: { alertKey, status } }: RoutingDraft,
    { isStored, payload }: KnownOfAlert,
  ): Offering[] {
    if (purpose !== "alert") return [];
    return deliveries.flatMap(({ destination, recipient, state, dueAt }, place) => {
      const found = state === "queued" ? findLane(destination) : undefined;
      const offer = found?.lane.offer({ destination, recipient, alertKey, status, dueAt, isStored, payload });
      return found && offer ? [{ alert, place, ...found, offer }] : [];
    });
  }

  /** @param recordedAt absent: the store has given no answer */
  function settle(offerings: Offering[], recordedAt?: (alert: number) => RecordedAlert | undefined): void {
    const byLane = new Map<Offering["lane"], Parameters<Lane["settle"]>[0]>();
    for (const { alert, place, lane, offer } of offerings) {
      const settled = byLane.get(lane) ?? [];
      const claimed = recordedAt?.(alert)?.deliveries[place]?.claimed;
      settled.push({ offer, claimed, isDoubted: recordedAt === undefined });
      byLane.set(lane, settled);
    }
    for (const [lane, settled] of byLane) lane.settle(settled);
  }

  /** @param record gets the drafts with their claims */
  async function withClaims<Draft extends RoutingDraft, Result>(
    drafts: readonly Draft[],
    knownOf: (alert: number) => KnownOfAlert,
    record: (drafts: Draft[]) => Promise<Result>,
    recordedIn: (result: Result) => (alert: number) => RecordedAlert | undefined,
  ): Promise<Result> {
    const offerings: Offering[] = [];
    const claiming = drafts.map((draft, alert) => {
      const offered = offersFor(alert, draft, knownOf(alert));
      if (offered.length === 0) return draft;
      offerings.push(...offered);
      const claims: RoutingDraft["claims"] = draft.deliveries.map(() => null);
      for (const { place, fence, offer } of offered)
        claims[place] = { lane: fence, token: offer.token, leaseMs: offer.leaseMs };
      return { ...draft, claims };
    });
    let recordedAt: ReturnType<typeof recordedIn> | undefined;
    try {
      const result = await record(claiming);
      recordedAt = recordedIn(result);
      return result;
    } finally {
      settle(offerings, recordedAt);
    }
  }

  return {
    recordRouting: (records) =>
      withClaims(
        records,
        () => ({ isStored: true }),
        store.recordRouting,
        (recorded) => {
          const bySeq = new Map(recorded.map((one) => [one.alertSeq, one]));
          return (alert) => bySeq.get(records[alert]?.alertSeq ?? -1);
        },
      ),
    acceptRequest: (request, drafts, payloads) =>
      drafts === undefined
        ? store.acceptRequest(request)
        : withClaims(
            drafts,
            (alert) => ({ isStored: false, payload: payloads?.[alert] }),
            (claiming) => store.acceptRequest(request, claiming),
            (acceptance) => (alert) => recordedOf(acceptance)?.[alert],
          ),
  };
}

const recordedOf = (acceptance: Acceptance) => (acceptance.kind === "accepted" ? acceptance.recorded : undefined);
