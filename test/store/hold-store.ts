/** Opens the store of a folder, says so, and keeps it until this process is killed. */
import { openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
import { compiledThread } from "../support/compiled-thread.ts";

const [dataDir = ""] = process.argv.slice(2);
await openThreadedStore({ dataDir, ballastBytes: 0, threadEntry: compiledThread() });
console.log("open");
