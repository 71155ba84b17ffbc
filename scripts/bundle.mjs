// Compiles the script of the pages, and bundles the program: dist/ and its packages become a few files in dist/bundle/,
// which bin/tocsin.js starts. Some 500 files less save half of the processor time of a start. Packages with a native
// part, and fonts, stay outside. Names are kept, so stacks name the functions. NOTICES.txt has the licence of each
// package. The workshop's part is in dist/bundle/workshop/, outside of the package. The image's build has none.
// load.js loads the files with code that V8 compiled earlier: at its end the build starts a relay once, and keeps the
// compiled code.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { createInterface } from "node:readline";

const out = resolve("dist/bundle");
/** Files that start by their own name: the program and each of its threads. */
const entries = {
  main: resolve("dist/main.js"),
  "database-thread": resolve("dist/store/sqlite/thread.js"),
  "reading-thread": resolve("dist/intake/thread/thread.js"),
  "png-thread": resolve("dist/charts/png-thread.js"),
};
const workshop = resolve("workshop/main.ts");
if (existsSync(workshop)) entries["workshop/main"] = workshop;
const external = ["@resvg/resvg-js", "better-sqlite3", "better-sqlite3-node-api", "dejavu-fonts-ttf"];

/** Files next to a module have another place: an entry in the bundle, other files where the build puts them. */
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

/** The workshop names source files. The bundle holds each of them once, in its compiled form. */
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

/** The modules that only the workshop loads. Complete once the bundler has read all files. */
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

/**
 * Rewrites code that V8 stores or runs badly:
 * - `{ ...null, ...alert, at }` for `{ ...alert, at }`. For a literal that begins with a spread, the V8 of Node 20
 *   makes a hidden class for each object: 0.6 to 2 µs, and work for its slow collector. See docs/adr/0012.
 * - `"\u2026"` for `"…"`. V8 keeps the source of loaded code, and one character beyond Latin-1 doubles the memory of
 *   its file.
 * It comes last, since the bundler removes empty spreads.
 */
const writeForV8 = {
  name: "write-for-v8",
  generateBundle(_options, bundle) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== "chunk") continue;
      const changes = [...findChanges(this.parse(chunk.code), chunk.code)].sort(
        (one, other) => one.start - other.start,
      );
      let done = 0;
      const parts = changes.map(({ start, end, text }) => {
        const part = chunk.code.slice(done, start) + text;
        done = end;
        return part;
      });
      chunk.code = parts.join("") + chunk.code.slice(done);
    }
  },
};

function* findChanges(node, code) {
  const { type, start, end } = node;
  if (type === "Literal" || type === "TemplateElement") {
    const text = code.slice(start, end);
    if (/[^\0-\xff]/.test(text)) yield { start, end, text: text.replace(/[^\0-\xff]/g, escapeUnit) };
    return;
  }
  const first = type === "ObjectExpression" && node.properties.length > 1 ? node.properties[0] : undefined;
  if (first?.type === "SpreadElement") yield { start: first.start, end: first.start, text: "...null, " };
  // `String.raw` reads its text unescaped.
  const isRaw = type === "TaggedTemplateExpression" && node.tag.property?.name === "raw";
  const parts = isRaw ? node.quasi.expressions : Object.values(node);
  for (const part of parts) if (part !== null && typeof part === "object") yield* findChanges(part, code);
}

const escapeUnit = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Leaves out code that a package runs at its start and a relay may never need: docs/adr/0012. */
const packagesLater = {
  name: "packages-later",
  transform(code, id) {
    const [, file] = id.split("/node_modules/");
    notSeen.delete(file);
    if (file in partsOfPackages) return partsOfPackages[file];
    if (file !== "string-width/index.js") return undefined;
    return replaceOnce(
      replaceOnce(code, "const segmenter = new Intl.Segmenter();", laterSegmenter),
      "const rgiEmojiRegex = /^\\p{RGI_Emoji}$/v;",
      "const rgiEmojiRegex = { test: (text) => /^\\p{RGI_Emoji}$/v.test(text) };",
    );
  },
  buildEnd() {
    if (notSeen.size > 0) throw new Error(`a package has changed and has no longer: ${[...notSeen].join(", ")}`);
  },
};
/** The parts of packages that Tocsin uses. */
const partsOfPackages = {
  // Without `fetch`, cookies and WebSocket.
  "undici/index.js": `
exports.Client = require("./lib/dispatcher/client");
exports.buildConnector = require("./lib/core/connect");
exports.errors = require("./lib/core/errors");
`,
  // Without the tools for writing bots.
  "grammy/out/mod.js": `
exports.Api = require("./core/api").Api;
exports.GrammyError = require("./core/error").GrammyError;
`,
  // node-fetch needs it only where Node has no `URL`. It has the names of all characters in domains.
  "whatwg-url/lib/public-api.js": "",
};
const notSeen = new Set([...Object.keys(partsOfPackages), "string-width/index.js"]);
const laterSegmenter = `
let made;
const segmenter = { segment: (text) => (made ??= new Intl.Segmenter()).segment(text) };
`;

function replaceOnce(code, part, by) {
  if (code.split(part).length !== 2) throw new Error(`a package has changed and has no longer: ${part}`);
  return code.replace(part, () => by);
}

/** The beginning of the function that load.js calls. */
const beginsModule = '(function (exports, require, module, __filename, __dirname) { "use strict";';

const notices = join(out, "NOTICES.txt");
await buildPageScript();
if (!isUpToDate()) {
  await build();
  await keepCompiled().catch((error) =>
    console.error(`nothing is kept compiled, so starts take longer: ${error.message}`),
  );
}

/** One file for the browser, with the used parts of packages. */
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
    preserveEntrySignatures: "strict",
    platform: "node",
    plugins: [takeCompiledSource, findFilesFromBundle, findWorkshopsOwn, packagesLater, writeForV8],
  });
  const { output } = await bundle.write({
    dir: out,
    format: "cjs",
    // Precompiled code knows no import().
    dynamicImportInCjs: false,
    // V8 keeps comments with the source.
    comments: false,
    postBanner: beginsModule,
    postFooter: "})",
    entryFileNames: "[name]-entry.js",
    // A chunk without modules only re-exports from others.
    chunkFileNames: ({ moduleIds, facadeModuleId }) =>
      `${[...moduleIds, facadeModuleId].some(isWorkshopsOwn) ? "workshop/" : ""}[name]-[hash].js`,
  });
  writeFileSync(join(out, "package.json"), '{ "type": "commonjs" }\n');
  copyFileSync("scripts/load-compiled.cjs", join(out, "load.js"));
  for (const { name, fileName, exports = [] } of output.filter((chunk) => chunk.isEntry)) {
    const up = relative(dirname(join(out, name)), out) || ".";
    const names = exports.map((one) => `exports.${one} = entry.${one};\n`).join("");
    const file = JSON.stringify(`/${fileName}`);
    writeFileSync(
      join(out, `${name}.js`),
      `const entry = require("${up}/load.js")(require("node:path").join(__dirname, "${up}", ${file}));\n${names}`,
    );
  }
  // Written last: its presence marks a complete bundle.
  const installed = output.flatMap(({ moduleIds = [] }) => moduleIds).filter((id) => !isWorkshopsOwn(id));
  writeFileSync(notices, noticesOf(installed));
}

/** Runs a relay that gets alerts and shows them. At its end each thread writes its compiled code. */
async function keepCompiled() {
  const folder = mkdtempSync(join(tmpdir(), "tocsin-build-"));
  const [secret, token] = ["a-hook-that-nobody-knows", "a-page-that-nobody-sees"];
  const destinations = {
    chat: { type: "telegram", chatId: "-1", apiRoot: "http://127.0.0.1:9" },
    program: { type: "webhook", url: "http://127.0.0.1:9", allowInternal: ["127.0.0.1"] },
  };
  writeFileSync(join(folder, "tocsin.yaml"), JSON.stringify({ destinations }));
  const given = { PORT: "0", DATA_DIR: folder, LOG_LEVEL: "silent", WEBHOOK_SECRET: secret, ADMIN_TOKEN: token };
  const keeper = resolve("scripts/keep-compiled.cjs");
  const relay = spawn(process.execPath, ["--require", keeper, join(out, "main.js"), "serve", "--json"], {
    cwd: folder,
    // A relay that hangs must not hang the build.
    timeout: 60_000,
    killSignal: "SIGKILL",
    env: { PATH: process.env.PATH, TELEGRAM_BOT_TOKEN: "7:nobodys-token-of-a-build", ...given },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(relay, "exit");
  const refuse = () => Promise.reject(new Error("the relay has not started"));
  try {
    const [line] = await Promise.race([once(createInterface(relay.stdout), "line"), ended.then(refuse)]);
    const { url } = JSON.parse(line).data;
    for (const title of ["First", "Second"])
      await fetch(`${url}/hooks/${secret}`, { method: "POST", body: JSON.stringify({ title }) });
    await fetch(`${url}/api/alerts`, { headers: { authorization: `Bearer ${token}` } });
  } finally {
    relay.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether neither the program nor its packages have changed since. The compiler leaves unchanged files alone. */
function isUpToDate() {
  if (!existsSync(notices)) return false;
  const { mtimeMs } = statSync(notices);
  const modules = readdirSync("dist", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".js") && !path.startsWith("bundle"))
    .map((path) => join("dist", path));
  const sources = existsSync(workshop)
    ? readdirSync("workshop", { recursive: true, encoding: "utf8" }).map((path) => join("workshop", path))
    : [];
  const inputs = [
    ...modules,
    ...sources,
    "package.json",
    "node_modules/.package-lock.json",
    import.meta.filename,
    "scripts/load-compiled.cjs",
    "scripts/keep-compiled.cjs",
  ];
  return inputs.every((path) => !existsSync(path) || statSync(path).mtimeMs < mtimeMs);
}

/** The licence of each package with a part in the bundle. */
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
