import type { Dialect, Given, Statement, Tx, Values } from "../tx.ts";

/** The kinds of names with the seeds of their hashes. Relays of other versions use the same seeds. */
export const seeds = { key: 0, body: 1, endedKey: 2, ring: 3, group: 4 };

/** Locks each hash of a query of texts named `name`, in one order, so that no two transactions wait for each other. */
export const lockEach = (kind: keyof typeof seeds, names: string) => `
  SELECT pg_advisory_xact_lock(hash) FROM (
    SELECT DISTINCT hashtextextended(name, ${seeds[kind]}) AS hash FROM (${names}) AS named ORDER BY 1) AS hashes`;

/** Looks like `tx.look`, and locks each item's name until the transaction ends. Another relay waits, then sees its rows. */
export function createLockedLook(sql: Dialect, kind: keyof typeof seeds) {
  const lock = sql.isShared
    ? sql.statement({ names: "text[]" }, lockEach(kind, "SELECT unnest(:names) AS name"))
    : undefined;
  return async <G extends Given, Result, Item extends Values<G>>(
    tx: Tx,
    find: Statement<G, Result>,
    items: readonly Item[],
    nameOf: (item: Item, index: number) => string,
  ): Promise<Result[][]> => {
    // Locking is a statement of its own: the next one sees all that was committed before the locks were given.
    const [, found] = await Promise.all([
      lock && items.length > 0 ? tx.run(lock, { names: items.map(nameOf) }) : undefined,
      tx.look(find, items),
    ]);
    return found;
  };
}
