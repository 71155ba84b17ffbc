import { firstIdAt } from "../../../core/id.ts";
import {
  type DestinationStatistics,
  type EndState,
  outcomes,
  type PastOutcome,
  type RouteStatistics,
} from "../../../core/ports/statistics.ts";
import { dayHours, hourMs, longestTitle, mostLast, noOutcomes, toWaits, weekHours } from "../../statistics.ts";
import type { TransactionContext } from "./context.ts";

/** A day more than is shown, so that a clock that was set back for a while finds them still. */
const keptHours = 8 * dayHours;

export type Counting = ReturnType<typeof createCounting>;

/**
 * Statistics from counts by the hour, which triggers and routing keep (`0019_statistics.sql`), so that none is made by
 * reading deliveries. The last outcomes are those of the newest alerts of each state: 200 entries of an index.
 */
export function createCounting({ db }: Pick<TransactionContext, "db">) {
  const endings = db.prepare<[string, number], { hour: number; outcome: EndState; count: number }>(
    "SELECT hour, outcome, count FROM outcome_hours WHERE destination = ? AND hour > ?",
  );
  const waits = db.prepare<[string, number], { step: number; count: number }>(
    "SELECT step, count FROM wait_hours WHERE destination = ? AND hour > ?",
  );
  const newest = db.prepare<[string, EndState], { seq: number; alert_seq: number }>(
    `SELECT seq, alert_seq FROM deliveries INDEXED BY deliveries_by_destination_state
     WHERE destination = ? AND state = ? ORDER BY alert_seq DESC, seq DESC LIMIT ${mostLast}`,
  );
  const ending = db.prepare<
    [number],
    { id: string; title: string | null; state: EndState; reason: string; received_at: number; finished_at: number }
  >(
    `SELECT a.id, substr(a.facts ->> '$.title', 1, ${longestTitle}) AS title, d.state, d.reason, a.received_at,
       coalesce(d.finished_at, d.created_at) AS finished_at
     FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq WHERE d.seq = ?`,
  );
  const routeHours = db.prepare<[], { route: string; hour: number; alerts: number; last_at: number; last_id: string }>(
    "SELECT route, hour, alerts, last_at, last_id FROM route_hours",
  );
  const start = db.prepare<[], number | null>("SELECT route_hour FROM statistics_start").pluck();
  const lastSeq = db.prepare<[], number>("SELECT seq FROM alerts ORDER BY seq DESC LIMIT 1").pluck();
  const firstAt = db.prepare<[string], number>("SELECT seq FROM alerts WHERE id >= ? ORDER BY id LIMIT 1").pluck();
  const countRoute = db.prepare(
    `INSERT INTO route_hours VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET alerts = alerts + excluded.alerts, last_at = excluded.last_at, last_id = excluded.last_id`,
  );
  const setStart = db.prepare("UPDATE statistics_start SET route_hour = ? WHERE route_hour IS NULL");
  const oldOutcomes = db.prepare("DELETE FROM outcome_hours WHERE hour < ?");
  const oldWaits = db.prepare("DELETE FROM wait_hours WHERE hour < ?");
  const removeRouteHour = db.prepare("DELETE FROM route_hours WHERE route = ? AND hour = ?");

  function lastOf(destination: string): PastOutcome[] {
    const found = outcomes.flatMap((state) => newest.all(destination, state));
    const last = found.sort((one, other) => other.alert_seq - one.alert_seq || other.seq - one.seq).slice(0, mostLast);
    return last.reverse().flatMap(({ seq }) => {
      const row = ending.get(seq);
      if (row === undefined) return [];
      const { id, title, state, reason, received_at: receivedAt, finished_at: at } = row;
      return { alertId: id, title: title ?? id, state, reason, at, afterMs: Math.max(0, at - receivedAt) };
    });
  }

  return {
    /** Of a batch that was routed: each route with how many of its alerts it took, and the last of them. */
    countRoutes(taken: ReadonlyMap<string, { alerts: number; lastId: string }>, at: number): void {
      const hour = Math.floor(at / hourMs);
      for (const [route, { alerts, lastId }] of taken) countRoute.run(route, hour, alerts, at, lastId);
      if (start.get() === null) setStart.run(hour);
    },

    forgetOldHours(now: number): void {
      const before = Math.floor(now / hourMs) - keptHours;
      oldOutcomes.run(before);
      oldWaits.run(before);
      // The last hour of a route stays: when it last matched is asked however long ago that is.
      const hours = routeHours.all();
      hours.forEach(({ route, hour }, index) => {
        if (hour < before && hours[index + 1]?.route === route) removeRouteHour.run(route, hour);
      });
    },

    destinationStatistics(destinations: readonly string[], now: number): DestinationStatistics[] {
      const hour = Math.floor(now / hourMs);
      return destinations.map((destination) => {
        const day = noOutcomes();
        const week = noOutcomes();
        for (const row of endings.iterate(destination, hour - weekHours)) {
          week[row.outcome] += row.count;
          if (row.hour > hour - dayHours) day[row.outcome] += row.count;
        }
        const counts = new Map<number, number>();
        for (const { step, count } of waits.iterate(destination, hour - dayHours)) {
          counts.set(step, (counts.get(step) ?? 0) + count);
        }
        return { destination, day, week, waits: toWaits(counts), last: lastOf(destination) };
      });
    },

    routeStatistics(now: number): { since?: number; routes: RouteStatistics[] } {
      const hour = Math.floor(now / hourMs);
      const routes = new Map<string, RouteStatistics>();
      // In the order of routes and hours, so the last row of a route is its last hour.
      for (const row of routeHours.iterate()) {
        const known = routes.get(row.route) ?? { route: row.route, day: 0, week: 0, lastAt: 0, lastId: "" };
        routes.set(row.route, {
          route: row.route,
          day: known.day + (row.hour > hour - dayHours ? row.alerts : 0),
          week: known.week + (row.hour > hour - weekHours ? row.alerts : 0),
          lastAt: row.last_at,
          lastId: row.last_id,
        });
      }
      const since = start.get() ?? undefined;
      return { since: since === undefined ? undefined : since * hourMs, routes: [...routes.values()] };
    },

    countSince(times: readonly number[]): number[] {
      const last = lastSeq.get() ?? 0;
      return times.map((at) => {
        const first = firstAt.get(firstIdAt(at));
        return first === undefined ? 0 : Math.max(0, last - first + 1);
      });
    },
  };
}
