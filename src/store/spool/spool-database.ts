import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../core/errors.ts";
import type { IncomingRequest } from "../../core/ports/inbox.ts";
import { makePrivateFolder } from "../../ground/files/private-folder.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import { createBatching } from "../batching.ts";
import { type Line, openLine } from "../sqlite/thread-line.ts";
import { lockFolder } from "../sqlite/threaded-store.ts";
import {
  type AppendedRequest,
  type LeftBehind,
  type SpoolAnswers,
  type SpoolQuestion,
  SpoolTable,
  toRefusal,
} from "./spool-table.ts";

export interface SpoolDatabaseOptions {
  dir: string;
  /** Of the database; what would go beyond is refused. */
  maxBytes: number;
  /** The compiled entry of its thread. Default: beside this file. */
  threadEntry?: URL;
  /** What was on disk cannot be read back, and is not among what is taken. */
  onUnreadable(lost: SpooledCount): void;
}

export interface SpooledCount {
  requests: number;
  alerts: number;
}

/** A request that is on disk and was not handed over. */
export interface SpooledRequest {
  request: IncomingRequest;
  /** It need not be kept any more. */
  done(): void;
}

interface Waiting extends AppendedRequest {
  alerts: number;
  size: number;
  resolve(twin: string[] | undefined): void;
  reject(error: unknown): void;
}

const mostBytesPerSync = 4 * 1024 * 1024;
/** What a request takes beside its body and its fields. */
const rowBytes = 100;

/**
 * @throws AppError `store_locked` when another process has the folder, `store_unavailable` when it cannot be written or read.
 */
export async function openSpoolDatabase(options: SpoolDatabaseOptions): Promise<SpoolDatabase> {
  const { dir } = options;
  const lock = lockSpool(dir);
  const table = new SpoolTable(dir);
  try {
    const database = new SpoolDatabase(options, await table.look(), lock);
    await database.findDamaged();
    return database;
  } catch (error) {
    lock.release();
    throw error;
  } finally {
    await table.close();
  }
}

function lockSpool(dir: string): { release(): void } {
  try {
    makePrivateFolder(dir);
    return lockFolder(dir, {
      what: `The spool in ${dir}`,
      taken: new AppError("store_locked", `Another Tocsin already uses the spool in ${dir}.`, {
        hint: "Stop it first, or give this one a folder of its own with SPOOL_DIR.",
      }),
    });
  } catch (error) {
    throw toRefusal(dir, error);
  }
}

/**
 * Requests in a database in a folder, which one process at a time has. A thread waits for its disk; it is started for the first request
 * that is written or read, since most relays need none for months.
 */
export class SpoolDatabase {
  readonly #options: SpoolDatabaseOptions;
  readonly #lock: { release(): void };
  readonly #batching = createBatching<Waiting>({
    sizeOf: batchSizeOf,
    send: (batch, answered) => this.#send(batch, answered),
    cores: 1,
  });
  #line?: Promise<Line<SpoolQuestion, SpoolAnswers>>;
  #isClosed = false;
  #bytes: number;
  /** All up to here that was acknowledged is on disk. */
  #writtenTo: number;
  #takenTo = 0;
  #untaken: SpooledCount;
  /** Requests that were taken, and are not done. */
  #undone = 0;
  /** Positions that are still to be removed. */
  #done: number[] = [];
  /** Of what is on its way to the disk. */
  #waitingBytes = 0;
  #damagedFiles: readonly string[] = [];

  constructor(
    options: SpoolDatabaseOptions,
    readonly found: LeftBehind,
    lock: { release(): void },
  ) {
    const { requests, alerts, lastSeq, bytes } = found;
    this.#options = options;
    this.#lock = lock;
    this.#bytes = bytes;
    this.#writtenTo = lastSeq;
    this.#untaken = { requests, alerts };
  }

  /** What the requests take. */
  bytes(): number {
    return this.#isEmpty() ? 0 : this.#bytes;
  }

  /** Nothing is here, or on its way to the disk, that need be kept. */
  #isEmpty(): boolean {
    return this.#undone === 0 && this.#waitingBytes === 0 && this.#takenTo === this.#writtenTo;
  }

  /** Paths of files that hold what cannot be read: they are kept for people to look at. As of the last look at the folder. */
  damagedFiles(): readonly string[] {
    return this.#damagedFiles;
  }

  async findDamaged(): Promise<void> {
    const { dir } = this.#options;
    const names = (await readdir(dir)).filter((name) => /\.damaged$|^spool\.db\.before-.*Z(-\d+)?$/.test(name));
    this.#damagedFiles = names.sort().map((name) => join(dir, name));
  }

  /**
   * Resolves when it is on disk; what comes at once shares a sync.
   * @returns the ids of an earlier one with the same key and body that waits here
   * @throws AppError `store_unavailable` when there is no room, or the disk fails.
   */
  append({ body: bytes, ...fields }: IncomingRequest): Promise<string[] | undefined> {
    const { dir, maxBytes } = this.#options;
    if (this.#isClosed) return Promise.reject(new AppError("store_unavailable", "The spool is closed."));
    const request = JSON.stringify(fields);
    const body = Buffer.from(bytes).toString("latin1");
    const size = request.length + body.length + rowBytes;
    if (this.bytes() + this.#waitingBytes + size > maxBytes) {
      const text = `The spool in ${dir} is full: it may hold ${formatBytes(maxBytes)} (SPOOL_SIZE).`;
      const hint = "It empties when the database is back.";
      return Promise.reject(new AppError("store_unavailable", text, { hint }));
    }
    this.#waitingBytes += size;
    return new Promise((resolve, reject) => {
      this.#batching.add({ request, body, alerts: fields.ids.length, size, resolve, reject });
    });
  }

  async #send(batch: Waiting[], answered: () => void): Promise<void> {
    // One batch is under way at a time. Positions of what was refused are given again, so that no gaps have to be gone through.
    const first = this.#writtenTo + 1;
    const requests = batch.map(({ request, body }) => ({ request, body }));
    const answer = await this.#ask("append", [first, requests]).catch((error) => ({
      refusal: toRefusal(this.#options.dir, error),
    }));
    this.#waitingBytes -= sum(batch, ({ size }) => size);
    if ("refusal" in answer) this.#clearIfEmpty();
    else {
      this.#writtenTo = first + batch.length - 1;
      this.#add({ requests: batch.length, alerts: sum(batch, ({ alerts }) => alerts) });
    }
    answered();
    for (const [place, { resolve, reject }] of batch.entries())
      "refusal" in answer ? reject(answer.refusal) : resolve(answer.twins[place]);
  }

  /** The oldest that were not taken yet, some megabytes of them; none: there are no more. */
  async take(): Promise<SpooledRequest[]> {
    while (this.#takenTo < this.#writtenTo) {
      const taken = await this.#takeNext();
      if (taken.length > 0) return taken;
    }
    await this.findDamaged().catch(() => {});
    return [];
  }

  async #takeNext(): Promise<SpooledRequest[]> {
    const upTo = this.#writtenTo;
    const waited = this.#untaken;
    this.#untaken = { requests: 0, alerts: 0 };
    const answer = await this.#ask("take", [this.#takenTo, upTo, this.#done.splice(0)]).catch((error) => {
      this.#add(waited);
      throw error;
    });
    const taken = answer.rows.map(({ seq, request, body: { buffer, byteOffset, length } }) => {
      const body = Buffer.from(buffer, byteOffset, length);
      return { request: { ...JSON.parse(request), body } as IncomingRequest, done: () => this.#finish(seq) };
    });
    this.#takenTo = answer.readTo;
    this.#undone += taken.length;
    const left = {
      requests: waited.requests - taken.length,
      alerts: waited.alerts - sum(taken, ({ request }) => request.ids.length),
    };
    if (answer.readTo < upTo) this.#add(left);
    else if (left.requests > 0) this.#options.onUnreadable(left);
    this.#clearIfEmpty();
    return taken;
  }

  #add({ requests, alerts }: SpooledCount): void {
    this.#untaken.requests += requests;
    this.#untaken.alerts += alerts;
  }

  #finish(seq: number): void {
    this.#done.push(seq);
    this.#undone -= 1;
    this.#clearIfEmpty();
  }

  #clearIfEmpty(): void {
    if (!this.#isEmpty() || this.#line === undefined) return;
    this.#done = [];
    // What stays there is found by the next process, and handed over again: no request is stored twice.
    void this.#ask("clear", [])
      .then(() => this.findDamaged())
      .catch(() => {});
  }

  async #ask<K extends "append" | "take" | "clear">(
    kind: K,
    given: Parameters<SpoolTable[K]>,
  ): Promise<SpoolAnswers[K]> {
    this.#line ??= this.#startThread();
    const answer: SpoolAnswers[K] = await (await this.#line).ask({ kind, given });
    this.#bytes = answer.bytes;
    return answer;
  }

  #startThread(): Promise<Line<SpoolQuestion, SpoolAnswers>> {
    const { dir, threadEntry = new URL("./spool-thread.js", import.meta.url) } = this.#options;
    const forget = () => {
      this.#line = undefined;
    };
    const line = openLine<SpoolQuestion, SpoolAnswers>(
      { dir, writtenTo: this.#writtenTo },
      { entry: threadEntry, onStopped: forget },
    );
    line.catch(forget);
    return line;
  }

  /** Waits for what is being written; whatever comes later is refused. What was not handed over is found by the next process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#batching.settled();
    await (await this.#line?.catch(() => undefined))?.end();
    this.#lock.release();
  }
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0);

function batchSizeOf(waiting: readonly Waiting[]): number {
  let bytes = 0;
  const first = waiting.findIndex(({ size }) => {
    bytes += size;
    return bytes > mostBytesPerSync;
  });
  return first === -1 ? waiting.length : Math.max(1, first);
}
