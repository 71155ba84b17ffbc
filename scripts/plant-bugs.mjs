// `npm run test:planted`: plants each bug of scripts/planted-bugs.mjs in a copy of this checkout and expects one of its
// tests to fail, or the journey of kills through several relays.
// Takes some twenty minutes and needs a build. `-- --only WORD` plants only bugs with the word in their name or file.
// The option may be repeated.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { plantedBugs } from "./planted-bugs.mjs";

const options = { only: { type: "string", multiple: true }, help: { type: "boolean", short: "h" } };
const { only, help } = parseArgs({ options }).values;
if (help) {
  console.log(
    "npm run test:planted [-- --only WORD …]\n\nPlants known bugs in a copy, and says whether tests find them.",
  );
  console.log("--only WORD  those with the word in their name or file; may be given more than once");
  process.exit(0);
}
const isAsked = ({ name, file }) => only?.some((word) => name.includes(word) || file.includes(word)) ?? true;
const bugs = plantedBugs.filter(isAsked);
const copied = [
  "bench",
  "bin",
  "dist",
  "scripts",
  "src",
  "test",
  "workshop",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
];
const folder = mkdtempSync(join(tmpdir(), "tocsin-planted-"));

/** The tests of the bug that fail with it, up to the first failure. */
function findBug({ name, file, from, to, tests }) {
  const path = join(folder, file);
  const code = readFileSync(path, "utf8");
  if (code.split(from).length !== 2) throw new Error(`${file} has changed: the bug "${name}" cannot be planted`);
  writeFileSync(
    path,
    code.replace(from, () => to),
  );
  // Tests of processes run the bundle.
  const isBuilt = file.startsWith("dist/");
  try {
    if (isBuilt) bundle();
    return tests.find((test) => !passes(test));
  } finally {
    writeFileSync(path, code);
    if (isBuilt) bundle();
  }
}

function bundle() {
  spawnSync(process.execPath, [resolve("scripts/bundle.mjs")], { cwd: folder, stdio: "inherit" });
}

function passes(test) {
  const ofVitest = ["vitest", "run", "--bail", "1", test];
  const args = test.startsWith("--") ? ["tsx", "test/relays/run.ts", ...test.split(" ")] : ofVitest;
  return spawnSync("npx", args, { cwd: folder, stdio: "ignore" }).status === 0;
}

try {
  for (const name of copied) cpSync(name, join(folder, name), { recursive: true });
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  // Where no test can run, every bug would seem found.
  for (const test of new Set(bugs.flatMap(({ tests }) => tests))) {
    if (!passes(test)) throw new Error(`${test} fails where no bug is planted`);
  }
  const missed = bugs.filter((bug) => {
    const test = findBug(bug);
    console.log(`${test === undefined ? "MISSED" : "found "} ${bug.name} (${bug.file}${test ? `, by ${test}` : ""})`);
    return test === undefined;
  });
  console.log(`${bugs.length} bugs planted, ${missed.length} missed.`);
  if (missed.length > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
