import type { AlertOrigin } from "../../../core/alert.ts";
import type { RecordedAlert, RoutingRecord, UnroutedRequest } from "../../../core/ports/routing-desk.ts";
import { routesThatTook } from "../../../core/rules.ts";
import type { RecordRouting } from "../../transactions/index.ts";
import { newColumns, type RoutedAlert, type RoutedDelivery, toRoutedRow } from "../../transactions/routing.ts";
import { runShared } from "../tx.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import type { CountRoutes } from "./count-routes.ts";
import type { Searching } from "./searching.ts";

interface UnroutedRow {
  seq: number;
  id: string;
  request_seq: number;
  item: number;
  origin: AlertOrigin;
  source: string | null;
  received_at: number;
  route_failures: number;
  routing_error: string | null;
}

const unroutedColumns = "seq, id, request_seq, item, origin, source, received_at, route_failures, routing_error";

const columns = newColumns.map(([name]) => name);

/** Bodies of one list; the rest comes with the next. Reading them takes time from the thread that accepts. */
const maxBodyBytes = 4 * 1024 * 1024;

interface RoutingDeps extends Pick<Searching, "indexedUpTo" | "indexLate"> {
  countRoutes: CountRoutes;
  recordRouting: RecordRouting;
}

/** T2: what waits for routing, and how SQLite writes what was decided. */
export function createRouting(
  context: TransactionContext,
  { recordRouting, countRoutes, indexedUpTo, indexLate }: RoutingDeps,
) {
  const { db, now } = context;
  const listFresh = db.prepare<[number, number], UnroutedRow>(
    `SELECT ${unroutedColumns} FROM alerts WHERE seq > ? AND routed_at IS NULL AND route_failures = 0
     ORDER BY seq ${boundLimit}`,
  );
  const findFailed = db.prepare<[number], UnroutedRow>(
    `SELECT ${unroutedColumns} FROM alerts WHERE routed_at IS NULL AND route_failures > 0 AND route_after <= ?
     ORDER BY route_after, seq LIMIT 1`,
  );
  /** Alerts of one request were stored one behind the other. */
  const listRest = db.prepare<[number, number, number, number], UnroutedRow>(
    `SELECT ${unroutedColumns} FROM alerts
     WHERE seq > ? AND seq < ? + (SELECT items FROM requests WHERE seq = ?) AND request_seq = ? AND routed_at IS NULL`,
  );
  const findRequest = db.prepare<[number], { content_type: string | null; body: Uint8Array }>(
    "SELECT content_type, body FROM requests WHERE seq = ?",
  );
  const markRouted = db.prepare(
    `UPDATE alerts SET version = ?, routed_at = ?, severity = ?, alert_key = ?, unmatched = ?, dropped = ?, facts = ?, decisions = ?,
       fingerprint = ?, repeat_of = ?, routing_error = NULL
     WHERE seq = ? AND routed_at IS NULL`,
  );
  const countRepeat = db.prepare("UPDATE duplicate_count SET count = count + 1");
  const insertDelivery = db.prepare(
    `INSERT INTO deliveries (${columns.join(", ")}, lease_until) VALUES (${columns.map(() => "?").join(", ")}, ?)`,
  );

  function openRequest({ request_seq, source }: UnroutedRow): UnroutedRequest {
    const found = findRequest.get(request_seq);
    return {
      contentType: found?.content_type ?? undefined,
      body: found?.body ?? new Uint8Array(),
      ...(source !== null && { source }),
      alerts: [],
    };
  }

  function openRequests(rows: UnroutedRow[]): UnroutedRequest[] {
    const requests: UnroutedRequest[] = [];
    let bytes = 0;
    let requestSeq: number | undefined;
    for (const row of rows) {
      const failures = row.route_failures;
      let request = requests.at(-1);
      if (
        request === undefined ||
        requestSeq !== row.request_seq ||
        (request.alerts[0]?.failures === 0) !== (failures === 0)
      ) {
        if (bytes >= maxBodyBytes) break;
        requestSeq = row.request_seq;
        request = openRequest(row);
        bytes += request.body.length;
        requests.push(request);
      }
      request.alerts.push({
        seq: row.seq,
        id: row.id,
        item: row.item,
        origin: row.origin,
        receivedAt: row.received_at,
        failures,
        ...(row.routing_error !== null && { error: row.routing_error }),
      });
    }
    return requests;
  }

  function restOfRequest(row: UnroutedRow): UnroutedRow[] {
    return listRest.all(row.seq, row.seq - row.item, row.request_seq, row.request_seq);
  }

  /** See `WriteRouted`. */
  function write(alerts: readonly RoutedAlert[]): Map<number, Map<string, number>> {
    const written = new Map<number, Map<string, number>>();
    const taken = new Map<string, { alerts: number; lastId: string }>();
    const indexedTo = indexedUpTo();
    for (const { record, alert, decisions, isUnmatched, isDropped, deliveries } of alerts) {
      const { alertSeq, facts } = record;
      // It has its version with the rest of its row, which need not be written a second time.
      markRouted.run(
        ++context.version,
        record.routedAt,
        facts.severity,
        facts.alertKey,
        isUnmatched ? 1 : 0,
        isDropped ? 1 : 0,
        JSON.stringify(facts),
        JSON.stringify(decisions),
        alert.fingerprint ?? null,
        alert.repeatOf ?? null,
        alertSeq,
      );
      if (alert.repeatOf !== undefined) countRepeat.run();
      for (const route of routesThatTook(decisions))
        taken.set(route, { alerts: (taken.get(route)?.alerts ?? 0) + 1, lastId: alert.id });
      if (alertSeq <= indexedTo) indexLate(alertSeq, facts);
      written.set(alertSeq, new Map(deliveries.map((delivery) => [delivery.id, insert(delivery)])));
    }
    if (taken.size > 0) countRoutes(taken, alerts[0]?.record.routedAt ?? 0);
    return written;
  }

  function insert(delivery: RoutedDelivery): number {
    const row: Record<string, unknown> = toRoutedRow(delivery);
    const leaseUntil = row.lease_ms === null ? null : now() + (row.lease_ms as number);
    return Number(insertDelivery.run(...columns.map((name) => row[name] ?? null), leaseUntil).lastInsertRowid);
  }

  return {
    listUnrouted(limit: number, now: number, after = 0): UnroutedRequest[] {
      const rows = listFresh.all(after, limit);
      const last = rows.at(-1);
      if (rows.length === limit && last !== undefined)
        rows.push(...restOfRequest(last).filter((row) => row.route_failures === 0));
      const failed = findFailed.get(now);
      if (failed !== undefined) rows.push(failed, ...restOfRequest(failed).filter((row) => row.route_failures > 0));
      return openRequests(rows);
    },

    recordRouting: (records: readonly RoutingRecord[]): Promise<RecordedAlert[]> =>
      runShared((tx) => recordRouting(tx, records, write), context),
  };
}
