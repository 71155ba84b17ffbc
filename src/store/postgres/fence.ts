import type { LaneFence } from "../../core/ports/lanes.ts";
import type { Sql } from "./database.ts";

/**
 * For statements that write for a lane: a part of their WITH, whose first two parameters are the group and the fence. Whoever
 * acquires the group takes its row FOR UPDATE, and so waits until what was written under the old fence is committed; what
 * comes later finds another fence there. To renew a lease disturbs neither.
 */
export const heldLane = "held AS MATERIALIZED (SELECT FROM lanes WHERE lane_group = $1 AND fence = $2 FOR KEY SHARE)";

/** The condition of every write in such a statement. */
export const underFence = "EXISTS (SELECT FROM held)";

/**
 * The same for several lanes in one statement: which fences of them are held. `free`: only of those whose rows nobody is
 * about to take, so that one lane that changes hands keeps no other waiting.
 */
export const heldLanes = (which: "all" | "free") => `
  held AS MATERIALIZED (
    SELECT lanes.fence FROM lanes JOIN unnest($1::text[], $2::bigint[]) AS asked (lane_group, fence) USING (lane_group, fence)
    ORDER BY lanes.lane_group FOR KEY SHARE OF lanes${which === "free" ? " SKIP LOCKED" : ""})`;

/** Its parameters. */
export function toHeldLanes(lanes: readonly LaneFence[]): [groups: string[], fences: number[]] {
  const each = [...new Map(lanes.map((lane) => [lane.fence, lane])).values()];
  return [each.map(({ group }) => group), each.map(({ fence }) => fence)];
}

export async function isHeld(tx: Sql, { group, fence }: LaneFence): Promise<boolean> {
  const { rowCount } = await tx.query(
    "SELECT FROM lanes WHERE lane_group = $1 AND fence = $2 FOR KEY SHARE",
    [group, fence],
    "is_held",
  );
  return rowCount > 0;
}
