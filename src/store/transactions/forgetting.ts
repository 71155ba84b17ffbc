import type { Dialect, Tx } from "../tx.ts";

type Place = { destination: string; key: string };

/** A step takes the writing thread some 10 ms, and accepting alerts waits for it. */
const rowsAtOnce = 10_000;
const first: Place = { destination: "", key: "" };
/** The last place of all: no text has a larger character. */
const last: Place = { destination: "\u{10FFFF}", key: "" };

/**
 * Removes what was not written for so long, step by step through all rows: an index by that time would make each alert dearer. True: this
 * was not the last step.
 *
 * @param key of its rows, with the destination
 */
export function createForgetting(sql: Dialect, table: "rings" | "group_memories", key: string, keptMs: number) {
  const rows = `FROM ${table} WHERE (destination, ${key}) > (:destination, :key)`;
  const findEnd = sql.statement(
    `find_end_of_${table}`,
    { destination: "text", key: "text" },
    `SELECT destination, ${key} AS key ${rows} ORDER BY destination, ${key} LIMIT 1 OFFSET ${rowsAtOnce - 1}`,
    (row: Place) => row,
  );
  const remove = sql.statement(
    `forget_${table}`,
    { destination: "text", key: "text", to_destination: "text", to_key: "text", before: "int8" },
    `DELETE ${rows} AND (destination, ${key}) <= (:to_destination, :to_key) AND updated_at < :before`,
  );
  let after = first;
  return async (tx: Tx, now: number): Promise<boolean> => {
    const [end = last] = await tx.run(findEnd, after);
    await tx.run(remove, { ...after, to_destination: end.destination, to_key: end.key, before: now - keptMs });
    after = end === last ? first : end;
    return end !== last;
  };
}
