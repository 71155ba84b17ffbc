/** Milliseconds from now, for seconds or an HTTP date (RFC 9110, 10.2.3). A past date is 0. There is no upper limit. */
export function parseRetryAfter(value: string | null | undefined, nowMs: number): number | undefined {
  if (value === undefined || value === null) return undefined;
  const text = value.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1_000);
  // `Date.parse` accepts nearly anything ("-5" is a year). An HTTP date begins with a day's name.
  const at = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
