import type { DestinationStatus, PaceRecord, StatusKey } from "../destination-status.ts";

/**
 * Who runs the deliveries of a lane group. A lane group is what shares memory at a vendor: all chats of one bot, all
 * mailboxes of one SMTP account, each webhook alone. Its pace, its health and the addresses that moved are right in one
 * process only, so one relay at a time holds the group, by a lease.
 *
 *     free ──acquire──▶ held ──renew──▶ held ──release──▶ free
 *                        │──the lease ends and another relay acquires it──▶ lost
 *
 * The fence says which acquisition a write belongs to. It grows at each, over all groups, and every statement that
 * writes for a lane is guarded by it: a relay that has lost a group changes nothing more, however late it learns of it. Not
 * guarded are attempts, which are facts, and fallbacks whose time has come, which a flag of the delivery makes once. A
 * call that is under way is not stopped by a fence: the next holder finds its claim and takes it for ambiguous.
 */
export interface Lanes {
  /**
   * Takes every group that no other relay holds, and gives its memory with it. A driver for one relay grants all, since
   * nobody else can hold any. A claim under an older fence is abandoned by definition.
   * @param leaseMs from now by the clock of the driver, until `renewLanes`; 0: the next relay that asks is granted it
   * @param most how many to grant at most. Default: all
   * @returns the groups that were granted, in the order asked
   */
  acquireLanes(owner: string, groups: LaneRequest[], leaseMs: number, most?: number): Promise<LaneGrant[]>;
  /** Extends the leases. Returns the groups that are held still; the others are lost. */
  renewLanes(lanes: LaneFence[], leaseMs: number): Promise<string[]>;
  /** Frees the groups for the next relay at once; those that are lost already stay as they are. */
  releaseLanes(lanes: LaneFence[]): Promise<void>;
}

/** What a write for a lane is made under. */
export interface LaneFence {
  group: string;
  fence: number;
}

export interface LaneRequest {
  group: string;
  /** What its memory consists of: nothing is known of keys that were never saved. */
  statuses: StatusKey[];
  paces: string[];
}

export interface LaneGrant extends LaneFence {
  memory: LaneMemory;
}

/** What has to outlive the process: when its addresses were called last, and how they are. */
export interface LaneMemory {
  paces: PaceRecord[];
  statuses: DestinationStatus[];
}
