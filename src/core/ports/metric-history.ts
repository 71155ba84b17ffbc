/** Epoch milliseconds. */
export interface HistoryPoint {
  at: number;
  value: number;
}

/** Each reads as much of an answer as possible, and may throw an `AppError` with an `upstream_…` code. */
export interface MetricHistoryService {
  /** `total`: the number that the answer states. It may be more than its entries. */
  lookAtSubscriptions(options?: { signal?: AbortSignal }): Promise<{ entries: unknown[]; total?: number }>;
  /** In the order of time, each time once. `unread`: points without a time or a value. */
  lookAtRecords(
    query: { key: string; fromAt?: number; toAt?: number },
    options?: { signal?: AbortSignal },
  ): Promise<{ points: HistoryPoint[]; unread: number }>;
}
