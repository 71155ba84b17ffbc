import type { AlertOrigin } from "../../core/alert.ts";
import type { RoutingRecord } from "../../core/ports/routing-desk.ts";
import type { Dialect, Tx } from "../tx.ts";

/** What routing has to know of an alert that waits for it. */
export interface Unrouted {
  id: string;
  origin: AlertOrigin;
  receivedAt: number;
  /** Kept with the alert, so that later ones find it. Undefined: it is a repeat, or was compared by its key. */
  fingerprint?: number;
  /** Id of the first alert, when this one is its repeat. */
  repeatOf?: string;
}

interface Row {
  seq: number;
  id: string;
  origin: AlertOrigin;
  received_at: number;
  request_seq: number | null;
  /** What has to be the same beside the bytes. */
  likeness: string;
  fingerprint: number | null;
  /** That it repeats. */
  first?: Pick<Row, "seq" | "id">;
}

/** Bodies that a sender makes collide on purpose cost no more than this many rows and comparisons, however old. */
const mostCompared = 10;

const likeness = "concat_ws(' ', r.fingerprint, a.item, a.origin, a.source)";
/** The alert is compared by its body: it has no key that counts. */
const isCompared = (despiteKey: string) => `r.seq = a.request_seq AND (r.dedupe_key IS NULL OR ${despiteKey} = 1)`;
/** For rows that are found by another index than that of all that is unrouted: a planner may think that it has none. */
export const isUnrouted = (alert: string) => `coalesce(${alert}.routed_at, 0) = 0`;

/**
 * Finds those of the alerts that are not routed yet, and which of them repeat another one byte for byte. A fingerprint is stored only
 * for an alert that the rules have routed, whose body names its own event (`intake/key/names-itself.ts`), and that has no key
 * that counts and is no repeat itself. So what could not be read is never the first of a pair, and a repeat points at the alert
 * that was sent. Whoever routes the same body on another relay waits until this transaction has ended.
 */
export function createRepeats(sql: Dialect) {
  const lock = sql.isShared
    ? sql.statement(
        "lock_bodies",
        { seqs: "int8[]", despite_keys: "int8[]" },
        `SELECT pg_advisory_xact_lock(hash) FROM (
           SELECT DISTINCT hashtextextended(${likeness}, 1) AS hash
           FROM unnest(:seqs, :despite_keys) AS asked (seq, despite_key) CROSS JOIN LATERAL (
             SELECT * FROM alerts one WHERE one.seq = asked.seq AND one.seq = ANY(:seqs) AND ${isUnrouted("one")} OFFSET 0) a
           JOIN requests r ON ${isCompared("asked.despite_key")} ORDER BY 1) AS hashes`,
        (row: object) => row,
      )
    : undefined;
  const find = sql.statement(
    "find_firsts",
    { seq: "int8", window_ms: "int8", despite_key: "int8" },
    `SELECT a.seq, a.id, a.origin, a.received_at, r.seq AS request_seq, ${likeness} AS likeness,
       r.fingerprint, CASE WHEN r.seq IS NOT NULL THEN (
       SELECT ${sql.jsonOf({ seq: "one.seq", id: "one.id" })} FROM (
         SELECT seq, id, request_seq, received_at FROM alerts
         WHERE fingerprint = r.fingerprint AND item = a.item AND origin = a.origin AND source IS NOT DISTINCT FROM a.source
           AND seq <> a.seq
         ORDER BY seq DESC LIMIT ${mostCompared}) AS one
       JOIN requests other ON other.seq = one.request_seq
       WHERE one.received_at > a.received_at - :window_ms AND other.body = r.body ORDER BY one.seq DESC LIMIT 1) END AS first
     FROM alerts a LEFT JOIN requests r ON ${isCompared(":despite_key")} AND :window_ms IS NOT NULL
     WHERE a.seq = :seq AND ${isUnrouted("a")}`,
    ({ first, ...row }: Omit<Row, "first"> & { first: string | null }): Row => ({
      ...row,
      first: first === null ? undefined : (JSON.parse(first) as Pick<Row, "seq" | "id">),
    }),
  );
  const digest = sql.statement(
    "digest_bodies",
    { seqs: "int8[]" },
    `SELECT seq, ${sql.digestOf("body")} AS digest FROM requests WHERE seq ${sql.isOneOf(":seqs")}`,
    (row: { seq: number; digest: string }) => row,
  );

  /** Of the bodies that may be the same as another of this list, by request. */
  async function readDigests(tx: Tx, rows: readonly Row[]): Promise<Map<number, string>> {
    const counts = new Map<string, number>();
    const comparable = rows.filter((row) => row.request_seq !== null);
    for (const row of comparable) counts.set(row.likeness, (counts.get(row.likeness) ?? 0) + 1);
    const seqs = comparable.flatMap((row) => ((counts.get(row.likeness) ?? 0) > 1 ? (row.request_seq ?? []) : []));
    if (seqs.length === 0) return new Map();
    const found = await tx.run(digest, { seqs: [...new Set(seqs)] });
    return new Map(found.map(({ seq, digest }) => [seq, digest]));
  }

  return async (tx: Tx, records: readonly RoutingRecord[]): Promise<Map<number, Unrouted>> => {
    const asked = records.map(({ alertSeq: seq, repeatWindowMs = null, isRepeatDespiteKey = false }) => ({
      seq,
      window_ms: repeatWindowMs,
      despite_key: isRepeatDespiteKey ? 1 : 0,
    }));
    const compared = asked.filter(({ window_ms }) => window_ms !== null);
    const locked =
      lock && compared.length > 0
        ? tx.run(lock, {
            seqs: compared.map(({ seq }) => seq),
            despite_keys: compared.map(({ despite_key }) => despite_key),
          })
        : undefined;
    // A statement of its own: it sees what was committed until the locks were given.
    const [, found] = await Promise.all([locked, tx.look(find, asked)]);
    const rows = found.flat();
    return decide(rows, await readDigests(tx, rows), new Map(asked.map(({ seq, window_ms }) => [seq, window_ms ?? 0])));
  };
}

/** One after another, since the first of one may stand before it in the list. */
function decide(
  rows: readonly Row[],
  digests: ReadonlyMap<number, string>,
  windows: ReadonlyMap<number, number>,
): Map<number, Unrouted> {
  const decided = new Map<number, Unrouted>();
  const firsts = new Map<string, Row[]>();
  for (const row of rows) {
    const { seq, id, origin, received_at: receivedAt, request_seq, fingerprint } = row;
    const unrouted: Unrouted = { id, origin, receivedAt };
    decided.set(seq, unrouted);
    if (request_seq === null || fingerprint === null) continue;
    const body = `${row.likeness} ${digests.get(request_seq) ?? ""}`;
    const beside = firsts.get(body) ?? [];
    const since = receivedAt - (windows.get(seq) ?? 0);
    const first = beside
      .filter((one) => one.received_at > since && one.seq > (row.first?.seq ?? 0))
      .reduce(
        (newest: Row | undefined, one) => (newest === undefined || one.seq > newest.seq ? one : newest),
        undefined,
      );
    const repeatOf = (first ?? row.first)?.id;
    if (repeatOf === undefined) {
      unrouted.fingerprint = fingerprint;
      firsts.set(body, [...beside, row]);
    } else unrouted.repeatOf = repeatOf;
  }
  return decided;
}
