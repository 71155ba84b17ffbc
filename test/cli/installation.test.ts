import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { startProgram } from "../support/cli.ts";
import { expectWords } from "../support/expect-words.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const root = new URL("../../", import.meta.url).pathname;

/** The release that this Node uses (`store/sqlite/sqlite-library.ts`). */
const library = Number.parseInt(process.versions.node, 10) >= 24 ? "better-sqlite3-node-api" : "better-sqlite3";

const run = (checkout: string, argv: string[], env: Record<string, string> = {}) =>
  startProgram([join(checkout, "bin/tocsin.js"), ...argv], { cwd: makeTempFolder(), env }).ended;

async function doctorFindsIt(checkout: string, env: Record<string, string>): Promise<void> {
  const { data } = JSON.parse((await run(checkout, ["doctor", "--json"], env)).stdout);
  expect(data.findings).toContainEqual(expect.objectContaining({ check: "database library", verdict: "problem" }));
}

/** The bin alone, as it stands before a build. */
function copyBin(): string {
  const checkout = makeTempFolder();
  cpSync(join(root, "bin"), join(checkout, "bin"), { recursive: true });
  cpSync(join(root, "package.json"), join(checkout, "package.json"));
  return checkout;
}

/** A built checkout without the database library, in either release. */
function copyBuiltWithoutLibrary(): string {
  const checkout = copyBin();
  cpSync(join(root, "dist"), join(checkout, "dist"), { recursive: true });
  const from = join(root, "node_modules");
  const to = join(checkout, "node_modules");
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (!/^(better-sqlite3|\.)/.test(name)) symlinkSync(join(from, name), join(to, name));
  }
  return checkout;
}

/** One whose database library has this in place of its compiled part; undefined: no such part. */
function copyBuilt(compiled: string | undefined): string {
  const checkout = copyBuiltWithoutLibrary();
  const from = join(root, "node_modules", library);
  const to = join(checkout, "node_modules", library);
  cpSync(join(from, "lib"), join(to, "lib"), { recursive: true });
  cpSync(join(from, "package.json"), join(to, "package.json"));
  if (compiled !== undefined) {
    const file = join(to, "build/Release/better_sqlite3.node");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, compiled);
  }
  return checkout;
}

/** Makes a process believe that it runs on another Node. */
function pretendNode(version: string): Record<string, string> {
  const file = join(makeTempFolder(), "pretend-node.cjs");
  writeFileSync(file, `Object.defineProperty(process.versions, "node", { value: "${version}" });\n`);
  return { NODE_OPTIONS: `--require=${file}` };
}

it("says in one line what to run where nothing is built yet", async () => {
  const checkout = copyBin();
  mkdirSync(join(checkout, "src"));
  writeFileSync(join(checkout, "src/main.ts"), "");
  const hint = "hint:  run: npm run build (npm start and npm run demo do it by themselves)";
  const stderr = `error: Tocsin is not built yet.\n${hint}\n`;
  expect(await run(checkout, ["status"])).toEqual({ status: 1, stdout: "", stderr });
});

it("answers --json with its one document also before a build", async () => {
  const { status, stdout } = await run(copyBin(), ["status", "--json"]);
  expect(status).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: "failed", message: "Tocsin is not built yet." } });
});

it("says in one line that packages are missing, as after an npm ci that was interrupted", async () => {
  const checkout = copyBin();
  cpSync(join(root, "dist"), join(checkout, "dist"), { recursive: true });
  const { status, stderr } = await run(checkout, ["serve"], { DATA_DIR: makeTempFolder(), PORT: "0" });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^error: The database library [\w-]+ is not installed, and .+\nhint: {2}Run npm ci .+\n$/m);
  expect(stderr).not.toMatch(/\n\s+at /);
});

it("says in one line that a part of the build is missing", async () => {
  const checkout = copyBin();
  const bundle = join(checkout, "dist/bundle");
  mkdirSync(bundle, { recursive: true });
  for (const name of ["main.js", "package.json", "load.js"])
    cpSync(join(root, "dist/bundle", name), join(bundle, name));
  const { status, stderr } = await run(checkout, ["serve"]);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^error: Tocsin is not installed completely: Cannot find module '.+'\.\nhint: {2}.+\n$/);
});

it.each([
  ["has another version's compiled part", "not a library", /cannot be loaded by this Node \d/],
  ["was never compiled", undefined, /has not been built for this Node \d/],
])("says how to build the database library anew when it %s", async (_what, compiled, words) => {
  const checkout = copyBuilt(compiled);
  const served = await run(checkout, ["serve"], { DATA_DIR: makeTempFolder(), PORT: "0" });
  expect(served.status).toBe(1);
  expectWords(served.stderr, [words, /hint: {2}Run npm (rebuild better-sqlite3|ci) with the Node/]);
  expect(served.stderr).not.toMatch(/\n\s+at /);
  await doctorFindsIt(checkout, { DATA_DIR: makeTempFolder(), PORT: "1" });
});

it.each([
  ["20.20.2", "better-sqlite3"],
  ["24.21.0", "better-sqlite3-node-api"],
])("says what to install where Node %s finds no %s, as after a change of Node", async (version, name) => {
  const checkout = copyBuiltWithoutLibrary();
  const env = { ...pretendNode(version), DATA_DIR: makeTempFolder(), PORT: "1" };
  const served = await run(checkout, ["serve"], env);
  expect(served.status).toBe(1);
  expectWords(served.stderr, [`error: The database library ${name} is not installed`, "hint:  Run npm ci"]);
  await doctorFindsIt(checkout, env);
});

it("says how to bring back the compiled part that the release for Node 24 has lost", async () => {
  const checkout = copyBuiltWithoutLibrary();
  const release = join(checkout, "node_modules/better-sqlite3-node-api");
  mkdirSync(release);
  const code = 'module.exports = class { constructor() { require("./prebuilds/linux-x64.node"); } };';
  writeFileSync(join(release, "index.js"), code);
  const env = { ...pretendNode("24.21.0"), DATA_DIR: makeTempFolder(), PORT: "0" };
  const { status, stderr } = await run(checkout, ["serve"], env);
  expect(status).toBe(1);
  expect(stderr).toContain("has not been built for this Node 24.21.0.\nhint:  Run npm ci");
});

it.runIf(existsSync("/proc/self")).each([
  ["serve", ["serve"]],
  ["doctor", ["doctor"]],
  ["sandbox", ["sandbox", "--port", "0", "--data", "/proc/tocsin/data"]],
])("ends %s with a line that names the data folder when it lies under /proc", async (_name, argv) => {
  const env = { DATA_DIR: "/proc/tocsin/data", PORT: "0" };
  const { status, stdout, stderr } = await run(root, argv, env);
  expect(status).toBeGreaterThan(0);
  expect(stdout + stderr).toContain("/proc/tocsin/data");
  expect(stderr).not.toMatch(/\n\s+at /);
});
