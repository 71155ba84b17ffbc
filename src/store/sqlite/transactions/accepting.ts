import { firstIdAt } from "../../../core/id.ts";
import type { Acceptance, IncomingRequest } from "../../../core/ports/inbox.ts";
import type { RecordedAlert, RoutingDraft, RoutingRecord } from "../../../core/ports/routing-desk.ts";
import { fingerprintOf } from "../../fingerprint.ts";
import { boundLimit, type TransactionContext } from "./context.ts";

interface Earlier {
  /** It has the same key and bytes. */
  same?: { seq: number; ids: string[] };
  /** It has the same key, and other bytes. */
  conflict: boolean;
}

/** T1. The request and its alerts go to disk together; an alert without `routed_at` is its own outbox entry. */
export function createAccepting(
  { db }: TransactionContext,
  { recordRouting }: { recordRouting(records: RoutingRecord[]): Promise<RecordedAlert[]> },
) {
  const insertRequest = db.prepare(
    `INSERT INTO requests (received_at, content_type, headers, body, fingerprint, items, dedupe_key, conflict)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertAlert = db.prepare(
    "INSERT INTO alerts (id, request_seq, item, origin, received_at, source) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const findByKeyAndBody = db
    .prepare<unknown[], number>(
      `SELECT seq FROM requests WHERE dedupe_key = ? AND fingerprint = ? AND received_at > ? AND body = ?
       ORDER BY received_at DESC, seq DESC LIMIT 1`,
    )
    .pluck();
  const findOtherBody = db
    .prepare<unknown[], number>(
      "SELECT seq FROM requests WHERE dedupe_key = ? AND received_at > ? AND (fingerprint <> ? OR body <> ?) LIMIT 1",
    )
    .pluck();
  const requestOf = db.prepare<[number], { received_at: number; items: number }>(
    "SELECT received_at, items FROM requests WHERE seq = ?",
  );
  const listIds = db
    .prepare<[string, number, number], string>(
      `SELECT id FROM alerts WHERE id >= ? AND request_seq = ? ORDER BY id ${boundLimit}`,
    )
    .pluck();
  const countDuplicate = db.prepare("UPDATE requests SET duplicates = duplicates + 1 WHERE seq = ?");
  const countAllDuplicates = db.prepare("UPDATE duplicate_count SET count = count + 1");

  /** Of all its alerts. Ids sort by time and none is older than its request, so the walk begins there. */
  function idsOf(requestSeq: number): string[] | undefined {
    const request = requestOf.get(requestSeq);
    if (request === undefined) return undefined;
    const ids = listIds.all(firstIdAt(request.received_at), requestSeq, request.items);
    return ids.length === request.items ? ids : undefined;
  }

  function findEarlier(request: IncomingRequest, fingerprint: number): Earlier {
    const { dedupeKey, body } = request;
    if (dedupeKey === undefined) return { conflict: false };
    const since = request.receivedAt - request.dedupeWindowMs;
    const seq = findByKeyAndBody.get(dedupeKey, fingerprint, since, body);
    const ids = seq === undefined ? undefined : idsOf(seq);
    // To answer with alerts that are gone would lose this one.
    if (seq !== undefined && ids !== undefined) return { same: { seq, ids }, conflict: false };
    return { conflict: findOtherBody.get(dedupeKey, since, fingerprint, body) !== undefined };
  }

  return {
    acceptRequest(request: IncomingRequest, drafts?: readonly RoutingDraft[]): Acceptance | Promise<Acceptance> {
      const { receivedAt: at, ids, origin, source = null } = request;
      const fingerprint = fingerprintOf(request.body);
      const { same, conflict } = findEarlier(request, fingerprint);
      if (same !== undefined) {
        countDuplicate.run(same.seq);
        countAllDuplicates.run();
        return { kind: "duplicate", ids: same.ids };
      }
      const { lastInsertRowid } = insertRequest.run(
        at,
        request.contentType ?? null,
        request.headers,
        request.body,
        fingerprint,
        ids.length,
        request.dedupeKey ?? null,
        conflict ? 1 : 0,
      );
      let lastSeq = 0;
      ids.forEach((id, item) => {
        lastSeq = Number(insertAlert.run(id, lastInsertRowid, item, origin, at, source).lastInsertRowid);
      });
      const firstSeq = lastSeq - ids.length + 1;
      if (drafts === undefined) return { kind: "accepted", ids, conflict, firstSeq };
      const records = drafts.map((draft, item) => ({ alertSeq: firstSeq + item, ...draft }));
      return recordRouting(records).then((recorded) => ({ kind: "accepted", ids, conflict, firstSeq, recorded }));
    },
  };
}
