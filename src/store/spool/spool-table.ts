import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { AppError } from "../../core/errors.ts";
import type { IncomingRequest } from "../../core/ports/inbox.ts";
import { openDatabase } from "../sqlite/open-database.ts";
import { keptName, setDatabaseAside } from "../sqlite/restore-database.ts";
import { isDamage, isDiskFull } from "../sqlite/store-error.ts";
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

export interface AppendedRequest {
  /** All of it but its body, as JSON. */
  request: string;
  /** Each byte a character. A `Buffer` may be a window on a larger block, all of which would be copied for the thread. */
  body: string;
}

/** A request at its place among the others. */
export interface SpooledRow {
  seq: number;
  /** All of it but its body, as JSON. */
  request: string;
  body: Uint8Array;
}

/** What the processes before this one have left. */
export interface LeftBehind {
  /** Those that can be read. */
  requests: number;
  alerts: number;
  /** Epoch milliseconds. */
  oldestAt?: number;
  lastSeq: number;
  bytes: number;
  /** Files of a former version that were not whole. */
  torn: TornFile[];
  /** The database of which not all can be read, where it lies. */
  damaged?: string;
}

/** What the thread of a spool is asked: a method, and what it is given. */
export interface SpoolQuestion {
  kind: keyof SpoolAnswers;
  given?: unknown[];
}
export type SpoolAnswers = { [K in "append" | "take" | "clear"]: Awaited<ReturnType<SpoolTable[K]>> } & {
  close: undefined;
};

const mostBytesPerTake = 4 * 1024 * 1024;
/** Of a disk that cannot give its bytes, so many times one behind the other; some seconds, as `take` is asked again. */
const mostFailedReads = 20;

/**
 * The requests that wait in a folder, in a database that one process has. Each method is awaited before the next is called, and throws
 * AppError `store_unavailable` where the folder cannot be used.
 *
 * What is damaged is left out of what is taken. The database is kept for people to look at, instead of removed, when the rest is handed over.
 */
export class SpoolTable {
  readonly #dir: string;
  readonly #path: string;
  #writtenTo: number;
  #opened?: ReturnType<typeof openTable>;
  #isDamaged = false;
  #failedReads = 0;

  /** @param writtenTo what stands behind it was refused: the thread of before has ended without an answer. Default: nothing was */
  constructor(dir: string, writtenTo = Number.MAX_SAFE_INTEGER) {
    this.#dir = dir;
    this.#path = join(dir, fileName);
    this.#writtenTo = writtenTo;
  }

  /** Takes the files of a former version into the database, and counts what waits. */
  async look(): Promise<LeftBehind> {
    if (this.#isNothingThere()) return { requests: 0, alerts: 0, lastSeq: 0, bytes: 0, torn: [] };
    const look = () =>
      this.#run((opened) => {
        const torn = takeInFiles(this.#dir, opened);
        const { isDamaged, ...counted } = countRows(opened);
        return { ...counted, bytes: opened.bytes(), torn, damaged: isDamaged ? this.#path : undefined };
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
   * Resolves when all of them are on disk.
   * @param first the position of the first; the others follow it one by one
   * @returns `twins`: by their place, the ids of an earlier one with the same key and body that waits here
   */
  async append(first: number, requests: AppendedRequest[]) {
    const rows = requests.map(({ request, body }, place) => {
      return { seq: first + place, request, body: Buffer.from(body, "latin1") };
    });
    return this.#run(({ addAll, bytes }) => ({ twins: addAll.immediate(rows), bytes: bytes() }));
  }

  /**
   * The next rows behind `after` up to `upTo`, some megabytes of them.
   * @param done positions of those that need not be kept any more
   * @returns `readTo`: the position of the last that was read, or could not be
   */
  async take(after: number, upTo: number, done: number[]) {
    return this.#run(({ remove, bytes, find }) => {
      // A full disk keeps nobody from reading: all room is given back at the end, and behind a kill they are handed over once more.
      ignoreErrors(() => remove.run(JSON.stringify(done)));
      const rows: SpooledRow[] = [];
      let readTo = after;
      for (let left = mostBytesPerTake; readTo < upTo && left > 0; readTo += 1) {
        const row = this.#read(() => find(readTo + 1));
        if (row === undefined) continue;
        rows.push(row);
        left -= row.request.length + row.body.length;
      }
      this.#failedReads = 0;
      return { rows, readTo, bytes: bytes() };
    });
  }

  /** No request need be kept any more: gives all room back, on a full disk too. */
  async clear(): Promise<{ bytes: number }> {
    await this.close();
    if (this.#isDamaged) await this.#setAside();
    else for (const ending of ["", "-wal", "-shm"]) rmSync(`${this.#path}${ending}`, { force: true });
    return { bytes: 0 };
  }

  async close(): Promise<void> {
    this.#opened?.db.close();
    this.#opened = undefined;
  }

  /** That nothing can be written should be found out before an alert needs it; to make a database takes longer. */
  #isNothingThere(): boolean {
    const probe = join(this.#dir, "probe");
    try {
      if (existsSync(this.#path) || hasFormerFiles(this.#dir)) return false;
      writeFileSync(probe, "probe\n", { mode: 0o600, flush: true });
      rmSync(probe);
      return true;
    } catch (error) {
      throw toRefusal(this.#dir, error);
    }
  }

  #run<T>(work: (opened: ReturnType<typeof openTable>) => T): T {
    try {
      this.#opened ??= this.#open();
      return work(this.#opened);
    } catch (error) {
      throw toRefusal(this.#dir, error);
    }
  }

  #open(): ReturnType<typeof openTable> {
    const opened = openTable(this.#path);
    // A damaged database has to be read all the same: then what was refused may be handed over.
    ignoreErrors(() => opened.db.prepare("DELETE FROM spooled WHERE seq > ?").run(this.#writtenTo));
    // What this one writes is acknowledged.
    this.#writtenTo = Number.MAX_SAFE_INTEGER;
    return opened;
  }

  /** Undefined for a row that is not there, or damaged. */
  #read(find: () => SpooledRow | "damaged" | undefined): SpooledRow | undefined {
    let row: ReturnType<typeof find> = "damaged";
    try {
      row = find();
    } catch (error) {
      if (!isDamage(error)) throw error;
      // The disk may give it in a moment.
      if (!isCorrupt(error)) this.#failedReads += 1;
      if (!isCorrupt(error) && this.#failedReads < mostFailedReads) throw error;
    }
    if (row !== "damaged") return row;
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

function openTable(path: string, readOnly = false) {
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
function countRows({ first, last, count }: ReturnType<typeof openTable>) {
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

/** Takes in what a former version has left. A kill may have left some of it in a file and here. */
function takeInFiles(dir: string, { db, last, addAll }: ReturnType<typeof openTable>): TornFile[] {
  let known: Set<string | undefined> | undefined;
  return takeInFormerFiles(dir, (requests) => {
    known ??= new Set(db.prepare<[], string>("SELECT request ->> '$.ids[0]' FROM spooled").pluck().all());
    const first = (last.get() ?? 0) + 1;
    const added = requests.filter(({ ids }) => !known?.has(ids[0]));
    addAll.immediate(
      added.map(({ body, ...fields }, place) => ({ seq: first + place, request: JSON.stringify(fields), body })),
    );
  });
}

/**
 * What lies in the folder of a spool, whoever has it: requests that were handed over are counted until they are removed, some
 * megabytes later. Nothing where it cannot be read.
 */
export function countSpooled(dir: string): { requests: number; bytes: number } {
  try {
    const sum = { requests: 0, bytes: 0 };
    for (const { requests } of readFormerFiles(dir)) {
      sum.requests += requests.length;
      for (const { body } of requests) sum.bytes += body.length;
    }
    if (!existsSync(join(dir, fileName))) return sum;
    const opened = openTable(join(dir, fileName), true);
    sum.requests += countRows(opened).requests;
    if (sum.requests > 0) sum.bytes += opened.bytes();
    opened.db.close();
    return sum;
  } catch {
    return { requests: 0, bytes: 0 };
  }
}

function ignoreErrors(work: () => unknown): void {
  try {
    work();
  } catch {}
}

const isCorrupt = (error: unknown): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test((error as { code?: string }).code ?? "");

const causeOf = (error: unknown): unknown => (error instanceof AppError ? error.cause : error);

/** Why a spool takes or gives nothing. */
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
