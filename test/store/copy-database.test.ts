import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { copyDatabase } from "../../src/store/sqlite/copy-database.ts";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { damageTable } from "../support/damage-table.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

it("copies a database that another connection writes to at every turn, as it was when the copy began", async () => {
  const folder = makeTempFolder();
  const path = join(folder, "tocsin.db");
  const db = openDatabase({ path });
  onTestFinished(() => void db.close());
  const insert = db.prepare(
    "INSERT INTO requests (received_at, headers, body, fingerprint, items) VALUES (?, '[]', ?, 1, 1)",
  );
  // More than two turns of pages, so that commits fall between them.
  for (let count = 0; count < 10; count += 1) insert.run(count, Buffer.alloc(1024 * 1024, count));
  let copying = true;
  let written = 0;
  const copied = copyDatabase(path, join(folder, "copy.db")).finally(() => {
    copying = false;
  });
  while (copying) {
    insert.run(100 + written, Buffer.from("meanwhile"));
    written += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await copied;
  expect(written).toBeGreaterThan(3);
  const copy = new Sqlite(join(folder, "copy.db"), { readonly: true });
  onTestFinished(() => void copy.close());
  const kept = copy.prepare("SELECT count(*) FROM requests").pluck().get() as number;
  expect(kept).toBeGreaterThanOrEqual(10);
  expect(kept).toBeLessThanOrEqual(12);
});

it("names no copy of a damaged database, and says what is wrong", async () => {
  const folder = makeTempFolder();
  const path = join(folder, "tocsin.db");
  openDatabase({ path }).close();
  damageTable(path, "requests_by_key");
  const message = expect.stringMatching(/did not pass its integrity check: \S/);
  const hint = expect.stringContaining("damaged");
  await expect(copyDatabase(path, join(folder, "copy.db"))).rejects.toMatchObject({ message, hint });
  expect(readdirSync(folder).filter((name) => name.startsWith("copy"))).toEqual([]);
});
