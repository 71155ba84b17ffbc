import type { AlertFacts } from "../../core/alert.ts";
import type { Administration, Maintenance } from "../../core/ports/administration.ts";
import type { Removal, Retention } from "../../core/ports/retention.ts";
import type { RemoveOld, SharedTransactions } from "../transactions/index.ts";
import type { Database, Transaction } from "./database.ts";
import { toWords } from "./search-terms.ts";
import { toTx } from "./tx.ts";

const hourMs = 3_600_000;
/** How often rows that were added to counts are summed up. */
const foldEveryMs = 10_000;
const mostGroups = 500;
const mostRows = 20_000;

/** For a statement that runs rarely: a kept plan would be for tables of another size. */
const plannedAnew = [[], false] as const;

/** Alerts whose words are written in one statement, and statements in a row. */
const indexBatch = 200;
const indexBatchesAtOnce = 20;

/** The number of the remover's advisory lock: two transactions must not remove alerts of one request at the same time. */
const removerLock = 8_072_401_174;

/** Bytes of an alert, a delivery and an attempt with their indexes, without the body. Measured. */
const alertBytes = 2_600;
const deliveryBytes = 1_400;

interface AdministeringDeps extends Pick<SharedTransactions, "forgetOld" | "removeExpiredKeys"> {
  relayName: string;
  removeOld: RemoveOld;
  /** The server's disk was full lately. */
  isFull(): boolean;
}

/** Tells whether the database takes changes, and does the housekeeping that PostgreSQL does not do itself. */
export function createAdministering(
  database: Database,
  { relayName, isFull, removeOld, forgetOld, removeExpiredKeys }: AdministeringDeps,
): Required<Pick<Administration, "health" | "maintain" | "standbys">> & Omit<Retention, "giveBackRoom"> {
  let maintainedAt: number | undefined;
  let foldedAt = Number.NEGATIVE_INFINITY;

  async function keepHouse(now: number, stop?: AbortSignal): Promise<Maintenance | undefined> {
    maintainedAt ??= now;
    if (now - foldedAt >= foldEveryMs && !stop?.aborted) {
      foldedAt = now;
      await fold(database, "tallies", "kind, name, part, hour", { count: "sum(count)" });
      await fold(database, "route_hours", "route, hour", {
        ...{ alerts: "sum(alerts)", last_at: "max(last_at)" },
        last_id: "(array_agg(last_id ORDER BY last_at DESC, last_id DESC))[1]",
      });
    }
    if (now - maintainedAt < hourMs) return undefined;
    maintainedAt = now;
    const keysRemoved = await database.transaction(async (tx) => {
      const keys = removeExpiredKeys(toTx(tx), now);
      const allowances = tx.query("DELETE FROM allowances WHERE paid_off_at < clock_timestamp() - interval '1 minute'");
      const readings = tx.query(
        `DELETE FROM readings WHERE NOT EXISTS (
           SELECT FROM alerts WHERE alerts.seq = readings.alert_seq AND alerts.routed_at IS NULL)`,
        ...plannedAnew,
      );
      const late = tx.query("DELETE FROM late_spans WHERE to_id < (SELECT id FROM alerts ORDER BY seq LIMIT 1)");
      const [removed] = await Promise.all([keys, allowances, readings, late]);
      while (await forgetOld(toTx(tx), now));
      return removed;
    });
    return { keysRemoved };
  }

  return {
    async health() {
      const full = isFull();
      const [found] = await database.transaction(async (tx) => {
        const written = tx.query(
          `INSERT INTO write_checks (relay, at) VALUES ($1, clock_timestamp())
           ON CONFLICT (relay) DO UPDATE SET at = excluded.at`,
          [relayName],
        );
        const read = tx.query<{ unrouted: number; oldest: number | null; bytes: number }>(
          `SELECT (SELECT count(*) FROM alerts WHERE routed_at IS NULL) AS unrouted,
             (SELECT received_at FROM alerts WHERE routed_at IS NULL ORDER BY seq LIMIT 1) AS oldest,
             pg_database_size(current_database()) AS bytes`,
        );
        const [, { rows }] = await Promise.all([written, read]);
        return rows;
      }, true);
      return {
        writable: true,
        full,
        unrouted: found?.unrouted ?? 0,
        oldestUnroutedAt: found?.oldest ?? undefined,
        bytes: found?.bytes ?? 0,
      };
    },

    async standbys() {
      const { rows } = await database.read.query<{ names: string; standbys: number; hidden: number }>(
        `SELECT current_setting('synchronous_standby_names') AS names,
           count(*) FILTER (WHERE state <> 'backup')::int AS standbys, count(*) FILTER (WHERE state IS NULL)::int AS hidden
         FROM pg_stat_replication
         WHERE pid NOT IN (
           SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL)`,
      );
      const [{ names, standbys, hidden } = { names: "", standbys: 0, hidden: 0 }] = rows;
      // A server that also has `synchronous_commit = local` is refused.
      if (names !== "") return "synchronous";
      if (standbys > 0) return "asynchronous";
      // A role that may not read all statistics sees that a connection exists, but not its purpose.
      return hidden > 0 ? "unclear" : "none";
    },

    async maintain(now, stop) {
      // Housekeeping comes first: an index that cannot be written must not prevent it.
      const done = await keepHouse(now, stop);
      await indexAlerts(database, stop);
      return done;
    },

    removesBesideOthers: true,

    /** One relay at a time removes old alerts. The database reuses the room by itself. */
    async removeAlerts(step): Promise<Removal> {
      const startedAt = performance.now();
      const done = await database.transaction(async (tx) => {
        const { rows } = await tx.query<{ is_mine: boolean }>(
          `SELECT pg_try_advisory_xact_lock(${removerLock}) AS is_mine`,
        );
        const { removed, next } =
          rows[0]?.is_mine === true ? await removeOld(toTx(tx, tx.notes), step) : { removed: 0 };
        return { removed, ...(next !== undefined && { next }), ...(await measure(tx)) };
      });
      return { ...done, tookMs: performance.now() - startedAt };
    },
  };
}

async function measure(tx: Transaction): Promise<Pick<Removal, "accepted" | "usedBytes">> {
  const { rows } = await tx.query<{ accepted: number; used: number }>(
    `SELECT coalesce((SELECT max(seq) FROM alerts), 0) AS accepted,
       coalesce(sum(CASE kind WHEN 'bytes' THEN count WHEN 'delivery' THEN count * ${deliveryBytes}
         WHEN 'accepted' THEN count * ${alertBytes} WHEN 'removed' THEN -count * ${alertBytes} END), 0) AS used
     FROM tallies WHERE kind IN ('bytes', 'delivery', 'accepted', 'removed')`,
  );
  const { accepted = 0, used: usedBytes = 0 } = rows[0] ?? {};
  return { accepted, usedBytes };
}

/** Replaces added rows by their sum in one statement, except rows that another relay is summing. `sums`: columns as SQL. */
async function fold(database: Database, table: string, key: string, sums: Record<string, string>): Promise<void> {
  await database.single.query(
    `WITH several AS (SELECT ${key} FROM ${table} GROUP BY ${key} HAVING count(*) > 1 LIMIT ${mostGroups}),
     rows AS (
       SELECT t.ctid FROM ${table} t JOIN several USING (${key}) LIMIT ${mostRows} FOR UPDATE OF t SKIP LOCKED),
     gone AS (DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM rows)) RETURNING *)
     INSERT INTO ${table} (${key}, ${Object.keys(sums)}) SELECT ${key}, ${Object.values(sums)} FROM gone GROUP BY ${key}`,
    ...plannedAnew,
  );
}

/** Relays share the rows: each leaves out those that another one works on. */
async function indexSome(database: Database): Promise<number> {
  return database.transaction(async (tx) => {
    const { rows } = await tx.query<{ seq: number; id: string; facts: string | null }>(
      `WITH taken AS (DELETE FROM search_queue WHERE seq = ANY(ARRAY(
         SELECT seq FROM search_queue ORDER BY seq LIMIT ${indexBatch} FOR UPDATE SKIP LOCKED)) RETURNING seq)
       SELECT t.seq, a.id, a.facts FROM taken t CROSS JOIN LATERAL (SELECT id, facts FROM alerts WHERE seq = t.seq OFFSET 0) a
       ORDER BY t.seq`,
    );
    const words = rows.map(({ id, facts }) => (facts === null ? "" : toWords(id, JSON.parse(facts) as AlertFacts)));
    if (rows.length > 0)
      await tx.query(
        `INSERT INTO alert_words (seq, words) SELECT * FROM unnest($1::bigint[], $2::text[]) w (seq, words) WHERE words <> ''
           ON CONFLICT DO NOTHING`,
        [rows.map(({ seq }) => seq), words],
      );
    return rows.length;
  });
}

/** Makes routed alerts searchable, a bounded number in each call. */
async function indexAlerts(database: Database, stop?: AbortSignal): Promise<void> {
  let indexed = 0;
  for (let round = 0; round < indexBatchesAtOnce && !stop?.aborted; round += 1) {
    const count = await indexSome(database);
    indexed += count;
    if (count < indexBatch) break;
  }
  // If the role does not own the index, the server does this when the list is long, or at its next vacuum.
  if (indexed > 0)
    await database.single.query(
      `SELECT CASE WHEN pg_has_role(relowner, 'USAGE') THEN gin_clean_pending_list(oid) END
       FROM pg_class WHERE oid = 'alert_words_by_term'::regclass`,
    );
}
