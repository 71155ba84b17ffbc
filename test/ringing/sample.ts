import type { RingEvent, RingMemory, RingRule } from "../../src/core/ring.ts";
import { judgeRing, type RingJudgement } from "../../src/ringing/judge-ring.ts";

export const minute = 60_000;
export const hour = 60 * minute;
/** Saturday, 21 November 2026, noon UTC. */
export const noon = Date.UTC(2026, 10, 21, 12);

/** A value that fires below 100, at so many minutes after noon. */
export type Step = { at: number } & Partial<Omit<RingEvent, "at" | "id">>;

export function eventOf({ at, ...step }: Step, id = "alert 1"): RingEvent {
  return { id, severity: "warning", status: "firing", threshold: 100, ...step, at: noon + at * minute };
}

export function eventsOf(steps: readonly Step[]): RingEvent[] {
  return steps.map((step, index) => eventOf(step, `alert ${index + 1}`));
}

/** Judges each in its turn. */
export function judgeAll(events: readonly RingEvent[], rule: Partial<RingRule> = {}): RingJudgement[] {
  let memory: RingMemory | undefined;
  return events.map((event) => {
    const judged = judgeRing(memory, event, { flapping: true, ...rule });
    // As the store keeps it.
    memory = JSON.parse(JSON.stringify(judged.memory)) as RingMemory;
    return judged;
  });
}

/** The judgement of the last step. */
export function judgeLast(steps: readonly Step[], rule: Partial<RingRule> = {}): RingJudgement {
  return judgeAll(eventsOf(steps), rule).at(-1) as RingJudgement;
}
