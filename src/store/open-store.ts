import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "../core/ports/store.ts";
import type { StorePlace } from "../core/store-place.ts";
import { replaceFile } from "../ground/files/replace-file.ts";
import { keptFiles, readText } from "./kept-files.ts";
import type { PostgresStoreOptions } from "./postgres/store.ts";
import {
  databaseFileName,
  lockDataFolder,
  openThreadedStore,
  type ThreadedStoreOptions,
} from "./sqlite/threaded-store.ts";
import { formerFolder, takeOver } from "./with-kept.ts";

/** `relayName`: the name that people know the relay by. */
export type OpenStoreOptions = StorePlace &
  Omit<ThreadedStoreOptions, "dataDir"> &
  Omit<PostgresStoreOptions, "url" | "listenUrl" | "isExisting">;

export type OpenedStore = Store & Required<Pick<Store, "kept">>;

/**
 * The store of the configuration. With PostgreSQL the folder, if there is one, is locked too: journals of this process lie there.
 * Relays on one machine each need their own folder, or none.
 * @throws what `openThreadedStore` or `openPostgresStore` throws.
 */
export async function openStore(options: OpenStoreOptions): Promise<OpenedStore> {
  if (options.databaseUrl === undefined)
    return { ...(await openThreadedStore(options)), kept: keptFiles(options.dataDir) };
  const { dataDir, databaseUrl, databaseListenUrl, relayName } = options;
  const lock = dataDir === undefined ? undefined : lockDataFolder(dataDir);
  try {
    // Most relays never need it.
    const { openPostgresStore } = await import("./postgres/store.ts");
    const id = dataDir === undefined ? randomUUID() : await readOrMakeId(dataDir);
    const store = await openPostgresStore({
      ...options,
      relayName: `${relayName} ${id}`,
      url: databaseUrl.reveal(),
      listenUrl: databaseListenUrl?.reveal(),
    });
    // If the configuration gives all secrets, no earlier step has looked into the folder.
    await takeOver(dataDir, store.kept);
    return {
      ...store,
      close: () => store.close().finally(lock?.release),
    };
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/** The id of the folder's relay. After a restart the relay takes over its former alerts and lanes at once. */
async function readOrMakeId(dataDir: string): Promise<string> {
  const path = join(dataDir, "relay-id");
  const kept = (await readText(path))?.trim() ?? "";
  if (/^[0-9a-f-]{36}$/.test(kept)) return kept;
  const made = randomUUID();
  await replaceFile(path, `${made}\n`);
  return made;
}

/** The folder of an SQLite log that is unused since PostgreSQL is configured. */
export function findUnusedLog({ dataDir, databaseUrl }: StorePlace): string | undefined {
  const folder = formerFolder(dataDir);
  return databaseUrl !== undefined && existsSync(join(folder, databaseFileName)) ? folder : undefined;
}
