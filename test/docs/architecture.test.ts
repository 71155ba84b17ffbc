import { existsSync, readdirSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { readText, root } from "./documents.ts";

interface Import {
  /** `store/sqlite/store.ts` */
  file: string;
  /** `store`, or `main.ts`. */
  room: string;
  /** A path within `src/` or a package's name. */
  target: string;
  isOwn: boolean;
}

const files = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));

function importsOf(file: string, source: string): Import[] {
  const specifiers =
    /^(?:import(?: type)? [\w*{][^;"]*? from |import |export(?: type)? [*{][^;"]*? from )"([^"]+)"|\bimport\("([^"]+)"\)/gm;
  return [...source.matchAll(specifiers)].map(([, fixed, lazy]) => {
    const specifier = fixed ?? lazy ?? "";
    const isOwn = specifier.startsWith(".");
    const target = isOwn ? normalize(join(dirname(file), specifier)) : packageOf(specifier);
    return { file, room: roomOf(file), target, isOwn };
  });
}

const roomOf = (path: string) => path.split("/", 1)[0] ?? path;

const packageOf = (specifier: string) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? "";

const imports = files.flatMap((file) => importsOf(file, readText(`src/${file}`)));
const rooms = [...new Set(files.map(roomOf))].filter((room) => !room.endsWith(".ts"));
const others = "cli panels start http explain facts matching ringing vendors charts core ground".split(" ");
const innerRooms = rooms.filter((room) => !others.includes(room));
/** What rooms may know of the vendors: what is common to them, in no vendor's folder. */
const isVendorsFace = (path: string) => /^vendors\/[^/]+$/.test(path);

/** What rooms make for the contract to show: its types, without the schemas that they come from. */
const shownByRooms = "contract/operations.ts";

test("what rooms know of the contract brings no schemas with it", () => {
  const loaded = readText(`src/${shownByRooms}`).matchAll(/^import (?!type )[^;]* from "(?!\.\.\/ground\/)/gm);
  expect([...loaded]).toEqual([]);
});

/** What a room imports though it may not. */
const strangersOf = (room: string, isAllowed: (one: Import) => boolean) =>
  imports.filter((one) => one.room === room && !isAllowed(one));

test.each(innerRooms)("the direction of imports %s imports itself and the storeys below the rooms", (room) => {
  const allowed = [room, "facts", "matching", "ringing", "charts", "core", "ground"];
  // A failure is answered alike before there are pages and by them.
  if (room === "web") allowed.push("http", "contract", "panels");
  const isAllowed = ({ target, isOwn }: Import) =>
    !isOwn || allowed.includes(roomOf(target)) || isVendorsFace(target) || target === shownByRooms;
  expect(strangersOf(room, isAllowed)).toEqual([]);
});

test("the direction of imports a vendor imports no other vendor", () => {
  const folderOf = (path: string) => path.split("/")[1] ?? "";
  const isInFolder = (path: string) => /^vendors\/.*\//.test(path);
  const isAllowed = ({ file, target }: Import) =>
    file === "vendors/index.ts" || !isInFolder(target) || [folderOf(file), "http", "layout"].includes(folderOf(target));
  expect(strangersOf("vendors", isAllowed)).toEqual([]);
});

const below = ["matching", "ringing", "vendors", "charts", "core", "ground"];
test.each<[string, string[], string[]?]>([
  ["vendors", ["vendors", "charts", "core", "ground"]],
  ["charts", ["charts", "ground"], ["d3-scale", "d3-shape", "@resvg/resvg-js"]],
  ["matching", ["matching", "core", "ground"], ["re2js"]],
  ["facts", ["facts", "core", "ground"], []],
  ["ringing", ["ringing", "core", "ground"], []],
  ["core", ["core", "ground"], []],
  ["ground", ["ground"], ["zod"]],
  ["panels", ["panels", "contract", "matching", "vendors", "core", "ground"], []],
  ["http", ["http", "intake", "core", "ground", shownByRooms]],
  ["explain", ["explain", ...innerRooms, "matching", "ringing", "vendors", "core", "ground"]],
  ["start", ["start", "http", "explain", ...innerRooms, ...below]],
])(
  "the direction of imports %s imports nothing of ours but %j, and of libraries (where they are named) but %j",
  (room, ours, libraries) => {
    const isAllowed = ({ target, isOwn }: Import) =>
      isOwn
        ? ours.includes(roomOf(target)) || ours.includes(target)
        : (libraries?.includes(target) ?? true) || target.startsWith("node:");
    expect(strangersOf(room, isAllowed)).toEqual([]);
  },
);

test("the direction of imports nothing but the commands imports the composition root, and nothing but main the commands", () => {
  const importersOf = (room: string) =>
    new Set(imports.filter(({ target, isOwn }) => isOwn && roomOf(target) === room).map((one) => one.room));
  expect(importersOf("start")).toEqual(new Set(["cli", "start"]));
  expect(importersOf("cli")).toEqual(new Set(["cli", "main.ts"]));
});

test("the direction of imports page and command line stand on contract and panels, never on each other", () => {
  const isOther = ({ target, isOwn }: Import) => isOwn && ["web", "cli"].includes(roomOf(target));
  for (const room of ["web", "cli"])
    expect(imports.filter((one) => one.room === room && isOther(one) && roomOf(one.target) !== room)).toEqual([]);
});

test("the direction of imports rooms take the ports they use: only the store knows all of them together", () => {
  const whole = imports.filter(({ target }) => target === "core/ports/store.ts").map(({ room }) => room);
  expect([...new Set(whole)]).toEqual(["store"]);
});

test("the direction of imports modules of Node are named with node:", () => {
  expect(imports.filter(({ target, isOwn }) => !isOwn && builtinModules.includes(target))).toEqual([]);
});

test("only cli/workshop.ts knows of the workshop, and what is installed suffices for all of src", () => {
  expect(imports.filter(({ target, isOwn }) => isOwn && target.startsWith("../"))).toEqual([]);
  expect(files.filter((file) => readText(`src/${file}`).includes("workshop/"))).toEqual(["cli/workshop.ts"]);
  const { dependencies, optionalDependencies } = JSON.parse(readText("package.json"));
  const isInstalled = (name: string) =>
    name.startsWith("node:") || name in { ...dependencies, ...optionalDependencies };
  // The script of the pages is compiled into one file with what it uses.
  const isCompiled = ({ file }: Import) => file.startsWith("web/assets/");
  expect(imports.filter((one) => !one.isOwn && !isCompiled(one) && !isInstalled(one.target))).toEqual([]);
});

test.each([
  ["better-sqlite3", "store/sqlite/"],
  ["grammy", "vendors/telegram/"],
  ["nodemailer", "vendors/email/"],
  ["undici", "vendors/"],
  ["pino", "start/log.ts"],
  ["yaml", "config/"],
  ["re2js", "matching/"],
  ["d3-scale", "charts/"],
  ["d3-shape", "charts/"],
  ["@resvg/resvg-js", "charts/"],
  ["commander", "cli/"],
  ["eventsource-parser", "cli/alerts/"],
  ["string-width", "cli/"],
])("one home for each library: %s is imported in %s alone", (library, home) => {
  const importers = imports.filter(({ target }) => target === library).map(({ file }) => file);
  expect(importers.length).toBeGreaterThan(0);
  expect(importers.filter((file) => !file.startsWith(home))).toEqual([]);
});

test("the process's environment is read in one place", () => {
  const withoutComments = (source: string) => source.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
  const readers = files.filter((file) => /process\.env\b/.test(withoutComments(readText(`src/${file}`))));
  expect(readers).toEqual(["cli/shell/process-context.ts"]);
});

test("docs/architecture.md names every room, and only files that exist", () => {
  const page = readText("docs/architecture.md");
  const named = [...page.matchAll(/`([\w-]+)\/`/g)].map(([, room = ""]) => room);
  expect(rooms.filter((room) => !named.includes(room))).toEqual([]);
  const paths = [...page.matchAll(/`([\w/.-]+\.tsx?)`/g)].map(([, path = ""]) => path);
  const known = (path: string) =>
    files.includes(path) || files.includes(`core/${path}`) || existsSync(`${root}${path}`);
  expect(paths.filter((path) => !known(path))).toEqual([]);
});
