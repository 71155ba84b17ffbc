import type { DestinationStatus, PaceRecord, StatusKey } from "../destination-status.ts";

/**
 * Which relay runs the deliveries of a lane group. A lane group shares memory at a vendor: all chats of one bot, all mailboxes
 * of one SMTP account, each webhook alone. Its pace, its health and its moved addresses are right in one process only, so one
 * relay at a time holds the group, by a lease.
 *
 *     free ──acquire──▶ held ──renew──▶ held ──release──▶ free
 *                        │──the lease ends and another relay acquires it──▶ lost
 *
 * The fence identifies the acquisition that a write belongs to. It grows with each, over all groups, and guards every statement
 * that writes for a lane. A relay that has lost a group thus changes nothing more, however late it notices. Attempts are not
 * guarded, as they are facts. Fallbacks that are due are not guarded either, as a flag of the delivery makes them once. A fence
 * does not stop a running call: the next holder finds its claim and takes it for ambiguous.
 */
export interface Lanes {
  /**
   * Acquires every group that no other relay holds, with its memory. A driver for one relay grants all, since nobody else can
   * hold any. A claim under an older fence counts as abandoned.
   * @param leaseMs from now by the clock of the driver, until `renewLanes`; 0: the next relay that asks is granted it
   * @param most how many to grant at most. Default: all
   * @returns the granted groups, in the order asked
   */
  acquireLanes(owner: string, groups: LaneRequest[], leaseMs: number, most?: number): Promise<LaneGrant[]>;
  /** Extends the leases. Returns the groups that are still held. The others are lost. */
  renewLanes(lanes: LaneFence[], leaseMs: number): Promise<string[]>;
  /** Frees the groups for the next relay at once. Lost groups stay unchanged. */
  releaseLanes(lanes: LaneFence[]): Promise<void>;
}

/** The lane group of the work that is done once for all relays on a database, such as notices. */
export const dutiesGroup = "duties";

/** The acquisition under which a write for a lane is made. */
export interface LaneFence {
  group: string;
  fence: number;
}

export interface LaneRequest {
  group: string;
  /** The keys of the lane's memory. Keys that were never saved have no memory. */
  statuses: StatusKey[];
  paces: string[];
}

export interface LaneGrant extends LaneFence {
  memory: LaneMemory;
}

/** State that must outlive the process: recent calls of the lane's addresses, and their health. */
export interface LaneMemory {
  paces: PaceRecord[];
  statuses: DestinationStatus[];
}
