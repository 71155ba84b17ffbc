import { expect, onTestFinished } from "vitest";
import type { AppError } from "../../../src/core/errors.ts";
import type { Store } from "../../../src/core/ports/store.ts";
import {
  openPostgresDatabase,
  openPostgresStore,
  type PostgresStoreOptions,
} from "../../../src/store/postgres/store.ts";
import { postgresDatabaseOf, runSql } from "../../support/postgres.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

/** The address of an empty database. */
export const someDatabase = () => postgresDatabaseOf(makeTempFolder());

/** A relay's store, closed when the test has ended. */
export async function openRelay(url: string, relayName = "a test", more: Partial<PostgresStoreOptions> = {}) {
  const store = await openPostgresStore({ url, relayName, ...more });
  onTestFinished(() => store.close());
  return store;
}

/** What is below that store. */
export async function openDatabase(url: string, relayName = "a test", more: Partial<PostgresStoreOptions> = {}) {
  const database = await openPostgresDatabase({ url, relayName, ...more });
  onTestFinished(() => database.close());
  return database;
}

/** Relays on one database, by name; each a process of its own as far as that knows. */
export async function openRelays<Name extends string>(...names: Name[]) {
  const url = await someDatabase();
  const opened = await Promise.all(names.map(async (name) => [name, await openRelay(url, name)] as const));
  return { url, relays: opened.map(([, store]) => store), ...(Object.fromEntries(opened) as Record<Name, Store>) };
}

/** Makes the tables of an empty database. */
export const migrateOnly = async (url: string) => (await openPostgresDatabase({ url, relayName: "a test" })).close();

export const refusalOf = (work: Promise<unknown>): Promise<AppError> =>
  work.then(
    () => {
      throw new Error("it was not refused");
    },
    (error) => error as AppError,
  );

export const didWork = (work: Promise<unknown>) =>
  work.then(
    () => true,
    () => false,
  );

/** Columns that are null for a value that is missing in the other database, and empty or zero in this one. */
export const neverNull = { sqlite: ["threads.root_ref", "threads.last_ref"], postgres: ["alerts.version"] };

/** Resolves as soon as a connection of this database waits for another one's lock; fails where this work ends first. */
export async function someoneWaits(url: string, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const note = () => {
    isOver = true;
  };
  work.then(note, note);
  const sql = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  await expect.poll(async () => isOver || (await runSql(url, sql)).length > 0).toBe(true);
  expect(isOver, "the work has waited for nobody").toBe(false);
}
