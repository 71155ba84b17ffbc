import { firstIdAt } from "../../core/id.ts";
import type { Acceptance, IncomingRequest } from "../../core/store.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import { createSeenBodies } from "./seen-bodies.ts";

/**
 * T1. The request and its alerts go to disk together; an alert without `routed_at` is its own outbox entry.
 * A duplicate is looked for by the explicit key first, and by the body only when there is none.
 */
export function createAccepting(context: TransactionContext) {
  const { db } = context;
  const seenBodies = createSeenBodies(context);
  const insertRequest = db.prepare(
    `INSERT INTO requests (received_at, content_type, headers, body, fingerprint, items, dedupe_key, conflict)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertAlert = db.prepare(
    "INSERT INTO alerts (id, request_seq, item, origin, received_at) VALUES (?, ?, ?, ?, ?)",
  );
  const findByKeyAndBody = db
    .prepare<unknown[], number>(
      `SELECT seq FROM requests WHERE dedupe_key = ? AND fingerprint = ? AND received_at > ? AND body = ?
       ORDER BY received_at DESC LIMIT 1`,
    )
    .pluck();
  const findByKey = db
    .prepare<unknown[], number>("SELECT seq FROM requests WHERE dedupe_key = ? AND received_at > ? LIMIT 1")
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

  function findSame(request: IncomingRequest, since: number): number | undefined {
    const { dedupeKey, fingerprint, body } = request;
    if (dedupeKey !== undefined) return findByKeyAndBody.get(dedupeKey, fingerprint, since, body);
    return request.identical === "store" ? undefined : seenBodies.find(fingerprint, since, body);
  }

  /** Ids sort by time and none is older than its request, so the walk begins there. */
  function idsOf(requestSeq: number): string[] {
    const request = requestOf.get(requestSeq);
    if (request === undefined) return [];
    return listIds.all(firstIdAt(request.received_at), requestSeq, request.items);
  }

  return {
    acceptRequest(request: IncomingRequest): Acceptance {
      const since = request.receivedAt - request.dedupeWindowMs;
      const same = findSame(request, since);
      if (same !== undefined) {
        const ids = idsOf(same);
        if (request.dedupeKey === undefined && request.identical === "ask") return { kind: "identical", ids };
        countDuplicate.run(same);
        return { kind: "duplicate", ids };
      }
      const conflict =
        request.dedupeKey !== undefined && findByKey.get(request.dedupeKey, since) !== undefined;
      const { lastInsertRowid } = insertRequest.run(
        request.receivedAt,
        request.contentType ?? null,
        request.headers,
        request.body,
        request.fingerprint,
        request.ids.length,
        request.dedupeKey ?? null,
        conflict ? 1 : 0,
      );
      seenBodies.add({
        seq: Number(lastInsertRowid),
        fingerprint: request.dedupeKey === undefined ? request.fingerprint : null,
        bytes: request.body.length,
      });
      request.ids.forEach((id, item) => {
        insertAlert.run(id, lastInsertRowid, item, request.origin, request.receivedAt);
      });
      return { kind: "accepted", ids: request.ids, conflict };
    },
  };
}
