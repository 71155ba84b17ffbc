import { firstIdAt } from "../../core/id.ts";
import {
  type DestinationStatistics,
  type EndState,
  outcomes,
  type PastOutcome,
  type RouteStatistics,
  type Statistics,
} from "../../core/ports/statistics.ts";
import { dayHours, hourMs, longestTitle, mostLast, noOutcomes, toWaits, weekHours } from "../statistics.ts";
import type { Database } from "./database.ts";

interface LastRow {
  destination: string;
  id: string;
  title: string | null;
  state: EndState;
  reason: string;
  received_at: number;
  at: number;
}

/** Statistics from counts by the hour, so that none is made by reading deliveries, and the last outcomes from an index. */
export function createCounting({ read }: Pick<Database, "read">): Statistics {
  async function endingsOf(destinations: readonly string[], hour: number): Promise<Map<string, Endings>> {
    const { rows } = await read.query<{ destination: string; outcome: EndState; day: number; week: number }>(
      `SELECT name AS destination, part AS outcome, coalesce(sum(count) FILTER (WHERE hour > $3), 0) AS day, sum(count) AS week
       FROM tallies WHERE kind = 'outcome' AND name = ANY($1) AND hour > $2 GROUP BY name, part`,
      [destinations, hour - weekHours, hour - dayHours],
      "outcomes_of_destinations",
    );
    const found = new Map(destinations.map((name) => [name, { day: noOutcomes(), week: noOutcomes() }]));
    for (const { destination, outcome, day, week } of rows) {
      const endings = found.get(destination);
      if (endings === undefined) continue;
      endings.day[outcome] = day;
      endings.week[outcome] = week;
    }
    return found;
  }

  async function waitsOf(destinations: readonly string[], hour: number): Promise<Map<string, Map<number, number>>> {
    const { rows } = await read.query<{ destination: string; step: string; count: number }>(
      `SELECT name AS destination, part AS step, sum(count) AS count FROM tallies
       WHERE kind = 'wait' AND name = ANY($1) AND hour > $2 GROUP BY name, part`,
      [destinations, hour - dayHours],
      "waits_of_destinations",
    );
    const found = new Map<string, Map<number, number>>();
    for (const { destination, step, count } of rows)
      found.set(destination, (found.get(destination) ?? new Map<number, number>()).set(Number(step), count));
    return found;
  }

  async function lastOf(destinations: readonly string[]): Promise<Map<string, PastOutcome[]>> {
    const { rows } = await read.query<LastRow>(
      `SELECT l.destination, a.id, left(readable_json(a.facts) ->> 'title', ${longestTitle}) AS title, l.state, l.reason,
         a.received_at, l.at
       FROM unnest($1::text[]) asked (name) CROSS JOIN LATERAL (
         SELECT e.* FROM unnest($2::text[]) state (name) CROSS JOIN LATERAL (
           SELECT d.destination, d.seq, d.alert_seq, d.state, d.reason, coalesce(d.finished_at, d.created_at) AS at FROM deliveries d
           WHERE (d.destination, d.state, d.alert_seq) >= (asked.name, state.name, 0)
             AND (d.destination, d.state, d.alert_seq) < (asked.name, state.name, 9000000000000000)
           ORDER BY d.destination DESC, d.state DESC, d.alert_seq DESC, d.seq DESC LIMIT ${mostLast}) e
         ORDER BY e.alert_seq DESC, e.seq DESC LIMIT ${mostLast}) l
       CROSS JOIN LATERAL (SELECT id, facts, received_at FROM alerts WHERE seq = l.alert_seq OFFSET 0) a
       ORDER BY l.alert_seq, l.seq`,
      [destinations, outcomes],
      "last_outcomes",
    );
    const found = new Map<string, PastOutcome[]>();
    for (const { destination, id, title, state, reason, received_at: receivedAt, at } of rows) {
      const past = { alertId: id, title: title ?? id, state, reason, at, afterMs: Math.max(0, at - receivedAt) };
      found.set(destination, [...(found.get(destination) ?? []), past]);
    }
    return found;
  }

  return {
    async destinationStatistics(destinations, now): Promise<DestinationStatistics[]> {
      const hour = Math.floor(now / hourMs);
      const [endings, waits, last] = await Promise.all([
        endingsOf(destinations, hour),
        waitsOf(destinations, hour),
        lastOf(destinations),
      ]);
      return destinations.map((destination) => ({
        destination,
        day: endings.get(destination)?.day ?? noOutcomes(),
        week: endings.get(destination)?.week ?? noOutcomes(),
        waits: toWaits(waits.get(destination) ?? new Map()),
        last: last.get(destination) ?? [],
      }));
    },

    async routeStatistics(now): Promise<{ since?: number; routes: RouteStatistics[] }> {
      const hour = Math.floor(now / hourMs);
      const { rows } = await read.query<{
        since: number | null;
        route: string | null;
        day: number;
        week: number;
        last_at: number;
        last_id: string;
      }>(
        `SELECT s.route_hour AS since, r.* FROM (SELECT (SELECT route_hour FROM statistics_start) AS route_hour) s LEFT JOIN (
           SELECT route, coalesce(sum(alerts) FILTER (WHERE hour > $1), 0) AS day,
             coalesce(sum(alerts) FILTER (WHERE hour > $2), 0) AS week, max(last_at) AS last_at,
             (array_agg(last_id ORDER BY hour DESC, last_at DESC, last_id DESC))[1] AS last_id
           FROM route_hours GROUP BY route) r ON true ORDER BY r.route`,
        [hour - dayHours, hour - weekHours],
        "route_statistics",
      );
      const since = rows[0]?.since ?? undefined;
      return {
        since: since === undefined ? undefined : since * hourMs,
        routes: rows.flatMap(({ route, day, week, last_at: lastAt, last_id: lastId }) =>
          route === null ? [] : [{ route, day, week, lastAt, lastId }],
        ),
      };
    },

    async countSince(times) {
      // Hours from their counts, and what is left of the first one along the index of ids.
      const { rows } = await read.query<{ count: number }>(
        `SELECT (SELECT count(*) FROM alerts WHERE id >= t.first AND id < t.next)
           + (SELECT coalesce(sum(count), 0) FROM tallies WHERE kind = 'accepted' AND name = '' AND part = '' AND hour > t.hour) AS count
         FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY t (first, next, hour, place) ORDER BY t.place`,
        [
          times.map(firstIdAt),
          times.map((at) => firstIdAt((Math.floor(at / hourMs) + 1) * hourMs)),
          times.map((at) => Math.floor(at / hourMs)),
        ],
        "count_since",
      );
      return rows.map(({ count }) => count);
    },
  };
}

interface Endings {
  day: ReturnType<typeof noOutcomes>;
  week: ReturnType<typeof noOutcomes>;
}
