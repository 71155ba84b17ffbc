import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { copyDatabase } from "../../src/store/sqlite/copy-database.ts";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { damageTable } from "../support/damage-table.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

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
