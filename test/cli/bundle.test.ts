import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { readText, root } from "../docs/documents.ts";
import { startProgram } from "../support/cli.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const folder = join(root, "dist/bundle");
const files = readdirSync(folder).filter((name) => name.endsWith(".js"));
const codeOf = (file: string) => readFileSync(join(folder, file), "utf8");

interface LockedPackage {
  dev?: boolean;
  dependencies?: Record<string, string>;
}
const { packages } = JSON.parse(readText("package-lock.json")) as { packages: Record<string, LockedPackage> };

/** What `npm pack` takes. */
const packed: string[] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root, encoding: "utf8" }),
)[0].files.map(({ path }: { path: string }) => path);

/** With compiled parts or fonts, so installed next to the bundle. */
const outside = ["@resvg/resvg-js", "better-sqlite3", "better-sqlite3-node-api", "dejavu-fonts-ttf"];

/** These packages and what they need, as `npm ci --omit=dev` installs them. */
function withDependencies(names: string[], found = new Set<string>()): Set<string> {
  for (const name of names) {
    const locked = packages[`node_modules/${name}`];
    if (found.has(name) || locked === undefined) continue;
    expect(locked.dev, name).toBeUndefined();
    found.add(name);
    withDependencies(Object.keys(locked.dependencies ?? {}), found);
  }
  return found;
}

it("imports nothing but Node, itself and the packages that are installed beside it", () => {
  const specifiers = files.flatMap((file) => {
    const found = codeOf(file)
      .replace(/\/\*[\s\S]*?\*\//g, "")
      .matchAll(/\b(?:import|require)\("([^"]+)"\)/g);
    return [...found].map(([, name = ""]) => name);
  });
  expect(specifiers.length).toBeGreaterThan(500);
  const isKnown = (name: string) =>
    isBuiltin(name) ||
    name.startsWith("node:") ||
    outside.includes(name) ||
    (name.startsWith("./") && existsSync(join(folder, name)));
  // node-fetch asks for `encoding` and does without it; pg asks for `pg-native` when somebody wants that, and nobody does.
  expect([...new Set(specifiers)].filter((name) => !isKnown(name)).sort()).toEqual(["encoding", "pg-native"]);
});

it("begins no object with a spread that more follows: V8 of Node 20 makes a hidden class for each such object", () => {
  const all = files.map(codeOf).join("\n");
  // An object with more than one member is on several lines.
  expect(all.match(/\{\n\s*\.\.\.(?!null, )[^\n]*/g) ?? []).toEqual([]);
  expect(all.split("...null, ").length).toBeGreaterThan(500);
});

it("keeps its source in one byte a character: V8 keeps it in memory, and in two where one is beyond Latin-1", () => {
  expect(files.filter((file) => /[^\0-\xff]/.test(codeOf(file)))).toEqual([]);
});

it("has all that the source imports of the packages of which it holds parts", () => {
  const parts = { undici: ["Client", "buildConnector", "errors"], grammy: ["Api", "GrammyError"] };
  const imports = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => [...readText(`src/${path}`).matchAll(/import \{([^}]*)\} from "(undici|grammy)"/g)])
    .flatMap(([, names = "", from = ""]) => names.split(",").map((name) => `${from}: ${name.trim()}`));
  const known = Object.entries(parts).flatMap(([from, names]) => names.map((name) => `${from}: ${name}`));
  expect([...new Set(imports)].sort()).toEqual(known.sort());
});

it("is whole in the package: each of its files loads, and the program runs, where only those packages are and no workshop, with damaged compiled code too", async () => {
  const installed = makeTempFolder();
  for (const path of packed) cpSync(join(root, path), join(installed, path));
  for (const name of withDependencies(outside)) {
    const from = join(root, "node_modules", name);
    if (!existsSync(from)) continue;
    mkdirSync(dirname(join(installed, "node_modules", name)), { recursive: true });
    cpSync(from, join(installed, "node_modules", name), { recursive: true });
  }
  const run = (argv: string[]) => startProgram(argv, { cwd: makeTempFolder() }).ended;
  const paths = files.filter((file) => /-[\w-]{8}\.js$/.test(file)).map((file) => join(installed, "dist/bundle", file));
  expect(paths.length).toBeGreaterThan(100);
  const loadAll = join(installed, "load-all.cjs");
  writeFileSync(
    loadAll,
    `${JSON.stringify(paths)}.forEach(require("./dist/bundle/load.js"));\nconsole.log("all");\nprocess.exit();`,
  );
  const loaded = { status: 0, stdout: "all\n", stderr: "" };
  expect(await run([loadAll])).toEqual(loaded);
  // As a power cut may leave it. V8 would die of it.
  const compiled = packed.filter((path) => /\.js\.[^/]+$/.test(path));
  expect(compiled.length).toBeGreaterThan(50);
  for (const path of compiled) {
    const bytes = readFileSync(join(installed, path));
    writeFileSync(join(installed, path), bytes.fill(0, bytes.length / 4, bytes.length / 2));
  }
  expect(await run([loadAll])).toEqual(loaded);

  const checked = await run([join(installed, "bin/tocsin.js"), "check", "--json"]);
  expect({ ...checked, stdout: Object.keys(JSON.parse(checked.stdout)) }).toMatchObject({
    status: 0,
    stdout: ["data"],
  });
  const demo = await run([join(installed, "bin/tocsin.js"), "demo"]);
  expect(demo).toEqual({
    status: 1,
    stdout: "",
    stderr:
      "error: tocsin demo is not part of the installed package: it runs in a clone of Tocsin's repository\n" +
      "hint:  clone the repository, run npm ci && npm run build in it, and then this command there\n",
  });
  const version = await run([join(installed, "bin/tocsin.js"), "--version"]);
  expect(version.stdout.trim()).toBe(JSON.parse(readText("package.json")).version);
});

it("finds its migrations, what its pages load, and its licence in the package", () => {
  const read = ["store/sqlite/migrations", "store/postgres/migrations", "web/assets"].flatMap((place) =>
    readdirSync(join(root, "dist", place)).map((name) => `dist/${place}/${name}`),
  );
  expect([...read, "LICENSE"].filter((path) => !path.endsWith(".map") && !packed.includes(path))).toEqual([]);
});

it("leaves the workshop out of the package", () => {
  const isWorkshops = /^\/\/ (workshop|node_modules\/(smtp-server|postal-mime))\//m;
  expect(files.filter((file) => isWorkshops.test(codeOf(file)))).toEqual([]);
  expect(codeOf("NOTICES.txt")).not.toContain("smtp-server");
  const own = readdirSync(join(folder, "workshop")).filter((file) => isWorkshops.test(codeOf(`workshop/${file}`)));
  expect(own).toContain("main-entry.js");
});

it("comes with the licence of each package of which it holds something", () => {
  const notices = codeOf("NOTICES.txt");
  const held = files.flatMap((file) =>
    [...codeOf(file).matchAll(/^\/\/ .*node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)].map(([, name = ""]) => name),
  );
  expect(new Set(held).size).toBeGreaterThan(20);
  const isNamed = (name: string) => new RegExp(`^${name} \\d+\\.\\d+\\.\\d+`, "m").test(notices);
  expect([...new Set(held)].filter((name) => !isNamed(name))).toEqual([]);
});
