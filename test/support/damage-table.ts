import { closeSync, openSync, writeSync } from "node:fs";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";

/** As a failing disk does: the first page of a table or index of a closed database holds something else. */
export function damageTable(path: string, name: string): void {
  const db = new Sqlite(path);
  const pageSize = db.pragma("page_size", { simple: true }) as number;
  const page = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(name) as number;
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(pageSize, 0xee), 0, pageSize, (page - 1) * pageSize);
  closeSync(file);
}
