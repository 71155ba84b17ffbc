/** `3 min ago`, `in 2 h`, `just now`. Past times count whole units, future times are rounded. */
export function relativeTime(at: number, now: number): string {
  const seconds = Math.round(Math.abs(now - at) / 1000);
  if (seconds < 5) return "just now";
  if (at <= now) return `${lengthOf(seconds * 1000)} ago`;
  const unit = unitOf(seconds);
  return `in ${lengthOf(Math.round(seconds / unit) * unit * 1000)}`;
}

/** Seconds of the unit for a duration, after rounding to it. */
function unitOf(seconds: number): number {
  if (seconds < 60) return 1;
  if (seconds < 59.5 * 60) return 60;
  return seconds < 47.5 * 3600 ? 3600 : 86_400;
}

/** `350 ms`, `4.2 s`, `12 min`, `5 h`, `3 d`. */
export function lengthOf(durationMs: number): string {
  if (durationMs < 1000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 10_000 && durationMs % 1000 !== 0) return `${(durationMs / 1000).toFixed(1)} s`;
  const seconds = durationMs / 1000;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
