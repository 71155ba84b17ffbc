import type { Store, StoreChange } from "../core/store.ts";
import { openSession, type SessionOptions } from "./database-session.ts";
import { createStore } from "./store.ts";
import type { TransactionName } from "./transactions/index.ts";

/** The store in this thread: for commands that look at the database of a relay, and wherever a thread is not worth it. */
export function openLocalStore(options: SessionOptions): Store {
  const session = openSession(options);
  const listeners = new Set<(change: StoreChange) => void>();
  let lastVersion = -1;

  async function call(name: TransactionName, args: unknown[]): Promise<unknown> {
    const { results, version } = session.commit([{ name, arguments: args }]);
    const [result] = results;
    if (!result?.ok) throw result?.error;
    if (version > lastVersion) {
      lastVersion = version;
      for (const listener of listeners) listener({ version });
    }
    return result.value;
  }

  return createStore({
    write: call,
    read: call,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    health: async () => session.health(),
    backup: (path) => session.backup(path),
    close: async () => session.close(),
  });
}
