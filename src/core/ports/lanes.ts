import type { Now } from "../clock.ts";
import type { DestinationStatus, PaceRecord, StatusKey } from "../destination-status.ts";

/**
 * How relays on one store keep out of each other's way:
 *
 * - Each relay says every few seconds that it runs, and hears who else does. Those with the newest configuration hold an
 *   even share of the lane groups each, the others none (`delivery/membership.ts`).
 * - Only the holder of a group claims and calls there. `delivery/lane-keeper.ts` takes, renews, hands over and loses
 *   groups, `store/transactions/lanes.ts` has the statements.
 * - Work that is done once for all relays (watches and their notices) is a group as well: `dutiesGroup`.
 * - The relay that accepted an alert judges it. After ten seconds another one may (`store/postgres/routing.ts`).
 *
 * A lane group: destinations that share memory at a vendor, such as all chats of one bot, all mailboxes of one SMTP
 * account, or one webhook. Pace, health and moved addresses are right in one process only. One relay at a time therefore
 * holds the group, by a lease.
 *
 *     free ──acquire──▶ held ──renew──▶ held ──release──▶ free
 *                        │──the lease ends and another relay acquires it──▶ lost
 *
 * Each acquisition gets a fence, larger than all before it. Each statement that writes for a lane checks its fence. A
 * relay that has lost a group thus changes nothing more, however late it notices. Two writes need no fence: an attempt
 * is a fact, and a flag of the delivery lets its fallback be made once. A fence does not stop a call: each call asks its
 * `Lease` as it leaves. The next holder finds the claim of a running call and takes it for ambiguous.
 */
export interface Lanes {
  /**
   * Acquires every group that no other relay holds, with its memory. A driver for one relay grants all. A claim under
   * an older fence counts as abandoned.
   * @param leaseMs from now by the driver's clock. 0: the next relay that asks gets the group
   * @param most how many groups to grant. Default: all
   * @returns the granted groups, in the order asked
   */
  acquireLanes(owner: string, groups: LaneRequest[], leaseMs: number, most?: number): Promise<LaneGrant[]>;
  /** Returns the groups that are still held. The others are lost. */
  renewLanes(lanes: LaneFence[], leaseMs: number): Promise<string[]>;
  /** Frees the groups at once. Leaves lost groups unchanged. */
  releaseLanes(lanes: LaneFence[]): Promise<void>;
}

/** The group of the work that one relay does for all on a database, such as notices. */
export const dutiesGroup = "duties";

export interface LaneFence {
  group: string;
  fence: number;
}

export interface LaneRequest {
  group: string;
  /** The keys of the memory that the lane has. */
  statuses: StatusKey[];
  paces: string[];
}

export interface LaneGrant extends LaneFence {
  memory: LaneMemory;
}

/** What must outlive the process: recent calls of the lane's addresses, and their health. */
export interface LaneMemory {
  paces: PaceRecord[];
  statuses: DestinationStatus[];
}

/** How long this process surely holds a lane, without asking the store. */
export interface Lease {
  /** True: another relay may hold the lane, and no call may leave. */
  isOver(): boolean;
  /** 0 when the lease is over, `Infinity` where no other relay can take the lane. */
  leftMs(): number;
}

/** For a store with a single relay. */
export const endless: Lease = { isOver: () => false, leftMs: () => Number.POSITIVE_INFINITY };

/**
 * A lease counts from the question, since the time of the grant is unknown. The faster of two clocks counts: the machine's clock
 * may be set back, `elapsed` may stop while the machine sleeps.
 */
export function startLease(
  leaseMs: number,
  { now, elapsed = () => performance.now() }: { now: Now; elapsed?: () => number },
): Lease {
  const [startedAt, startedElapsed] = [now(), elapsed()];
  const leftMs = () => Math.max(0, leaseMs - Math.max(now() - startedAt, elapsed() - startedElapsed));
  return { leftMs, isOver: () => leftMs() === 0 };
}
