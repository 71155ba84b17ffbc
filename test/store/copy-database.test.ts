import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { copyDatabase } from "../../src/store/sqlite/copy-database.ts";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { withSqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { request } from "../conformance/store/scene-samples.ts";
import { damageTable } from "../support/damage-table.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { openLog } from "./open-log.ts";

it("copies what there was when it began, and nothing that is written meanwhile: steady writing never keeps it from its end", async () => {
  const { path, transactions } = openLog();
  await transactions.acceptRequest(request());
  const to = join(makeTempFolder(), "copy.db");
  const copied = copyDatabase(path, to);
  await transactions.acceptRequest(request());
  await copied;
  const countIn = (file: string) =>
    withSqlite(file, {}, (db) => db.prepare("SELECT count(*) FROM alerts").pluck().get());
  expect([countIn(path), countIn(to)]).toEqual([2, 1]);
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
