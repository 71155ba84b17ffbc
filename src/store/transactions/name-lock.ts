import type { Awaitable, Dialect, Tx } from "../tx.ts";

/** What kinds of names there are: the seed of their hashes, which relays of other versions have as well. */
export const seeds = { key: 0, body: 1, endedKey: 2, ring: 3, group: 4 };

/** Locks each hash of a query of texts named `name`, in one order, so that no two transactions wait for each other. */
export const lockEach = (kind: keyof typeof seeds, names: string) => `
  SELECT pg_advisory_xact_lock(hash) FROM (
    SELECT DISTINCT hashtextextended(name, ${seeds[kind]}) AS hash FROM (${names}) AS named ORDER BY 1) AS hashes`;

/**
 * Locks names until the transaction has ended. Another relay that locks one of them waits until then, and what it asks afterwards
 * sees what this one has written. On SQLite there is no other relay.
 */
export function createNameLock(
  sql: Dialect,
  kind: keyof typeof seeds,
): (tx: Tx, names: readonly string[]) => Awaitable<unknown> {
  if (!sql.isShared) return () => undefined;
  const lock = sql.statement(
    `lock_names_${seeds[kind]}`,
    { names: "text[]" },
    lockEach(kind, "SELECT unnest(:names) AS name"),
  );
  return (tx, names) => (names.length === 0 ? undefined : tx.run(lock, { names }));
}
