/** What the relay says of its store under `/metrics`. Absent: it does not say. */
export interface StoreMetrics {
  unrouted?: number;
  oldestUnroutedSeconds?: number;
  databaseBytes?: number;
  isDiskFull?: boolean;
  /** Requests since the start that could not be compared with earlier ones. */
  uncheckedRequests?: number;
}

/** Reads the few samples without labels that `status` and `doctor` show, out of the Prometheus text format 0.0.4. */
export function readStoreMetrics(text: string): StoreMetrics {
  const samples = new Map<string, number>();
  for (const [, name = "", value = ""] of text.matchAll(/^(tocsin_\w+) (\S+)$/gm))
    samples.set(name, Number(value));
  const diskFull = samples.get("tocsin_disk_full");
  return {
    unrouted: samples.get("tocsin_unrouted_alerts"),
    oldestUnroutedSeconds: samples.get("tocsin_oldest_unrouted_seconds"),
    databaseBytes: samples.get("tocsin_database_bytes"),
    isDiskFull: diskFull === undefined ? undefined : diskFull === 1,
    uncheckedRequests: samples.get("tocsin_unchecked_requests_total"),
  };
}
