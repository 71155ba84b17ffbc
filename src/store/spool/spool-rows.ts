import { crc32 } from "node:zlib";
import type { IncomingRequest } from "../../core/ports/inbox.ts";
import { openDatabase } from "../sqlite/open-database.ts";

const migrations = [
  {
    number: 1,
    name: "the requests of a spool",
    sql: `
      CREATE TABLE spooled (
        seq INTEGER PRIMARY KEY,
        received_at INTEGER NOT NULL,
        alerts INTEGER NOT NULL,
        dedupe_key TEXT,
        -- All of it but its body, as JSON.
        request TEXT NOT NULL,
        body BLOB NOT NULL,
        -- Of both: SQLite does not notice what the disk has changed in a row.
        checksum INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX spooled_keys ON spooled (dedupe_key) WHERE dedupe_key IS NOT NULL;`,
  },
];

/** A request at its place among the others. */
export interface SpooledRow {
  seq: number;
  /** All of it but its body, as JSON. */
  request: string;
  body: Uint8Array;
}

export type SpoolRows = ReturnType<typeof openRows>;

/** The database of a spool, and what is asked of it. */
export function openRows(path: string, readOnly = false) {
  const db = openDatabase({ path, readOnly, migrations });
  const insert = db.prepare<unknown[]>("INSERT OR REPLACE INTO spooled VALUES (?, ?, ?, ?, ?, ?, ?)");
  const selectTwin = db
    .prepare<unknown[], string>(
      `SELECT request ->> 'ids' FROM spooled WHERE dedupe_key = ? AND received_at > ? AND body = ? AND seq < ?
       ORDER BY seq LIMIT 1`,
    )
    .pluck();
  const select = db.prepare<[number], SpooledRow & { checksum: number }>(
    "SELECT seq, request, body, checksum FROM spooled WHERE seq = ?",
  );
  const pages = db
    .prepare<[], number>("SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count")
    .pluck();
  const pageBytes = db.pragma("page_size", { simple: true }) as number;

  /** @returns the ids of an earlier one with the same key and body */
  function add(row: SpooledRow): string[] | undefined {
    const { seq, request, body } = row;
    const { receivedAt, ids, dedupeKey, dedupeWindowMs } = JSON.parse(request) as IncomingRequest;
    insert.run(seq, receivedAt, ids.length, dedupeKey, request, body, checksumOf(row));
    const twin = dedupeKey && selectTwin.get(dedupeKey, receivedAt - dedupeWindowMs, body, seq);
    return twin ? JSON.parse(twin) : undefined;
  }

  return {
    db,
    addAll: db.transaction((rows: SpooledRow[]) => {
      const twins: Record<number, string[]> = {};
      for (const [place, row] of rows.entries()) {
        const twin = add(row);
        if (twin !== undefined) twins[place] = twin;
      }
      return twins;
    }),
    first: db.prepare<[], number | null>("SELECT min(seq) FROM spooled").pluck(),
    last: db.prepare<[], number | null>("SELECT max(seq) FROM spooled").pluck(),
    count: db.prepare<[number], { alerts: number; receivedAt: number }>(
      "SELECT alerts, received_at AS receivedAt FROM spooled WHERE seq = ?",
    ),
    remove: db.prepare<[string]>("DELETE FROM spooled WHERE seq IN (SELECT value FROM json_each(?))"),
    find(seq: number): SpooledRow | "damaged" | undefined {
      const found = select.get(seq);
      if (found === undefined) return undefined;
      const { checksum, ...row } = found;
      return checksum === checksumOf(row) ? row : "damaged";
    },
    /** What the requests take. */
    bytes: () => (pages.get() ?? 0) * pageBytes,
  };
}

/** The body first: zlib begins anew where it is given no bytes. */
const checksumOf = ({ request, body }: SpooledRow): number => crc32(request, crc32(body));

/** Where the last page is damaged nobody knows where the rows end: so many behind the last that could be read, far more than a page has. */
const mostAskedInVain = 10_000;

/** One by one, so that what is damaged hides no other. */
export function countRows({ first, last, count }: SpoolRows) {
  const counted = { requests: 0, alerts: 0, oldestAt: undefined as number | undefined, lastSeq: 0 };
  let isDamaged = false;
  const read = <T>(get: () => T): T | undefined => {
    try {
      return get();
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      isDamaged = true;
      return undefined;
    }
  };
  const begin = read(() => first.get() ?? 1) ?? 1;
  const end = read(() => last.get() ?? 0);
  let known = begin;
  for (let seq = begin; seq <= (end ?? known + mostAskedInVain); seq += 1) {
    counted.lastSeq = seq;
    const row = read(() => count.get(seq));
    if (row === undefined) continue;
    known = seq;
    counted.requests += 1;
    counted.alerts += row.alerts;
    counted.oldestAt ??= row.receivedAt;
  }
  return { ...counted, isDamaged };
}

export const isCorrupt = (error: unknown): boolean =>
  /^SQLITE_(CORRUPT|NOTADB)/.test((error as { code?: string } | undefined)?.code ?? "");
