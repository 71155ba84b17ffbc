import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../core/errors.ts";
import type { Acceptance, IncomingRequest } from "../../core/ports/inbox.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import { type DatabaseThread, startDatabaseThread } from "../sqlite/database-thread.ts";
import { lockFolder } from "../sqlite/threaded-store.ts";
import { type LeftBehind, SpoolFile, sizeOf, toRefusal } from "./spool-file.ts";

export interface SpoolDatabaseOptions {
  dir: string;
  /** Bytes that may wait. A request that would exceed them is refused. */
  maxBytes: number;
  /** See `DatabaseThreadOptions`. */
  threadEntry?: URL;
}

export interface SpooledCount {
  requests: number;
  alerts: number;
}

/** A request that is on disk and not yet handed over. */
export interface SpooledRequest {
  request: IncomingRequest;
  /** The request need not be kept any more. */
  done(): void;
}

/** @throws AppError `store_locked` when another process has the folder, `store_unavailable` when it cannot be written or read. */
export async function openSpoolDatabase(options: SpoolDatabaseOptions): Promise<SpoolDatabase> {
  const { dir } = options;
  const lock = lockFolder(dir, {
    what: `The spool in ${dir} (SPOOL_DIR)`,
    taken: new AppError("store_locked", `Another Tocsin already uses the spool in ${dir}.`, {
      hint: "Stop it first, or give this one a folder of its own with SPOOL_DIR.",
    }),
  });
  const file = new SpoolFile(dir);
  try {
    const database = new SpoolDatabase(options, await file.look(), lock);
    await database.findDamaged();
    return database;
  } catch (error) {
    lock.release();
    throw error;
  } finally {
    await file.close();
  }
}

/** Requests in a database. Its thread starts with the first request: most relays need none for months. */
export class SpoolDatabase {
  #thread?: Promise<DatabaseThread<SpoolFile>>;
  #isClosed = false;
  /** Bytes of requests that are on disk or on their way there, and not done. */
  #bytes: number;
  /** All acknowledged requests up to this position are on disk. */
  #writtenTo: number;
  #takenTo = 0;
  #untaken: SpooledCount;
  /** Taken requests that are not done. */
  #undone = 0;
  /** Positions of done requests that are still to be removed. */
  #done: number[] = [];
  /** Requests on their way to the disk. */
  #coming = 0;
  #damagedFiles: readonly string[] = [];

  constructor(
    private readonly options: SpoolDatabaseOptions,
    readonly found: LeftBehind,
    private readonly lock: { release(): void },
  ) {
    const { requests, alerts, lastSeq, bytes } = found;
    this.#bytes = bytes;
    this.#writtenTo = lastSeq;
    this.#untaken = { requests, alerts };
  }

  bytes(): number {
    return this.#isEmpty() ? 0 : this.#bytes;
  }

  /** No request that must be kept is here or on its way to the disk. */
  #isEmpty(): boolean {
    return this.#undone === 0 && this.#coming === 0 && this.#takenTo === this.#writtenTo;
  }

  /** Paths of files with unreadable parts, kept for people. As of the last look at the folder. */
  damagedFiles(): readonly string[] {
    return this.#damagedFiles;
  }

  async findDamaged(): Promise<void> {
    const { dir } = this.options;
    const names = (await readdir(dir)).filter((name) => /\.damaged$|^spool\.db\.before-.*Z(-\d+)?$/.test(name));
    this.#damagedFiles = names.sort().map((name) => join(dir, name));
  }

  /**
   * Resolves when the request is on disk. Requests that come at once share a sync.
   * @returns a duplicate where an earlier request with the same key and body waits here. The duplicate is kept too
   * @throws AppError `store_unavailable` when there is no room, or the disk fails.
   */
  async append(request: IncomingRequest): Promise<Acceptance> {
    const { dir, maxBytes } = this.options;
    if (this.#isClosed) throw new AppError("store_unavailable", "The spool is closed.");
    const size = sizeOf(request);
    if (this.bytes() + size > maxBytes) {
      const text = `The spool in ${dir} is full: it may hold ${formatBytes(maxBytes)} (SPOOL_SIZE).`;
      throw new AppError("store_unavailable", text, { hint: "It empties when the database is back." });
    }
    this.#bytes += size;
    this.#coming += 1;
    try {
      const thread = await this.#startedThread();
      return (await thread.call({ name: "acceptRequest", arguments: [request] })) as Acceptance;
    } catch (error) {
      this.#bytes -= size;
      throw toRefusal(dir, error);
    } finally {
      this.#coming -= 1;
      this.#clearIfEmpty();
    }
  }

  /** Takes the oldest waiting requests, some megabytes. Empty: none is left. `onUnreadable` gets those that cannot be read. */
  async take(onUnreadable: (lost: SpooledCount) => void): Promise<SpooledRequest[]> {
    while (this.#takenTo < this.#writtenTo) {
      const taken = await this.#takeNext(onUnreadable);
      if (taken.length > 0) return taken;
    }
    await this.findDamaged().catch(() => {});
    return [];
  }

  async #takeNext(onUnreadable: (lost: SpooledCount) => void): Promise<SpooledRequest[]> {
    const upTo = this.#writtenTo;
    const waited = this.#untaken;
    this.#untaken = { requests: 0, alerts: 0 };
    const { rows, readTo } = await this.#startedThread()
      .then((thread) => thread.ask("take", [this.#takenTo, upTo, this.#done.splice(0)]))
      .catch((error) => {
        this.#add(waited);
        throw error;
      });
    this.#takenTo = readTo;
    this.#undone += rows.length;
    const left = {
      requests: waited.requests - rows.length,
      alerts: waited.alerts - rows.reduce((sum, { request }) => sum + request.ids.length, 0),
    };
    if (readTo < upTo) this.#add(left);
    else if (left.requests > 0) onUnreadable(left);
    this.#clearIfEmpty();
    return rows.map(({ seq, request }) => ({
      request: { ...request, body: toBuffer(request.body) },
      done: () => this.#finish(seq, request),
    }));
  }

  #add({ requests, alerts }: SpooledCount): void {
    this.#untaken.requests += requests;
    this.#untaken.alerts += alerts;
  }

  #finish(seq: number, request: IncomingRequest): void {
    this.#done.push(seq);
    this.#bytes -= sizeOf(request);
    this.#undone -= 1;
    this.#clearIfEmpty();
  }

  #clearIfEmpty(): void {
    if (!this.#isEmpty() || this.#thread === undefined) return;
    this.#done = [];
    this.#bytes = 0;
    // If this fails, the next process hands the rest over again. No request is stored twice.
    void this.#thread
      .then((thread) => thread.ask("clear", []))
      .then(() => this.findDamaged())
      .catch(() => {});
  }

  #startedThread(): Promise<DatabaseThread<SpoolFile>> {
    const forget = () => {
      this.#thread = undefined;
    };
    if (this.#thread === undefined) {
      this.#thread = startDatabaseThread<SpoolFile>(
        { spool: this.options.dir, writtenTo: this.#writtenTo },
        {
          entry: this.options.threadEntry,
          onStopped: forget,
          stopped: {
            message: "The thread of the spool has stopped.",
            hint: "It is started again with the next alert; everything that was answered 202 is on disk.",
          },
          onCommitted: (calls, { version }) => {
            this.#writtenTo = version;
            const requests = calls.map((call) => call.arguments[0] as IncomingRequest);
            this.#add({ requests: calls.length, alerts: requests.reduce((sum, { ids }) => sum + ids.length, 0) });
          },
        },
      );
      this.#thread.catch(forget);
    }
    return this.#thread;
  }

  /** Waits for writes in progress, and refuses later requests. The next process finds the requests that were not handed over. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#thread?.catch(() => undefined))?.close();
    this.lock.release();
  }
}

const toBuffer = ({ buffer, byteOffset, length }: Uint8Array) => Buffer.from(buffer, byteOffset, length);
