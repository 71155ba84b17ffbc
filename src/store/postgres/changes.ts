import type pg from "pg";
import type { ChangeCursor } from "../../core/ports/alert-log.ts";
import { type ListedRow, listedColumns } from "../log-entries.ts";
import { type ChangeTable, isChanged, lastChanges } from "./alert-changes.ts";
import type { OneRow, Reading } from "./reading.ts";
import { postgresDialect } from "./tx.ts";

/**
 * Changes are listed in the order of their transactions, but transactions commit in another order. While an older one still runs,
 * the changes of younger ones are listed, and the cursor remembers the older one. A reader that continues from the cursor gets
 * its changes after its commit. Nothing is skipped, and no slow transaction delays the rest.
 *
 * A cursor is `transaction.alert` of the last change, then `-` and each passed transaction as its distance below, in base 36. If
 * some changes of a passed transaction were listed, `.` and the last listed alert follow it.
 */
interface Place {
  /** The last listed change's. */
  transaction: bigint;
  seq: number;
  /** Older transactions whose changes may not be listed yet, ascending. `seq`: changes of later alerts are not listed. */
  passed: { transaction: bigint; seq: number }[];
}

/** With more passed transactions, later changes have to wait for them. A cursor is part of addresses. */
const mostPassed = 8;
/** How often to look again: a transaction may end meanwhile, and need not be remembered. */
const mostLooks = 5;

const pattern = /^\d{1,20}\.\d{1,15}(?:-[0-9a-z]{1,12}(?:\.[0-9a-z]{1,10})?){0,40}$/;

export const isChangeCursor = (text: string): text is ChangeCursor => pattern.test(text);

function toCursor({ transaction, seq, passed }: Place): ChangeCursor {
  const parts = passed.map((one) => {
    const below = (transaction - one.transaction).toString(36);
    return one.seq === 0 ? below : `${below}.${one.seq.toString(36)}`;
  });
  return [`${transaction}.${seq}`, ...parts].join("-") as ChangeCursor;
}

function fromCursor(cursor: ChangeCursor | undefined): Place {
  const [place = "0.0", ...parts] = (cursor ?? "0.0").split("-");
  const [transaction = "0", seq = "0"] = place.split(".");
  const passed = parts.map((part) => {
    const [below = "0", from = "0"] = part.split(".");
    return { transaction: BigInt(transaction) - parseBase36(below), seq: Number.parseInt(from, 36) };
  });
  return { transaction: BigInt(transaction), seq: Number(seq), passed };
}

const parseBase36 = (text: string): bigint =>
  [...text].reduce((sum, digit) => sum * 36n + BigInt(Number.parseInt(digit, 36)), 0n);

/** The changes of a table after the place in `$1` to `$4`, at most `$5`. */
const laterIn = (table: ChangeTable) => `
  SELECT * FROM (SELECT late.* FROM unnest($3::xid8[], $4::bigint[]) passed (transaction, seq)
    CROSS JOIN LATERAL (SELECT changed_by, seq FROM ${table} WHERE changed_by = passed.transaction AND seq > passed.seq OFFSET 0) late
    ORDER BY late.changed_by, late.seq LIMIT $5) late
  UNION SELECT * FROM (SELECT changed_by, seq FROM ${table} WHERE ${isChanged(table)} (changed_by, seq) > ($1::xid8, $2::bigint)
    ORDER BY changed_by, seq LIMIT $5) next`;

export interface ChangedRow extends ListedRow {
  /** The transaction of the alert's last change. */
  changed_by: string;
}

interface SnapshotRow<Row> {
  rows: Row[];
  /** Running transactions, as this read saw them. */
  running: string[];
  /** Running transactions of other databases of the server, or of its cleaning. */
  foreign: string[];
  /** Running transactions whose owner is known. */
  known: string[];
  /** Added to a transaction's number, it gives the change's number. */
  base: string;
}

/** The transactions that run during a read. Connections of other roles may be hidden. They count as our own. */
const snapshot = `SELECT
  ARRAY(SELECT x::text FROM pg_snapshot_xip(now.snapshot) x) AS running, change_base()::text AS base,
  ARRAY(SELECT x::text FROM pg_snapshot_xip(now.snapshot) x JOIN activity ON activity.id = mod(x::text::numeric, 4294967296)
    WHERE activity.datname IS DISTINCT FROM current_database() OR activity.backend_type <> 'client backend') AS foreign,
  ARRAY(SELECT x::text FROM pg_snapshot_xip(now.snapshot) x JOIN activity ON activity.id = mod(x::text::numeric, 4294967296)) AS known
  FROM (SELECT pg_current_snapshot() AS snapshot) now`;
const activity = `activity AS (SELECT backend_xid::text::numeric AS id, datname, backend_type FROM pg_stat_activity
  WHERE backend_xid IS NOT NULL)`;

/** A read, with the transactions that ran during it. */
const withSnapshot = (sql: string) =>
  `WITH ${activity} SELECT s.*, (SELECT coalesce(json_agg(r), '[]') FROM (${sql}) r) AS rows FROM (${snapshot}) s`;

/** Whether the database of some running transactions is still unknown. It may be known a moment later. */
const isUnclear = ({ running, known }: SnapshotRow<unknown>, look: number) =>
  running.length > known.length && look < mostLooks;

function runningOf({ running, foreign, base }: SnapshotRow<unknown>): bigint[] {
  const own = running.filter((one) => !foreign.includes(one)).map((one) => BigInt(one) + BigInt(base));
  return own.sort((a, b) => (a < b ? -1 : 1));
}

const latest: OneRow<SnapshotRow<{ changed_by: string; seq: number }>> = {
  sql: () =>
    withSnapshot(
      `SELECT changed_by::text, seq FROM (${lastChanges}) last ORDER BY last.changed_by DESC, seq DESC LIMIT 1`,
    ),
  isEnough: (row, look) => !isUnclear(row, look),
};

export function createChanges(reading: Pick<Reading, "query" | "latest">) {
  async function readWithSnapshot(sql: string, values: unknown[]): Promise<{ rows: ChangedRow[]; running: bigint[] }> {
    for (let look = 1; ; look += 1) {
      const { rows } = await reading.query<SnapshotRow<ChangedRow>>(withSnapshot(sql), values);
      const [found] = rows as [SnapshotRow<ChangedRow>];
      if (!isUnclear(found, look)) return { rows: found.rows, running: runningOf(found) };
    }
  }

  return {
    async list(after: ChangeCursor | undefined, limit: number): Promise<(ChangedRow & { cursor: ChangeCursor })[]> {
      const from = fromCursor(after);
      const { rows, running } = await readWithSnapshot(
        `SELECT ${listedColumns(postgresDialect)}, changed.changed_by::text
         FROM (
           SELECT changed_by, seq FROM (${laterIn("alert_changes")} UNION ${laterIn("alerts")}) changes
           ORDER BY changed_by, seq LIMIT $5) changed
         CROSS JOIN LATERAL (SELECT * FROM alerts WHERE seq = changed.seq OFFSET 0) a ORDER BY changed.changed_by, changed.seq`,
        [
          String(from.transaction),
          from.seq,
          from.passed.map(({ transaction }) => String(transaction)),
          from.passed.map(({ seq }) => seq),
          limit,
        ],
      );
      const listed: (ChangedRow & { cursor: ChangeCursor })[] = [];
      for (const row of rows) {
        const place = placeBehind(from, row, running);
        if (place === undefined) break;
        listed.push({ ...row, cursor: toCursor(place) });
      }
      return listed;
    },

    async latest(): Promise<ChangeCursor> {
      const found = await reading.latest(latest);
      const [[last], running] = [found.rows, runningOf(found)];
      const place = last && placeBehind(fromCursor(undefined), last, running);
      if (last === undefined || place !== undefined) return toCursor(place ?? fromCursor(undefined));
      // The place after the last transaction that need not be remembered. Later changes are listed again.
      return toCursor({
        transaction: running[mostPassed] as bigint,
        seq: 0,
        passed: running.slice(0, mostPassed).map(passing),
      });
    },

    async knows(cursor: ChangeCursor): Promise<boolean> {
      const { transaction, seq } = fromCursor(cursor);
      if (transaction === 0n) return true;
      const { rows } = await reading.query<{ knows: boolean }>(
        `SELECT coalesce(bool_or((changed_by, seq) >= ($1::xid8, $2::bigint)), false) AS knows FROM (${lastChanges}) last`,
        [String(transaction), seq],
      );
      return rows[0]?.knows ?? false;
    },
  };
}

/** After a restore from a dump transactions are counted anew. New changes continue after all that the log knows. */
export async function continueChanges(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ last: string }>(
    `SELECT changed_by::text AS last FROM (SELECT changed_by FROM (${lastChanges}) last ORDER BY changed_by DESC LIMIT 1) a
     WHERE changed_by::text::bigint >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint + change_base()`,
  );
  const [ahead] = rows;
  if (ahead === undefined) return;
  await client.query(
    `CREATE OR REPLACE FUNCTION change_base() RETURNS bigint LANGUAGE sql IMMUTABLE RETURN ${BigInt(ahead.last)}::bigint`,
  );
}

const passing = (transaction: bigint) => ({ transaction, seq: 0 });

/** The place of a reader that has listed this change. Undefined: too many transactions would have to be remembered. */
function placeBehind(
  from: Place,
  row: { changed_by: string; seq: number },
  running: readonly bigint[],
): Place | undefined {
  const transaction = BigInt(row.changed_by);
  const isLate = transaction < from.transaction;
  const last = isLate ? from : { transaction, seq: row.seq };
  // No change of a running transaction can have been listed.
  const passed = running.filter((one) => one < last.transaction).map(passing);
  if (isLate) {
    passed.push({ transaction, seq: row.seq });
    passed.push(...from.passed.filter((one) => one.transaction > transaction && !running.includes(one.transaction)));
    passed.sort((a, b) => (a.transaction < b.transaction ? -1 : 1));
  } else if (passed.length > mostPassed) return undefined;
  return { transaction: last.transaction, seq: last.seq, passed };
}
