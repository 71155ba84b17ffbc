/**
 * `npm run test:long` runs every long test one after the other; `npm run test:long -- attacks` runs one, and what follows
 * its name is handed to it. A long test is a file of this folder that exports `run(args)`: it tries one promise for minutes
 * against real processes, prints a table of what it saw, and answers whether the promise held.
 */
import { readdirSync } from "node:fs";

const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(".ts") && file !== "run.ts")
  .map((file) => file.slice(0, -".ts".length));
const [name, ...args] = process.argv.slice(2);
if (name !== undefined && !names.includes(name)) {
  console.error(`There is no long test "${name}". There are: ${names.join(", ")}.`);
  process.exit(2);
}

const failed: string[] = [];
for (const each of name === undefined ? names : [name]) {
  console.log(`== ${each}`);
  const { run } = (await import(`./${each}.ts`)) as { run: (args: readonly string[]) => Promise<boolean> };
  if (!(await run(args))) failed.push(each);
}
console.log(failed.length === 0 ? "All long tests that ran held." : `Did not hold: ${failed.join(", ")}.`);
process.exit(failed.length === 0 ? 0 : 1);
