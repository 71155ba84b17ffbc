import type { InsertedRow } from "../tables.ts";
import type { Dialect, Tx } from "../tx.ts";
import { createLockedLook } from "./name-lock.ts";
import { createRounds } from "./removing.ts";

/** A name at a destination: a key of alerts, a group, a cause. */
export type Place = { destination: string; name: string };

/** `at`: when it was remembered. */
export type Remembered<Memory> = Place & { memory: Memory; at: number };

export const keyOf = ({ destination, name }: Place): string => JSON.stringify([destination, name]);

/** The column that has the name, and what kind of name is locked. */
const kinds = {
  rings: { column: "alert_key", kind: "ring" },
  group_memories: { column: "name", kind: "group" },
} as const;

/** A step takes the writing thread some 10 ms, and accepting alerts waits for it. */
const rowsAtOnce = 10_000;

/** Keeps one memory for each place, a row each. */
export function createMemories<Memory>(sql: Dialect, table: keyof typeof kinds, keptMs: number) {
  const { column, kind } = kinds[table];
  const lookLocked = createLockedLook(sql, kind);
  const ofPlace = { destination: "text", name: "text" } as const;
  const find = sql.statement(
    ofPlace,
    `SELECT memory FROM ${table} WHERE destination = :destination AND ${column} = :name`,
    ({ memory }: { memory: string }) => JSON.parse(memory) as Memory,
  );
  const write = sql.insertion(table as "group_memories", { conflict: "replace" });
  const removeOld = createRounds(sql, table, { before: "int8" }, "updated_at < :before");
  const byPlace = (places: readonly Place[], found: readonly Memory[][]) =>
    new Map(places.flatMap((place, index) => (found[index] ?? []).map((memory) => [keyOf(place), memory])));

  return {
    /** The memories that exist, by `keyOf`. */
    find: async (tx: Tx, places: readonly Place[]) => byPlace(places, await tx.look(find, places)),

    /** Like `find`. Another relay that looks for one of the places waits until this transaction has ended. */
    findLocked: async (tx: Tx, places: readonly Place[]) => byPlace(places, await lookLocked(tx, find, places, keyOf)),

    save: (tx: Tx, memories: readonly Remembered<Memory>[]) =>
      tx.insert(
        write,
        memories.map(({ destination, name, memory, at }) => {
          const row = { destination, [column]: name, memory: JSON.stringify(memory), updated_at: at };
          return row as InsertedRow<"group_memories">;
        }),
        {},
      ),

    /** Removes old memories, a step through the rows (an index would cost each alert more). True: more is left. */
    forgetOld: (tx: Tx, now: number): Promise<boolean> => removeOld(tx, rowsAtOnce, { before: now - keptMs }),
  };
}
