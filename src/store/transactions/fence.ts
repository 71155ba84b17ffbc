import type { LaneFence } from "../../core/ports/lanes.ts";
import type { Dialect, Tx } from "../tx.ts";

/**
 * The condition of a statement that writes for a lane. A relay that acquires the group takes its row FOR UPDATE, and so waits until
 * what was written under the old fence is committed; what comes later finds another fence there. To renew a lease disturbs neither.
 */
export const underFence = ({ forKeyShare }: Dialect) => ({
  given: { group: "text", fence: "int8" } as const,
  text: `EXISTS (SELECT 1 FROM lanes WHERE lane_group = :group AND fence = :fence ${forKeyShare})`,
});

export type IsHeld = (tx: Tx, lane: LaneFence) => Promise<boolean>;

export function createIsHeld(sql: Dialect): IsHeld {
  const find = sql.statement(
    "is_held",
    { group: "text", fence: "int8" },
    `SELECT fence FROM lanes WHERE lane_group = :group AND fence = :fence ${sql.forKeyShare}`,
  );
  return async (tx, { group, fence }) => (await tx.run(find, { group, fence })).length > 0;
}
