import type { RefusedLog } from "../../core/ports/refused.ts";
import { listOverflow, type RefusedSize } from "../refused-room.ts";
import { type RefusedSummaryRow, toRefusedSummary } from "../rows.ts";
import type { Database } from "./database.ts";
import { toText } from "./texts.ts";

const summaryColumns = `id, source, received_at, reason, detail, address, content_type, items, unkept,
  octet_length(body) AS body_bytes, released_at, alert_ids`;

/** What was refused, and how it is kept from filling the disk. */
export function createRefusing(database: Database): RefusedLog {
  return {
    recordRefused: (request) =>
      database.transaction(async (tx) => {
        const { contentType } = request;
        const inserted = tx.query(
          `INSERT INTO refused_requests
             (id, source, received_at, reason, detail, address, content_type, headers, body, items, unkept)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
          [
            request.id,
            request.source,
            request.receivedAt,
            request.reason,
            toText(request.detail),
            toText(request.address),
            contentType === undefined ? null : toText(contentType),
            toText(request.headers),
            request.body,
            request.items,
            request.unkept,
          ],
        );
        const kept = tx.query<RefusedSize>(
          "SELECT seq, address, octet_length(body) AS bytes FROM refused_requests WHERE source = $1 ORDER BY seq DESC",
          [request.source],
          "refused_sizes",
        );
        const [, { rows }] = await Promise.all([inserted, kept]);
        const overflow = listOverflow(rows);
        if (overflow.length === 0) return;
        await tx.query("DELETE FROM refused_requests WHERE seq = ANY($1::bigint[])", [overflow]);
      }),

    async listRefused({ limit, source, before }) {
      const { rows } = await database.read.query<RefusedSummaryRow>(
        `SELECT ${summaryColumns} FROM refused_requests
         WHERE ($2::text IS NULL OR source = $2)
           AND ($3::text IS NULL OR seq < coalesce((SELECT seq FROM refused_requests WHERE id = $3), 0))
         ORDER BY seq DESC LIMIT $1`,
        [limit, source ?? null, before === undefined ? null : toText(before)],
      );
      return rows.map(toRefusedSummary);
    },

    async getRefused(id) {
      const { rows } = await database.read.query<RefusedSummaryRow & { headers: string; body: Uint8Array }>(
        `SELECT ${summaryColumns}, headers, body FROM refused_requests WHERE id = $1`,
        [toText(id)],
      );
      const [row] = rows;
      return (
        row && { ...toRefusedSummary(row), headers: JSON.parse(row.headers) as [string, string][], body: row.body }
      );
    },

    async markReleased(id, alertIds, at) {
      await database.transaction((tx) =>
        tx.query("UPDATE refused_requests SET released_at = $2, alert_ids = $3 WHERE id = $1 AND released_at IS NULL", [
          toText(id),
          at,
          JSON.stringify(alertIds),
        ]),
      );
    },
  };
}
