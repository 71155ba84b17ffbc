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

export type Fences = ReturnType<typeof createFences>;

/** Looks at lanes. One that is held cannot be lost before the transaction has ended. */
export function createFences(sql: Dialect) {
  const find = sql.statement(
    "is_held",
    { group: "text", fence: "int8" },
    `SELECT fence FROM lanes WHERE lane_group = :group AND fence = :fence ${sql.forKeyShare}`,
  );
  return {
    isHeld: async (tx: Tx, lane: LaneFence): Promise<boolean> => (await tx.run(find, lane)).length > 0,
    async listHeldLanes(tx: Tx, lanes: readonly LaneFence[]): Promise<LaneFence[]> {
      const held = await tx.look(find, lanes);
      return lanes.filter((_, index) => held[index]?.length === 1);
    },
  };
}
