import type { Thread } from "../../core/delivery-job.ts";
import { toThread } from "../rows.ts";
import { columnNames, type Row } from "../tables.ts";
import type { Sql } from "./database.ts";
import { toText } from "./texts.ts";

/** Each by its name: a prepared statement that gives all fails once a newer relay has added one. */
export const threadColumns = columnNames("threads");
export const threadRow = threadColumns.map((name) => `t.${name}`).join(", ");

/** What the messages of a key in one chat are found by. */
export type ThreadKey = Pick<Thread, "destination" | "recipient" | "alertKey">;

const toColumns = (keys: readonly ThreadKey[]) => [
  keys.map(({ destination }) => destination),
  keys.map(({ recipient }) => recipient),
  keys.map(({ alertKey }) => toText(alertKey)),
];

const asked =
  "unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS asked (destination, recipient, alert_key, place)";

/** In the order asked. */
export async function findThreads(sql: Sql, keys: readonly ThreadKey[]): Promise<(Thread | undefined)[]> {
  if (keys.length === 0) return [];
  const { rows } = await sql.query<Row<"threads"> & { place: number }>(
    `SELECT asked.place, ${threadRow} FROM ${asked} CROSS JOIN LATERAL (
       SELECT * FROM threads t
       WHERE t.destination = asked.destination AND t.recipient = asked.recipient AND t.alert_key = asked.alert_key
       LIMIT 1) AS t`,
    toColumns(keys),
    "find_threads",
  );
  const threads: (Thread | undefined)[] = keys.map(() => undefined);
  for (const row of rows) threads[row.place - 1] = toThread(row);
  return threads;
}

/** An alert of these keys has said that it is over. */
export async function markOver(sql: Sql, keys: readonly ThreadKey[], at: number): Promise<void> {
  if (keys.length === 0) return;
  await sql.query(
    `WITH over AS MATERIALIZED (
       SELECT t.destination, t.recipient, t.alert_key FROM threads t
       WHERE (destination, recipient, alert_key) IN (SELECT destination, recipient, alert_key FROM ${asked})
         AND over_at IS NULL AND status <> 'resolved'
       ORDER BY destination, recipient, alert_key FOR NO KEY UPDATE)
     UPDATE threads SET over_at = $4
     WHERE (destination, recipient, alert_key) IN (SELECT destination, recipient, alert_key FROM over)`,
    [...toColumns(keys), at],
    "mark_over",
  );
}
