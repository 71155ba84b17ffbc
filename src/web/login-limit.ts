/** Wrong tokens from one address: so many at once, then one after each interval. */
export interface LoginLimitOptions {
  /** Default 10. */
  burst?: number;
  /** Default 6 s. Milliseconds. */
  intervalMs?: number;
  /** Addresses remembered; the one that was silent longest is forgotten first. Default 10,000. */
  maxAddresses?: number;
}

export interface LoginLimit {
  /** Milliseconds until this address may try again; 0 when it may now. */
  waitMs(address: string): number;
  recordFailure(address: string): void;
}

/**
 * Slows down guessing from one address without costing any other address anything. (That a token cannot be guessed at all
 * is owed to its length; this keeps the noise down.)
 */
export function createLoginLimit(now: () => number, options: LoginLimitOptions = {}): LoginLimit {
  const { burst = 10, intervalMs = 6_000, maxAddresses = 10_000 } = options;
  /** Until when the failures of an address would have been paid off, one interval each. */
  const paidOffAt = new Map<string, number>();

  return {
    waitMs(address) {
      const debtMs = (paidOffAt.get(address) ?? 0) - now();
      return Math.max(0, debtMs - (burst - 1) * intervalMs);
    },
    recordFailure(address) {
      const next = Math.max(paidOffAt.get(address) ?? 0, now()) + intervalMs;
      paidOffAt.delete(address);
      paidOffAt.set(address, next);
      if (paidOffAt.size <= maxAddresses) return;
      for (const oldest of paidOffAt.keys()) {
        paidOffAt.delete(oldest);
        break;
      }
    },
  };
}
