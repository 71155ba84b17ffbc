import { createRequire } from "node:module";
import type { default as BetterSqlite } from "better-sqlite3";

const require = createRequire(import.meta.url);

/**
 * better-sqlite3, in the release that this Node can use. No release serves all of them: 13 ends Node 20 without a message, and 12
 * aborts Node 24.19 and newer at a garbage collection (nodejs/node#65446: its objects are node::ObjectWrap's, whose destructor asks for
 * an environment that is not entered then). 13 is built on Node-API, needs Node 22 and brings its compiled part along.
 *
 * The compiled part is loaded by the first `new Sqlite()`; `toOpenError` has words for a part that cannot be.
 */
export const Sqlite: typeof BetterSqlite =
  Number.parseInt(process.versions.node, 10) >= 24
    ? require("better-sqlite3-node-api")
    : require("better-sqlite3");
