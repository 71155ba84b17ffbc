import type { AlertOrigin } from "../../core/alert.ts";
import type { IncomingRequest } from "../../core/ports/inbox.ts";
import type { RoutingRecord } from "../../core/ports/routing-desk.ts";
import { digestOf } from "../fingerprint.ts";
import type { Dialect, Tx } from "../tx.ts";
import { createLockedLook, lockEach } from "./name-lock.ts";

/** The facts that routing needs of an alert that waits for it. */
export interface Unrouted {
  id: string;
  origin: AlertOrigin;
  receivedAt: number;
  /** Kept with the alert, so that later ones find it. Undefined: it is a repeat, or was compared by its key. */
  fingerprint?: number;
  /** The first alert, when this one is its repeat. */
  repeatOf?: string;
}

/** An alert that is stored with its routing. */
export interface Arriving {
  request: IncomingRequest;
  fingerprint: number;
  id: string;
  item: number;
  record: RoutingRecord;
}

interface Row {
  seq: number;
  id: string;
  origin: AlertOrigin;
  received_at: number;
  fingerprint: number | null;
  /** What a repeat has in common with its first alert. Null: the alert is not compared. */
  body: string | null;
  first?: First;
}

type First = Pick<Row, "seq" | "id">;

/** Rows that are compared for one body: a sender may make fingerprints collide on purpose. */
const mostCompared = 10;

const likeness = "concat_ws(' ', r.fingerprint, a.item, a.origin, a.source)";
/** The alert is compared by its body, because no key of its request counts. */
const isCompared = (despiteKey: string) => `r.seq = a.request_seq AND (r.dedupe_key IS NULL OR ${despiteKey} = 1)`;
/** Written so that no planner uses the index of unrouted alerts here: a planner may think that it is empty. */
export const isUnrouted = (alert: string) => `coalesce(${alert}.routed_at, 0) = 0`;

/** The newest alert that another one may repeat. */
const firstOf = (columns: string, { fingerprint, item, origin, source, since, isSame }: Record<string, string>) => `
  SELECT ${columns} FROM (
    SELECT seq, id, request_seq, received_at FROM alerts
    WHERE fingerprint = ${fingerprint} AND item = ${item} AND origin = ${origin} AND source IS NOT DISTINCT FROM ${source}
    ORDER BY seq DESC LIMIT ${mostCompared}) AS one
  JOIN requests other ON other.seq = one.request_seq
  WHERE one.received_at > ${since} AND ${isSame} ORDER BY one.seq DESC LIMIT 1`;

/**
 * Finds the alerts that are not routed yet, and those of them that repeat another one byte for byte. A fingerprint is stored only
 * for an alert that the rules have routed, whose body names its own event (`intake/key/names-itself.ts`), whose key does not
 * count, and that is no repeat. Another relay that routes the same body waits until this transaction has ended.
 */
export function createRepeats(sql: Dialect) {
  const lockStored = sql.isShared
    ? sql.statement(
        { seqs: "int8[]", despite_keys: "int8[]" },
        lockEach(
          "body",
          `SELECT ${likeness} AS name FROM unnest(:seqs, :despite_keys) AS asked (seq, despite_key) CROSS JOIN LATERAL (
             SELECT * FROM alerts one WHERE one.seq = asked.seq AND one.seq = ANY(:seqs) AND ${isUnrouted("one")} OFFSET 0) a
           JOIN requests r ON ${isCompared("asked.despite_key")}`,
        ),
      )
    : undefined;
  const stored = firstOf(sql.jsonOf({ seq: "one.seq", id: "one.id" }), {
    ...{ fingerprint: "r.fingerprint", item: "a.item", origin: "a.origin", source: "a.source" },
    since: "a.received_at - :window_ms",
    isSame: "one.seq <> a.seq AND other.body = r.body",
  });
  const findStored = sql.statement(
    { seq: "int8", window_ms: "int8", despite_key: "int8" },
    `SELECT a.seq, a.id, a.origin, a.received_at, r.fingerprint,
       CASE WHEN r.seq IS NOT NULL THEN concat_ws(' ', ${likeness}, ${sql.digestOf("r.body")}) END AS body,
       CASE WHEN r.seq IS NOT NULL THEN (${stored}) END AS first
     FROM alerts a LEFT JOIN requests r ON ${isCompared(":despite_key")} AND :window_ms IS NOT NULL
     WHERE a.seq = :seq AND ${isUnrouted("a")}`,
    ({ first, ...row }: Omit<Row, "first"> & { first: string | null }): Row => ({
      ...row,
      first: first === null ? undefined : (JSON.parse(first) as First),
    }),
  );
  const lookLocked = createLockedLook(sql, "body");
  const find = sql.statement(
    { fingerprint: "int8", item: "int8", origin: "text", source: "text", since: "int8", digest: "text" },
    firstOf("one.seq, one.id", {
      ...{ fingerprint: ":fingerprint", item: ":item", origin: ":origin", source: ":source", since: ":since" },
      isSame: `${sql.digestOf("other.body")} = :digest`,
    }),
    (row: First) => row,
  );

  return {
    /** The alerts that are not routed yet, by position. */
    async findUnrouted(tx: Tx, records: readonly RoutingRecord[]): Promise<Map<number, Unrouted>> {
      const asked = records.map(({ alertSeq: seq, repeatWindowMs: window_ms = null, isRepeatDespiteKey }) => ({
        ...{ seq, window_ms, despite_key: isRepeatDespiteKey ? 1 : 0 },
      }));
      const compared = asked.filter(({ window_ms }) => window_ms !== null);
      const locked =
        lockStored && compared.length > 0
          ? tx.run(lockStored, {
              seqs: compared.map(({ seq }) => seq),
              despite_keys: compared.map(({ despite_key }) => despite_key),
            })
          : undefined;
      // A statement of its own sees all that was committed before the locks were given.
      const [, found] = await Promise.all([locked, tx.look(findStored, asked)]);
      return decide(found.flat(), records);
    },

    /** Finds repeats among alerts that are about to be stored. Ask only for alerts that are then stored. */
    async findArriving(tx: Tx, arriving: readonly Arriving[]) {
      const compared = arriving.filter(({ request: { dedupeKey }, record }) => {
        return record.repeatWindowMs !== undefined && (dedupeKey === undefined || record.isRepeatDespiteKey === true);
      });
      const names = compared.map(({ request: { origin, source }, fingerprint, item }) =>
        [fingerprint, item, origin, ...(source === undefined ? [] : [sql.kept(source)])].join(" "),
      );
      const digests = compared.map(({ request }) => digestOf(request.body));
      const asked = compared.map(
        ({ request: { origin, source = null, receivedAt }, fingerprint, item, record }, index) => ({
          ...{ fingerprint, item, origin, source, digest: digests[index] as string },
          since: receivedAt - (record.repeatWindowMs ?? 0),
        }),
      );
      const found = await lookLocked(tx, find, asked, (_, index) => names[index] as string);
      const bodyOf = new Map(compared.map((one, index) => [one, `${names[index]} ${digests[index]}`]));
      const firstOf = new Map(compared.map((one, index) => [one, found[index]?.[0]]));
      const rows = arriving.map((one): [RoutingRecord, Row] => {
        const { record, request, id, fingerprint } = one;
        const row = { seq: record.alertSeq, id, origin: request.origin, received_at: request.receivedAt, fingerprint };
        return [record, { ...row, body: bodyOf.get(one) ?? null, first: firstOf.get(one) }];
      });
      const rowOf = new Map(rows);
      return (records: readonly RoutingRecord[]) => {
        const wanted = records.flatMap((record) => rowOf.get(record) ?? []);
        return decide(wanted, records);
      };
    },
  };
}

/** One alert after another, since the first alert of a pair may be in the same list. */
function decide(rows: readonly Row[], records: readonly RoutingRecord[]): Map<number, Unrouted> {
  const windows = new Map(records.map(({ alertSeq, repeatWindowMs = 0 }) => [alertSeq, repeatWindowMs]));
  const decided = new Map<number, Unrouted>();
  const firsts = new Map<string, Row[]>();
  for (const row of rows) {
    const { seq, id, origin, received_at: receivedAt, fingerprint, body } = row;
    const unrouted: Unrouted = { id, origin, receivedAt };
    decided.set(seq, unrouted);
    if (body === null || fingerprint === null) continue;
    const beside = firsts.get(body) ?? [];
    const since = receivedAt - (windows.get(seq) ?? 0);
    const [first] = beside
      .filter((one) => one.received_at > since && one.seq > (row.first?.seq ?? 0))
      .sort((one, other) => other.seq - one.seq);
    const repeatOf = (first ?? row.first)?.id;
    if (repeatOf === undefined) {
      unrouted.fingerprint = fingerprint;
      firsts.set(body, [...beside, row]);
    } else unrouted.repeatOf = repeatOf;
  }
  return decided;
}
