import { closeSync, openSync, watch } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { AppError } from "../../core/errors.ts";
import type { SignalTopic } from "../../core/ports/signals.ts";
import { makePrivateFolder } from "../../ground/files/private-folder.ts";
import { giveToOwner } from "../../ground/files/replace-file.ts";
import { lockFileName, secretFolder } from "../kept-files.ts";
import { createSignalHub, type SignalHub } from "../signals.ts";
import { createCommitSignals } from "./commit-signals.ts";
import { type DatabaseThread, startDatabaseThread } from "./database-thread.ts";
import { Sqlite } from "./sqlite-library.ts";
import { createStore, type SqliteStore } from "./store.ts";
import { toOpenError } from "./store-error.ts";

export const databaseFileName = "tocsin.db";

export interface ThreadedStoreOptions {
  dataDir: string;
  /** See `DatabaseThreadOptions`. */
  threadEntry?: URL;
  /** See `SessionOptions`. */
  ballastBytes?: number;
  /** Called when a database thread has ended by itself. Every later call is refused: end this process, to start anew. */
  onStopped?: (error: Error) => void;
  /** Whether changes in the folder of shared secrets are emitted as `secrets`. Default false. */
  watchesSecrets?: boolean;
  /** Called with the error that a listener of `subscribe` throws. */
  onListenerFailed?: (topic: SignalTopic, error: unknown) => void;
}

/**
 * The store of a relay: one thread writes, another reads and starts with the first look, and this thread only waits. Why a
 * thread, with figures: docs/adr/0001-database-thread.md.
 * @throws AppError `store_locked` when another process uses the folder, `store_too_new` when a newer Tocsin wrote it,
 * `store_unavailable` when it cannot be opened.
 */
export async function openThreadedStore(options: ThreadedStoreOptions): Promise<SqliteStore> {
  const { dataDir, ballastBytes, onStopped } = options;
  const entry = options.threadEntry;
  const path = join(dataDir, databaseFileName);
  const hub = createSignalHub(options.onListenerFailed);
  const lock = lockDataFolder(dataDir);
  const stopWatching = options.watchesSecrets ? watchSecrets(secretFolder(dataDir), hub) : () => {};
  const threads: DatabaseThread[] = [];
  const start = async (...[data, more]: Parameters<typeof startDatabaseThread>) => {
    const thread = await startDatabaseThread(data, more);
    threads.push(thread);
    return thread;
  };
  let reading: Promise<DatabaseThread> | undefined;
  let isClosed = false;
  /** Starts at the first question: the thread takes nine megabytes, and many relays have no readers. */
  function reader(): Promise<DatabaseThread> {
    if (isClosed) return Promise.reject(new AppError("store_unavailable", "The store is closed."));
    // If the thread cannot be started, this question fails and the next one starts another. Alerts do not need it.
    reading ??= start({ path, readOnly: true }, { entry, onStopped }).catch((error: unknown) => {
      reading = undefined;
      throw error;
    });
    return reading;
  }
  /** The writer ends last, so that it can empty the log into the database. */
  async function close(): Promise<void> {
    isClosed = true;
    await reading?.catch(() => {});
    try {
      while (threads.length > 0) await threads.pop()?.close();
    } finally {
      stopWatching();
      lock.release();
    }
  }

  try {
    const onCommitted = createCommitSignals(hub);
    const writer = await start({ path, ballastBytes }, { entry, onCommitted, onStopped });
    return createStore({
      write: (name, args) => writer.call({ name, arguments: args }),
      read: async (name, args) => (await reader()).call({ name, arguments: args }),
      subscribe: hub.subscribe,
      health: () => writer.ask("health", []),
      maintain: (now) => writer.ask("maintain", [now]),
      backup: (to) => copyInThread(path, to, entry),
      close,
    });
  } catch (error) {
    await close();
    throw error;
  }
}

/** No commit signals a change of these files. A process that follows a secret also looks at it from time to time. */
function watchSecrets(folder: string, hub: SignalHub): () => void {
  try {
    const watcher = watch(folder, { persistent: false }, () => hub.emit("secrets", undefined));
    watcher.on("error", () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => {};
  }
}

/** In a thread of its own: checking a large copy takes long, and must delay neither alerts nor pages. */
async function copyInThread(path: string, to: string, entry: URL | undefined): Promise<void> {
  const copier = await startDatabaseThread({ path, readOnly: true }, { entry });
  try {
    await copier.ask("backup", [to]);
  } finally {
    await copier.close();
  }
}

/** One process for each data folder. Throws `store_locked` when another holds it, `store_unavailable` when it is unusable. */
export function lockDataFolder(dataDir: string): { release(): void } {
  return lockFolder(dataDir, {
    what: `The data folder ${dataDir}`,
    taken: new AppError("store_locked", `Another Tocsin already uses the data folder ${dataDir}.`, {
      hint: "Stop it first, or give this one a folder of its own with DATA_DIR.",
    }),
  });
}

/**
 * The lock is SQLite's file lock, which the operating system releases at any end of the process. A lock file with a process id
 * would outlive a SIGKILL.
 * @throws `taken` when another process holds it. AppError `store_unavailable` when the folder cannot be used.
 */
export function lockFolder(folder: string, { what, taken }: { what: string; taken: AppError }): { release(): void } {
  const path = join(folder, lockFileName);
  let db: Database | undefined;
  try {
    makePrivateFolder(folder);
    closeSync(openSync(path, "a", 0o600));
    giveToOwner(path);
    db = new Sqlite(path, { timeout: 0 });
    db.pragma("journal_mode = DELETE");
    // A database that has a page is locked without writing. An empty one could not be locked on a full disk.
    if (db.pragma("user_version", { simple: true }) === 0) db.pragma("user_version = 1");
    db.exec("BEGIN EXCLUSIVE");
    const held = db;
    return { release: () => held.close() };
  } catch (error) {
    db?.close();
    throw (error as { code?: string }).code === "SQLITE_BUSY" ? taken : toOpenError(error, what);
  }
}
