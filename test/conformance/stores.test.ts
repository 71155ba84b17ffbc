import { join } from "node:path";
import { describe } from "vitest";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { describeStore } from "./store/common/suite.ts";
import { describeShared } from "./store/shared/suite.ts";
import { describeFiles } from "./store/sqlite/files.ts";

const ballastBytes = 64 * 1024;
const openLocal = async (dataDir: string) =>
  openLocalStore({ path: join(dataDir, "tocsin.db"), ballastBytes });
const openThreaded = (dataDir: string) =>
  openThreadedStore({ dataDir, ballastBytes, threadEntry: compiledThread() });

describeStore("SQLite in this thread", openLocal);
describeStore("SQLite in threads of its own", openThreaded);

describe("SQLite in this thread", () => describeFiles(openLocal));
describe("SQLite in threads of its own", () => describeFiles(openThreaded));

// Without the lock of the data folder, which keeps a second relay away: what holds then holds for a command beside the relay.
describeShared("SQLite", openLocal, { sharedByRelays: false });
