import type { RingEvent, RingMemory, RingRule } from "../core/ring.ts";
import { windowMs } from "./dampers.ts";
import { judgeRing, type RingJudgement } from "./judge-ring.ts";

/** The longest silent go first: they ring as if they were new. */
const mostKeys = 20_000;
const lookEveryMs = windowMs / 10;

/** Judges alerts in their order as the store does, with a memory of its own that forgets keys after six hours without an alert. */
export interface RingBook {
  judge(place: { destination: string; alertKey: string }, event: RingEvent, rule: RingRule): RingJudgement;
}

export function createRingBook(): RingBook {
  /** Those with the latest alert last. */
  const memories = new Map<string, RingMemory>();

  let lookAt = Number.NEGATIVE_INFINITY;

  function forgetOld(at: number): void {
    if (at < lookAt && memories.size <= mostKeys) return;
    lookAt = at + lookEveryMs;
    for (const [key, { latest }] of memories) {
      if (latest.at > at - windowMs && memories.size <= mostKeys) return;
      memories.delete(key);
    }
  }

  return {
    judge({ destination, alertKey }, event, rule) {
      // No name of a destination has a line break.
      const key = `${destination}\n${alertKey}`;
      const judged = judgeRing(memories.get(key), event, rule);
      memories.delete(key);
      memories.set(key, judged.memory);
      forgetOld(event.at);
      return judged;
    },
  };
}
