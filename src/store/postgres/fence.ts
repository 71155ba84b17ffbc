/**
 * For statements that write for a lane: a part of their WITH, whose first two parameters are the group and the fence. Whoever
 * acquires the group takes its row FOR UPDATE, and so waits until what was written under the old fence is committed; what
 * comes later finds another fence there. To renew a lease disturbs neither.
 */
export const heldLane = "held AS MATERIALIZED (SELECT FROM lanes WHERE lane_group = $1 AND fence = $2 FOR KEY SHARE)";

/** The condition of every write in such a statement. */
export const underFence = "EXISTS (SELECT FROM held)";
