import { firstIdAt } from "../../core/id.ts";
import {
  type DestinationStatistics,
  type EndState,
  type OutcomeCounts,
  outcomes,
  type PastOutcome,
  type RouteStatistics,
  type Statistics,
} from "../../core/ports/statistics.ts";
import type { Row } from "../tables.ts";
import type { Dialect, InTx, Tx } from "../tx.ts";

export const hourMs = 3_600_000;
const dayHours = 24;
const weekHours = 7 * dayHours;
/** A day more than is shown: the counts must be there after a clock was set back. */
const keptHours = 8 * dayHours;
const mostLast = 50;
const longestTitle = 120;
/** Waits are counted in steps, with this many for each doubling of the milliseconds. */
const stepsToDouble = 8;

const hourOf = (at: number) => Math.floor(at / hourMs);

type EndedRow = Pick<Row<"deliveries">, "seq" | "alert_seq" | "destination" | "reason"> &
  Pick<Row<"alerts">, "id" | "received_at"> & { state: EndState; title: string | null; at: number };

/** Counts by the hour, so that no delivery is read for them. The last outcomes are those of each state's newest alerts. */
export function createStatistics(sql: Dialect) {
  const ofHours = { names: "text[]", since: "int8" } as const;
  const countOutcomes = sql.statement(
    { ...ofHours, day: "int8" },
    `SELECT name, part, sum(CASE WHEN hour > :day THEN count ELSE 0 END) AS day, sum(count) AS week
     FROM ${sql.hoursOf("outcome")} AS hours WHERE name ${sql.isOneOf(":names")} AND hour > :since GROUP BY name, part`,
    (row: { name: string; part: EndState; day: number; week: number }) => row,
  );
  const countWaits = sql.statement(
    ofHours,
    `SELECT name, part, sum(count) AS count
     FROM ${sql.hoursOf("wait")} AS hours WHERE name ${sql.isOneOf(":names")} AND hour > :since GROUP BY name, part`,
    (row: { name: string; part: string | number; count: number }) => row,
  );
  const listEnded = sql.statement(
    { name: "text", state: "text" },
    {
      sqlite: `SELECT seq, alert_seq FROM deliveries ${sql.indexedBy("deliveries_by_destination_state")}
        WHERE destination = :name AND state = :state ORDER BY alert_seq DESC, seq DESC LIMIT ${mostLast}`,
      // Compared as one value, so that no plan walks all deliveries backwards.
      postgres: `SELECT seq, alert_seq FROM deliveries
        WHERE (destination, state, alert_seq) >= (:name, :state, 0) AND (destination, state, alert_seq) < (:name, :state, 9000000000000000)
        ORDER BY destination DESC, state DESC, alert_seq DESC, seq DESC LIMIT ${mostLast}`,
    },
    (row: Pick<EndedRow, "seq" | "alert_seq">) => row,
  );
  const readEnded = sql.statement(
    { seqs: "int8[]" },
    `SELECT d.seq, d.alert_seq, d.destination, d.state, d.reason, coalesce(d.finished_at, d.created_at) AS at,
       a.id, a.received_at, substr(${sql.factOf("a", "title")}, 1, ${longestTitle}) AS title
     FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq WHERE d.seq ${sql.isOneOf(":seqs")}`,
    (row: EndedRow) => row,
  );
  async function lastOf(tx: Tx, destinations: readonly string[]): Promise<EndedRow[]> {
    const asked = destinations.flatMap((name) => outcomes.map((state) => ({ name, state })));
    const listed = await tx.look(listEnded, asked);
    const seqs = destinations.flatMap((_, index) =>
      listed
        .slice(index * outcomes.length, (index + 1) * outcomes.length)
        .flat()
        .sort((one, other) => other.alert_seq - one.alert_seq || other.seq - one.seq)
        .slice(0, mostLast)
        .map(({ seq }) => seq),
    );
    const rows = await tx.run(readEnded, { seqs });
    return rows.sort((one, other) => one.alert_seq - other.alert_seq || one.seq - other.seq);
  }

  return {
    async destinationStatistics(tx, destinations, now) {
      const [names, day, week] = [destinations, hourOf(now) - dayHours, hourOf(now) - weekHours];
      const [counted, waits, last] = await Promise.all([
        tx.run(countOutcomes, { names, since: week, day }),
        tx.run(countWaits, { names, since: day }),
        lastOf(tx, destinations),
      ]);
      return destinations.map((destination) => {
        const own = counted.filter(({ name }) => name === destination);
        return {
          destination,
          day: toOutcomes(own.map((row) => [row.part, row.day])),
          week: toOutcomes(own.map((row) => [row.part, row.week])),
          waits: toWaits(
            waits.flatMap(({ name, part, count }) => (name === destination ? [[Number(part), count] as const] : [])),
          ),
          last: last.filter((row) => row.destination === destination).map(toPastOutcome),
        };
      });
    },
  } satisfies InTx<Statistics, "destinationStatistics">;
}

/** The alerts that each route took, the number of all alerts, and the removal of old counts. */
export function createRouteStatistics(sql: Dialect) {
  const countRoutes = sql.statement(
    { day: "int8", week: "int8" },
    `SELECT route, sum(CASE WHEN hour > :day THEN alerts ELSE 0 END) AS day, sum(CASE WHEN hour > :week THEN alerts ELSE 0 END) AS week,
       max(last_at) AS "lastAt", (
         SELECT last_id FROM route_hours later WHERE later.route = route_hours.route
         ORDER BY hour DESC, last_at DESC, last_id DESC LIMIT 1) AS "lastId"
     FROM route_hours GROUP BY route ORDER BY route`,
    (row: RouteStatistics) => row,
  );
  const findStart = sql.statement(
    {},
    "SELECT route_hour FROM statistics_start",
    ({ route_hour }: { route_hour: number | null }) => route_hour ?? undefined,
  );
  const countSince = sql.statement(
    { first: "text", next: "text", hour: "int8" },
    {
      // SQLite numbers alerts without a gap.
      sqlite: `SELECT coalesce(
        (SELECT seq FROM alerts ORDER BY seq DESC LIMIT 1) + 1
          - (SELECT seq FROM alerts WHERE id >= :first ORDER BY id LIMIT 1), 0) AS count`,
      // Whole hours come from their counts, and the rest of the first hour from the index of ids.
      postgres: `SELECT (SELECT count(*) FROM alerts WHERE id >= :first AND id < :next)
        + (SELECT coalesce(sum(count), 0) FROM tallies WHERE kind = 'accepted' AND name = '' AND part = '' AND hour > :hour) AS count`,
    },
    ({ count }: { count: number }) => Math.max(0, count),
  );
  const forgetHours = (["outcome", "wait"] as const).map((kind) =>
    sql.statement(
      { before: "int8" },
      {
        sqlite: `DELETE FROM ${kind}_hours WHERE hour < :before`,
        postgres: `DELETE FROM tallies WHERE kind = '${kind}' AND hour < :before`,
      },
    ),
  );
  /** The last hour of each route stays, since pages show when it last matched. */
  const forgetRouteHours = sql.statement(
    { before: "int8" },
    `DELETE FROM route_hours WHERE hour < :before
       AND EXISTS (SELECT 1 FROM route_hours later WHERE later.route = route_hours.route AND later.hour > route_hours.hour)`,
  );

  return {
    async routeStatistics(tx, now) {
      const [[start], routes] = await Promise.all([
        tx.run(findStart, {}),
        tx.run(countRoutes, { day: hourOf(now) - dayHours, week: hourOf(now) - weekHours }),
      ]);
      return { since: start === undefined ? undefined : start * hourMs, routes };
    },

    async countSince(tx, times) {
      const asked = times.map((at) => {
        return { first: firstIdAt(at), next: firstIdAt((hourOf(at) + 1) * hourMs), hour: hourOf(at) };
      });
      return (await tx.look(countSince, asked)).map(([count = 0]) => count);
    },

    async forgetOldHours(tx, now) {
      const before = hourOf(now) - keptHours;
      await Promise.all([...forgetHours, forgetRouteHours].map((forget) => tx.run(forget, { before })));
    },
  } satisfies InTx<Pick<Statistics, "routeStatistics" | "countSince"> & { forgetOldHours(now: number): Promise<void> }>;
}

function toOutcomes(counts: readonly (readonly [EndState, number])[]): OutcomeCounts {
  return { sent: 0, digested: 0, failed: 0, expired: 0, ...Object.fromEntries(counts) };
}

function toPastOutcome({ id, title, state, reason, at, received_at: receivedAt }: EndedRow): PastOutcome {
  return { alertId: id, title: title ?? id, state, reason, at, afterMs: Math.max(0, at - receivedAt) };
}

/** @param counts how many alerts waited for each step of time. */
function toWaits(counts: readonly (readonly [step: number, count: number])[]): DestinationStatistics["waits"] {
  const steps = [...counts].sort(([one], [other]) => one - other);
  const total = steps.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return undefined;
  const atShare = (share: number) => {
    let seen = 0;
    for (const [step, count] of steps) {
      seen += count;
      if (seen >= total * share) return Math.round(2 ** ((step + 0.5) / stepsToDouble));
    }
    return 0;
  };
  return { p50Ms: atShare(0.5), p95Ms: atShare(0.95) };
}
