import type { DestinationStatus, PaceRecord, StatusKey } from "../destination-status.ts";

/**
 * Which relay delivers for a lane group: destinations that share memory at a vendor, such as all chats of one bot, all
 * mailboxes of one SMTP account, or one webhook. Pace, health and moved addresses are right in one process only. One
 * relay at a time therefore holds the group, by a lease.
 *
 *     free ──acquire──▶ held ──renew──▶ held ──release──▶ free
 *                        │──the lease ends and another relay acquires it──▶ lost
 *
 * Each acquisition gets a fence, larger than all before it. Each statement that writes for a lane checks its fence. A
 * relay that has lost a group thus changes nothing more, however late it notices. Two writes need no fence: an attempt
 * is a fact, and a flag of the delivery lets its fallback be made once. A fence does not stop a running call: the next
 * holder finds its claim and takes it for ambiguous.
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
