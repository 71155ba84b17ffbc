import { existsSync } from "node:fs";

/** The compiled entry of a thread, by default that of a database: a thread runs no TypeScript. Fails when nobody has built. */
export function compiledThread(name = "store/sqlite/thread.js"): URL {
  const entry = new URL(`../../dist/${name}`, import.meta.url);
  if (!existsSync(entry)) throw new Error(`dist/${name} is missing: run \`npm run build\` first (\`npm test\` does)`);
  return entry;
}
