// Stands in the bundle as load.js, and loads its other files: as `require` does, with the compiled code that the build keeps next to each
// (keep-compiled.cjs). V8 refuses what another version or other flags of it have compiled, and compiles anew then.
const { readFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const { fileURLToPath } = require("node:url");
const vm = require("node:vm");
const { crc32 } = require("node:zlib");

const modules = new Map();

/** @param path of a file of the bundle, absolute */
function load(path) {
  const known = modules.get(path);
  if (known !== undefined) return known.exports;
  const source = read(path);
  // Where the file is missing, this says so.
  if (source === undefined) return require(path);
  const cachedData = load.unseal(source, read(load.compiledPathOf(path)));
  const run = new vm.Script(source.toString(), { filename: path, cachedData }).runInThisContext();
  const module = { exports: {} };
  modules.set(path, module);
  const requireFrom = (name) => {
    if (name.startsWith(".")) return load(join(dirname(path), name));
    return require(name.startsWith("file:") ? fileURLToPath(name) : name);
  };
  try {
    run(module.exports, requireFrom, module, path, dirname(path));
  } catch (error) {
    // The next who asks for it gets the failure too, and not half of the module.
    modules.delete(path);
    throw error;
  }
  return module.exports;
}

/** Compiled code is of one V8 and one kind of processor. */
load.compiledPathOf = (path) => `${path}.${process.versions.v8}-${process.arch}`;

/**
 * Compiled code with a sum of it and of its source. V8 looks at the length of the source alone, and dies of compiled code that is not whole, as
 * a power cut may leave it.
 */
load.seal = (source, compiled) => {
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(sumOf(source, compiled));
  return Buffer.concat([compiled, sum]);
};

/** Undefined where it is not whole, or of another source. */
load.unseal = (source, sealed) => {
  if (sealed === undefined || sealed.length < 4) return undefined;
  const compiled = sealed.subarray(0, -4);
  return sealed.readUInt32LE(compiled.length) === sumOf(source, compiled) ? compiled : undefined;
};

const sumOf = (source, compiled) => crc32(compiled, crc32(source));

function read(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

module.exports = load;
