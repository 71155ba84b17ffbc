/**
 * Preloaded (`node --import`): ends the process by SIGKILL, as a power cut or an impatient hand would, right before the
 * KILL_AT-th step of those that change files or a database. Counting instead of waiting makes the place the same on every
 * machine. With KILL_AT=0 it ends nothing and says at the end how many steps there were, on file descriptor 3. It then copies
 * DATA_DIR into the folder LEFT_BEHIND before each step, if there is one: that is what a kill there would leave.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

const killAt = Number(process.env.KILL_AT);
const leftBehind = process.env.LEFT_BEHIND;
/** Rows are written by the hundred: that many of them are a step. */
const rowsPerStep = 300;
let steps = 0;

function step() {
  steps += 1;
  if (steps === killAt) process.kill(process.pid, "SIGKILL");
  // Another process copies: a file of SQLite that is closed in this one loses its locks.
  if (killAt === 0 && leftBehind) execFileSync("cp", ["-a", process.env.DATA_DIR, join(leftBehind, String(steps))]);
}

/** Settings of a connection change nothing that outlives it. */
const changing = /^(wal_checkpoint|journal_mode|integrity_check|user_version)/;

function before(object, names, note = step) {
  for (const name of names) {
    const original = object[name];
    object[name] = function (...given) {
      note(name, given[0]);
      return original.apply(this, given);
    };
  }
}

before(fs, ["linkSync", "renameSync", "rmSync", "copyFileSync", "closeSync"]);
before(fs.promises, ["rename", "open", "rm"]);
syncBuiltinESMExports();

const isNodeApi = Number.parseInt(process.versions.node, 10) >= 24;
const Sqlite = createRequire(import.meta.url)(isNodeApi ? "better-sqlite3-node-api" : "better-sqlite3");
before(Sqlite.prototype, ["pragma", "backup", "close", "exec"], (name, text) => {
  if (name !== "pragma" || changing.test(text)) step();
});
const any = new Sqlite(":memory:");
let rows = 0;
before(Object.getPrototypeOf(any.prepare("SELECT 1")), ["run"], () => {
  rows += 1;
  if (rows % rowsPerStep === 0) step();
});
any.close();

process.on("exit", () => {
  if (killAt === 0) fs.writeSync(3, String(steps));
});
