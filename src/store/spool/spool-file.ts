import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { AppError } from "../../core/errors.ts";
import type { Acceptance, IncomingRequest } from "../../core/ports/inbox.ts";
import { openDatabase } from "../sqlite/open-database.ts";
import { keptName, removeDatabase, setDatabaseAside } from "../sqlite/restore-database.ts";
import { isDamage, isDiskFull } from "../sqlite/store-error.ts";
import type { Serving } from "../sqlite/thread-line.ts";
import { type CallsAnswer, type PackedCalls, toWireResult, unpackCalls } from "../sqlite/thread-protocol.ts";
import { createStatementCache } from "../sqlite/transactions/context.ts";
import { hasFormerFiles, readFormerFiles, type TornFile, takeInFormerFiles } from "./former-files.ts";

const fileName = "spool.db";

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

/** The requests and files that earlier processes have left. */
export interface LeftBehind {
  /** Only those that can be read. */
  requests: number;
  alerts: number;
  /** Epoch milliseconds. */
  oldestAt?: number;
  lastSeq: number;
  /** See `sizeOf`. */
  bytes: number;
  /** Files of the former format that were not whole. */
  torn: TornFile[];
  /** The path of a database that can be read only in part. */
  damaged?: string;
}

interface SpooledRow {
  seq: number;
  request: IncomingRequest;
}

const pageBytes = 4096;
/** A request's bytes without its body and its headers. */
const rowBytes = 300;

/** Bytes of the file that a request takes. A large one has pages of its own. */
export function sizeOf({ body, headers }: Record<"body" | "headers", { length: number }>): number {
  const bytes = body.length + headers.length + rowBytes;
  return bytes < pageBytes / 2 ? bytes : Math.ceil(bytes / pageBytes) * pageBytes;
}

const mostBytesPerTake = 4 * 1024 * 1024;
/** Failed reads in a row, where the disk does not give its bytes. This takes some seconds, as `take` is asked again. */
const mostFailedReads = 20;
/** If the last page is damaged, its rows are unknown. This many later positions are asked, far more than a page has. */
const mostAskedInVain = 10_000;

/**
 * The waiting requests of a folder, in a database that one process holds. It runs in a thread (`sqlite/thread.ts`). Each method
 * is awaited before the next is called, and throws AppError `store_unavailable` where the folder cannot be used.
 *
 * Damaged requests are not taken. When the rest is handed over, a damaged database is kept for people.
 */
export class SpoolFile implements Serving {
  readonly #path: string;
  #opened?: OpenedRows;
  #isDamaged = false;
  #failedReads = 0;

  /** @param writtenTo the last acknowledged position. Later ones were refused. Default: none was refused */
  constructor(
    private readonly dir: string,
    private writtenTo = Number.MAX_SAFE_INTEGER,
  ) {
    this.#path = join(dir, fileName);
  }

  /** Takes the files of the former format into the database, and counts the waiting requests. */
  async look(): Promise<LeftBehind> {
    if (this.#isNothingThere()) return { requests: 0, alerts: 0, lastSeq: 0, bytes: 0, torn: [] };
    const look = () =>
      this.#run((opened) => {
        const torn = takeInFiles(this.dir, opened);
        const { isDamaged, ...counted } = countRows(opened);
        return { ...counted, torn, damaged: isDamaged ? this.#path : undefined };
      });
    try {
      return look();
    } catch (error) {
      if (!isCorrupt(causeOf(error))) throw error;
    }
    const damaged = await this.#setAside();
    return { ...look(), damaged };
  }

  /**
   * Answers when all accepted requests are on disk. A request is a duplicate of an earlier one here with its key and body.
   * @returns as `version` the position of the last request
   */
  async calls(packed: PackedCalls): Promise<CallsAnswer> {
    const results = this.#run((opened) => {
      const acceptAll = opened.db.transaction(() =>
        unpackCalls(packed).map((call, place) => {
          const value = add(opened, this.writtenTo + 1 + place, call.arguments[0] as IncomingRequest);
          return toWireResult({ ok: true, value }, call);
        }),
      );
      return acceptAll.immediate();
    });
    // Refused requests leave their positions to the next ones, so that reading meets no gaps.
    this.writtenTo += results.length;
    return { results, version: this.writtenTo };
  }

  /**
   * The next requests after `after` up to `upTo`, some megabytes.
   * @param done positions of requests that need not be kept any more
   * @returns `readTo`: the last position that was read, or could not be read
   */
  async take(after: number, upTo: number, done: number[]): Promise<{ rows: SpooledRow[]; readTo: number }> {
    return this.#run((opened) => {
      // A full disk must not prevent reading. The last step gives all room back. After a kill done requests are handed over
      // again.
      ignoreErrors(() =>
        opened.prepare("DELETE FROM spooled WHERE seq IN (SELECT value FROM json_each(?))").run(JSON.stringify(done)),
      );
      const rows: SpooledRow[] = [];
      let readTo = after;
      for (let left = mostBytesPerTake; readTo < upTo && left > 0; readTo += 1) {
        const row = this.#read(opened, readTo + 1);
        if (row === undefined) continue;
        rows.push(row);
        left -= sizeOf(row.request);
      }
      this.#failedReads = 0;
      return { rows, readTo };
    });
  }

  /** All requests are done: gives all room back, on a full disk too. */
  async clear(): Promise<void> {
    await this.close();
    if (this.#isDamaged) await this.#setAside();
    else removeDatabase(this.#path);
  }

  async close(): Promise<void> {
    this.#opened?.db.close();
    this.#opened = undefined;
  }

  /** Tries to write a file: an unusable folder should be found before an alert needs it. A database would take longer. */
  #isNothingThere(): boolean {
    const probe = join(this.dir, "probe");
    try {
      if (existsSync(this.#path) || hasFormerFiles(this.dir)) return false;
      writeFileSync(probe, "probe\n", { mode: 0o600, flush: true });
      rmSync(probe);
      return true;
    } catch (error) {
      throw toRefusal(this.dir, error);
    }
  }

  #run<T>(work: (opened: OpenedRows) => T): T {
    try {
      this.#opened ??= this.#open();
      return work(this.#opened);
    } catch (error) {
      throw toRefusal(this.dir, error);
    }
  }

  #open(): OpenedRows {
    const opened = openRows(this.#path);
    // A damaged database must still be readable. Refused requests may then be handed over.
    ignoreErrors(() => opened.prepare("DELETE FROM spooled WHERE seq > ?").run(this.writtenTo));
    return opened;
  }

  /** Undefined for a missing or damaged row. */
  #read({ prepare }: OpenedRows, seq: number): SpooledRow | undefined {
    try {
      const found = prepare("SELECT request, body, checksum FROM spooled WHERE seq = ?").get(seq) as
        | { request: string; body: Buffer; checksum: number }
        | undefined;
      if (found === undefined) return undefined;
      const { request, body, checksum } = found;
      if (checksum === checksumOf(request, body)) return { seq, request: { ...JSON.parse(request), body } };
    } catch (error) {
      if (!isDamage(error)) throw error;
      // A later read may succeed.
      if (!isCorrupt(error)) this.#failedReads += 1;
      if (!isCorrupt(error) && this.#failedReads < mostFailedReads) throw error;
    }
    this.#isDamaged = true;
    return undefined;
  }

  async #setAside(): Promise<string> {
    await this.close();
    const kept = keptName(this.#path, "damage", Date.now());
    await setDatabaseAside(this.#path, kept);
    this.#isDamaged = false;
    return kept;
  }
}

type OpenedRows = ReturnType<typeof openRows>;

function openRows(path: string, readOnly = false) {
  const db = openDatabase({ path, readOnly, migrations });
  return { db, prepare: createStatementCache(db, 10) };
}

function add({ prepare }: OpenedRows, seq: number, { body, ...fields }: IncomingRequest): Acceptance {
  const { receivedAt, ids, dedupeKey, dedupeWindowMs } = fields;
  const request = JSON.stringify(fields);
  prepare("INSERT OR REPLACE INTO spooled VALUES (?, ?, ?, ?, ?, ?, ?)").run(
    ...[seq, receivedAt, ids.length, dedupeKey, request, body, checksumOf(request, body)],
  );
  const twin =
    dedupeKey &&
    prepare(
      `SELECT request ->> 'ids' FROM spooled WHERE dedupe_key = ? AND received_at > ? AND body = ? AND seq < ?
       ORDER BY seq LIMIT 1`,
    )
      .pluck()
      .get(dedupeKey, receivedAt - dedupeWindowMs, body, seq);
  return twin ? { kind: "duplicate", ids: JSON.parse(twin as string) } : { kind: "accepted", ids, conflict: false };
}

/** The body comes first: without bytes, zlib begins anew. */
const checksumOf = (request: string, body: Uint8Array): number => crc32(request, crc32(body));

/** Reads row by row, so that a damaged row hides no other. */
function countRows({ prepare }: OpenedRows) {
  const counted = { requests: 0, alerts: 0, oldestAt: undefined as number | undefined, lastSeq: 0, bytes: 0 };
  let isDamaged = false;
  const read = <T>(sql: string, ...given: number[]): T | undefined => {
    try {
      return prepare(sql).get(...given) as T | undefined;
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      isDamaged = true;
      return undefined;
    }
  };
  const begin = read<{ seq: number | null }>("SELECT min(seq) AS seq FROM spooled")?.seq ?? 1;
  const end = read<{ seq: number | null }>("SELECT max(seq) AS seq FROM spooled");
  let known = begin;
  for (let seq = begin; seq <= (end === undefined ? known + mostAskedInVain : (end.seq ?? 0)); seq += 1) {
    counted.lastSeq = seq;
    const row = read<Record<"alerts" | "receivedAt" | "body" | "headers", number>>(
      `SELECT alerts, received_at AS receivedAt, octet_length(body) AS body, length(request ->> 'headers') AS headers
       FROM spooled WHERE seq = ?`,
      seq,
    );
    if (row === undefined) continue;
    known = seq;
    counted.requests += 1;
    counted.alerts += row.alerts;
    counted.oldestAt ??= row.receivedAt;
    counted.bytes += sizeOf({ body: { length: row.body }, headers: { length: row.headers } });
  }
  return { ...counted, isDamaged };
}

/** Takes in the files of the former format. After a kill some requests may be both in a file and here. */
function takeInFiles(dir: string, opened: OpenedRows): TornFile[] {
  const { db } = opened;
  let known: Set<string | undefined> | undefined;
  return takeInFormerFiles(dir, (requests) => {
    known ??= new Set(db.prepare<[], string>("SELECT request ->> '$.ids[0]' FROM spooled").pluck().all());
    const addAll = db.transaction(() => {
      let seq = db.prepare<[], number | null>("SELECT max(seq) FROM spooled").pluck().get() ?? 0;
      for (const request of requests) if (!known?.has(request.ids[0])) add(opened, ++seq, request);
    });
    addAll.immediate();
  });
}

/** Requests that were handed over count until they are removed. Zero where the folder cannot be read. */
export function countSpooled(dir: string): { requests: number; bytes: number } {
  try {
    const sum = { requests: 0, bytes: 0 };
    for (const { requests } of readFormerFiles(dir)) {
      sum.requests += requests.length;
      for (const request of requests) sum.bytes += sizeOf(request);
    }
    if (!existsSync(join(dir, fileName))) return sum;
    const opened = openRows(join(dir, fileName), true);
    const { requests, bytes } = countRows(opened);
    opened.db.close();
    return { requests: sum.requests + requests, bytes: sum.bytes + bytes };
  } catch {
    return { requests: 0, bytes: 0 };
  }
}

function ignoreErrors(work: () => unknown): void {
  try {
    work();
  } catch {}
}

const isCorrupt = (error: unknown): boolean =>
  /^SQLITE_(CORRUPT|NOTADB)/.test((error as { code?: string } | undefined)?.code ?? "");

const causeOf = (error: unknown): unknown => (error instanceof AppError ? error.cause : error);

/** The error of a spool that cannot be used. */
export function toRefusal(dir: string, error: unknown): unknown {
  const { code = String(error) } = (causeOf(error) ?? {}) as { code?: string };
  if (error instanceof AppError && !/^(SQLITE_|E[A-Z]+$)/.test(code)) return error;
  const isFull = isDiskFull(causeOf(error)) || code === "ENOSPC" || code === "EDQUOT";
  const message = isFull
    ? `The disk of the spool in ${dir} is full.`
    : `The spool in ${dir} (SPOOL_DIR) cannot be used (${code}).`;
  const hint = isFull
    ? "Free space; Tocsin recovers by itself."
    : "Give the folder and what is in it to the user that runs Tocsin, on a disk that has room and is healthy.";
  return new AppError("store_unavailable", message, { hint, cause: causeOf(error) });
}
