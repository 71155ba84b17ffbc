import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "../../core/errors.ts";
import { keptName, setDatabaseAside } from "../sqlite/restore-database.ts";
import { isDamage, isDiskFull } from "../sqlite/store-error.ts";
import { hasFormerFiles, readFormerFiles, type TornFile, takeInFormerFiles } from "./former-files.ts";
import { countRows, isCorrupt, openRows, type SpooledRow, type SpoolRows } from "./spool-rows.ts";

const fileName = "spool.db";

export interface AppendedRequest {
  /** All of it but its body, as JSON. */
  request: string;
  /** Each byte a character. A `Buffer` may be a window on a larger block, all of which would be copied for the thread. */
  body: string;
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
  #opened?: SpoolRows;
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

  #run<T>(work: (opened: SpoolRows) => T): T {
    try {
      this.#opened ??= this.#open();
      return work(this.#opened);
    } catch (error) {
      throw toRefusal(this.#dir, error);
    }
  }

  #open(): SpoolRows {
    const opened = openRows(this.#path);
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

/** Takes in what a former version has left. A kill may have left some of it in a file and here. */
function takeInFiles(dir: string, { db, last, addAll }: SpoolRows): TornFile[] {
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
    const opened = openRows(join(dir, fileName), true);
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
