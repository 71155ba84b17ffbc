import type pg from "pg";
import type { AlertFacts } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import { timeOfId } from "../../core/id.ts";
import {
  hasPositions,
  type MovedColumn,
  type MovedRow,
  type MovedTable,
  type MoveMark,
  type MoveTarget,
  movedTables,
} from "../moved-tables.ts";
import { continueChanges } from "./changes.ts";
import { toValue, typeNames } from "./parameters.ts";
import { toWords } from "./search-terms.ts";

/** The number of the advisory lock that prevents two moves on one database. */
const lock = 8_072_401_175;

/** `to_regclass` would ask the session's cache of names, which missed a table that another relay had just made. */
export async function hasTable(client: pg.Client, name: string): Promise<boolean> {
  const asked = "SELECT FROM pg_class WHERE relname = $1 AND pg_table_is_visible(oid)";
  return (await client.query(asked, [name])).rows.length > 0;
}

export async function readMark(client: pg.Client): Promise<MoveMark | undefined> {
  if (!(await hasTable(client, "moves"))) return undefined;
  const { rows } = await client.query<{ mark: string }>("SELECT mark FROM moves");
  return rows[0] && (JSON.parse(rows[0].mark) as MoveMark);
}

export async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query("BEGIN");
  try {
    const value = await work();
    await client.query("COMMIT");
    return value;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** The tables that a move fills. A database that a relay has used for a moment has a few rows in the small ones. */
const emptied = [
  ...movedTables.flatMap(({ name, postgres }) => (postgres === undefined ? [name] : [])),
  "tallies",
  "route_hours",
  "alert_words",
  "alert_changes",
  "search_queue",
];

/** PostgreSQL's side of a move, over a connection of its own. */
export class MovedDatabase implements MoveTarget {
  readonly driver = "postgres";
  readonly valueOf = toNumberOrText;
  readonly lastChange = `SELECT string_agg(changed_by::text, ' ') FROM (
    (SELECT changed_by FROM alerts WHERE changed_by IS NOT NULL ORDER BY changed_by DESC LIMIT 1) UNION ALL
    (SELECT changed_by FROM alert_changes ORDER BY changed_by DESC LIMIT 1)) last`;

  constructor(readonly client: pg.Client) {}

  rowsOf({ name, postgres }: MovedTable): string {
    return postgres?.read ?? name;
  }

  async ask(text: string, values: readonly unknown[] = []): Promise<MovedRow[]> {
    return (await this.client.query<MovedRow>({ text, values: values as unknown[], rowMode: "array" })).rows;
  }

  /** The first value of the first row. */
  async #one<Value>(sql: string, values?: unknown[]): Promise<Value | undefined> {
    const [[value] = []] = await this.ask(sql, values);
    return value as Value | undefined;
  }

  /** Holds the lock until the connection ends. Work of a killed run ends within seconds: the server checks the client. */
  async lock(pause: () => Promise<void>): Promise<void> {
    // Fails on systems that cannot check this.
    await this.ask("SET client_connection_check_interval = '1s'").catch(() => {});
    for (let tries = 0; tries < 80; tries += 1) {
      if (await this.#one<boolean>("SELECT pg_try_advisory_lock($1)", [lock])) return;
      await pause();
    }
    throw new AppError("conflict", "another `tocsin move` is at work on this database", {
      hint: "wait until it has ended; what a killed one has left at work there ends by itself",
    });
  }

  /** While this table exists, no relay starts on this database: see `requireKnown`. */
  async writeMark(mark: MoveMark): Promise<void> {
    await this.ask(
      "CREATE TABLE IF NOT EXISTS moves (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), mark text NOT NULL, indexes text)",
    );
    const write = "INSERT INTO moves (mark) VALUES ($1) ON CONFLICT (only_row) DO UPDATE SET mark = excluded.mark";
    await this.ask(write, [JSON.stringify(mark)]);
  }

  async dropMark(): Promise<void> {
    await this.ask("DROP TABLE IF EXISTS moves");
  }

  /** Announced relays whose lease is not over. */
  async listAlive(): Promise<string[]> {
    const rows = await this.ask("SELECT name FROM relays WHERE gone_at > clock_timestamp() ORDER BY name");
    return rows.map(([name]) => name as string);
  }

  /** Times in which alerts came that were stored much later. Adjacent times are joined. */
  async listLate(): Promise<{ from: number; to: number }[]> {
    const found: { from: number; to: number }[] = [];
    for (const ids of await this.ask("SELECT from_id, to_id FROM late_spans ORDER BY from_id")) {
      const [from, to] = ids.map((id) => timeOfId(id as string)) as [number, number];
      const last = found.at(-1);
      if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
      else found.push({ from, to });
    }
    return found;
  }

  /** Rows in tables that show that somebody has used the log. */
  async countKept(): Promise<[table: string, rows: number][]> {
    const found: [string, number][] = [];
    for (const name of ["alerts", "requests", "deliveries", "refused_requests", "mutes"])
      found.push([name, (await this.#one(`SELECT count(*) FROM (SELECT FROM ${name} LIMIT 1000) t`)) ?? 0]);
    return found.filter(([, count]) => count > 0);
  }

  /** Work for the next relay: deliveries that wait or were being sent, and unrouted alerts. */
  async countWaiting(): Promise<number> {
    const waiting = await this.#one<number>(
      `SELECT (SELECT count(*) FROM deliveries WHERE due_at IS NOT NULL OR claim_token IS NOT NULL)
         + (SELECT count(*) FROM alerts WHERE routed_at IS NULL)`,
    );
    return waiting ?? 0;
  }

  /** Empties the tables, disables triggers, drops indexes and writes the mark. `finish` makes indexes from all rows, quicker. */
  prepare(mark: MoveMark): Promise<void> {
    return inTransaction(this.client, async () => {
      await this.writeMark(mark);
      // These tables have positions of the former alerts.
      await this.ask(`TRUNCATE ${[...emptied, "readings", "late_spans"].join(", ")}`);
      await this.#setTriggers("DISABLE");
      const indexes = await this.ask(
        `SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i
         WHERE i.indrelid = ANY($1::regclass[]) AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)`,
        [emptied],
      );
      const all = new Set([...(await this.#readIndexes()), ...indexes.map(([, definition]) => definition)]);
      for (const [name] of indexes) await this.ask(`DROP INDEX ${name}`);
      await this.ask("UPDATE moves SET indexes = $1", [JSON.stringify([...all])]);
    });
  }

  async #setTriggers(how: "ENABLE" | "DISABLE"): Promise<void> {
    for (const name of emptied) await this.ask(`ALTER TABLE ${name} ${how} TRIGGER USER`);
  }

  /** The SQL that makes the dropped indexes again. */
  async #readIndexes(): Promise<string[]> {
    return JSON.parse((await this.#one<string>("SELECT indexes FROM moves")) ?? "[]") as string[];
  }

  writePage(table: MovedTable, rows: readonly MovedRow[], mark: MoveMark): Promise<void> {
    const { postgres, columns } = table;
    return inTransaction(this.client, async () => {
      if (postgres === undefined) await this.#insert(table, rows);
      else {
        const list = columns.map(({ name, kind }) => `${name} ${typeNames[kind]}`);
        await this.ask(`CREATE TEMP TABLE incoming (${list.join(", ")}) ON COMMIT DROP`);
        await this.#insert({ name: "incoming", columns }, rows);
        await this.ask(postgres.write);
      }
      if (table.name === "alerts") await this.#insert(wordTable, toWordRows(table, rows));
      await this.writeMark(mark);
    });
  }

  /** One statement, with one array for each column. */
  async #insert({ name, columns }: Pick<MovedTable, "name" | "columns">, rows: readonly MovedRow[]): Promise<void> {
    const names = columns.map((column) => column.name);
    const lists = columns.map(({ kind }, index) => `$${index + 1}::${kind === "time" ? "bigint" : typeNames[kind]}[]`);
    const values = columns.map(({ name, kind }) =>
      kind === "time" ? `timestamptz 'epoch' + ${name} * interval '1 millisecond'` : name,
    );
    await this.ask(
      `INSERT INTO ${name} (${names}) OVERRIDING SYSTEM VALUE SELECT ${values} FROM unnest(${lists}) AS given (${names})`,
      columns.map((_, index) => rows.map((row) => toValue(row[index]))),
    );
  }

  /** Also moves the sequences behind the copied rows, and analyzes the tables for the planner. */
  async finish(onIndex: (made: number, all: number) => Promise<void>): Promise<void> {
    const indexes = await this.#readIndexes();
    for (const [made, definition] of indexes.entries()) {
      await onIndex(made, indexes.length);
      await this.ask(definition.replace(/^CREATE INDEX /, "CREATE INDEX IF NOT EXISTS "));
    }
    await onIndex(indexes.length, indexes.length);
    await inTransaction(this.client, async () => {
      await this.ask("DELETE FROM tallies WHERE kind IN ('delivery', 'accepted', 'bytes')");
      await this.ask(
        `INSERT INTO tallies (kind, name, part, hour, count)
         SELECT 'delivery', destination, state, 0, count(*) FROM deliveries WHERE resent_by IS NULL GROUP BY destination, state
         UNION ALL SELECT 'accepted', '', '', received_at / 3600000, count(*) FROM alerts GROUP BY received_at / 3600000
         UNION ALL SELECT 'accepted', '', '', 0, sum(count) FROM tallies WHERE kind = 'removed' HAVING sum(count) > 0
         UNION ALL SELECT 'bytes', '', '', 0, sum(octet_length(body)) FROM requests HAVING count(*) > 0`,
      );
      for (const { name } of movedTables.filter(hasPositions))
        await this.ask(
          `SELECT setval(pg_get_serial_sequence('${name}', 'seq'), greatest(1, (SELECT coalesce(max(seq), 0) FROM ${name})),
             EXISTS (SELECT FROM ${name}))`,
        );
      // Each later fence is higher than the claims of the former process.
      await this.ask(
        `SELECT setval('lane_fences', greatest(1, (SELECT coalesce(max(fence), 0) FROM lanes),
           (SELECT coalesce(max(claim_fence), 0) FROM deliveries)))`,
      );
      await this.#setTriggers("ENABLE");
      await continueChanges(this.client);
    });
    await this.ask(`ANALYZE ${emptied.join(", ")}`);
  }

  /** Brings the database back to its state before `prepare`. */
  async cancel(mark: MoveMark): Promise<void> {
    await this.prepare({ ...mark, done: {} });
    await this.finish(async () => {});
  }

  /** Generated secrets, and what setup has registered. See `KeptRecords`. */
  replaceKept(records: readonly (readonly [name: string, content: string])[]): Promise<void> {
    return inTransaction(this.client, async () => {
      await this.ask("DELETE FROM kept_records");
      for (const record of records) await this.ask("INSERT INTO kept_records (name, content) VALUES ($1, $2)", record);
    });
  }

  async readKept(): Promise<Map<string, string>> {
    return new Map((await this.ask("SELECT name, content FROM kept_records")) as [string, string][]);
  }
}

function toNumberOrText({ name, kind, readInPostgres }: MovedColumn): string {
  if (readInPostgres !== undefined) return `(${readInPostgres})${kind === "change" ? "::text::bigint" : ""}`;
  if (kind === "flag") return `${name}::integer`;
  if (kind === "time") return `(extract(epoch FROM ${name}) * 1000)::bigint`;
  return kind === "change" ? `${name}::text::bigint` : name;
}

const wordTable: Pick<MovedTable, "name" | "columns"> = {
  name: "alert_words",
  columns: [
    { name: "seq", kind: "int8" },
    { name: "words", kind: "text" },
  ],
};

function toWordRows({ columns }: MovedTable, rows: readonly MovedRow[]): MovedRow[] {
  const [seq, id, facts] = ["seq", "id", "facts"].map((wanted) => columns.findIndex(({ name }) => name === wanted));
  return rows.flatMap((row): MovedRow[] => {
    const text = row[facts as number];
    if (typeof text !== "string") return [];
    const words = toWords(row[id as number] as string, JSON.parse(text) as AlertFacts);
    return words === "" ? [] : [[row[seq as number] as number, words]];
  });
}
