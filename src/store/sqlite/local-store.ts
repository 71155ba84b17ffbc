import { createSignalHub } from "../signals.ts";
import { createCommitSignals } from "./commit-signals.ts";
import { openSession, type SessionOptions } from "./database-session.ts";
import { inTurn } from "./in-turn.ts";
import { createStore, type SqliteStore } from "./store.ts";
import type { TransactionName } from "./transactions/index.ts";

/** The store in this thread: for commands that look at a relay's database, and where a thread is not worth its cost. */
export function openLocalStore(options: SessionOptions): SqliteStore {
  const session = openSession(options);
  const hub = createSignalHub();
  const announce = createCommitSignals(hub);

  async function call(name: TransactionName, args: unknown[]): Promise<unknown> {
    const calls = [{ name, arguments: args }];
    const commit = await inTurn(async () => {
      const made = await session.commit(calls);
      session.copyLog();
      return made;
    });
    const [result] = commit.results;
    if (!result?.ok) throw result?.error;
    // Last: the caller that waits for the commit continues before the listeners.
    announce(calls, commit);
    return result.value;
  }

  return createStore({
    write: call,
    read: call,
    subscribe: hub.subscribe,
    health: () => inTurn(async () => session.health()),
    maintain: (now) => inTurn(() => session.maintain(now)),
    backup: (path) => session.backup(path),
    close: () => inTurn(async () => session.close()),
  });
}
