import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { KeptRecords } from "../core/ports/kept-records.ts";
import type { StorePlace } from "../core/store-place.ts";
import { keptFiles, lockFileName } from "./kept-files.ts";

/** Where a relay without DATABASE_URL would have its log, and perhaps had it. */
export function formerFolder(dataDir: string | undefined): string {
  return dataDir ?? resolve("data");
}

/**
 * What is kept for all processes, alone, for as long as `work` takes: in the PostgreSQL of the configuration, or else in files
 * of its folder.
 *
 * @param options.isExisting see `PostgresStoreOptions`. When not, a database in which nothing is kept yet takes over what lies in
 * the folder, so that senders and people need nothing new. Default true
 * @throws what `openKeptRecords` and `work` throw.
 */
export async function withKept<T>(
  place: StorePlace,
  work: (kept: KeptRecords) => Promise<T>,
  { isExisting = true }: { isExisting?: boolean } = {},
): Promise<T> {
  if (place.databaseUrl === undefined) return work(keptFiles(place.dataDir));
  const { openKeptRecords } = await import("./postgres/store.ts");
  const { kept, close } = await openKeptRecords({ url: place.databaseUrl.reveal(), isExisting });
  try {
    if (!isExisting) await takeOver(place.dataDir, kept);
    return await work(kept);
  } finally {
    await close();
  }
}

/** All of it or, when somebody else was first, nothing: what has been forgotten since does not come back. */
export async function takeOver(dataDir: string | undefined, to: KeptRecords): Promise<void> {
  const folder = formerFolder(dataDir);
  // A folder that nobody has named may be anybody's.
  if (dataDir === undefined && !existsSync(join(folder, lockFileName))) return;
  if ((await to.list()).length > 0) return;
  const from = keptFiles(folder);
  const names = await from.list();
  const texts = await from.read(...names);
  await to.change(names.map((name, index) => ({ name, from: undefined, to: texts[index] })));
}
