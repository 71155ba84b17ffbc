import type { Now } from "../core/clock.ts";

/** Until when this process surely holds a lane, without asking the store. */
export interface Lease {
  /** Another relay may hold it already: no call may leave any more. */
  isOver(): boolean;
  /** How long it is still surely held; 0 when it is over. Milliseconds, `Infinity` where nobody else can take it. */
  leftMs(): number;
}

/** The lease in a store that no other relay can work on. */
export const endless: Lease = { isOver: () => false, leftMs: () => Number.POSITIVE_INFINITY };

export interface LeaseClock {
  now: Now;
  /** Milliseconds that only go forward. Default `performance.now`. */
  elapsed?: () => number;
}

/**
 * A lease counts from before it was asked for, since the time of the grant is not known. The faster of two clocks counts: the
 * machine's clock may be set back, and the other may stop while the machine sleeps.
 */
export function startLease(leaseMs: number, { now, elapsed = () => performance.now() }: LeaseClock): Lease {
  const [startedAt, startedElapsed] = [now(), elapsed()];
  const leftMs = () => Math.max(0, leaseMs - Math.max(now() - startedAt, elapsed() - startedElapsed));
  return { leftMs, isOver: () => leftMs() === 0 };
}
