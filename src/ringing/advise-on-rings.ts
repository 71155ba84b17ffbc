import type { Ring, RingEvent, RingMemory, RingRule, Step } from "../core/ring.ts";
import { writeDuration } from "../ground/time/duration.ts";
import { directionOf } from "./distance.ts";
import type { RingJudgement } from "./judge-ring.ts";

type Judge = (known: RingMemory | undefined, event: RingEvent, rule: RingRule) => RingJudgement;

/** Tried for `again` and `rearm`. */
export const triedPercents = [1, 2, 3, 5, 10] as const;

export function triedOptions(percent: number) {
  return { again: { furtherBy: { percent } }, rearm: { backBy: { percent } } };
}

/** The options as in the configuration: `again: { furtherBy: 5% }, cooldown: 30m`. */
export function writeRinging({ again, rearm, cooldownMs, flapping }: Partial<RingRule>): string {
  const step = (one: Step) => ("percent" in one ? `${one.percent}%` : String(one.absolute));
  return [
    ...(again ? [`again: { furtherBy: ${step(again.furtherBy)} }`] : []),
    ...(rearm ? [`rearm: { backBy: ${step(rearm.backBy)} }`] : []),
    ...(cooldownMs === undefined ? [] : [`cooldown: ${writeDuration(cooldownMs)}`]),
    ...(flapping === undefined ? [] : [`flapping: ${flapping ? "on" : "off"}`]),
  ].join(", ");
}

/** Options with the fewest rings over the past rings and this firing, and the least percentage. Undefined: none helps. */
export function adviseOnRings(memory: RingMemory, event: RingEvent, judge: Judge): string | undefined {
  const next: Ring = { ...event, direction: directionOf(event), backTo: memory.hasEnded && memory.cameBackTo };
  const rings = [...memory.rings, next];
  if (rings.some(({ value }) => value === undefined)) return undefined;
  const tried = triedPercents.map((percent) => ({ percent, count: countRings(rings, triedOptions(percent), judge) }));
  const best = tried.reduce((one, other) => (other.count < one.count ? other : one));
  const rang = memory.rings.length;
  if (best.count >= rang) return undefined;
  const times = best.count === 1 ? "once" : `${best.count} times`;
  return `With ${writeRinging(triedOptions(best.percent))} it would have rung ${times}, not ${rang} times`;
}

function countRings(rings: readonly Ring[], options: ReturnType<typeof triedOptions>, judge: Judge): number {
  const rule: RingRule = { ...options, flapping: false };
  let memory: RingMemory | undefined;
  let count = 0;
  for (const { direction, backTo, ...firing } of rings) {
    if (backTo !== undefined) memory = judge(memory, { ...firing, status: "resolved", value: backTo }, rule).memory;
    // A previous value at infinity keeps the direction of the firing.
    const previousValue = direction && (direction === "up" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
    const judged = judge(memory, { ...firing, status: "firing", previousValue }, rule);
    memory = judged.memory;
    if (judged.asNew) count += 1;
  }
  return count;
}
