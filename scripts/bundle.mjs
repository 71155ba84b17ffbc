// Compiles the script of the pages, and puts what runs into few files: dist/ and the packages it uses become dist/bundle/, which bin/tocsin.js starts. Some 500
// files less to find, read and compile, which is half of the processor time of a start. Left outside are packages with a
// compiled part and fonts. Names and lines stay as they are, so that a stack names the function; each file says what of
// which package it holds, and NOTICES.txt under which licence. The workshop's share is in dist/bundle/workshop/, which is not
// part of the package. Where there is no workshop, as in the image's build, nothing is made of it.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const out = resolve("dist/bundle");
/** What starts by its own file name: the program and each of its threads. */
const entries = {
  main: resolve("dist/main.js"),
  "database-thread": resolve("dist/store/sqlite/thread.js"),
  "reading-thread": resolve("dist/intake/thread/thread.js"),
  "png-thread": resolve("dist/charts/png-thread.js"),
};
const workshop = resolve("workshop/main.ts");
if (existsSync(workshop)) entries["workshop/main"] = workshop;
const external = ["@resvg/resvg-js", "better-sqlite3", "better-sqlite3-node-api", "dejavu-fonts-ttf"];

/** A file beside a module is found from its new place: an entry in the bundle, all else where the build has put it. */
const findFilesFromBundle = {
  name: "find-files-from-bundle",
  transform(code, id) {
    if (!id.startsWith(resolve("dist"))) return undefined;
    return code.replace(/(new URL\(["`])([^"`$]+)(["`$][^)]*, import\.meta\.url\))/g, (_all, before, path, after) => {
      const target = resolve(dirname(id), path);
      const entry = Object.keys(entries).find((name) => entries[name] === target);
      const moved = entry === undefined ? relative(out, target) + (path.endsWith("/") ? "/" : "") : `./${entry}.js`;
      return `${before}${moved}${after}`;
    });
  },
};

/** The workshop names source files; the bundle holds each of them once, as the compiler has written it. */
const takeCompiledSource = {
  name: "take-compiled-source",
  resolveId(path, importer) {
    if (!importer?.startsWith(dirname(workshop))) return undefined;
    const [source, target] = [resolve("src"), resolve(dirname(importer), path)];
    return target.startsWith(source)
      ? `${resolve("dist", relative(source, target)).replace(/\.tsx?$/, "")}.js`
      : undefined;
  },
};

/** The modules that only the workshop loads. Complete once the bundler has read everything. */
const workshopsOwn = new Set();
const isWorkshopsOwn = (id) => workshopsOwn.has(id);
const findWorkshopsOwn = {
  name: "find-workshops-own",
  buildEnd() {
    const loadedFrom = (found) => {
      const loaded = new Set();
      for (let id = found.pop(); id !== undefined; id = found.pop()) {
        if (loaded.has(id)) continue;
        loaded.add(id);
        const { importedIds = [], dynamicallyImportedIds = [] } = this.getModuleInfo(id) ?? {};
        found.push(...importedIds, ...dynamicallyImportedIds);
      }
      return loaded;
    };
    const installed = loadedFrom(Object.values(entries).filter((entry) => entry !== workshop));
    for (const id of loadedFrom([workshop])) if (!installed.has(id)) workshopsOwn.add(id);
  },
};

const notices = join(out, "NOTICES.txt");
await buildPageScript();
if (!isUpToDate()) await build();

/** The script of the pages: one file for the browser, with what it uses of a package. */
async function buildPageScript() {
  const { rolldown } = await import("rolldown");
  const bundle = await rolldown({ input: resolve("src/web/assets/page.ts"), platform: "browser" });
  await bundle.write({ file: resolve("dist/web/assets/page.js"), format: "iife", minify: true });
}

async function build() {
  const { rolldown } = await import("rolldown");
  rmSync(out, { recursive: true, force: true });
  const bundle = await rolldown({
    input: entries,
    external,
    platform: "node",
    plugins: [takeCompiledSource, findFilesFromBundle, findWorkshopsOwn],
  });
  const { output } = await bundle.write({
    dir: out,
    entryFileNames: "[name].js",
    // A chunk without modules only names again what others hold.
    chunkFileNames: ({ moduleIds, facadeModuleId }) =>
      `${[...moduleIds, facadeModuleId].some(isWorkshopsOwn) ? "workshop/" : ""}[name]-[hash].js`,
  });
  // Last: a bundle with it is whole.
  const installed = output.flatMap(({ moduleIds = [] }) => moduleIds).filter((id) => !isWorkshopsOwn(id));
  writeFileSync(notices, noticesOf(installed));
}

/** Whether neither the program nor its packages have changed since; the compiler leaves alone what has not. */
function isUpToDate() {
  if (!existsSync(notices)) return false;
  const { mtimeMs } = statSync(notices);
  const modules = readdirSync("dist", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".js") && !path.startsWith("bundle"))
    .map((path) => join("dist", path));
  const sources = existsSync(workshop)
    ? readdirSync("workshop", { recursive: true, encoding: "utf8" }).map((path) => join("workshop", path))
    : [];
  const inputs = [...modules, ...sources, "package.json", "node_modules/.package-lock.json", import.meta.filename];
  return inputs.every((path) => !existsSync(path) || statSync(path).mtimeMs < mtimeMs);
}

/** The licence of each package of which the bundle holds something. */
function noticesOf(modules) {
  const folders = modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]).filter(Boolean);
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), "utf8").trim();
    return `${name} ${version}\n\n${text}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}
