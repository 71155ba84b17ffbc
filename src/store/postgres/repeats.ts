import type { AlertOrigin } from "../../core/alert.ts";
import type { RoutingRecord } from "../../core/ports/routing-desk.ts";
import type { Transaction } from "./database.ts";

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
  /** What has to be the same beside the bytes; null for what is not compared. */
  likeness: string | null;
  fingerprint: number | null;
  first_seq: number | null;
  first_id: string | null;
}

/** Bodies that a sender makes collide on purpose cost no more than this many rows and comparisons, however old. */
const mostCompared = 10;

/** For rows that are found by another index than that of all that is unrouted: a planner may think that it has none. */
export const isUnrouted = (alert: string) => `coalesce(${alert}.routed_at, 0) = 0`;

/**
 * The body of an alert that is compared: it names its own event, and has no key that counts. Each alert is looked up by itself: a
 * planner that expects one would else compare all with all.
 */
const compared = `
  FROM unnest($1::bigint[], $2::bigint[], $3::bool[]) WITH ORDINALITY AS asked (seq, window_ms, despite_key, place)
  CROSS JOIN LATERAL (
    SELECT * FROM alerts one WHERE one.seq = asked.seq AND one.seq = ANY($1::bigint[]) AND ${isUnrouted("one")} OFFSET 0) a
  LEFT JOIN requests r ON r.seq = a.request_seq AND asked.window_ms IS NOT NULL
    AND (r.dedupe_key IS NULL OR asked.despite_key)`;
const likeness = "concat_ws(' ', r.fingerprint, a.item, a.origin, a.source)";

/**
 * Those of the alerts that are not routed yet, and which of them repeat another one byte for byte. A fingerprint is stored only
 * for an alert that the rules have routed, whose body names its own event (`intake/key/names-itself.ts`), and that has no key
 * that counts and is no repeat itself. So what could not be read is never the first of a pair, and a repeat points at the alert
 * that was sent. Whoever routes the same body on another relay waits until this transaction has ended.
 */
export async function lookUpRepeats(
  tx: Transaction,
  records: readonly RoutingRecord[],
): Promise<Map<number, Unrouted>> {
  const asked = [
    records.map(({ alertSeq }) => alertSeq),
    records.map(({ repeatWindowMs }) => repeatWindowMs ?? null),
    records.map(({ isRepeatDespiteKey = false }) => isRepeatDespiteKey),
  ];
  const isAsked = records.some(({ repeatWindowMs }) => repeatWindowMs !== undefined);
  const locked =
    isAsked &&
    tx.query(
      `SELECT pg_advisory_xact_lock(hash) FROM (
         SELECT DISTINCT hashtextextended(${likeness}, 1) AS hash ${compared} WHERE r.seq IS NOT NULL ORDER BY 1) AS hashes`,
      asked,
      "lock_bodies",
    );
  // A statement of its own: it sees what was committed until the locks were given.
  const found = tx.query<Row>(
    `SELECT a.seq, a.id, a.origin, a.received_at, r.seq AS request_seq, ${likeness} AS likeness, r.fingerprint,
       first.seq AS first_seq, first.id AS first_id
     ${compared}
     LEFT JOIN LATERAL (
       SELECT one.seq, one.id FROM (
         SELECT seq, id, request_seq, received_at FROM alerts
         WHERE fingerprint = r.fingerprint AND item = a.item AND origin = a.origin
           AND source IS NOT DISTINCT FROM a.source AND seq <> a.seq
         ORDER BY seq DESC LIMIT ${mostCompared}) AS one
       JOIN requests other ON other.seq = one.request_seq
       WHERE one.received_at > a.received_at - asked.window_ms AND other.body = r.body
       ORDER BY one.seq DESC LIMIT 1) AS first ON true
     ORDER BY asked.place`,
    asked,
    "find_firsts",
  );
  const [, { rows }] = await Promise.all([locked, found]);
  const digests = await readDigests(tx, rows);
  return decide(rows, digests, new Map(records.map(({ alertSeq, repeatWindowMs = 0 }) => [alertSeq, repeatWindowMs])));
}

/** Of the bodies that may be the same as another of this list, by request. */
async function readDigests(tx: Transaction, rows: Row[]): Promise<Map<number, string>> {
  const counts = new Map<string | null, number>();
  const comparable = rows.filter((row) => row.request_seq !== null);
  for (const row of comparable) counts.set(row.likeness, (counts.get(row.likeness) ?? 0) + 1);
  const requests = comparable.filter((row) => (counts.get(row.likeness) ?? 0) > 1);
  if (requests.length === 0) return new Map();
  const { rows: found } = await tx.query<{ seq: number; digest: string }>(
    "SELECT seq, encode(sha256(body), 'hex') AS digest FROM requests WHERE seq = ANY($1::bigint[])",
    [[...new Set(requests.map((row) => row.request_seq))]],
    "digest_bodies",
  );
  return new Map(found.map(({ seq, digest }) => [seq, digest]));
}

/** One after another, since the first of one may stand before it in the list. */
function decide(
  rows: Row[],
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
      .filter((one) => one.received_at > since && one.seq > (row.first_seq ?? 0))
      .reduce(
        (newest: Row | undefined, one) => (newest === undefined || one.seq > newest.seq ? one : newest),
        undefined,
      );
    const repeatOf = first?.id ?? row.first_id;
    if (repeatOf === null) {
      unrouted.fingerprint = fingerprint;
      firsts.set(body, [...beside, row]);
    } else unrouted.repeatOf = repeatOf;
  }
  return decided;
}
