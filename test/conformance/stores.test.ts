import { join } from "node:path";
import { describe } from "vitest";
import { createSignalHub } from "../../src/store/signals.ts";
import { createCommitSignals } from "../../src/store/sqlite/commit-signals.ts";
import { type DatabaseSession, openSession } from "../../src/store/sqlite/database-session.ts";
import { inTurn } from "../../src/store/sqlite/in-turn.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { createStore, type SqliteStore } from "../../src/store/sqlite/store.ts";
import { openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
import type { TransactionName } from "../../src/store/sqlite/transactions/index.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { describeAccepting } from "./store/common/accepting.ts";
import { describeHealth } from "./store/common/health.ts";
import { describeLog } from "./store/common/log.ts";
import { describeMemory } from "./store/common/memory.ts";
import { describeSignals } from "./store/common/signals.ts";
import { describeStore } from "./store/common/suite.ts";
import { describeFiles } from "./store/sqlite/files.ts";

const ballastBytes = 64 * 1024;

const openLocal = async (dataDir: string) => openLocalStore({ path: join(dataDir, "tocsin.db"), ballastBytes });

const openThreaded = (dataDir: string) => openThreadedStore({ dataDir, ballastBytes, threadEntry: compiledThread() });

/**
 * As the threads have it, without the threads: one connection writes, one can only read, and all that goes to them
 * and comes back is cloned. What is asked of the wrong connection, or does not survive the way, fails here as it does
 * there, in a fraction of the time.
 */
async function openOnTwoConnections(dataDir: string): Promise<SqliteStore> {
  const path = join(dataDir, "tocsin.db");
  const writer = openSession({ path, ballastBytes });
  const reader = openSession({ path, readOnly: true });
  const hub = createSignalHub();
  const announce = createCommitSignals(hub);
  const callTo = (session: DatabaseSession) => async (name: TransactionName, args: unknown[]) => {
    const calls = [{ name, arguments: structuredClone(args) }];
    const commit = await inTurn(() => session.commit(calls));
    const [result] = commit.results;
    if (!result?.ok) throw result?.error;
    if (session === writer) announce(calls, commit);
    return structuredClone(result.value);
  };
  return createStore({
    write: callTo(writer),
    read: callTo(reader),
    subscribe: hub.subscribe,
    health: () => inTurn(async () => writer.health()),
    maintain: (now) => inTurn(() => writer.maintain(now)),
    backup: (to) => reader.backup(to),
    async close() {
      reader.close();
      writer.close();
    },
  });
}

describeStore("SQLite on two connections", openOnTwoConnections);

// What is of the threads themselves: bodies change hands packed, what is read by the hundred comes back as text, signals and
// health cross over, and files are closed at the end.
describe("SQLite in threads of its own", () => {
  for (const about of [describeAccepting, describeLog, describeMemory, describeSignals, describeHealth])
    about(openThreaded);
  describeFiles(openThreaded);
});

describe("SQLite in this thread", () => describeFiles(openLocal));
