import { statSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { WriteAheadLog } from "../../src/store/sqlite/write-ahead-log.ts";
import { openLog } from "./open-log.ts";

const pagesPerCommit = 40;

function setUp() {
  const { db } = openLog();
  const log = new WriteAheadLog(db);
  onTestFinished(() => log.close());
  // What is looked at is how far the log is copied, not whether the disk keeps it.
  db.pragma("synchronous = OFF");
  db.exec("CREATE TABLE bodies (body BLOB)");
  const insert = db.prepare("INSERT INTO bodies VALUES (zeroblob(?))");
  const copied = () => (db.pragma("wal_checkpoint(NOOP)") as { checkpointed: number }[])[0]?.checkpointed ?? 0;
  let longestStep = 0;
  const pageSize = db.pragma("page_size", { simple: true }) as number;
  const longestPages = (32 * 1024 * 1024) / pageSize;
  function commit() {
    insert.run(pagesPerCommit * pageSize);
    const before = copied();
    log.copyStep();
    longestStep = Math.max(longestStep, copied() - before);
  }
  const pages = () => statSync(`${db.name}-wal`).size / (pageSize + 24);
  return { db, commit, longestStep: () => longestStep, pages, longestPages };
}

it("keeps the log short under steady writing, and copies little of it at a time", () => {
  const { commit, pages, longestStep, longestPages } = setUp();
  for (let written = 0; written < 5 * longestPages; written += pagesPerCommit) commit();
  expect(pages()).toBeLessThan(longestPages + 2 * pagesPerCommit);
  expect(longestStep()).toBeLessThan(longestPages / 4);
});

it("begins the log anew behind a reader that has kept it", () => {
  const { db, commit, pages, longestPages } = setUp();
  const many = 1.5 * longestPages;
  const reader = openDatabase({ path: db.name, readOnly: true });
  commit();
  reader.exec("BEGIN; SELECT 1 FROM bodies LIMIT 1");
  for (let written = 0; written < many; written += pagesPerCommit) commit();
  const kept = pages();
  expect(kept).toBeGreaterThan(many);
  reader.exec("COMMIT");
  reader.close();
  for (let written = 0; written < many; written += pagesPerCommit) commit();
  expect(pages()).toBeLessThan(kept + 2 * pagesPerCommit);
});
