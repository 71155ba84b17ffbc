// Stands in the bundle as load.js, and loads its other files: as `require` does, with the compiled code that the build keeps beside each
// (keep-compiled.cjs). V8 refuses what another version or other flags of it have compiled, and compiles anew then.
const { readFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const { fileURLToPath } = require("node:url");
const vm = require("node:vm");

const modules = new Map();

/** @param path of a file of the bundle, absolute */
function load(path) {
  const known = modules.get(path);
  if (known !== undefined) return known.exports;
  const source = read(path)?.toString();
  // Where the file is missing, this says so.
  if (source === undefined) return require(path);
  const cachedData = read(load.compiledPathOf(path));
  const run = new vm.Script(source, { filename: path, cachedData }).runInThisContext();
  const module = { exports: {} };
  modules.set(path, module);
  const requireFrom = (name) => {
    if (name.startsWith(".")) return load(join(dirname(path), name));
    return require(name.startsWith("file:") ? fileURLToPath(name) : name);
  };
  run(module.exports, requireFrom, module, path, dirname(path));
  return module.exports;
}

/** Compiled code is of one V8 and one kind of processor. */
load.compiledPathOf = (path) => `${path}.${process.versions.v8}-${process.arch}`;

function read(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

module.exports = load;
