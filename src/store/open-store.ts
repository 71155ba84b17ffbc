import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SignalTopic } from "../core/ports/signals.ts";
import type { Store } from "../core/ports/store.ts";
import type { Secret } from "../core/secret.ts";
import { replaceFile } from "../ground/files/replace-file.ts";
import { databaseFileName, lockDataFolder, openThreadedStore } from "./sqlite/threaded-store.ts";

export interface OpenStoreOptions {
  dataDir: string;
  /** Of the PostgreSQL that the relays share. Absent: SQLite in `dataDir`. */
  databaseUrl?: Secret;
  /** What people call the relay: where it runs. */
  relayName: string;
  /** See `ThreadedStoreOptions`. */
  secretFolder?: string;
  threadEntry?: URL;
  onStopped?(error: Error): void;
  onListenerFailed?(topic: SignalTopic, error: unknown): void;
}

/**
 * The store that the configuration names. With PostgreSQL the folder is locked too, since journals of this process lie there:
 * relays on one machine have a folder each.
 *
 * @throws what `openThreadedStore` or `openPostgresStore` throws.
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { dataDir, databaseUrl, relayName, onListenerFailed } = options;
  if (databaseUrl === undefined) return openThreadedStore(options);
  const lock = lockDataFolder(dataDir);
  try {
    // Most relays never need it.
    const { openPostgresStore } = await import("./postgres/store.ts");
    const name = `${relayName} ${await readOrMakeId(dataDir)}`;
    const store = await openPostgresStore({ url: databaseUrl.reveal(), relayName: name, onListenerFailed });
    return {
      ...store,
      close: () => store.close().finally(lock.release),
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * Who has the folder is the relay that had it before, which is gone: it takes that one's alerts and lanes over at once. What was
 * copied to another machine differs by the name.
 */
async function readOrMakeId(dataDir: string): Promise<string> {
  const path = join(dataDir, "relay-id");
  const kept = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  if (/^[0-9a-f-]{36}$/.test(kept.trim())) return kept.trim();
  const made = randomUUID();
  await replaceFile(path, `${made}\n`);
  return made;
}

/** Whether there is a log of SQLite that nobody looks at while PostgreSQL is used. */
export function hasUnusedLog({ dataDir, databaseUrl }: Pick<OpenStoreOptions, "dataDir" | "databaseUrl">): boolean {
  return databaseUrl !== undefined && existsSync(join(dataDir, databaseFileName));
}
