import { statSync } from "node:fs";
import type { Database } from "better-sqlite3";
import type { StoreHealth } from "../../core/ports/administration.ts";

/** Looks at one connection's database: what waits for routing, and whether a change is committed. */
export function createHealthReading(
  db: Database,
  path: string,
): () => Omit<StoreHealth, "full" | "freeBytes" | "damage"> {
  const countUnrouted = db.prepare<[], number>("SELECT count(*) FROM alerts WHERE routed_at IS NULL").pluck();
  const oldestUnrouted = db
    .prepare<[], number>("SELECT received_at FROM alerts WHERE routed_at IS NULL ORDER BY seq LIMIT 1")
    .pluck();
  const touch = db.prepare("UPDATE search_cursor SET alert_seq = alert_seq");

  function canWrite(): boolean {
    try {
      return db.transaction(() => touch.run().changes === 1).immediate();
    } catch {
      return false;
    }
  }

  return () => ({
    writable: canWrite(),
    unrouted: countUnrouted.get() ?? 0,
    oldestUnroutedAt: oldestUnrouted.get(),
    bytes: statSync(path).size,
  });
}
