import type { Acceptance, IncomingRequest } from "../../core/store.ts";
import type { TransactionContext } from "./context.ts";

interface Earlier {
  seq: number;
  same: 0 | 1;
}

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
  const findByKey = db.prepare<unknown[], Earlier>(
    `SELECT seq, body = ? AS same FROM requests WHERE dedupe_key = ? AND received_at > ? ORDER BY same DESC, seq DESC LIMIT 1`,
  );
  const findByBody = db.prepare<unknown[], Earlier>(
    `SELECT seq, 1 AS same FROM requests
     WHERE fingerprint = ? AND received_at > ? AND dedupe_key IS NULL AND body = ? ORDER BY seq DESC LIMIT 1`,
  );
  const idsOf = db
    .prepare<[number], string>("SELECT id FROM alerts WHERE request_seq = ? ORDER BY item")
    .pluck();
  const countDuplicate = db.prepare("UPDATE requests SET duplicates = duplicates + 1 WHERE seq = ?");

  function findEarlier(request: IncomingRequest): Earlier | undefined {
    const since = request.receivedAt - request.dedupeWindowMs;
    if (request.dedupeKey !== undefined) return findByKey.get(request.body, request.dedupeKey, since);
    if (request.identical === "store") return undefined;
    return findByBody.get(request.fingerprint, since, request.body);
  }

  return {
    acceptRequest(request: IncomingRequest): Acceptance {
      const earlier = findEarlier(request);
      if (earlier?.same) {
        const ids = idsOf.all(earlier.seq);
        if (request.dedupeKey === undefined && request.identical === "ask") return { kind: "identical", ids };
        countDuplicate.run(earlier.seq);
        return { kind: "duplicate", ids };
      }
      const conflict = earlier !== undefined;
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
