import type { RefusedDetail, RefusedLog } from "../../core/ports/refused.ts";
import { groupBy } from "../../ground/group-by.ts";
import { refusedColumns, rowOf, toRefusedSummary } from "../rows.ts";
import type { Row } from "../tables.ts";
import type { Dialect, InTx } from "../tx.ts";

type RefusedSize = { seq: number; address: string; bytes: number };

/** The limits for one source, so that a flood at one source does not remove the requests of others. */
const mostKept = 200;
const mostKeptBytes = 4 * 1024 * 1024;

const summaryColumns = `${refusedColumns.join(", ")}, octet_length(body) AS body_bytes, released_at, alert_ids`;

/** Refused requests, with a bound that keeps them from filling the disk. */
export function createRefusing(sql: Dialect) {
  const insert = sql.insertion("refused_requests");
  const sizes = sql.statement(
    { source: "text" },
    "SELECT seq, address, octet_length(body) AS bytes FROM refused_requests WHERE source = :source ORDER BY seq DESC",
    (row: RefusedSize) => row,
  );
  const remove = sql.statement({ seqs: "int8[]" }, `DELETE FROM refused_requests WHERE seq ${sql.isOneOf(":seqs")}`);
  const seqOf = sql.statement(
    { id: "text" },
    "SELECT seq FROM refused_requests WHERE id = :id",
    ({ seq }: { seq: number }) => seq,
  );
  const list = sql.statement(
    { below: "int8", limit: "int8" },
    `SELECT ${summaryColumns} FROM refused_requests WHERE seq < :below ORDER BY seq DESC ${sql.limit(":limit")}`,
    toRefusedSummary,
  );
  const listOfSource = sql.statement(
    { source: "text", below: "int8", limit: "int8" },
    `SELECT ${summaryColumns} FROM refused_requests WHERE source = :source AND seq < :below
     ORDER BY seq DESC ${sql.limit(":limit")}`,
    toRefusedSummary,
  );
  const find = sql.statement(
    { id: "text" },
    `SELECT ${summaryColumns}, headers, body FROM refused_requests WHERE id = :id`,
    (row: Omit<Row<"refused_requests">, "seq"> & { body_bytes: number }): RefusedDetail => ({
      ...toRefusedSummary(row),
      headers: JSON.parse(row.headers) as [string, string][],
      body: row.body,
    }),
  );
  const release = sql.statement(
    { id: "text", at: "int8", alert_ids: "text" },
    "UPDATE refused_requests SET released_at = :at, alert_ids = :alert_ids WHERE id = :id AND released_at IS NULL",
  );

  return {
    async recordRefused(tx, request) {
      const [, kept] = await Promise.all([
        tx.insert(insert, [rowOf(request, [...refusedColumns, "headers", "body"])], {}),
        tx.run(sizes, { source: request.source }),
      ]);
      const overflow = listOverflow(kept);
      if (overflow.length > 0) await tx.run(remove, { seqs: overflow });
    },

    async listRefused(tx, { limit, source, before }) {
      const [below = 0] = before === undefined ? [Number.MAX_SAFE_INTEGER] : await tx.run(seqOf, { id: before });
      return source === undefined ? tx.run(list, { below, limit }) : tx.run(listOfSource, { source, below, limit });
    },

    getRefused: async (tx, id) => (await tx.run(find, { id }))[0],

    async markReleased(tx, id, alertIds, at) {
      await tx.run(release, { id, at, alert_ids: JSON.stringify(alertIds) });
    },
  } satisfies InTx<RefusedLog>;
}

/**
 * The refused requests of a source (newest first) that have to go, see `RefusedLog`. The newest always stays. Then the oldest
 * request of the address that has filled the most goes.
 */
function listOverflow([newest, ...others]: readonly RefusedSize[]): number[] {
  const removed: number[] = [];
  let count = 1 + others.length;
  let total = others.reduce((sum, { bytes }) => sum + bytes, newest?.bytes ?? 0);
  const senders = [...groupBy(others, ({ address }) => address).values()];
  while (count > 1 && (count > mostKept || total > mostKeptBytes)) {
    const weigh = (rows: RefusedSize[]) =>
      count > mostKept ? rows.length : rows.reduce((sum, one) => sum + one.bytes, 0);
    const most = senders.reduce((found, one) => (weigh(one) > weigh(found) ? one : found));
    const oldest = most.pop() as RefusedSize;
    if (most.length === 0) senders.splice(senders.indexOf(most), 1);
    removed.push(oldest.seq);
    count -= 1;
    total -= oldest.bytes;
  }
  return removed;
}
