import type { Now } from "../core/clock.ts";

/** How long this process surely holds a lane, without asking the store. */
export interface Lease {
  /** True: another relay may hold the lane, and no call may leave. */
  isOver(): boolean;
  /** 0 when the lease is over, `Infinity` where no other relay can take the lane. Milliseconds. */
  leftMs(): number;
}

/** For a store with a single relay. */
export const endless: Lease = { isOver: () => false, leftMs: () => Number.POSITIVE_INFINITY };

export interface LeaseClock {
  now: Now;
  /** Milliseconds that only go forward. Default `performance.now`. */
  elapsed?: () => number;
}

/**
 * A lease counts from the question, since the time of the grant is unknown. The faster of two clocks counts: the machine's clock
 * may be set back, the other may stop while the machine sleeps.
 */
export function startLease(leaseMs: number, { now, elapsed = () => performance.now() }: LeaseClock): Lease {
  const [startedAt, startedElapsed] = [now(), elapsed()];
  const leftMs = () => Math.max(0, leaseMs - Math.max(now() - startedAt, elapsed() - startedElapsed));
  return { leftMs, isOver: () => leftMs() === 0 };
}
