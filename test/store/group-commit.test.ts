import { readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { createGroupCommit } from "../../src/store/sqlite/group-commit.ts";
import { isDiskFull, toStoreError } from "../../src/store/sqlite/store-error.ts";
import { createContext, type TransactionContext } from "../../src/store/sqlite/transactions/context.ts";
import { createTransactions, type Transactions } from "../../src/store/sqlite/transactions/index.ts";
import { createSqliteDialect, runShared } from "../../src/store/sqlite/tx.ts";
import { newId, request } from "../conformance/store/scene-samples.ts";
import { openLog } from "./open-log.ts";

const notice = (id: string) => ({
  name: "recordNotice" as const,
  arguments: [{ id, at: 1, facts: { severity: "info", alertKey: "k" }, decisions: [], deliveries: [] }],
});

const mute = { id: "", matchers: [], reason: "", startsAt: 1, endsAt: 2, createdAt: 1, createdBy: "" };

function setUp(change = (transactions: Transactions, _context: TransactionContext): Transactions => transactions) {
  const { db } = openLog();
  const context = createContext({ db, newId, now: Date.now });
  const group = createGroupCommit(context, change(createTransactions(context), context));
  const accept = (ids: string[]) => ({ name: "acceptRequest" as const, arguments: [request({ ids })] });
  const count = () => db.prepare("SELECT count(*) FROM alerts").pluck().get();
  return { db, group, accept, count };
}

/** Frames that end a commit carry the size of the database: sqlite.org/fileformat2.html, 4.1. */
function commitsInLog(path: string): number {
  const log = readFileSync(`${path}-wal`);
  const frameBytes = 24 + log.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at + frameBytes <= log.length; at += frameBytes) if (log.readUInt32BE(at + 4) > 0) commits += 1;
  return commits;
}

it("group commit puts a whole batch into one commit", async () => {
  const { db, group, accept, count } = setUp();
  db.pragma("wal_checkpoint(TRUNCATE)");
  const { results } = await group.commit(Array.from({ length: 100 }, () => accept([newId()])));
  expect(results.every(({ ok }) => ok)).toBe(true);
  expect(count()).toBe(100);
  expect(commitsInLog(db.name)).toBe(1);
  await group.commit([accept([newId()])]);
  await group.commit([{ name: "listUnrouted", arguments: [10, 0] }]);
  expect(commitsInLog(db.name)).toBe(2);
  expect(db.inTransaction).toBe(false);
});

it("group commit gives the changes of a call that was rolled back no version", async () => {
  const { group, db } = setUp();
  const taken = newId();
  await group.commit([notice(taken)]);
  const { version } = await group.commit([notice(newId()), notice(taken), notice(newId())]);
  expect(db.prepare("SELECT version FROM alerts ORDER BY seq").pluck().all()).toEqual([1, 2, 3]);
  expect(version).toBe(3);
});

it("group commit drops the key of a request only where the database is damaged, not while another program writes to it", async () => {
  const refused = Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" });
  const { group, count } = setUp(({ acceptRequest, ...others }) => ({
    ...others,
    acceptRequest(incoming) {
      if (incoming.dedupeKey !== undefined) throw refused;
      return acceptRequest(incoming);
    },
  }));
  const call = { name: "acceptRequest" as const, arguments: [request({ dedupeKey: "k" })] };
  expect((await group.commit([call])).results).toMatchObject([{ ok: false, error: { code: "store_unavailable" } }]);
  expect(count()).toBe(0);
});

it("group commit undoes a transaction that waits for something else than its database, alone, and lets nothing of it be written later", async () => {
  let left: Promise<unknown> = Promise.resolve();
  const { group, db } = setUp(({ addMute, endMute, ...others }, context) => ({
    ...others,
    endMute,
    addMute(mute) {
      if (mute.id !== "late") return addMute(mute);
      const insert = createSqliteDialect(context).insertion("watch_states");
      return runShared((tx) => {
        left = nextTurn().then(() => tx.insert(insert, [{ name: "late", state: "1" }], {}));
        return left as Promise<never>;
      }, context);
    },
  }));
  const add = (id: string) => ({ name: "addMute" as const, arguments: [{ ...mute, id }] });
  const { results, notes } = await group.commit([add("one"), add("late"), add("two")]);
  expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
  expect(results[1]).toMatchObject({ error: { message: expect.stringContaining("has waited for something else") } });
  expect(notes).toMatchObject({ mutes: true });
  await expect(left).rejects.toThrow("a transaction that is over");
  expect(db.prepare("SELECT id FROM mutes ORDER BY id").pluck().all()).toEqual(["one", "two"]);
  expect(db.prepare("SELECT count(*) FROM watch_states").pluck().get()).toBe(0);
  expect(db.inTransaction).toBe(false);
});

it("group commit keeps what is a bug apart from what the disk refuses", async () => {
  const error = (code: string) => Object.assign(new Error("x"), { code });
  const bug = error("SQLITE_CONSTRAINT_UNIQUE");
  expect(toStoreError(bug)).toBe(bug);
  expect(toStoreError(error("SQLITE_IOERR_READ"))).toMatchObject({ code: "store_unavailable" });
  const message = "The disk that holds the database is full.";
  const full = { code: "store_unavailable", message, retryAfterMs: 30_000 };
  expect(toStoreError(error("SQLITE_FULL"))).toMatchObject(full);
  expect(isDiskFull(error("SQLITE_IOERR_READ"))).toBe(false);
});
