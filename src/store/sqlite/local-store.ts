import { createSignalHub } from "../signals.ts";
import { createCommitSignals } from "./commit-signals.ts";
import { openSession, type SessionOptions } from "./database-session.ts";
import { createStore, type SqliteStore } from "./store.ts";
import type { TransactionName } from "./transactions/index.ts";

/**
 * The store in this thread: for commands that look at the database of a relay, and wherever a thread is not worth it.
 */
export function openLocalStore(options: SessionOptions): SqliteStore {
  const session = openSession(options);
  const hub = createSignalHub();
  const announce = createCommitSignals(hub);

  async function call(name: TransactionName, args: unknown[]): Promise<unknown> {
    const calls = [{ name, arguments: args }];
    const { results, version } = session.commit(calls);
    const [result] = results;
    if (!result?.ok) throw result?.error;
    announce(calls, results, version);
    return result.value;
  }

  return createStore({
    write: call,
    read: call,
    subscribe: hub.subscribe,
    health: async () => session.health(),
    maintain: async (now) => session.maintain(now),
    backup: (path) => session.backup(path),
    close: async () => session.close(),
  });
}
