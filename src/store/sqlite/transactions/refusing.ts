import type { RefusedDetail, RefusedRequest, RefusedSummary } from "../../../core/ports/refused.ts";
import { listOverflow, type RefusedSize } from "../../refused-room.ts";
import { type RefusedSummaryRow, toRefusedSummary } from "../../rows.ts";
import { boundLimit, type TransactionContext } from "./context.ts";

const summaryColumns = `id, source, received_at, reason, detail, address, content_type, items, unkept, length(body) AS body_bytes,
  released_at, alert_ids`;

/** What was refused, and how it is kept from filling the disk. */
export function createRefusing({ db }: Pick<TransactionContext, "db">) {
  const insert = db.prepare(
    `INSERT INTO refused_requests (id, source, received_at, reason, detail, address, content_type, headers, body, items, unkept)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const sizesOf = db.prepare<[string], RefusedSize>(
    "SELECT seq, address, length(body) AS bytes FROM refused_requests WHERE source = ? ORDER BY seq DESC",
  );
  const remove = db.prepare("DELETE FROM refused_requests WHERE seq = ?");
  const seqOf = db.prepare<[string], number>("SELECT seq FROM refused_requests WHERE id = ?").pluck();
  const list = db.prepare<[number, number], RefusedSummaryRow>(
    `SELECT ${summaryColumns} FROM refused_requests WHERE seq < ? ORDER BY seq DESC ${boundLimit}`,
  );
  const listOfSource = db.prepare<[string, number, number], RefusedSummaryRow>(
    `SELECT ${summaryColumns} FROM refused_requests WHERE source = ? AND seq < ? ORDER BY seq DESC ${boundLimit}`,
  );
  const find = db.prepare<[string], RefusedSummaryRow & { headers: string; body: Uint8Array }>(
    `SELECT ${summaryColumns}, headers, body FROM refused_requests WHERE id = ?`,
  );
  const release = db.prepare(
    "UPDATE refused_requests SET released_at = ?, alert_ids = ? WHERE id = ? AND released_at IS NULL",
  );

  function makeRoom(source: string): void {
    for (const seq of listOverflow(sizesOf.all(source))) remove.run(seq);
  }

  return {
    recordRefused(request: RefusedRequest): void {
      const {
        id,
        source,
        receivedAt,
        reason,
        detail,
        address,
        contentType = null,
        headers,
        body,
        items,
        unkept,
      } = request;
      insert.run(id, source, receivedAt, reason, detail, address, contentType, headers, body, items, unkept);
      makeRoom(source);
    },

    listRefused({ limit, source, before }: { limit: number; source?: string; before?: string }): RefusedSummary[] {
      const below = before === undefined ? Number.MAX_SAFE_INTEGER : (seqOf.get(before) ?? 0);
      const rows = source === undefined ? list.all(below, limit) : listOfSource.all(source, below, limit);
      return rows.map(toRefusedSummary);
    },

    getRefused(id: string): RefusedDetail | undefined {
      const row = find.get(id);
      return (
        row && { ...toRefusedSummary(row), headers: JSON.parse(row.headers) as [string, string][], body: row.body }
      );
    },

    markReleased(id: string, alertIds: readonly string[], at: number): void {
      release.run(at, JSON.stringify(alertIds), id);
    },
  };
}
