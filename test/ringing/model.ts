import { severities } from "../../src/core/alert.ts";
import type { RingEvent, RingRule, Step } from "../../src/core/ring.ts";
import { hour, minute } from "./sample.ts";

type Told = "news" | "ring" | "edit" | "end" | "held" | "muted";

/** The rule once more, by another way: for each event all is counted again from the whole list of events and what was told of them. */
export function tellAll(all: readonly RingEvent[], rule: RingRule): Told[] {
  const told: Told[] = [];
  const rank = ({ severity }: RingEvent) => -severities.indexOf(severity);
  const side = ({ value, threshold }: RingEvent) => Math.sign((value ?? Number.NaN) - (threshold ?? Number.NaN)) || 0;
  const isFiring = ({ status }: RingEvent) => status !== "resolved";
  const counts = (one: RingEvent) => isFiring(one) && !one.isMuted;
  const enough = (far: number, step: Step, of: number) =>
    far > 0 && far * (1 + 1e-12) >= ("absolute" in step ? step.absolute : (Math.abs(of) / 100) * step.percent);
  const worst = (values: number[], on: number) => (on < 0 ? Math.min(...values) : Math.max(...values));

  for (const [now, event] of all.entries()) {
    const begin = all.findLastIndex(
      (one, at) => at <= now && one.at - (all[at - 1]?.at ?? Number.NEGATIVE_INFINITY) >= 6 * hour,
    );
    const past = all.map((one, at) => ({ ...one, told: told[at], index: at })).slice(begin, now);
    const rang = past.filter((one) => one.told === "ring" || one.told === "news");
    const last = rang.at(-1);
    const tell = (): Told => {
      if (event.isMuted) return "muted";
      const hasEnded = past.some((one) => !isFiring(one) && one.index > (last?.index ?? now));
      if (!isFiring(event)) return past.at(-1)?.told === "held" && hasEnded ? "held" : "end";
      if (last === undefined) return "ring";
      const recent = rang.filter((one) => one.at > event.at - 6 * hour);
      const since = past.filter((one) => one.index > last.index);
      const on = side(event);
      const known = (recent.length > 0 ? recent : [last])
        .filter((one) => side(one) * on >= 0)
        .map(({ value }) => value as number);
      const value = event.value as number;
      const far = (value - worst(known, on)) * on;
      const isFar = () => Math.abs(value - 100) >= 1 && Math.abs(value - 100) >= 2 * Math.abs(worst(known, on) - 100);
      const bound = rule.again?.furtherBy ?? { percent: 5 };
      if (known.length === 0 || enough(far, bound, worst(known, on)) || (!rule.again && far > 0 && isFar()))
        return "news";
      if (recent.length > 0 && recent.every((one) => rank(event) > rank(one))) return "news";
      const isFree = rank(event) > rank(last) || side(last) * on < 0;
      const from = last.value as number;
      if (!isFree && rule.again && !hasEnded && !enough((value - from) * on, rule.again.furtherBy, from)) return "held";
      const backs = since.flatMap((one) => (isFiring(one) ? [one.value as number] : [one.value as number, 100]));
      const back = [...backs, value].map((one) => (from - one) * side(last));
      if (!isFree && rule.rearm && hasEnded && !enough(Math.max(...back), rule.rearm.backBy, from)) return "held";
      if (!isFree && rule.cooldownMs && event.at - last.at < rule.cooldownMs) return "held";
      if (!isFree && rule.flapping && isFlapping([...past.filter(counts), event].map(({ at }) => at))) return "held";
      const counted = recent.filter((one) => rank(one) >= rank(event) && one.told === "ring");
      if (rule.flapping && counted.length >= 4) return "held";
      return !isFree && !hasEnded && event.at - last.at < (rule.editsForMs ?? 0) ? "edit" : "ring";
    };
    told.push(tell());
  }
  return told;
}

/** Six firings within fifteen minutes, and no fifteen minutes without one since. */
function isFlapping(times: number[]): boolean {
  const calmAt = times.findLastIndex((at, index) => at - (times[index - 1] ?? Number.NEGATIVE_INFINITY) >= 15 * minute);
  return times.some((at, index) => index >= calmAt && index >= 5 && at - (times[index - 5] as number) < 15 * minute);
}
