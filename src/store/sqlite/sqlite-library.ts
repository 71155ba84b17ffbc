import { createRequire } from "node:module";
import type { default as BetterSqlite, Database, Options } from "better-sqlite3";
import { AppError } from "../../core/errors.ts";

const require = createRequire(import.meta.url);

const isNodeApi = Number.parseInt(process.versions.node, 10) >= 24;

/** The command that helps where the compiled part is for another Node, damaged or missing. */
export const libraryRepair = isNodeApi
  ? "Run npm ci with the Node that runs Tocsin."
  : "Run npm rebuild better-sqlite3 with the Node that runs Tocsin; compiling needs g++, make and python3.";

/**
 * better-sqlite3, in the release that this Node can use. No release works on all of them. 13 ends Node 20 without a message. 12
 * aborts Node 24.19 and newer at a garbage collection (nodejs/node#65446: its objects are of node::ObjectWrap, whose destructor
 * asks for an environment that is not entered then). 13 is built on Node-API, needs Node 22 and contains its compiled part.
 *
 * The first `new Sqlite()` loads the compiled part. `toOpenError` has words for a part that cannot be loaded.
 *
 * Importing this throws AppError `failed` where the release is not installed.
 */
export const Sqlite: typeof BetterSqlite = loadRelease(isNodeApi ? "better-sqlite3-node-api" : "better-sqlite3");

function loadRelease(name: string): typeof BetterSqlite {
  try {
    return require(name);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw cause;
    const message = `The database library ${name} is not installed, and this Node ${process.versions.node} needs it.`;
    const hint = "Run npm ci with the Node that runs Tocsin: an older Node leaves out what Node 24 and newer need.";
    throw new AppError("failed", message, { hint, cause });
  }
}

/** Opens a connection for this work alone. */
export function withSqlite<T>(path: string, options: Options, work: (db: Database) => T): T {
  const db = new Sqlite(path, options);
  try {
    return work(db);
  } finally {
    db.close();
  }
}
