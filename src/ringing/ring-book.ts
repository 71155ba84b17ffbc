import type { RingEvent, RingMemory, RingRule } from "../core/ring.ts";
import { RecentMap } from "../ground/recent-map.ts";
import { judgeRing, type RingJudgement } from "./judge-ring.ts";

/** Beyond this the keys that were silent longest are forgotten, and ring as new ones. */
const mostKeys = 20_000;

/** Judges alerts in their order as the store does, with a memory of its own. */
export function createRingBook() {
  const memories = new RecentMap<string, RingMemory>(mostKeys);
  return {
    judge(place: { destination: string; alertKey: string }, event: RingEvent, rule: RingRule): RingJudgement {
      // Names of destinations contain no line break.
      const key = `${place.destination}\n${place.alertKey}`;
      const judged = judgeRing(memories.get(key), event, rule);
      memories.set(key, judged.memory);
      return judged;
    },
  };
}
