import { fullListBytes, type UnroutedRequest } from "../../../core/ports/routing-desk.ts";
import { toUnrouted, type UnroutedRow, unroutedColumns } from "../../unrouted.ts";
import { boundLimit, type TransactionContext } from "./context.ts";

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
  function restOfRequest(row: UnroutedRow): UnroutedRow[] {
    return listRest.all(row.seq, row.seq - row.item, row.request_seq, row.request_seq);
  }

  return {
    listUnrouted(limit: number, now: number, after = 0): UnroutedRequest[] {
      let bytes = 0;
      const open = ({ request_seq }: UnroutedRow) => {
        const found = findRequest.get(request_seq);
        const body = found?.body ?? new Uint8Array();
        bytes += body.length;
        return { contentType: found?.content_type ?? undefined, body };
      };
      const openNext = (row: UnroutedRow) => (bytes >= fullListBytes ? undefined : open(row));
      const fresh = listFresh.all(after, limit);
      const last = fresh.at(-1);
      if (fresh.length === limit && last !== undefined)
        fresh.push(...restOfRequest(last).filter((row) => row.route_failures === 0));
      const failed = findFailed.all(now).flatMap((row) => {
        return [row, ...restOfRequest(row).filter((one) => one.route_failures > 0)];
      });
      return [...toUnrouted(fresh, openNext), ...toUnrouted(failed, open)];
    },
  };
}
