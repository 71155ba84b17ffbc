/**
 * The built database thread, which hangs for as long as there is a file `hang` next to the database: it answers nothing
 * and commits nothing, as behind a disk that does not come back.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";

const hang = join(dirname(workerData.path), "hang");
const moment = new Int32Array(new SharedArrayBuffer(4));
const listen = parentPort.on.bind(parentPort);

parentPort.on = (event, listener) =>
  listen(event, (...given) => {
    while (existsSync(hang)) Atomics.wait(moment, 0, 0, 20);
    listener(...given);
  });

await import("../../dist/store/sqlite/thread.js");
