import type { Now } from "../../core/clock.ts";

/** Section 7: "rate limit exceeded for this route and API key"; quota and window are not shown, so a minute and an option. */
export interface RateLimit {
  /** Counts the request; the milliseconds to wait when it is one too many, else undefined. */
  take(route: string, keyHash: string): number | undefined;
}

const windowMs = 60_000;

export function createRateLimit(now: Now, options: { requestsPerMinute: number }): RateLimit {
  const counts = new Map<string, { windowAt: number; count: number }>();
  return {
    take(route, keyHash) {
      const at = now();
      const windowAt = Math.floor(at / windowMs) * windowMs;
      const name = `${route} ${keyHash}`;
      const current = counts.get(name);
      // Only known keys are counted, so the map stays as small as routes times keys.
      const entry = current?.windowAt === windowAt ? current : { windowAt, count: 0 };
      counts.set(name, entry);
      if (entry.count >= options.requestsPerMinute) return windowAt + windowMs - at;
      entry.count += 1;
      return undefined;
    },
  };
}
