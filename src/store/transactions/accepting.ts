import { looksUrgent } from "../../core/looks-urgent.ts";
import type { Acceptance, IncomingRequest } from "../../core/ports/inbox.ts";
import type { RoutingDraft } from "../../core/ports/routing-desk.ts";
import { digestOf, fingerprintOf } from "../fingerprint.ts";
import type { Dialect, Tx } from "../tx.ts";
import { createLockedLook } from "./name-lock.ts";
import { createCounting } from "./removing.ts";
import type { Arriving } from "./repeats.ts";
import type { Routing } from "./routing.ts";
import type { AskedBy, NewRequest, RoutedAlert } from "./writing.ts";

export interface Asked {
  request: IncomingRequest;
  /** The routing of its alerts, in order, which the same transaction records. Default: the alerts wait for routing. */
  drafts?: readonly RoutingDraft[];
}

/** An earlier request with the same key, within its window. */
interface Earlier {
  /** Null: the earlier request has another body. */
  seq: number | null;
  items: number;
  ids: string[];
}

interface Given {
  request: IncomingRequest;
  fingerprint: number;
}

interface NewVerdict {
  kind: "new";
  conflict: boolean;
  duplicates: number;
}

/** `again`: an earlier try has stored it. */
type Verdict = NewVerdict | { kind: "duplicate"; ids: string[]; seq?: number } | { kind: "again" };

const noneEarlier: ReadonlyMap<IncomingRequest, readonly Earlier[]> = new Map();
/** The position of an alert that is not stored yet: after all stored ones. */
const firstPosition = 9_000_000_000_000_000;

/** T1. Stores requests with their alerts. An alert without `routed_at` is its own outbox entry. Drafts are recorded too (T2). */
export function createAccepting(sql: Dialect, { lookUpArriving, writeEntries }: Routing) {
  const findStored = sql.statement(
    { ids: "text[]" },
    `SELECT id FROM alerts WHERE id ${sql.isOneOf(":ids")}`,
    ({ id }: { id: string }) => id,
  );
  const lookLocked = createLockedLook(sql, "key");
  const ofKey = "requests r WHERE r.dedupe_key = :key AND r.received_at > :since";
  const isSame = `r.fingerprint = :fingerprint AND ${sql.digestOf("r.body")} = :digest`;
  const findEarlier = sql.statement(
    { key: "text", since: "int8", fingerprint: "int8", digest: "text" },
    `SELECT * FROM (
       SELECT r.seq, r.items, ${sql.idsOfRequest} AS ids FROM ${ofKey} AND ${isSame}
       ORDER BY r.received_at DESC, r.seq DESC LIMIT 1) AS same
     UNION ALL
     SELECT * FROM (SELECT CAST(NULL AS bigint), 0, '[]' FROM ${ofKey} AND NOT (${isSame}) LIMIT 1) AS other`,
    ({ seq, items, ids }: Omit<Earlier, "ids"> & { ids: string }): Earlier => {
      return { seq, items, ids: JSON.parse(ids) as string[] };
    },
  );
  const countRepeated = sql.change("requests", { count: "int8" }, "duplicates = duplicates + :count");
  const countDuplicates = createCounting(sql, "duplicate", "duplicate_count");

  /** For each request with a key: at most one with the same body, and one with another body. */
  async function findEarlierOf(tx: Tx, keyed: readonly Given[]): Promise<Map<IncomingRequest, readonly Earlier[]>> {
    const asked = keyed.map(({ request: { body, receivedAt, dedupeKey = "", dedupeWindowMs }, fingerprint }) => ({
      ...{ key: sql.kept(dedupeKey), since: receivedAt - dedupeWindowMs },
      ...{ fingerprint, digest: digestOf(body) },
    }));
    const found = await lookLocked(tx, findEarlier, asked, ({ key }) => key);
    return new Map(keyed.map(({ request }, index) => [request, found[index] ?? []]));
  }

  /** Counts the requests that are not stored. */
  async function countVerdicts(tx: Tx, verdicts: readonly Verdict[]): Promise<void> {
    const duplicates = verdicts.filter((verdict) => verdict.kind === "duplicate");
    if (duplicates.length === 0) return;
    const counts = new Map<number, number>();
    for (const { seq } of duplicates) if (seq !== undefined) counts.set(seq, (counts.get(seq) ?? 0) + 1);
    const repeated = [...counts].map(([seq, count]) => ({ seq, count }));
    await Promise.all([tx.change(countRepeated, repeated), tx.run(countDuplicates, { count: duplicates.length })]);
  }

  return async (tx: Tx, asked: readonly Asked[], from?: AskedBy): Promise<Acceptance[]> => {
    const given = asked.map(({ request }) => ({ request, fingerprint: fingerprintOf(request.body) }));
    const again = given.flatMap(({ request }) => (request.mayBeStored ? request.ids : []));
    const keyed = given.filter(({ request }) => request.dedupeKey !== undefined);
    const arriving = toArriving(asked, given);
    const [storedIds, earlierOf, planRouting] = await Promise.all([
      again.length === 0 ? [] : tx.run(findStored, { ids: again }),
      keyed.length === 0 ? noneEarlier : findEarlierOf(tx, keyed),
      lookUpArriving(tx, arriving),
    ]);
    const verdicts = decide(given, new Set(storedIds), earlierOf);
    const isNew = ({ place }: { place: number }) => verdicts[place]?.kind === "new";
    const planned = planRouting(arriving.filter(isNew).map(({ record }) => record));
    const [{ written, recorded }] = await Promise.all([
      writeEntries(tx, planned, (routed) => tx.storeRequests(toNewRequests(given, verdicts, routed), from)),
      countVerdicts(tx, verdicts),
    ]);
    const recordedAt = new Map(recorded.map((one) => [one.alertSeq, one]));
    return given.map(({ request: { ids } }, index): Acceptance => {
      const verdict = verdicts[index] as Verdict;
      if (verdict.kind === "duplicate") return { kind: "duplicate", ids: verdict.ids };
      if (verdict.kind === "again") return { kind: "accepted", ids, conflict: false };
      const { conflict } = verdict;
      const recorded = ids.flatMap((id) => recordedAt.get(written.get(id) as number) ?? []);
      return { kind: "accepted", ids, conflict, ...(recorded.length === ids.length && { recorded }) };
    });
  };
}

function toArriving(asked: readonly Asked[], given: readonly Given[]): (Arriving & { place: number })[] {
  let alertSeq = firstPosition;
  return asked.flatMap(({ request, drafts = [] }, place) =>
    drafts.map((draft, item) => {
      alertSeq += 1;
      const { fingerprint } = given[place] as Given;
      return { place, request, fingerprint, item, id: request.ids[item] as string, record: { ...draft, alertSeq } };
    }),
  );
}

/** One request after another, since each stored one is an earlier request for the next. */
function decide(
  given: readonly Given[],
  storedIds: ReadonlySet<string>,
  earlierOf: ReadonlyMap<IncomingRequest, readonly Earlier[]>,
): Verdict[] {
  const keyed: (Given & { verdict: NewVerdict })[] = [];
  return given.map(({ request, fingerprint }): Verdict => {
    const { ids, body, dedupeKey, receivedAt, dedupeWindowMs } = request;
    if (ids.some((id) => storedIds.has(id))) return { kind: "again" };
    const verdict: NewVerdict = { kind: "new", conflict: false, duplicates: 0 };
    if (dedupeKey === undefined) return verdict;
    const since = receivedAt - dedupeWindowMs;
    const beside = keyed.filter((one) => one.request.dedupeKey === dedupeKey && one.request.receivedAt > since);
    const twin = beside.findLast((one) => {
      return one.fingerprint === fingerprint && Buffer.compare(one.request.body, body) === 0;
    });
    if (twin !== undefined) {
      twin.verdict.duplicates += 1;
      return { kind: "duplicate", ids: twin.request.ids };
    }
    const earlier = earlierOf.get(request) ?? [];
    const same = earlier.find(({ seq }) => seq !== null);
    // An answer with the ids of removed alerts would lose this request.
    if (same !== undefined && same.ids.length === same.items)
      return { kind: "duplicate", ids: same.ids, seq: same.seq as number };
    verdict.conflict = beside.length > 0 || earlier.some(({ seq }) => seq === null);
    keyed.push({ request, fingerprint, verdict });
    return verdict;
  });
}

function toNewRequests(
  given: readonly Given[],
  verdicts: readonly Verdict[],
  routed: readonly RoutedAlert[],
): NewRequest[] {
  const routedOf = new Map(routed.map((one) => [one.alert.id, one]));
  return given.flatMap(({ request, fingerprint }, index): NewRequest | NewRequest[] => {
    const verdict = verdicts[index];
    if (verdict?.kind !== "new") return [];
    const { ids, origin, source = null, receivedAt, contentType = null, headers, body, dedupeKey = null } = request;
    const isUrgent = ids.some((id) => !routedOf.has(id)) && looksUrgent(body);
    return {
      row: {
        received_at: receivedAt,
        content_type: contentType,
        headers,
        body,
        fingerprint,
        items: ids.length,
        dedupe_key: dedupeKey,
        conflict: verdict.conflict ? 1 : 0,
        duplicates: verdict.duplicates,
      },
      alerts: ids.map((id, item) => ({
        row: { id, item, origin, source, received_at: receivedAt, severity: isUrgent ? "urgent" : null },
        routed: routedOf.get(id),
      })),
    };
  });
}
