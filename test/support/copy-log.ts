import type { Database } from "better-sqlite3";
import type { Sql } from "../../src/store/postgres/database.ts";
import { toWords } from "../../src/store/postgres/search-terms.ts";

/** What a log of SQLite's driver says, for PostgreSQL's, with the positions that it has there. */
const tables = {
  requests:
    "seq, received_at, content_type, headers, hex(body) AS body, fingerprint, items, dedupe_key, conflict, duplicates",
  alerts: `seq, id, request_seq, item, origin, source, received_at, coalesce(version, 0) AS version, CAST(version AS TEXT) AS changed_by,
    routed_at, route_after, route_failures, routing_error, severity, facts ->> '$.status' AS status, alert_key, unmatched, dropped, facts,
    decisions, fingerprint, repeat_of`,
  deliveries: `seq, id, alert_seq, destination, channel, recipient, route, purpose, instead_of, instead_because, state, reason, created_at,
    due_at, finished_at, attempts, ambiguous, last_detail, last_reason, form, progress, digest_id, updates, freshness_ms, fallback_to,
    fallback_at, claim_token, resent_by`,
  attempts: "seq, delivery_seq, at, duration_ms, action, part, parts, outcome, reason, detail",
};

const truths = new Set(["conflict", "unmatched", "dropped"]);

export interface CopyOptions {
  /** Rows that go over at once. Default: 1,000. */
  batch?: number;
  onProgress?(table: string, seq: number): void;
}

/** Copies a log, and makes it searchable. */
export async function copyLog(from: Database, to: Sql, { batch = 1_000, onProgress }: CopyOptions = {}): Promise<void> {
  for (const [table, columns] of Object.entries(tables)) {
    const list = from.prepare<[number], Record<string, unknown> & { seq: number }>(
      `SELECT ${columns} FROM ${table} WHERE seq > ? ORDER BY seq LIMIT ${batch}`,
    );
    for (let rows = list.all(0); rows.length > 0; rows = list.all(rows.at(-1)?.seq ?? 0)) {
      const names = Object.keys(rows[0] as object).join(", ");
      await to.query(
        `INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE SELECT ${names} FROM json_populate_recordset(NULL::${table}, $1)`,
        [JSON.stringify(rows.map(toRow))],
      );
      if (table === "alerts") await writeWords(rows, to);
      onProgress?.(table, rows.at(-1)?.seq ?? 0);
    }
  }
  await to.query("DELETE FROM search_queue");
}

async function writeWords(rows: Record<string, unknown>[], to: Sql): Promise<void> {
  const read = rows.filter(({ facts }) => facts !== null);
  const words = read.map(({ id, facts }) => toWords(String(id), JSON.parse(String(facts))));
  await to.query("INSERT INTO alert_words SELECT * FROM unnest($1::bigint[], $2::text[])", [
    read.map(({ seq }) => seq),
    words,
  ]);
}

function toRow(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (name === "body") return [name, `\\x${value}`];
      return [name, truths.has(name) ? value === 1 : value];
    }),
  );
}
