/** One record of a metric. Epoch milliseconds. */
export interface HistoryPoint {
  at: number;
  value: number;
}

/**
 * Calls of the service about alerts that it should have sent. They read as much of an answer as possible. Each may throw an
 * `AppError` of an `upstream_…` code, also for an unreadable answer.
 */
export interface MetricHistoryService {
  /** The entries as they came. `total`: the number by the answer, which may be more than its entries. */
  lookAtSubscriptions(options?: { signal?: AbortSignal }): Promise<{ entries: unknown[]; total?: number }>;
  /** Points in the order of time, each time once. `unread`: points without a time or a value. */
  lookAtRecords(
    query: { key: string; fromAt?: number; toAt?: number },
    options?: { signal?: AbortSignal },
  ): Promise<{ points: HistoryPoint[]; unread: number }>;
}
