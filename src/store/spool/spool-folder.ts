import { type FileHandle, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../core/errors.ts";
import type { IncomingRequest } from "../../core/ports/inbox.ts";
import { makePrivateFolder } from "../../ground/files/private-folder.ts";
import { isWithoutFolderSync, syncFile } from "../../ground/files/replace-file.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import { createBatching } from "../batching.ts";
import { lockFolder } from "../sqlite/threaded-store.ts";
import { newHeader, readRecords, readSpoolFile, spoolHeaderBytes, writeRecord } from "./spool-file.ts";

export interface SpoolFolderOptions {
  dir: string;
  /** Of all files; what would go beyond is refused. */
  maxBytes: number;
  /** What is read at once and removed at once. Default 8 MiB. */
  fileBytes?: number;
  /** Each request that a process before this one has left, in the order in which they came. */
  onFound(request: IncomingRequest): void;
  /** A file held bytes that are no record, see `FoundRecords`. */
  onTorn(torn: { file: string; bytes: number; isDamaged: boolean }): void;
  /** What was on disk cannot be read back, and is not among what is taken. Its file is kept. */
  onUnreadable(lost: Unreadable): void;
}

export interface Unreadable {
  /** Where its bytes are kept, as soon as the rest of the file is handed over. */
  keptIn: string;
  requests: number;
  alerts: number;
}

/** A request that is on disk and was not handed over. */
export interface SpooledRequest {
  request: IncomingRequest;
  /** It need not be kept any more. */
  done(): void;
}

/** Requests in files of one folder, which one process at a time has. */
export interface SpoolFolder {
  /**
   * Resolves when it is on disk; what comes at once shares a sync.
   * @throws AppError `store_unavailable` when there is no room, or the disk fails.
   */
  append(request: IncomingRequest): Promise<void>;
  /** The oldest that were not taken yet, some megabytes of them; none: there are no more. */
  take(): Promise<SpooledRequest[]>;
  bytes(): number;
  /** Paths of files that hold what cannot be read: they are kept for people to look at. As of the last look at the folder. */
  damagedFiles(): readonly string[];
  /** Waits for what is being written; whatever comes later is refused. What was not handed over is found by the next `openSpoolFolder`. */
  close(): Promise<void>;
}

interface SpoolFile {
  path: string;
  mark: Buffer;
  /** All before it is on disk. */
  end: number;
  takenTo: number;
  requests: number;
  done: number;
  /** Of `requests`, those that were not taken yet. */
  untaken: { requests: number; alerts: number };
  /** How often it could not be read, one after another. */
  failedReads: number;
  isDamaged: boolean;
  /** It ends with a record that is not whole. */
  isTorn: boolean;
  /** Of the one that is written, alone. */
  handle?: FileHandle;
}

interface Waiting {
  record: Buffer;
  alerts: number;
  resolve(): void;
  reject(error: unknown): void;
}

const nameOf = (number: number) => `${String(number).padStart(8, "0")}.spool`;
const damagedEnd = ".damaged";
/** Of a file that is gone, or a disk that cannot give its bytes; some seconds, as `take` is asked again. */
const mostFailedReads = 20;
const mostBytesPerSync = 4 * 1024 * 1024;

/**
 * What lies in the folder of a spool, whoever has it: requests that were handed over are counted until their file is removed, some
 * megabytes later. Nothing where it cannot be read.
 */
export async function countSpooled(dir: string): Promise<{ requests: number; bytes: number }> {
  const names = await listFiles(dir).catch(() => []);
  const sum = { requests: 0, bytes: 0 };
  for (const name of names) {
    // It may just have been removed.
    const content = await readFile(join(dir, name)).catch(() => undefined);
    sum.requests += (content && readSpoolFile(content))?.records.length ?? 0;
    sum.bytes += content?.length ?? 0;
  }
  return sum;
}

const listFiles = async (dir: string): Promise<string[]> =>
  (await readdir(dir)).filter((name) => /^\d{8}\.spool$/.test(name)).sort();

/**
 * @throws AppError `store_locked` when another process has the folder, `store_unavailable` when it cannot be written or read.
 */
export async function openSpoolFolder(options: SpoolFolderOptions): Promise<SpoolFolder> {
  const { dir, maxBytes, fileBytes = 8 * 1024 * 1024, onFound, onTorn, onUnreadable } = options;
  const toRefusal = (error: unknown): AppError => {
    if (error instanceof AppError) return error;
    const { code = String(error), path = dir } = error as NodeJS.ErrnoException;
    const message = `The spool in ${dir} (SPOOL_DIR) cannot be used: ${code} at ${path}.`;
    const hint = "Give the folder and what is in it to the user that runs Tocsin, on a disk that has room.";
    return new AppError("store_unavailable", message, { hint, cause: error });
  };
  const refuse = (error: unknown): never => {
    throw toRefusal(error);
  };
  let lock: { release(): void };
  try {
    makePrivateFolder(dir);
    lock = lockFolder(dir, {
      what: `The spool in ${dir}`,
      taken: new AppError("store_locked", `Another Tocsin already uses the spool in ${dir}.`, {
        hint: "Stop it first, or give this one a folder of its own with SPOOL_DIR.",
      }),
    });
  } catch (error) {
    return refuse(error);
  }

  const header = newHeader();
  const files: SpoolFile[] = [];
  let lastNumber = 0;
  let isClosed = false;
  let bytes = 0;
  /** Of what waits to be written. */
  let waitingBytes = 0;
  let damaged: readonly string[] = [];
  /** What is to be unlinked. */
  let removals: Promise<unknown> = Promise.resolve();

  async function findDamaged(): Promise<void> {
    const names = (await readdir(dir)).filter((name) => name.endsWith(damagedEnd)).sort();
    damaged = names.map((name) => join(dir, name));
  }

  async function findFiles(): Promise<void> {
    // A new file has the name of none that was kept aside, or it might be kept in its place one day.
    for (const name of await readdir(dir))
      if (/^\d{8}\.spool(\.|$)/.test(name)) lastNumber = Math.max(lastNumber, Number(name.slice(0, 8)));
    for (const name of await listFiles(dir)) {
      const path = join(dir, name);
      const content = await readFile(path);
      const found = readSpoolFile(content);
      const torn = found === undefined ? content.length : found.tornBytes;
      const isDamaged = found?.isDamaged ?? false;
      if (torn > 0) onTorn({ file: path, bytes: torn, isDamaged });
      for (const { request } of found?.records ?? []) onFound(request);
      const requests = found?.records.length ?? 0;
      const alerts = countAlerts(found?.records ?? []);
      const file: SpoolFile = {
        path,
        mark: found?.mark ?? header.mark,
        end: content.length,
        takenTo: spoolHeaderBytes,
        requests,
        done: 0,
        untaken: { requests, alerts },
        failedReads: 0,
        isDamaged,
        isTorn: found !== undefined && found.tornBytes > 0,
      };
      bytes += file.end;
      files.push(file);
      if (requests === 0) remove(file);
    }
  }

  /** That nothing can be written should be found out before an alert needs it. */
  async function tryToWrite(): Promise<void> {
    const path = join(dir, "probe");
    const handle = await open(path, "w", 0o600);
    try {
      await handle.writeFile("probe\n");
      await handle.sync();
    } finally {
      await handle.close();
      await rm(path, { force: true });
    }
  }

  function remove(file: SpoolFile): void {
    files.splice(files.indexOf(file), 1);
    bytes -= file.end;
    removals = Promise.all([
      removals,
      Promise.resolve(file.handle?.close())
        // What is not whole may be the rest of an alert that was answered 202, if the disk has damaged it later.
        .then(() => keepAside(file) ?? rm(file.path, { force: true }))
        // It is found at the next start, and handed over again: no request is stored twice.
        .catch(() => {}),
    ]).then(() => {});
    file.handle = undefined;
  }

  function keepAside({ path, isDamaged, isTorn }: SpoolFile): Promise<void> | undefined {
    if (isDamaged) return rename(path, path + damagedEnd).then(findDamaged);
    return isTorn ? rename(path, `${path}.torn`) : undefined;
  }

  /** What of it cannot be read counts as done. Nothing more is written there. */
  function giveUp(file: SpoolFile, lost: { requests: number; alerts: number }): void {
    file.isDamaged = true;
    file.done += lost.requests;
    if (writing !== file) {
      void file.handle?.close().catch(() => {});
      file.handle = undefined;
    }
    onUnreadable({ keptIn: file.path + damagedEnd, ...lost });
    removeDone(file);
  }

  function removeDone(file: SpoolFile): void {
    const isOver = file.done === file.requests && file.takenTo === file.end && writing !== file;
    if (isOver && files.includes(file)) remove(file);
  }

  async function syncNames(): Promise<void> {
    await syncFile(dir).catch((error: unknown) => {
      if (!isWithoutFolderSync(error)) throw error;
    });
  }

  async function openNext(): Promise<SpoolFile> {
    lastNumber += 1;
    const path = join(dir, nameOf(lastNumber));
    const handle = await open(path, "ax", 0o600);
    try {
      await handle.appendFile(header.bytes);
      await syncNames();
    } catch (error) {
      await handle.close();
      await rm(path, { force: true }).catch(() => {});
      throw error;
    }
    const end = spoolHeaderBytes;
    const file: SpoolFile = {
      path,
      mark: header.mark,
      end,
      takenTo: end,
      requests: 0,
      done: 0,
      untaken: { requests: 0, alerts: 0 },
      failedReads: 0,
      isDamaged: false,
      isTorn: false,
      handle,
    };
    bytes += end;
    files.push(file);
    return file;
  }

  let writing: SpoolFile | undefined;
  /** The file that is written from now on, so that it is not removed; one that has grown large is left. */
  async function writable(): Promise<SpoolFile> {
    const last = files.at(-1);
    const isWell = last?.handle !== undefined && last.failedReads === 0 && !last.isDamaged;
    if (isWell && last.end < fileBytes) writing = last;
    else {
      await last?.handle?.close();
      if (last !== undefined) last.handle = undefined;
      writing = await openNext();
    }
    return writing;
  }

  async function write(batch: Waiting[]): Promise<void> {
    const records = batch.map(({ record }) => record);
    const file = await writable();
    const handle = file.handle as FileHandle;
    const size = records.reduce((sum, { length }) => sum + length, 0);
    try {
      await handle.appendFile(Buffer.concat(records));
      await handle.datasync();
      file.end += size;
      file.requests += records.length;
      file.untaken.requests += records.length;
      file.untaken.alerts += batch.reduce((sum, { alerts }) => sum + alerts, 0);
      bytes += size;
    } catch (error) {
      // After a failed sync nobody knows what of it is on disk: nothing more is written behind it.
      file.handle = undefined;
      await handle.truncate(file.end).catch(() => {});
      await handle.close().catch(() => {});
      throw error;
    } finally {
      writing = undefined;
      if (file.requests === file.done) remove(file);
    }
  }

  async function send(batch: Waiting[], answered: () => void): Promise<void> {
    const size = batch.reduce((sum, { record }) => sum + record.length, 0);
    const failure = await write(batch).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => toFailure(error),
    );
    waitingBytes -= size;
    answered();
    for (const { resolve, reject } of batch) failure === undefined ? resolve() : reject(failure);
  }

  function toFailure({ code, message }: NodeJS.ErrnoException): AppError {
    const isFull = code === "ENOSPC" || code === "EDQUOT";
    const text = isFull ? `The disk of the spool in ${dir} is full.` : `The spool in ${dir} cannot be written`;
    return new AppError("store_unavailable", isFull ? text : `${text} (${code ?? message}).`, {
      hint: "Free space, or repair the disk; Tocsin recovers by itself.",
    });
  }

  async function read({ path }: SpoolFile, from: number, to: number): Promise<Buffer> {
    const handle = await open(path, "r");
    try {
      return (await handle.read(Buffer.alloc(to - from), 0, to - from, from)).buffer;
    } finally {
      await handle.close();
    }
  }

  /** None: what there was cannot be read. */
  async function takeOf(file: SpoolFile): Promise<SpooledRequest[]> {
    const { takenTo, end, mark, untaken } = file;
    file.takenTo = end;
    file.untaken = { requests: 0, alerts: 0 };
    let buffer: Buffer;
    try {
      buffer = await read(file, takenTo, end);
      file.failedReads = 0;
    } catch (error) {
      file.failedReads += 1;
      const { code } = error as NodeJS.ErrnoException;
      if (file.failedReads >= mostFailedReads && (code === "ENOENT" || code === "EIO")) {
        giveUp(file, untaken);
        return [];
      }
      file.takenTo = takenTo;
      file.untaken.requests += untaken.requests;
      file.untaken.alerts += untaken.alerts;
      throw toRefusal(error);
    }
    const { records } = readRecords(buffer, mark, takenTo);
    const lost = { requests: untaken.requests - records.length, alerts: untaken.alerts - countAlerts(records) };
    const done = () => {
      file.done += 1;
      removeDone(file);
    };
    if (lost.requests > 0) giveUp(file, lost);
    return records.map(({ request }) => ({ request, done }));
  }

  const batching = createBatching<Waiting>({
    sizeOf(waiting) {
      let size = 0;
      const first = waiting.findIndex(({ record }) => {
        size += record.length;
        return size > mostBytesPerSync;
      });
      return first === -1 ? waiting.length : Math.max(1, first);
    },
    send,
    cores: 1,
  });

  try {
    await tryToWrite();
    await findFiles();
    await findDamaged();
  } catch (error) {
    lock.release();
    return refuse(error);
  }

  return {
    append: (request) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(new AppError("store_unavailable", "The spool is closed."));
          return;
        }
        const record = writeRecord(header.mark, request);
        if (bytes + waitingBytes + record.length > maxBytes) {
          const text = `The spool in ${dir} is full: it may hold ${formatBytes(maxBytes)} (SPOOL_SIZE).`;
          reject(new AppError("store_unavailable", text, { hint: "It empties when the database is back." }));
          return;
        }
        waitingBytes += record.length;
        batching.add({ record, alerts: request.ids.length, resolve, reject });
      }),
    async take() {
      for (;;) {
        const file = files.find(({ takenTo, end }) => takenTo < end);
        if (file === undefined) {
          await findDamaged().catch(() => {});
          return [];
        }
        const requests = await takeOf(file);
        if (requests.length > 0) return requests;
      }
    },
    bytes: () => bytes,
    damagedFiles: () => damaged,
    async close() {
      isClosed = true;
      await batching.settled();
      await removals;
      for (const { handle } of files) await handle?.close();
      lock.release();
    },
  };
}

const countAlerts = (records: readonly { request: IncomingRequest }[]): number =>
  records.reduce((sum, { request }) => sum + request.ids.length, 0);
