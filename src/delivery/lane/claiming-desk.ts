import type { LaneFence } from "../../core/ports/lanes.ts";
import type { RecordedAlert, RoutingDesk, RoutingRecord } from "../../core/ports/routing-desk.ts";
import type { Offer } from "./claims.ts";
import type { Lane } from "./lane.ts";

/** A destination's lane, with what a claim for it is made under; undefined while this relay does not run it. */
export type FindLane = (destination: string) => { lane: Pick<Lane, "offer" | "settle">; fence: LaneFence } | undefined;

type Offering = { lane: Pick<Lane, "offer" | "settle">; fence: LaneFence; offer: Offer };

/**
 * Routing's way to the store past the lanes: each is asked for every delivery that is made there, and what it offers is
 * claimed in the same commit. What is not claimed is found as any other delivery.
 */
export function createClaimingDesk(
  store: Pick<RoutingDesk, "recordRouting">,
  findLane: FindLane,
): RoutingDesk["recordRouting"] {
  function offersFor({ deliveries, purpose, facts: { alertKey, status } }: RoutingRecord): (Offering | undefined)[] {
    return deliveries.map(({ destination, recipient, state, dueAt }) => {
      const found = state === "queued" ? findLane(destination) : undefined;
      const isOffered = found !== undefined && purpose === "alert";
      const offer = isOffered ? found.lane.offer({ destination, recipient, alertKey, status, dueAt }) : undefined;
      return found && offer && { ...found, offer };
    });
  }

  function settle(offerings: (Offering | undefined)[][], recorded: RecordedAlert[], records: RoutingRecord[]): void {
    const made = new Map(recorded.map(({ alertSeq, deliveries }) => [alertSeq, deliveries]));
    const byLane = new Map<Offering["lane"], Parameters<Lane["settle"]>[0]>();
    offerings.forEach((ofRecord, index) => {
      const deliveries = made.get(records[index]?.alertSeq ?? -1);
      ofRecord.forEach((offering, place) => {
        if (!offering) return;
        const settled = byLane.get(offering.lane) ?? [];
        settled.push({ offer: offering.offer, claimed: deliveries?.[place]?.claimed });
        byLane.set(offering.lane, settled);
      });
    });
    for (const [lane, settled] of byLane) lane.settle(settled);
  }

  return async (records) => {
    const offerings = records.map(offersFor);
    const withClaims = records.map((record, index) => {
      const claims = offerings[index]?.map(
        (offering) =>
          offering && { lane: offering.fence, token: offering.offer.token, leaseMs: offering.offer.leaseMs },
      );
      return claims?.some(Boolean) ? { ...record, claims } : record;
    });
    let recorded: RecordedAlert[] = [];
    try {
      recorded = await store.recordRouting(withClaims);
      return recorded;
    } finally {
      settle(offerings, recorded, records);
    }
  };
}
