import type { AlertOrigin } from "../../../core/alert.ts";
import type { UnroutedRequest } from "../../../core/ports/routing-desk.ts";
import { boundLimit, type TransactionContext } from "./context.ts";

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

/** Bodies of one list; the rest comes with the next. Reading them takes time from the thread that accepts. */
const maxBodyBytes = 4 * 1024 * 1024;

/** What waits for routing. */
export function createRouting({ db }: Pick<TransactionContext, "db">) {
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
  };
}
