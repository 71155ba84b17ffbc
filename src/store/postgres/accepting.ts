import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Now } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import type { Acceptance, Inbox, IncomingRequest } from "../../core/ports/inbox.ts";
import type { RecordedAlert, RoutingDraft, RoutingRecord } from "../../core/ports/routing-desk.ts";
import { createBatching } from "../batching.ts";
import { fingerprintOf } from "../fingerprint.ts";
import type { Database, Transaction } from "./database.ts";
import { lateSpan } from "./list-statement.ts";
import { toText } from "./texts.ts";

/** What one transaction holds at most; more waits for the next, so that a flood delays no commit for long. */
const mostPerBatch = 256;
const mostBytesPerBatch = 4 * 1024 * 1024;
/** So long nobody but the relay that accepted an alert routes it, by the database's clock. */
const routingMs = 10_000;
/** What is stored so long after it came is late: others that came since stand in front of it. Far below what a look by time allows. */
const lateMs = 60_000;
/** For a lock that the routing of what is accepted needs. */
const longestLockMs = 50;
/** A commit that is answered before the one in front of it waits so long for that, and no longer: that one may hang. */
const aheadMs = 20;

/** What one call asks to accept. */
interface Asked {
  request: IncomingRequest;
  drafts?: readonly RoutingDraft[];
}

interface Waiting extends Asked {
  resolve(acceptance: Acceptance): void;
  reject(error: unknown): void;
}

interface Stored {
  request: IncomingRequest;
  fingerprint: number;
  conflict: boolean;
  duplicates: number;
}

export interface AcceptingOptions {
  /** Whose alerts they are to route first. */
  relayName: string;
  /** The database's clock. */
  now: Now;
  /** Records how alerts are routed that the same transaction has stored. Default: they wait for routing, whatever the drafts are. */
  recordRouting?(tx: Transaction, records: readonly RoutingRecord[]): Promise<RecordedAlert[]>;
  /** They are for the other relays to route. Default: never. */
  isLeft?(): boolean;
  /** What was stored, by the positions of its alerts, where whoever accepted it has that as well: before it is answered. */
  onKept?(seqs: readonly number[]): void;
  /** Something was stored, and whoever waits for it is answered. */
  onAccepted?(): void;
}

export interface Accepting extends Inbox {
  /** Resolves when nothing is under way. */
  settled(): Promise<void>;
}

interface Accepted {
  acceptances: Acceptance[];
  /** Of what was stored, by its place among the acceptances: the positions of its alerts. */
  seqs: Map<number, number[]>;
}

/**
 * Requests that come together share a transaction: the next one gathers while the one before is on its way to the disk. Their
 * rows are written in the order in which they came, since a transaction begins to write when the one before has only its
 * commit left.
 *
 * Two commits may be answered the other way round, as one in twenty is on a busy machine. The later one waits a moment for the
 * one before. If that takes longer neither is told its position, and whoever routes asks the store for all that waits.
 */
export function createAccepting(database: Database, options: AcceptingOptions): Accepting {
  const { relayName, now, recordRouting, isLeft = () => false, onKept = () => {}, onAccepted = () => {} } = options;
  let lastWritten: Promise<unknown> = Promise.resolve();
  let lastAnswered: Promise<unknown> = Promise.resolve();
  let batches = 0;
  /** All batches up to here are answered. */
  let answeredUpTo = 0;
  const answeredBeyond = new Set<number>();

  /** Whether all before it were answered, and none behind it. */
  function noteAnswered(batch: number): boolean {
    const isInOrder = batch === answeredUpTo + 1 && answeredBeyond.size === 0;
    answeredBeyond.add(batch);
    while (answeredBeyond.delete(answeredUpTo + 1)) answeredUpTo += 1;
    return isInOrder;
  }

  async function storeInTurn(asked: readonly Asked[]): Promise<Acceptance[]> {
    batches += 1;
    const batch = batches;
    const before = lastAnswered;
    let finish = () => {};
    lastAnswered = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let stored: Accepted;
    try {
      stored = await storeBehindOthers(asked);
      if (answeredUpTo < batch - 1) await Promise.race([before, sleep(aheadMs, undefined, { ref: false })]);
    } catch (error) {
      noteAnswered(batch);
      throw error;
    } finally {
      finish();
    }
    const { acceptances, seqs } = stored;
    if (!noteAnswered(batch)) return acceptances;
    return acceptances.map((acceptance, place) => {
      const own = seqs.get(place);
      // Another relay may have taken a position in between.
      const firstSeq = own?.every((seq, item) => seq === (own[0] as number) + item) ? own[0] : undefined;
      if (acceptance.kind === "duplicate" || own === undefined || firstSeq === undefined) return acceptance;
      if (acceptance.recorded === undefined) onKept(own);
      return { ...acceptance, firstSeq };
    });
  }

  function storeBehindOthers(asked: readonly Asked[]): Promise<Accepted> {
    const before = lastWritten;
    let finish = () => {};
    lastWritten = new Promise<void>((resolve) => {
      finish = resolve;
    });
    return database
      .transaction(async (tx) => {
        await before;
        const router = isLeft() ? undefined : relayName;
        const accepted = await accept(tx, asked, router, now());
        if (router === undefined) tx.notes.left = accepted.acceptances.some(isToBeRouted);
        await recordDrafts(tx, asked, accepted);
        finish();
        return accepted;
      })
      .finally(finish);
  }

  /**
   * What cannot be recorded, or not without waiting for another transaction's lock, waits for routing, which finds the reason again:
   * whoever accepts behind it waits for this transaction.
   */
  async function recordDrafts(
    tx: Transaction,
    asked: readonly Asked[],
    { acceptances, seqs }: Accepted,
  ): Promise<void> {
    const records = asked.flatMap(({ drafts = [] }, place) =>
      drafts.flatMap((draft, item) => {
        const alertSeq = seqs.get(place)?.[item];
        return alertSeq === undefined ? [] : [{ alertSeq, ...draft }];
      }),
    );
    if (recordRouting === undefined || records.length === 0) return;
    const begun = [tx.query("SAVEPOINT drafts"), tx.query(`SET LOCAL lock_timeout = ${longestLockMs}`)];
    const [routedAlerts] = await Promise.all([recordRouting(tx, records), ...begun]).catch(async () => {
      await tx.query("ROLLBACK TO SAVEPOINT drafts");
      return [[]];
    });
    const recorded = new Map(routedAlerts.map((one) => [one.alertSeq, one]));
    for (const [place, own] of seqs) {
      const acceptance = acceptances[place] as Acceptance;
      const routed = own.flatMap((seq) => recorded.get(seq) ?? []);
      if (acceptance.kind === "accepted" && routed.length === own.length) acceptance.recorded = routed;
    }
  }

  async function send(batch: Waiting[], answered: () => void): Promise<void> {
    const outcome = await storeInTurn(batch).catch((error: unknown) => ({ error }));
    answered();
    if (Array.isArray(outcome)) {
      for (const [index, { resolve }] of batch.entries()) resolve(outcome[index] as Acceptance);
      // Whoever routes looks when those who keep it in memory have it.
      if (outcome.some(isToBeRouted)) onAccepted();
      return;
    }
    const isOfOne = !(outcome.error instanceof AppError) && batch.length > 1;
    // One that breaks a rule fails alone.
    for (const { request, drafts, resolve, reject } of batch) {
      if (isOfOne) {
        await storeInTurn([{ request, drafts }]).then(([acceptance]) => {
          resolve(acceptance as Acceptance);
          onAccepted();
        }, reject);
      } else reject(outcome.error);
    }
  }

  const batching = createBatching<Waiting>({ sizeOf, send, cores: 2 });
  return {
    acceptRequest: (request, drafts) =>
      new Promise((resolve, reject) => {
        batching.add({ request, drafts, resolve, reject });
      }),
    settled: batching.settled,
  };
}

/** It waits for whoever routes. */
function isToBeRouted(acceptance: Acceptance): boolean {
  return acceptance.kind === "accepted" && acceptance.recorded === undefined;
}

function sizeOf(waiting: readonly Waiting[]): number {
  let bytes = 0;
  let size = 0;
  for (const { request } of waiting) {
    bytes += request.body.length;
    if (size === mostPerBatch || (size > 0 && bytes > mostBytesPerBatch)) break;
    size += 1;
  }
  return size;
}

/** @param router which relay routes it at first, and keeps it in memory; undefined: whichever is first */
async function accept(
  tx: Transaction,
  asked: readonly Asked[],
  router: string | undefined,
  now: number,
): Promise<Accepted> {
  const requests = asked.map(({ request }) => request);
  const [known, earlier] = await Promise.all([findStored(tx, requests), findEarlier(tx, requests)]);
  const stored: Stored[] = [];
  const repeated = new Map<number, number>();
  let alreadyStored = 0;
  const acceptances = requests.map((request): Acceptance => {
    if (request.ids.some((id) => known.has(id))) {
      alreadyStored += 1;
      return { kind: "accepted", ids: request.ids, conflict: false };
    }
    const fingerprint = fingerprintOf(request.body);
    const key = request.dedupeKey;
    if (key !== undefined) {
      const since = request.receivedAt - request.dedupeWindowMs;
      const before = earlier.get(request);
      // Of the same transaction, and so not to be found yet.
      const beside = stored.filter((one) => one.request.dedupeKey === key && one.request.receivedAt > since);
      const twin = beside.findLast((one) => one.fingerprint === fingerprint && isEqual(one.request.body, request.body));
      if (twin !== undefined) {
        twin.duplicates += 1;
        return { kind: "duplicate", ids: twin.request.ids };
      }
      if (before?.same !== undefined) {
        repeated.set(before.same.seq, (repeated.get(before.same.seq) ?? 0) + 1);
        return { kind: "duplicate", ids: before.same.ids };
      }
      stored.push({ request, fingerprint, conflict: before?.conflict || beside.length > 0, duplicates: 0 });
    } else stored.push({ request, fingerprint, conflict: false, duplicates: 0 });
    return { kind: "accepted", ids: request.ids, conflict: stored.at(-1)?.conflict ?? false };
  });
  const duplicates = requests.length - stored.length - alreadyStored;
  const [seqOf] = await Promise.all([
    insert(tx, stored, router),
    noteLate(tx, stored, now),
    repeated.size > 0 && countRepeated(tx, repeated),
    duplicates > 0 &&
      tx.query("INSERT INTO tallies (kind, count) VALUES ('duplicate', $1)", [duplicates], "count_duplicates"),
  ]);
  const placeOf = new Map(requests.map((request, place) => [request, place]));
  const seqs = stored.map(({ request }): [number, number[]] => [
    placeOf.get(request) as number,
    request.ids.map((id) => seqOf.get(id) as number),
  ]);
  return { acceptances, seqs: new Map(router === undefined ? [] : seqs) };
}

/** As what comes out of a spool: whoever looks for a time finds it by this. */
async function noteLate(tx: Transaction, stored: readonly Stored[], now: number): Promise<void> {
  const oldest = stored.reduce((least, { request }) => Math.min(least, request.receivedAt), now);
  if (oldest >= now - lateMs) return;
  await tx.query(
    `INSERT INTO late_spans (from_id, to_id) SELECT $1, $2
     WHERE NOT EXISTS (SELECT FROM late_spans WHERE from_id <= $1 AND to_id >= $2)`,
    lateSpan(oldest, now),
    "note_late",
  );
}

/** Which ids of requests that an earlier try may have stored are there. */
async function findStored(tx: Transaction, requests: IncomingRequest[]): Promise<Set<string>> {
  const ids = requests.flatMap((request) => (request.mayBeStored ? request.ids : []));
  if (ids.length === 0) return new Set();
  const { rows } = await tx.query<{ id: string }>(
    "SELECT id FROM alerts WHERE id = ANY($1::text[])",
    [ids],
    "find_stored",
  );
  return new Set(rows.map(({ id }) => id));
}

interface Found {
  same?: { seq: number; ids: string[] };
  conflict: boolean;
}

/** Who asks for the same keys on another relay waits until this transaction has ended, and then finds what it has stored. */
async function findEarlier(tx: Transaction, requests: IncomingRequest[]): Promise<Map<IncomingRequest, Found>> {
  const keyed = requests.flatMap((request) =>
    request.dedupeKey === undefined ? [] : [{ ...request, key: toText(request.dedupeKey), request }],
  );
  if (keyed.length === 0) return new Map();
  // In one order, so that no two wait for each other.
  const locked = tx.query(
    `SELECT pg_advisory_xact_lock(hash)
     FROM (SELECT DISTINCT hashtextextended(key, 0) AS hash FROM unnest($1::text[]) AS key ORDER BY 1) AS hashes`,
    [keyed.map(({ key }) => key)],
    "lock_keys",
  );
  // A statement of its own: it sees what was committed until the locks were given.
  const found = tx.query<{ place: number; seq: number | null; items: number; ids: string[]; conflict: boolean }>(
    `SELECT given.place, same.seq, same.items, same.ids, EXISTS (
       SELECT 1 FROM requests r WHERE r.dedupe_key = given.key AND r.received_at > given.since
         AND (r.fingerprint <> given.fingerprint OR sha256(r.body) <> given.digest)) AS conflict
     FROM unnest($1::int[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[])
       AS given (place, key, since, fingerprint, digest)
     LEFT JOIN LATERAL (
       SELECT r.seq, r.items,
         ARRAY(SELECT a.id FROM alerts a WHERE a.request_seq = r.seq ORDER BY a.item) AS ids
       FROM requests r
       WHERE r.dedupe_key = given.key AND r.received_at > given.since AND r.fingerprint = given.fingerprint
         AND sha256(r.body) = given.digest
       ORDER BY r.received_at DESC, r.seq DESC LIMIT 1) AS same ON true`,
    [
      keyed.map((_, place) => place),
      keyed.map(({ key }) => key),
      keyed.map(({ receivedAt, dedupeWindowMs }) => receivedAt - dedupeWindowMs),
      keyed.map(({ body }) => fingerprintOf(body)),
      keyed.map(({ body }) => createHash("sha256").update(body).digest()),
    ],
    "find_by_keys",
  );
  const [, { rows }] = await Promise.all([locked, found]);
  return new Map(
    rows.map(({ place, seq, items, ids, conflict }) => {
      // To answer with alerts that are gone would lose this one.
      const same = seq !== null && ids.length === items ? { seq, ids } : undefined;
      return [keyed[place]?.request as IncomingRequest, { same, conflict }];
    }),
  );
}

/**
 * The positions of the alerts, by their ids. Bodies go as one block of bytes, each cut out of it by the server: as members of an
 * array they would go as hexadecimal text.
 */
async function insert(tx: Transaction, stored: Stored[], router: string | undefined): Promise<Map<string, number>> {
  if (stored.length === 0) return new Map();
  const requests = stored.map(({ request }) => request);
  const alerts = requests.flatMap(({ ids }, place) => ids.map((id, item) => ({ place: place + 1, id, item })));
  let end = 1;
  const starts = requests.map(({ body }) => {
    const start = end;
    end += body.length;
    return start;
  });
  const { rows } = await tx.query<{ id: string; seq: number }>(
    `WITH given AS MATERIALIZED (
       SELECT nextval('requests_seq_seq') AS seq, g.*
       FROM unnest($2::bigint[], $3::text[], $4::text[], $5::int[], $6::int[], $7::bigint[], $8::int[], $9::text[],
         $10::bool[], $11::int[], $12::text[], $13::text[]) WITH ORDINALITY
         AS g (received_at, content_type, headers, body_start, body_length, fingerprint, items, dedupe_key, conflict,
           duplicates, origin, source, place)
       ORDER BY g.place),
     stored AS (
       INSERT INTO requests (seq, received_at, content_type, headers, body, fingerprint, items, dedupe_key, conflict, duplicates)
       OVERRIDING SYSTEM VALUE
       SELECT seq, received_at, content_type, headers, substring($1::bytea FROM body_start FOR body_length), fingerprint, items,
         dedupe_key, conflict, duplicates
       FROM given)
     INSERT INTO alerts (id, request_seq, item, origin, source, received_at, routed_by, routing_until)
     SELECT a.id, given.seq, a.item, given.origin, given.source, given.received_at, $17,
       CASE WHEN $17::text IS NULL THEN '-infinity' ELSE clock_timestamp() + ${routingMs} * interval '1 millisecond' END
     FROM unnest($14::text[], $15::int[], $16::int[]) WITH ORDINALITY AS a (id, place, item, position)
     JOIN given ON given.place = a.place
     ORDER BY a.position RETURNING id, seq`,
    [
      Buffer.concat(requests.map(({ body }) => body)),
      requests.map(({ receivedAt }) => receivedAt),
      requests.map(({ contentType }) => (contentType === undefined ? null : toText(contentType))),
      requests.map(({ headers }) => toText(headers)),
      starts,
      requests.map(({ body }) => body.length),
      stored.map(({ fingerprint }) => fingerprint),
      requests.map(({ ids }) => ids.length),
      requests.map(({ dedupeKey }) => (dedupeKey === undefined ? null : toText(dedupeKey))),
      stored.map(({ conflict }) => conflict),
      stored.map(({ duplicates }) => duplicates),
      requests.map(({ origin }) => origin),
      requests.map(({ source }) => source ?? null),
      alerts.map(({ id }) => id),
      alerts.map(({ place }) => place),
      alerts.map(({ item }) => item),
      router ?? null,
    ],
    "accept_requests",
  );
  return new Map(rows.map(({ id, seq }) => [id, seq]));
}

/** In the order of their rows, as every statement that changes several. */
async function countRepeated(tx: Transaction, repeated: ReadonlyMap<number, number>): Promise<void> {
  const sorted = [...repeated].sort(([one], [other]) => one - other);
  await tx.query(
    `WITH counted AS (
       SELECT r.seq, c.count FROM requests r JOIN unnest($1::bigint[], $2::int[]) AS c (seq, count) USING (seq)
       ORDER BY r.seq FOR NO KEY UPDATE OF r)
     UPDATE requests r SET duplicates = duplicates + counted.count FROM counted WHERE r.seq = counted.seq`,
    [sorted.map(([seq]) => seq), sorted.map(([, count]) => count)],
    "count_repeated",
  );
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
