/** One record of a metric. Epoch milliseconds. */
export interface HistoryPoint {
  at: number;
  value: number;
}

/**
 * What can be asked of the service about what it should have sent. Whatever of an answer can be read is taken; every
 * call may throw an `AppError` of an `upstream_…` code, for an answer that is none at all too.
 */
export interface MetricHistoryService {
  /** Each entry as it came. `total`: the number that the answer gives, which may be more than it gives. */
  lookAtSubscriptions(options?: { signal?: AbortSignal }): Promise<{ entries: unknown[]; total?: number }>;
  /** In the order of time, each time once. `unread`: points without a time or a value. */
  lookAtRecords(
    query: { key: string; fromAt?: number; toAt?: number },
    options?: { signal?: AbortSignal },
  ): Promise<{ points: HistoryPoint[]; unread: number }>;
}
