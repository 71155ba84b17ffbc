import { join } from "node:path";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { serialsIn } from "./requests.ts";

/** Looks up each accepted alert by its number: a count would include the relay's notices. The relay may run. */
export function lookUp(folder: string, accepted: readonly number[]): { missing: number; doubled: number } {
  const times = new Map<number, number>();
  const db = new Sqlite(join(folder, "tocsin.db"), { readonly: true });
  try {
    for (const body of db.prepare<[], Buffer>("SELECT body FROM requests").pluck().iterate()) {
      for (const serial of new Set(serialsIn(body))) times.set(serial, (times.get(serial) ?? 0) + 1);
    }
  } finally {
    db.close();
  }
  return {
    missing: accepted.filter((serial) => !times.has(serial)).length,
    doubled: [...times.values()].filter((count) => count > 1).length,
  };
}
