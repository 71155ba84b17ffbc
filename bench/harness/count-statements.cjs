/**
 * Node loads this file into each thread of a measured server (`--require`). It counts the statements that better-sqlite3 runs. On
 * SIGUSR2 it writes their number into the file that STATEMENTS names.
 */
const { writeFileSync } = require("node:fs");
const { getEnvironmentData, isMainThread, setEnvironmentData } = require("node:worker_threads");

const name = "bench-statements";
if (isMainThread) setEnvironmentData(name, new Int32Array(new SharedArrayBuffer(4)));
const counted = getEnvironmentData(name);
if (isMainThread) process.on("SIGUSR2", () => writeFileSync(process.env.STATEMENTS, String(counted[0])));

const { dlopen } = process;
process.dlopen = function load(module, ...rest) {
  dlopen.call(this, module, ...rest);
  const prototype = module.exports.Statement?.prototype;
  if (prototype === undefined || prototype.isCounted) return;
  prototype.isCounted = true;
  for (const way of ["run", "get", "all", "iterate"]) {
    const own = prototype[way];
    prototype[way] = function count(...given) {
      Atomics.add(counted, 0, 1);
      return own.apply(this, given);
    };
  }
};
