import type { KeptRecords, RecordChange } from "../../core/ports/kept-records.ts";
import type { Database, Transaction } from "./database.ts";

/**
 * Each record is a row. Processes that start with an empty database make the missing records, and all read the first ones.
 * @param place of the database, for people
 */
export function createKeptRecords(database: Database, place: string): KeptRecords {
  async function read(...names: string[]): Promise<(string | undefined)[]> {
    const { rows } = await database.single.query<{ name: string; content: string }>(
      "SELECT name, content FROM kept_records WHERE name = ANY($1)",
      [names],
    );
    const found = new Map(rows.map(({ name, content }) => [name, content]));
    return names.map((name) => found.get(name));
  }

  return {
    read,
    change: (changes) =>
      database
        .transaction(async (tx) => {
          // All processes use one order, so that no two wait for each other.
          const inOrder = [...changes].sort((a, b) => (a.name < b.name ? -1 : 1));
          for (const change of inOrder) if (!(await changeOne(tx, change))) throw new Changed();
          tx.notes.secrets = true;
          return true;
        })
        .catch((error: unknown) => {
          if (error instanceof Changed) return false;
          throw error;
        }),
    write: (name, text) =>
      database.transaction(async (tx) => {
        if (text === undefined) await tx.query("DELETE FROM kept_records WHERE name = $1", [name]);
        else
          await tx.query(
            `INSERT INTO kept_records (name, content) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET content = excluded.content`,
            [name, text],
          );
        tx.notes.secrets = true;
      }),
    async list() {
      const { rows } = await database.single.query<{ name: string }>("SELECT name FROM kept_records");
      return rows.map(({ name }) => name).sort();
    },
    placeOf: (name) => `${name} in ${place}`,
  };
}

/** Ends a transaction whose changes cannot all be made. */
class Changed extends Error {}

async function changeOne(tx: Transaction, { name, from, to }: RecordChange): Promise<boolean> {
  const [sql, ...values] =
    from === undefined && to === undefined
      ? ["SELECT WHERE NOT EXISTS (SELECT FROM kept_records WHERE name = $1)", name]
      : from === undefined
        ? ["INSERT INTO kept_records (name, content) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, to]
        : to === undefined
          ? ["DELETE FROM kept_records WHERE name = $1 AND content = $2", name, from]
          : ["UPDATE kept_records SET content = $3 WHERE name = $1 AND content = $2", name, from, to];
  const { rowCount } = await tx.query(sql as string, values);
  return rowCount === 1;
}
