import type { Acceptance, IncomingRequest } from "../../core/store.ts";
import type { TransactionContext } from "./context.ts";

/**
 * T1. The request and its alerts go to disk together; an alert without `routed_at` is its own outbox entry.
 * A duplicate is looked for by the explicit key first, and by the body only when there is none.
 */
export function createAccepting({ db }: TransactionContext) {
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
  const findByBody = db
    .prepare<unknown[], number>(
      `SELECT seq FROM requests WHERE dedupe_key IS NULL AND fingerprint = ? AND received_at > ? AND body = ?
       ORDER BY received_at DESC LIMIT 1`,
    )
    .pluck();
  const idsOf = db
    .prepare<[number], string>("SELECT id FROM alerts WHERE request_seq = ? ORDER BY item")
    .pluck();
  const countDuplicate = db.prepare("UPDATE requests SET duplicates = duplicates + 1 WHERE seq = ?");

  function findSame(request: IncomingRequest, since: number): number | undefined {
    const { dedupeKey, fingerprint, body } = request;
    if (dedupeKey !== undefined) return findByKeyAndBody.get(dedupeKey, fingerprint, since, body);
    return request.identical === "store" ? undefined : findByBody.get(fingerprint, since, body);
  }

  return {
    acceptRequest(request: IncomingRequest): Acceptance {
      const since = request.receivedAt - request.dedupeWindowMs;
      const same = findSame(request, since);
      if (same !== undefined) {
        const ids = idsOf.all(same);
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
      request.ids.forEach((id, item) => {
        insertAlert.run(id, lastInsertRowid, item, request.origin, request.receivedAt);
      });
      return { kind: "accepted", ids: request.ids, conflict };
    },
  };
}
