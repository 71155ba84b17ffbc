import { hourMs } from "../../transactions/statistics.ts";
import type { TransactionContext } from "./context.ts";

export type CountRoutes = ReturnType<typeof createCountRoutes>;

/** Of a batch that was routed: each route with how many of its alerts it took, and the last of them. */
export function createCountRoutes({ db }: Pick<TransactionContext, "db">) {
  const start = db.prepare<[], number | null>("SELECT route_hour FROM statistics_start").pluck();
  const setStart = db.prepare("UPDATE statistics_start SET route_hour = ? WHERE route_hour IS NULL");
  const count = db.prepare(
    `INSERT INTO route_hours VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET alerts = alerts + excluded.alerts, last_at = excluded.last_at, last_id = excluded.last_id`,
  );
  return (taken: ReadonlyMap<string, { alerts: number; lastId: string }>, at: number): void => {
    const hour = Math.floor(at / hourMs);
    for (const [route, { alerts, lastId }] of taken) count.run(route, hour, alerts, at, lastId);
    if (start.get() === null) setStart.run(hour);
  };
}
