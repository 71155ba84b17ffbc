import type pg from "pg";
import type { AlertFacts } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import { timeOfId } from "../../core/id.ts";
import { type MovedColumn, type MovedKey, type MovedRow, type MovedTable, movedTables } from "../moved-tables.ts";
import { continueChanges } from "./changes.ts";
import { toValue, typeNames } from "./parameters.ts";
import { toWords } from "./search-terms.ts";

/** What the other side of a move is, and how far it has come. */
export interface MoveMark {
  id: string;
  /** `in`: a log is copied into this database; `out`: its log is copied out of it. */
  direction: "in" | "out";
  /** `copied`: all of it is there and was compared. */
  state: "copying" | "copied" | "done";
  /** The other side, for people. */
  place: string;
  /** What the source looked like when it began: another one means another log, or one that went on since. */
  source: string;
  startedAt: number;
  /** By table: the last key that was copied, and how many rows. */
  done: Record<string, { after: MovedKey; rows: number }>;
}

const most = { rows: 4_000, bytes: 8 * 1024 * 1024 };

/** The first row. */
async function one<Row extends object>(
  client: pg.Client,
  sql: string,
  values: unknown[] = [],
): Promise<Row | undefined> {
  return (await client.query<Row>(sql, values)).rows[0];
}

/** Two moves at once on one database: not. */
const lock = 8_072_401_174;

/**
 * For the length of the connection. What a killed run has left at work on the server, as the making of an index, ends within
 * seconds: it looks whether anybody is there still.
 */
export async function lockMove(client: pg.Client, pause: () => Promise<void>): Promise<void> {
  // Not every system that a server may run on knows how.
  await client.query("SET client_connection_check_interval = '1s'").catch(() => {});
  for (let tries = 0; tries < 80; tries += 1) {
    if ((await one<{ locked: boolean }>(client, "SELECT pg_try_advisory_lock($1) AS locked", [lock]))?.locked) return;
    await pause();
  }
  throw new AppError("conflict", "another `tocsin move` is at work on this database", {
    hint: "wait until it has ended; what a killed one has left at work there ends by itself",
  });
}

/**
 * As of now. `to_regclass` would answer from the session's cache of names, which a wait for an advisory lock does not renew:
 * a table that another relay has made meanwhile was missing.
 */
export async function hasTable(client: pg.Client, name: string): Promise<boolean> {
  const asked = "SELECT FROM pg_class WHERE relname = $1 AND pg_table_is_visible(oid)";
  return (await one(client, asked, [name])) !== undefined;
}

export async function readMark(client: pg.Client): Promise<MoveMark | undefined> {
  if (!(await hasTable(client, "moves"))) return undefined;
  const row = await one<{ mark: string }>(client, "SELECT mark FROM moves");
  return row && (JSON.parse(row.mark) as MoveMark);
}

/** While this table is there, no relay starts on this database: see `requireKnown`. */
export async function writeMark(client: pg.Client, mark: MoveMark): Promise<void> {
  await client.query(
    "CREATE TABLE IF NOT EXISTS moves (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), mark text NOT NULL, indexes text)",
  );
  await client.query("INSERT INTO moves (mark) VALUES ($1) ON CONFLICT (only_row) DO UPDATE SET mark = excluded.mark", [
    JSON.stringify(mark),
  ]);
}

export const dropMark = (client: pg.Client) => client.query("DROP TABLE IF EXISTS moves");

/** Relays that say that they run on it. */
export async function listAlive(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT name FROM relays WHERE gone_at > clock_timestamp() ORDER BY name",
  );
  return rows.map(({ name }) => name);
}

/** Times between which alerts came that were stored much later; those that touch are one. */
export async function listLate(client: pg.Client): Promise<{ from: number; to: number }[]> {
  const { rows } = await client.query<{ from_id: string; to_id: string }>(
    "SELECT from_id, to_id FROM late_spans ORDER BY from_id",
  );
  const found: { from: number; to: number }[] = [];
  for (const row of rows) {
    const [from, to] = [timeOfId(row.from_id), timeOfId(row.to_id)];
    const last = found.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else found.push({ from, to });
  }
  return found;
}

/** Rows of what makes a log one that somebody has used. */
export async function countKept(client: pg.Client): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const name of ["alerts", "requests", "deliveries", "refused_requests", "mutes"]) {
    const count = await countOf(client, `(SELECT FROM ${name} LIMIT 1000)`);
    if (count > 0) found[name] = count;
  }
  return found;
}

const tableOf = ({ name, postgres }: MovedTable) => postgres?.read ?? name;

/** What takes the rows: a database that was used by a relay for a moment has a few in the small ones. */
const emptied = [
  ...movedTables.flatMap(({ name, postgres }) => (postgres === undefined ? [name] : [])),
  "tallies",
  "route_hours",
  "alert_words",
  "alert_changes",
  "search_queue",
];

/**
 * Empties the tables, and takes away what would be kept up to date row by row: triggers sleep, and indexes are dropped, to be
 * made from all rows at the end. One transaction, with the mark of what is about to be copied.
 */
export async function prepareTables(client: pg.Client, mark: MoveMark): Promise<void> {
  await inTransaction(client, async () => {
    await writeMark(client, mark);
    // What is said by position of the alerts that were here is not true of those that come.
    await client.query(`TRUNCATE ${[...emptied, "readings", "late_spans"].join(", ")}`);
    for (const name of emptied) await client.query(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
    const { rows: indexes } = await client.query<{ name: string; definition: string }>(
      `SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
       FROM pg_index i WHERE i.indrelid = ANY($1::regclass[])
         AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)`,
      [emptied],
    );
    const all = new Set([...(await readIndexes(client)), ...indexes.map(({ definition }) => definition)]);
    for (const { name } of indexes) await client.query(`DROP INDEX ${name}`);
    await client.query("UPDATE moves SET indexes = $1", [JSON.stringify([...all])]);
  });
}

/** Definitions of those that are to be made again. */
async function readIndexes(client: pg.Client): Promise<string[]> {
  const row = await one<{ indexes: string | null }>(client, "SELECT indexes FROM moves");
  return JSON.parse(row?.indexes ?? "[]") as string[];
}

/** The rows of one page, and in the same transaction how far that is. */
export async function writePage(
  client: pg.Client,
  table: MovedTable,
  rows: readonly MovedRow[],
  mark: MoveMark,
): Promise<void> {
  await inTransaction(client, async () => {
    if (table.postgres === undefined) await insertRows(client, table, rows);
    else {
      const columns = table.columns.map(({ name, kind }) => `${name} ${typeNames[kind]}`);
      await client.query(`CREATE TEMP TABLE incoming (${columns.join(", ")}) ON COMMIT DROP`);
      await insertRows(client, { name: "incoming", columns: table.columns }, rows);
      await client.query(table.postgres.write);
    }
    if (table.name === "alerts") await writeWords(client, table, rows);
    await writeMark(client, mark);
  });
}

/** In one statement, with one array a column. */
async function insertRows(
  client: pg.Client,
  { name, columns }: Pick<MovedTable, "name" | "columns">,
  rows: readonly MovedRow[],
): Promise<void> {
  const names = columns.map((column) => column.name);
  const lists = columns.map(({ kind }, index) => `$${index + 1}::${kind === "time" ? "bigint" : typeNames[kind]}[]`);
  const values = columns.map(({ name, kind }) =>
    kind === "time" ? `timestamptz 'epoch' + ${name} * interval '1 millisecond'` : name,
  );
  await client.query(
    `INSERT INTO ${name} (${names}) OVERRIDING SYSTEM VALUE SELECT ${values} FROM unnest(${lists}) AS given (${names})`,
    columns.map((_, index) => rows.map((row) => toValue(row[index]))),
  );
}

const wordTable: Pick<MovedTable, "name" | "columns"> = {
  name: "alert_words",
  columns: [
    { name: "seq", kind: "int8" },
    { name: "words", kind: "text" },
  ],
};

async function writeWords(client: pg.Client, { columns }: MovedTable, rows: readonly MovedRow[]): Promise<void> {
  const [seq, id, facts] = ["seq", "id", "facts"].map((wanted) => columns.findIndex(({ name }) => name === wanted));
  const found = rows.flatMap((row): MovedRow[] => {
    const text = row[facts as number];
    if (typeof text !== "string") return [];
    const words = toWords(row[id as number] as string, JSON.parse(text) as AlertFacts);
    return words === "" ? [] : [[row[seq as number] as number, words]];
  });
  await insertRows(client, wordTable, found);
}

/**
 * What is made from the rows: indexes, sums, sequences behind what is there, and a planner that knows of it.
 * @param onIndex how many of how many indexes are made.
 */
export async function finishTables(
  client: pg.Client,
  onIndex: (made: number, all: number) => Promise<void>,
): Promise<void> {
  const indexes = await readIndexes(client);
  for (const [made, definition] of indexes.entries()) {
    await onIndex(made, indexes.length);
    await client.query(definition.replace(/^CREATE INDEX /, "CREATE INDEX IF NOT EXISTS "));
  }
  await onIndex(indexes.length, indexes.length);
  await inTransaction(client, async () => {
    await client.query("DELETE FROM tallies WHERE kind IN ('delivery', 'accepted', 'bytes')");
    await client.query(
      `INSERT INTO tallies (kind, name, part, hour, count)
       SELECT 'delivery', destination, state, 0, count(*) FROM deliveries WHERE resent_by IS NULL GROUP BY destination, state
       UNION ALL SELECT 'accepted', '', '', received_at / 3600000, count(*) FROM alerts GROUP BY received_at / 3600000
       UNION ALL SELECT 'accepted', '', '', 0, sum(count) FROM tallies WHERE kind = 'removed' HAVING sum(count) > 0
       UNION ALL SELECT 'bytes', '', '', 0, sum(octet_length(body)) FROM requests HAVING count(*) > 0`,
    );
    for (const { name, columns } of movedTables) {
      if (columns[0]?.name !== "seq") continue;
      await client.query(
        `SELECT setval(pg_get_serial_sequence('${name}', 'seq'), greatest(1, (SELECT coalesce(max(seq), 0) FROM ${name})),
           EXISTS (SELECT FROM ${name}))`,
      );
    }
    // Claims of the former process are older than any lane from here on.
    await client.query(
      `SELECT setval('lane_fences', greatest(1, (SELECT coalesce(max(fence), 0) FROM lanes),
         (SELECT coalesce(max(claim_fence), 0) FROM deliveries)))`,
    );
    for (const name of emptied) await client.query(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
    await continueChanges(client);
  });
  await client.query(`ANALYZE ${emptied.join(", ")}`);
}

/** Rows behind a key, up to some thousand or some megabytes. */
export async function readPage(client: pg.Client, table: MovedTable, after: MovedKey | undefined): Promise<MovedRow[]> {
  const { key, columns, weight } = table;
  const values: unknown[] = after === undefined ? [] : [...after];
  const behind = after === undefined ? "" : `WHERE ${compareKey(table, ">", 1)}`;
  const page = `SELECT * FROM ${tableOf(table)} t ${behind} ORDER BY ${key.join(", ")} LIMIT ${most.rows}`;
  const bounded =
    weight === undefined
      ? page
      : `SELECT * FROM (SELECT p.*, sum(${weight}) OVER (ORDER BY ${key.join(", ")}) - (${weight}) AS bytes_before FROM (${page}) p) w
         WHERE bytes_before < ${most.bytes}`;
  const { rows } = await client.query<MovedRow>({
    text: `SELECT ${columns.map(toNumberOrText).join(", ")} FROM (${bounded}) t ORDER BY ${key.join(", ")}`,
    values,
    rowMode: "array",
  });
  return rows;
}

const toNumberOrText = ({ name, kind, readInPostgres }: MovedColumn): string => {
  if (readInPostgres !== undefined) return `(${readInPostgres})${kind === "change" ? "::text::bigint" : ""}`;
  if (kind === "flag") return `${name}::integer`;
  if (kind === "time") return `(extract(epoch FROM ${name}) * 1000)::bigint`;
  return kind === "change" ? `${name}::text::bigint` : name;
};

const compareKey = ({ key }: MovedTable, how: ">" | "<=", first: number) =>
  `(${key.join(", ")}) ${how} (${key.map((_, index) => `$${first + index}`).join(", ")})`;

async function countOf(client: pg.Client, rows: string): Promise<number> {
  return (await one<{ count: number }>(client, `SELECT count(*) AS count FROM ${rows} t`))?.count ?? 0;
}

export const countRows = (client: pg.Client, table: MovedTable): Promise<number> => countOf(client, tableOf(table));

/** Count and digest of the rows from behind one key up to another: see `digestOf`. */
export async function digestRange(
  client: pg.Client,
  table: MovedTable,
  after: MovedKey | undefined,
  upTo: MovedKey,
): Promise<{ count: number; digest: string }> {
  const { key, columns } = table;
  const parts = columns.filter(({ isRenumbered }) => !isRenumbered).map((column) => `coalesce(${asText(column)}, '~')`);
  const conditions = [
    ...(after === undefined ? [] : [compareKey(table, ">", 1)]),
    compareKey(table, "<=", (after?.length ?? 0) + 1),
  ];
  const row = await one<{ count: number; digest: string | null }>(
    client,
    `SELECT count(*) AS count, encode(sha256(string_agg(sha256(convert_to(${parts.join(" || ';' || ")}, 'UTF8')), ''::bytea
       ORDER BY ${key.join(", ")})), 'hex') AS digest
     FROM ${tableOf(table)} t WHERE ${conditions.join(" AND ")}`,
    [...(after ?? []), ...upTo],
  );
  return { count: row?.count ?? 0, digest: row?.digest ?? "" };
}

function asText(column: MovedColumn): string {
  const { name, kind, readInPostgres = name } = column;
  if (kind === "text") return `(octet_length(${readInPostgres}) || ':' || ${readInPostgres})`;
  if (kind === "bytes") return `encode(sha256(${name}), 'hex')`;
  return `(${toNumberOrText(column)})::text`;
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

/** Secrets that were made and what setup has registered: see `KeptRecords`. By name; in place of all that is there. */
export async function replaceKeptRecords(client: pg.Client, records: ReadonlyMap<string, string>): Promise<void> {
  await inTransaction(client, async () => {
    await client.query("DELETE FROM kept_records");
    for (const record of records)
      await client.query("INSERT INTO kept_records (name, content) VALUES ($1, $2)", [...record]);
  });
}

export async function readKeptRecords(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; content: string }>("SELECT name, content FROM kept_records");
  return new Map(rows.map(({ name, content }) => [name, content]));
}

/** What the next relay goes on with: deliveries that wait or were under way, and alerts that are to be routed. */
export const countWaiting = (client: pg.Client): Promise<number> =>
  countOf(
    client,
    `(SELECT FROM deliveries WHERE due_at IS NOT NULL OR claim_token IS NOT NULL
      UNION ALL SELECT FROM alerts WHERE routed_at IS NULL)`,
  );

const lastChange = `SELECT string_agg(changed_by::text, ' ') FROM (
  (SELECT changed_by FROM alerts WHERE changed_by IS NOT NULL ORDER BY changed_by DESC LIMIT 1) UNION ALL
  (SELECT changed_by FROM alert_changes ORDER BY changed_by DESC LIMIT 1)) last`;

/** Differs when a relay has written to the log since. */
export async function describeState(client: pg.Client): Promise<string> {
  const parts = movedTables.map((table) => {
    if (table.columns[0]?.name === "seq") return `(SELECT min(seq) || ' ' || max(seq) FROM ${table.name})`;
    if (table.name === "threads") return `(${lastChange})`;
    return `(SELECT encode(sha256(convert_to(string_agg(t::text, ' ' ORDER BY ${table.key.join(", ")}), 'UTF8')), 'hex') FROM ${tableOf(table)} t)`;
  });
  return (await one<{ state: string }>(client, `SELECT concat_ws(';', ${parts.join(", ")}) AS state`))?.state ?? "";
}

/** As it was before `prepareTables`. */
export async function cancelTables(client: pg.Client, mark: MoveMark): Promise<void> {
  await prepareTables(client, { ...mark, done: {} });
  await finishTables(client, async () => {});
}
