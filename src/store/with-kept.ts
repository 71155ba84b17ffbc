import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { KeptRecords } from "../core/ports/kept-records.ts";
import type { StorePlace } from "../core/store-place.ts";
import { keptFiles, lockFileName } from "./kept-files.ts";

/** The folder in which a relay without DATABASE_URL has its log, or had it before. */
export function formerFolder(dataDir: string | undefined): string {
  return dataDir ?? resolve("data");
}

/**
 * Opens the records that all processes share for as long as `work` takes: in the PostgreSQL of the configuration, or else in
 * files of its folder.
 * @param options.isExisting see `PostgresStoreOptions`. When false, a database without records takes over those of the folder, so
 * that senders and people can keep their secrets. Default true
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

/** Takes over all records, or none where another process was first: records that were removed since do not come back. */
export async function takeOver(dataDir: string | undefined, to: KeptRecords): Promise<void> {
  const folder = formerFolder(dataDir);
  // A folder that the configuration does not name may belong to another program.
  if (dataDir === undefined && !existsSync(join(folder, lockFileName))) return;
  if ((await to.list()).length > 0) return;
  const from = keptFiles(folder);
  const names = await from.list();
  const texts = await from.read(...names);
  await to.change(names.map((name, index) => ({ name, from: undefined, to: texts[index] })));
}
