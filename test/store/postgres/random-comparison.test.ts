import { expect, it } from "vitest";
import { makePostgresDatabase } from "../../support/postgres.ts";
import { compareStores } from "../../support/store-comparison.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

it("SQLite and PostgreSQL answer the same random calls alike, and keep the same rows", async () => {
  const made = await compareStores(makeTempFolder(), await makePostgresDatabase(), 20261122, 400);
  expect(Object.values(made)).not.toContain(0);
});
