import { isInstant } from "../../ground/time/time-format.ts";

export { countOf } from "../../ground/text/count-of.ts";

const units = [
  { ms: 86_400_000, name: "d" },
  { ms: 3_600_000, name: "h" },
  { ms: 60_000, name: "min" },
  { ms: 1_000, name: "s" },
] as const;

/** How far away an instant is, short enough for a table: `42 s ago`, `3 h ago`, `in 5 min`, `just now`. */
export function describeAge(at: number, now: number): string {
  const distanceMs = Math.abs(now - at);
  // Below two of a unit the smaller one says more: 90 min rather than 1 h.
  const unit = units.find(({ ms }) => distanceMs >= 2 * ms) ?? { ms: 1_000, name: "s" };
  const count = Math.floor(distanceMs / unit.ms);
  if (count === 0) return "just now";
  return at > now ? `in ${count} ${unit.name}` : `${count} ${unit.name} ago`;
}

/** `2026-11-21T12:00:00Z (3 min ago)` */
export function withAge(at: number, now: number): string {
  return isInstant(at) ? `${toSeconds(at)} (${describeAge(at, now)})` : "an unknown time";
}

/** ISO 8601 in UTC without the milliseconds, which say nothing to people. */
export function toSeconds(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}

/** `0.4 s`, `12 s`, `3 min 5 s`: how long something took. */
export function describeSpan(ms: number): string {
  if (ms < 10_000) return `${(Math.max(0, ms) / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const rest = seconds % 60;
  return `${Math.floor(seconds / 60)} min${rest === 0 ? "" : ` ${rest} s`}`;
}
