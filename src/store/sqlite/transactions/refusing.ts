import type { RefusedDetail, RefusedRequest, RefusedSummary } from "../../../core/ports/refused.ts";
import { boundLimit, type TransactionContext } from "./context.ts";

interface SummaryRow {
  id: string;
  source: string;
  received_at: number;
  reason: RefusedRequest["reason"];
  detail: string;
  address: string;
  content_type: string | null;
  items: number;
  unkept: number;
  body_bytes: number;
  released_at: number | null;
  alert_ids: string | null;
}

const summaryColumns = `id, source, received_at, reason, detail, address, content_type, items, unkept, length(body) AS body_bytes,
  released_at, alert_ids`;

interface Size {
  seq: number;
  address: string;
  bytes: number;
}

function groupByAddress(rows: Size[]): Map<string, Size[]> {
  const groups = new Map<string, Size[]>();
  for (const row of rows) {
    const group = groups.get(row.address);
    if (group === undefined) groups.set(row.address, [row]);
    else group.push(row);
  }
  return groups;
}

/** Of one source, so that a flood at one leaves what others have. */
const mostKept = 200;
const mostKeptBytes = 4 * 1024 * 1024;

/** What was refused, and how it is kept from filling the disk. */
export function createRefusing({ db }: Pick<TransactionContext, "db">) {
  const insert = db.prepare(
    `INSERT INTO refused_requests (id, source, received_at, reason, detail, address, content_type, headers, body, items, unkept)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const sizesOf = db.prepare<[string], Size>(
    "SELECT seq, address, length(body) AS bytes FROM refused_requests WHERE source = ? ORDER BY seq DESC",
  );
  const remove = db.prepare("DELETE FROM refused_requests WHERE seq = ?");
  const seqOf = db.prepare<[string], number>("SELECT seq FROM refused_requests WHERE id = ?").pluck();
  const list = db.prepare<[number, number], SummaryRow>(
    `SELECT ${summaryColumns} FROM refused_requests WHERE seq < ? ORDER BY seq DESC ${boundLimit}`,
  );
  const listOfSource = db.prepare<[string, number, number], SummaryRow>(
    `SELECT ${summaryColumns} FROM refused_requests WHERE source = ? AND seq < ? ORDER BY seq DESC ${boundLimit}`,
  );
  const find = db.prepare<[string], SummaryRow & { headers: string; body: Uint8Array }>(
    `SELECT ${summaryColumns}, headers, body FROM refused_requests WHERE id = ?`,
  );
  const release = db.prepare(
    "UPDATE refused_requests SET released_at = ?, alert_ids = ? WHERE id = ? AND released_at IS NULL",
  );

  /** The newest always stays; then the oldest goes of whoever has filled the most. */
  function makeRoom(source: string): void {
    const [newest, ...others] = sizesOf.all(source);
    let count = 1 + others.length;
    let total = others.reduce((sum, { bytes }) => sum + bytes, newest?.bytes ?? 0);
    const senders = [...groupByAddress(others).values()];
    while (count > 1 && (count > mostKept || total > mostKeptBytes)) {
      const weigh = (rows: Size[]) => (count > mostKept ? rows.length : rows.reduce((sum, one) => sum + one.bytes, 0));
      const most = senders.reduce((found, one) => (weigh(one) > weigh(found) ? one : found));
      const oldest = most.pop() as Size;
      if (most.length === 0) senders.splice(senders.indexOf(most), 1);
      remove.run(oldest.seq);
      count -= 1;
      total -= oldest.bytes;
    }
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
      return rows.map(toSummary);
    },

    getRefused(id: string): RefusedDetail | undefined {
      const row = find.get(id);
      return row && { ...toSummary(row), headers: JSON.parse(row.headers) as [string, string][], body: row.body };
    },

    markReleased(id: string, alertIds: readonly string[], at: number): void {
      release.run(at, JSON.stringify(alertIds), id);
    },
  };
}

function toSummary(row: SummaryRow): RefusedSummary {
  const { released_at: releasedAt, alert_ids: alertIds } = row;
  return {
    id: row.id,
    source: row.source,
    receivedAt: row.received_at,
    reason: row.reason,
    detail: row.detail,
    address: row.address,
    contentType: row.content_type ?? undefined,
    items: row.items,
    unkept: row.unkept,
    bodyBytes: row.body_bytes,
    released: releasedAt === null ? undefined : { at: releasedAt, alertIds: JSON.parse(alertIds ?? "[]") as string[] },
  };
}
