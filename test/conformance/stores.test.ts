import { join } from "node:path";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { describeStore } from "./store-suite.ts";

const ballastBytes = 64 * 1024;

describeStore("in this thread", async (dataDir) =>
  openLocalStore({ path: join(dataDir, "tocsin.db"), ballastBytes }),
);

describeStore("in threads of its own", (dataDir) =>
  openThreadedStore({ dataDir, ballastBytes, threadEntry: compiledThread() }),
);
