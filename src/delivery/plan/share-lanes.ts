import type { RelayView } from "../../core/ports/relays.ts";

export interface LaneShare {
  /** How many of the groups to hold at most. */
  most: number;
  /** How many of those that are held to hand over, because another relay has too few. */
  handOver: number;
}

/**
 * An even share of the lane groups: each relay holds as many as the others, or one more. One that holds more than that
 * hands over no more than the others lack, so that lanes do not go round in circles.
 *
 * @param groups of this relay's configuration
 * @param held those of them that it holds
 * @param others the other relays that run, with the same configuration
 */
export function shareLanes(
  groups: readonly string[],
  held: number,
  others: readonly Pick<RelayView, "lanes">[],
): LaneShare {
  const fewest = Math.floor(groups.length / (others.length + 1));
  const evenly = Math.ceil(groups.length / (others.length + 1));
  const known = new Set(groups);
  const theirs = others.map(({ lanes }) => lanes.filter((group) => known.has(group)).length);
  const lacking = theirs.reduce((sum, count) => sum + Math.max(0, fewest - count), 0);
  const unheld = Math.max(0, groups.length - held - theirs.reduce((sum, count) => sum + count, 0));
  const forOthers = Math.min(held - fewest, lacking - unheld);
  // While one lacks some, nobody else takes more than that, or the one could not get what was handed over for it.
  return { most: lacking > 0 ? fewest : evenly, handOver: Math.max(0, forOthers, held - evenly) };
}
