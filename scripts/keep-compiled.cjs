// For `node --require`: writes at the end of each thread what V8 has compiled of the bundle's files, next to them, where
// load-compiled.cjs finds it.
const { existsSync, readFileSync, writeFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const vm = require("node:vm");

const scripts = new Map();

vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    scripts.set(options.filename, this);
  }
};

process.on("exit", () => {
  for (const [path, script] of scripts) {
    const load = require(join(dirname(path).replace(/\/workshop$/, ""), "load.js"));
    const compiled = load.compiledPathOf(path);
    if (!existsSync(compiled)) writeFileSync(compiled, load.seal(readFileSync(path), script.createCachedData()));
  }
});
