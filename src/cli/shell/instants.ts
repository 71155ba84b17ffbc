import { relativeTime } from "../../ground/time/ages.ts";
import { isInstant } from "../../ground/time/time-format.ts";

/** `2026-11-21T12:00:00Z (3 min ago)` */
export function withAge(at: number, now: number): string {
  return isInstant(at) ? `${toSeconds(at)} (${relativeTime(at, now)})` : "an unknown time";
}

/** ISO 8601 in UTC without the milliseconds, which are of no use to people. */
export function toSeconds(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}
