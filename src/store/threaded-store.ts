import { join } from "node:path";
import type { Store, StoreChange } from "../core/store.ts";
import { startDatabaseThread } from "./database-thread.ts";
import { lockDataFolder } from "./lock.ts";
import { createStore } from "./store.ts";

export const databaseFileName = "tocsin.db";

export interface ThreadedStoreOptions {
  dataDir: string;
  /** The compiled entry of a database thread. Default: beside this file. */
  threadEntry?: URL;
  /** See `SessionOptions`. */
  ballastBytes?: number;
}

/**
 * The store that a relay runs on: one thread writes, one reads, and this thread only waits. Why a thread, with
 * figures: docs/adr/0001-database-thread.md.
 *
 * @throws AppError `store_locked` when another process uses the folder, `store_too_new` when a newer Tocsin wrote it.
 */
export async function openThreadedStore(options: ThreadedStoreOptions): Promise<Store> {
  const lock = lockDataFolder(options.dataDir);
  const listeners = new Set<(change: StoreChange) => void>();
  let lastVersion = -1;
  const onVersion = (version: number) => {
    if (version <= lastVersion) return;
    lastVersion = version;
    for (const listener of listeners) listener({ version });
  };
  const entry = options.threadEntry ?? new URL("./thread.js", import.meta.url);
  const path = join(options.dataDir, databaseFileName);
  try {
    const writer = await startDatabaseThread(
      { path, ballastBytes: options.ballastBytes },
      { entry, onVersion },
    );
    const reader = await startDatabaseThread({ path, readOnly: true }, { entry });
    return createStore({
      write: (name, args) => writer.call({ name, arguments: args }),
      read: (name, args) => reader.call({ name, arguments: args }),
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      health: () => writer.health(),
      backup: (to) => reader.backup(to),
      async close() {
        await reader.close();
        await writer.close();
        lock.release();
      },
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}
