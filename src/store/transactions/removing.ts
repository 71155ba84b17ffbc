import type { Removal, RemovalStep } from "../../core/ports/retention.ts";
import { fromPosition, toPosition } from "../positions.ts";
import { type Row, tables } from "../tables.ts";
import type { Dialect, Given, Tx, Values } from "../tx.ts";

interface OldAlert
  extends Pick<Row<"alerts">, "seq" | "request_seq" | "item" | "received_at" | "routed_at" | "repeat_of"> {
  /** Alerts after the first young one are young, even if a clock was behind. An alert from the future is no such mark. */
  is_young: boolean | 0 | 1;
}

/** Threads that are looked at for each removed alert. There are about as many as deliveries at most. */
const threadsPerAlert = 2;
/** A thread of an earlier version may not know its last alert (0). */
const alertOfThread = "coalesce(nullif(last_alert_seq, 0), root_alert_seq)";

/** The condition that a state's name is one of kept routes, see `createKeptRoutes`. */
const areRoutes = "name >= 'routes:' AND name < 'routes;'";
/** How long routes outlive their last use, which is noted every hour by clocks that may differ. */
const routesOutliveMs = 86_400_000;

/** Whether a delivery may still change. */
const isUnfinished = `(due_at IS NOT NULL OR claim_token IS NOT NULL OR fallback_at IS NOT NULL
  OR NOT (state IN ('sent', 'failed', 'muted', 'expired', 'digested') OR (state = 'held' AND resent_by IS NOT NULL)))`;

/** The result of a step, and the alerts that it has looked at: those after the position `from`, as far as `to`. */
export interface OldRemoved extends Pick<Removal, "removed" | "next"> {
  from: number;
  to: number;
}

/** Removes old alerts in small steps. An alert with the last number of a table stays: that number must not come again. */
export function createRemoving(sql: Dialect) {
  const removeFinished = createFinishedRemoving(sql);
  const removeSomeThreads = createThreadRemoving(sql);
  const list = sql.statement(
    { from: "int8", before: "int8", limit: "int8" },
    `SELECT seq, request_seq, item, received_at, routed_at, repeat_of,
       received_at >= :before AND received_at <= ${sql.nowMs} AS is_young
     FROM alerts WHERE seq > :from ORDER BY seq ${sql.limit(":limit")}`,
    (row: OldAlert) => row,
  );
  const listLast = sql.statement(
    {},
    {
      // SQLite gives a new row the number after the last existing one.
      sqlite: `SELECT max(seq) AS seq, NULL AS request_seq FROM alerts
        UNION ALL SELECT * FROM (SELECT alert_seq, NULL FROM deliveries ORDER BY seq DESC LIMIT 1)
        UNION ALL SELECT NULL, max(seq) FROM requests
        UNION ALL SELECT seq, NULL FROM (${sql.lastChanged})`,
      postgres: `SELECT max(seq) AS seq, NULL::bigint AS request_seq FROM alerts
        UNION ALL SELECT seq, NULL FROM (${sql.lastChanged}) AS changed`,
    },
    (row: { seq: number | null; request_seq: number | null }) => row,
  );
  const removeRefused = sql.statement({ before: "int8" }, "DELETE FROM refused_requests WHERE received_at < :before");
  const oldest = "(SELECT received_at FROM alerts ORDER BY seq LIMIT 1)";
  const removeRoutes = sql.statement(
    {},
    {
      sqlite: `DELETE FROM watch_states WHERE ${areRoutes} AND state ->> '$.usedAt' < ${oldest} - ${routesOutliveMs}`,
      // PostgreSQL's JSON refuses U+0000, which a matcher may have.
      postgres: `DELETE FROM watch_states
        WHERE ${areRoutes} AND substring(state FROM '^{"usedAt":([0-9]+)')::bigint < ${oldest} - ${routesOutliveMs}`,
    },
  );

  return {
    async removeOld(tx: Tx, { after, receivedBefore: before, limit }: RemovalStep): Promise<OldRemoved> {
      const [from = 0] = after === undefined ? [] : fromPosition(after);
      const [listed, last] = await Promise.all([
        tx.run(list, { from, before, limit }),
        tx.run(listLast, {}),
        from === 0 && tx.run(removeRefused, { before }),
        from === 0 && tx.run(removeRoutes, {}),
      ]);
      const firstYoung = listed.findIndex(({ is_young }) => is_young);
      const rows = firstYoung === -1 ? listed : listed.slice(0, firstYoung);
      const isLast = (alert: OldAlert) =>
        last.some(
          ({ seq, request_seq }) => seq === alert.seq || (request_seq !== null && request_seq === alert.request_seq),
        );
      const old = rows.filter((row) => row.received_at < before && row.routed_at !== null && !isLast(row));
      const removed = old.length === 0 ? 0 : await removeFinished(tx, old);
      const end = rows.at(-1)?.seq;
      await removeSomeThreads(tx, limit, end ?? (listed[0]?.seq ?? from + 1) - 1, before);
      const to = (listed[firstYoung] ?? listed.at(-1))?.seq ?? from;
      return { removed, from, to, ...(end !== undefined && rows.length === limit && { next: toPosition(end) }) };
    },
  };
}

/** @param table of SQLite, which has one number of this kind */
export const createCounting = (sql: Dialect, kind: "removed" | "duplicate", table: string) =>
  sql.statement(
    { count: "int8" },
    {
      sqlite: `UPDATE ${table} SET count = count + :count`,
      // Each change is a row of its own, so that no two relays wait for one row.
      postgres: `INSERT INTO tallies (kind, count) VALUES ('${kind}', :count)`,
    },
  );

/** Removes the finished ones of these alerts, and gives their number. Locked, so no delivery is added meanwhile. */
function createFinishedRemoving(sql: Dialect) {
  const lock = sql.statement(
    { seqs: "int8[]" },
    `SELECT seq FROM alerts WHERE seq ${sql.isOneOf(":seqs")} ${sql.forRemoval("seq")}`,
    ({ seq }: { seq: number }) => seq,
  );
  const listUnfinished = sql.statement(
    { seqs: "int8[]" },
    `SELECT alert_seq FROM deliveries WHERE alert_seq ${sql.isOneOf(":seqs")} AND ${isUnfinished}`,
    ({ alert_seq }: { alert_seq: number }) => alert_seq,
  );
  const deletion = (table: string, which: string) =>
    sql.statement({ seqs: "int8[]" }, `DELETE FROM ${table} WHERE ${which}`);
  const ofAlerts = `alert_seq ${sql.isOneOf(":seqs")}`;
  const removeAttempts = deletion(
    "attempts",
    `delivery_seq ${sql.isIn(`SELECT seq FROM deliveries WHERE ${ofAlerts}`)}`,
  );
  const removeDeliveries = deletion("deliveries", ofAlerts);
  const removeAlerts = deletion("alerts", `seq ${sql.isOneOf(":seqs")}`);
  const findOthers = sql.statement(
    { request: "int8", first: "int8" },
    {
      // SQLite has no index of requests. The alerts of a request are in adjacent rows.
      sqlite: `SELECT 1 FROM alerts WHERE seq >= :first AND seq < :first + (SELECT items FROM requests WHERE seq = :request)
        AND request_seq = :request LIMIT 1`,
      postgres: "SELECT 1 FROM alerts WHERE request_seq = :request LIMIT 1",
    },
  );
  const removeRequests = sql.statement(
    { seqs: "int8[]" },
    `DELETE FROM requests WHERE seq ${sql.isOneOf(":seqs")} RETURNING duplicates`,
    ({ duplicates }: { duplicates: number }) => duplicates,
  );
  const countRemoved = createCounting(sql, "removed", "removed_alerts");
  const countDuplicates = createCounting(sql, "duplicate", "duplicate_count");

  /** Removes the touched requests that have no alert any more. Returns the number of their duplicates. */
  async function removeEmptied(tx: Tx, touched: readonly { request: number; first: number }[]): Promise<number> {
    const others = await tx.look(findOthers, touched);
    const seqs = touched.flatMap(({ request }, index) => (others[index]?.length === 0 ? [request] : []));
    const duplicates = seqs.length === 0 ? [] : await tx.run(removeRequests, { seqs });
    return duplicates.reduce((sum, count) => sum + count, 0);
  }

  return async (tx: Tx, old: readonly OldAlert[]): Promise<number> => {
    const [locked, unfinished] = await Promise.all([
      tx.run(lock, { seqs: old.map(({ seq }) => seq) }),
      tx.run(listUnfinished, { seqs: old.map(({ seq }) => seq) }),
    ]);
    const free = new Set(locked);
    for (const seq of unfinished) free.delete(seq);
    const gone = old.filter(({ seq }) => free.has(seq));
    if (gone.length === 0) return 0;
    const seqs = [...free];
    const first = new Map(
      gone.flatMap((one) => (one.request_seq === null ? [] : [[one.request_seq, one.seq - one.item]])),
    );
    const touched = [...first].map(([request, first]) => ({ request, first }));
    const [, , , ofRequests] = await Promise.all([
      tx.run(removeAttempts, { seqs }),
      tx.run(removeDeliveries, { seqs }),
      tx.run(removeAlerts, { seqs }),
      removeEmptied(tx, touched),
      tx.run(countRemoved, { count: gone.length }),
    ]);
    const duplicates = ofRequests + gone.filter(({ repeat_of }) => repeat_of !== null).length;
    if (duplicates > 0) await tx.run(countDuplicates, { count: -duplicates });
    return gone.length;
  };
}

/** Removes threads of keys whose last alert is gone, in the table's order: one by one would write a page for each. */
function createThreadRemoving(sql: Dialect) {
  const removeSome = createRounds(
    sql,
    "threads",
    { to: "int8", before: "int8" },
    `${alertOfThread} <= :to AND (last_alert_seq > 0 OR last_at < :before)
       AND NOT EXISTS (SELECT 1 FROM alerts WHERE seq = ${alertOfThread} ${sql.asItStands})`,
  );
  /** Positions after this one have no gaps, so whether an alert exists need not be asked. */
  let walkedTo = 0;

  return async (tx: Tx, alerts: number, to: number, before: number): Promise<void> => {
    walkedTo = Math.max(walkedTo, to);
    await removeSome(tx, alerts * threadsPerAlert, { to: walkedTo, before });
  };
}

/**
 * Removes old rows of a table whose key is texts, in steps through all rows, again and again. A step that is run again may leave
 * some rows for the next round.
 * @returns a step through this many rows. True: it was not the last one of the round
 */
export function createRounds<G extends Given>(
  sql: Dialect,
  table: "threads" | "rings" | "group_memories",
  given: G,
  isOld: string,
) {
  const key: readonly string[] = tables[table].key;
  const names = key.join(", ");
  const textsOf = (prefix: string) => Object.fromEntries(key.map((name) => [`${prefix}${name}`, "text" as const]));
  const placesOf = (prefix: string) => key.map((name) => `:${prefix}${name}`).join(", ");
  const behind = `FROM ${table} WHERE (${names}) > (${placesOf("after_")})`;
  const findEnd = sql.statement(
    { ...textsOf("after_"), passed: "int8" },
    `SELECT ${names} ${behind} ORDER BY ${names} LIMIT 1 OFFSET :passed`,
    (row: Record<string, string>) => key.map((name) => row[name] as string),
  );
  const old = `${behind} AND (${names}) <= (${placesOf("to_")}) AND ${isOld}`;
  const remove = sql.statement(
    { ...given, ...textsOf("after_"), ...textsOf("to_") },
    {
      sqlite: `DELETE ${old}`,
      // Locked in one order, so that no two relays wait for each other. A join with the locked rows would read the whole table.
      postgres: `WITH locked AS MATERIALIZED (SELECT 1 ${old} ${sql.forUpdate(names)})
        DELETE ${old} AND (SELECT count(*) FROM locked) > 0`,
    },
  );
  const first = key.map(() => "");
  /** The place after all others: no text has a larger character. */
  const last = ["\u{10FFFF}", ...first.slice(1)];
  const placeOf = (prefix: string, place: string[]) =>
    Object.fromEntries(key.map((name, index) => [`${prefix}${name}`, place[index] as string]));
  let after = first;

  return async (tx: Tx, rows: number, values: Values<G>): Promise<boolean> => {
    const from = placeOf("after_", after);
    const [end = last] = await tx.run(findEnd, { ...from, passed: rows - 1 });
    const all = { ...values, ...from, ...placeOf("to_", end) };
    await tx.run(remove, all as Values<typeof remove.given>);
    after = end === last ? first : end;
    return end !== last;
  };
}
