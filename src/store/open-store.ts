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

/** `relayName`: what people call the relay, where it runs. */
export type OpenStoreOptions = StorePlace &
  Omit<ThreadedStoreOptions, "dataDir"> &
  Omit<PostgresStoreOptions, "url" | "listenUrl" | "isExisting">;

/** Every port, and what is kept for all processes next to it. */
export type OpenedStore = Store & Required<Pick<Store, "kept">>;

/**
 * The store that the configuration names. With PostgreSQL a folder is locked too where there is one, since journals of this
 * process lie there: relays on one machine have a folder each, or none.
 *
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
    // When all secrets are given, nobody has looked before.
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

/**
 * The owner of the folder is the relay that had it before and is gone: it takes over that relay's alerts and lanes at once. What
 * was copied to another machine differs by the name.
 */
async function readOrMakeId(dataDir: string): Promise<string> {
  const path = join(dataDir, "relay-id");
  const kept = (await readText(path))?.trim() ?? "";
  if (/^[0-9a-f-]{36}$/.test(kept)) return kept;
  const made = randomUUID();
  await replaceFile(path, `${made}\n`);
  return made;
}

/** The folder of a log of SQLite that nobody looks at while PostgreSQL is used. */
export function findUnusedLog({ dataDir, databaseUrl }: StorePlace): string | undefined {
  const folder = formerFolder(dataDir);
  return databaseUrl !== undefined && existsSync(join(folder, databaseFileName)) ? folder : undefined;
}
