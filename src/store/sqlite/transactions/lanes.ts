import type { LaneFence } from "../../../core/ports/lanes.ts";
import type { TransactionContext } from "./context.ts";

/** The condition of every statement that writes for a lane; its parameters are the group and the fence. */
export const underFence = "(SELECT fence FROM lanes WHERE lane_group = ?) = ?";

export type IsHeld = (lane: LaneFence) => boolean;

export function createIsHeld({ db }: Pick<TransactionContext, "db">): IsHeld {
  const held = db.prepare(`SELECT 1 WHERE ${underFence}`);
  return ({ group, fence }) => held.get(group, fence) !== undefined;
}
