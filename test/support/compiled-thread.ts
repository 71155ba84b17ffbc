import { existsSync } from "node:fs";

/** The compiled entry of a database thread: a thread runs no TypeScript. Fails when nobody has built. */
export function compiledThread(): URL {
  const entry = new URL("../../dist/store/sqlite/thread.js", import.meta.url);
  if (!existsSync(entry))
    throw new Error("dist/store/sqlite/thread.js is missing: run `npm run build` first (`npm test` does)");
  return entry;
}
