import type { GroupEvent, GroupMemory, GroupRule } from "../core/group.ts";
import { RecentMap } from "../ground/recent-map.ts";
import { type Gathered, judgeGroups } from "./judge-group.ts";

/** Memories that are kept. The least recently used go first. */
const mostNames = 20_000;

/** Judges alerts in their order as the store does, with a memory of its own. */
export function createGroupBook() {
  const memories = new RecentMap<string, GroupMemory>(mostNames);
  // Names of destinations contain no line break.
  const keyOf = (destination: string, name: string) => `${destination}\n${name}`;
  return {
    judge(destination: string, event: GroupEvent, rule: GroupRule, isSent: boolean): Gathered {
      const judged = judgeGroups((name) => memories.get(keyOf(destination, name)), event, rule, isSent);
      for (const [name, memory] of judged.memories) memories.set(keyOf(destination, name), memory);
      return judged;
    },
  };
}
