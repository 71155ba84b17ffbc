import type { LaneFence, Lanes } from "../../src/core/ports/lanes.ts";

/** Holds a lane group until somebody else takes it, for tests that claim and record by themselves. */
export async function takeLane(store: Lanes, group = "lane of a test"): Promise<LaneFence> {
  const [grant] = await store.acquireLanes("a test", [{ group, statuses: [], paces: [] }], 0);
  if (!grant) throw new Error(`the lane group ${group} was not granted`);
  return { group, fence: grant.fence };
}
