import { describe, expect, it, onTestFinished } from "vitest";
import { openPostgresDatabase } from "../../../src/store/postgres/store.ts";
import { bindShared, postgresDialect } from "../../../src/store/postgres/tx.ts";
import { createSharedTransactions } from "../../../src/store/transactions/index.ts";
import { newId } from "../../conformance/store/scene-samples.ts";
import { postgresDatabaseOf, runSql } from "../../support/postgres.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

const bot = { group: "bot", statuses: [], paces: [] };

async function openLanes(url: string, relayName: string) {
  const database = await openPostgresDatabase({ url, relayName });
  onTestFinished(() => database.close());
  const { shared } = createSharedTransactions(postgresDialect, { relayName, startedAt: database.startedAt, newId });
  return { database, ...bindShared(database, database.read, shared) };
}

const someDatabase = () => postgresDatabaseOf(makeTempFolder());

describe("lanes on PostgreSQL", () => {
  it("go to one of those who ask at once", async () => {
    const url = await someDatabase();
    const relays = await Promise.all(["one", "two", "three"].map((name) => openLanes(url, name)));
    const groups = Array.from({ length: 20 }, (_, index) => ({ ...bot, group: `group ${(index * 7) % 20}` }));
    const grants = await Promise.all(
      relays.map(({ acquireLanes }, index) => acquireLanes(`process ${index}`, groups, 3_600_000)),
    );
    const names = grants.flat().map(({ group }) => group);
    expect([...names].sort()).toEqual(groups.map(({ group }) => group).sort());
    expect(new Set(grants.flat().map(({ fence }) => fence)).size).toBe(20);
  });

  it("of a process that is gone go to the next one of its name at once, and of others when the lease ends", async () => {
    const url = await someDatabase();
    const killed = await openLanes(url, "one");
    expect(await killed.acquireLanes("process 1", [bot], 3_600_000)).toHaveLength(1);
    const other = await openLanes(url, "two");
    expect(await other.acquireLanes("process 2", [bot], 3_600_000)).toEqual([]);
    const next = await openLanes(url, "one");
    expect(await next.acquireLanes("process 3", [bot], 3_600_000)).toHaveLength(1);
    // Two that run under one name take a lane from each other once, and not by turns.
    expect(await killed.acquireLanes("process 1", [bot], 3_600_000)).toEqual([]);
  });

  it("are ruled by the database's clock", async () => {
    const url = await someDatabase();
    const { acquireLanes } = await openLanes(url, "one");
    await acquireLanes("process 1", [bot], 3_600_000);
    const rows = await runSql(
      url,
      "SELECT lease_until BETWEEN now() AND now() + interval '1 hour' AS by_it FROM lanes",
    );
    expect(rows).toEqual([{ by_it: true }]);
  });
});
