import { firstIdAt } from "../../../core/id.ts";
import type { Acceptance, IncomingRequest } from "../../../core/ports/inbox.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import { createFuse } from "./fuse.ts";
import { createSeenBodies } from "./seen-bodies.ts";

interface Earlier {
  /** It has the same bytes. */
  same?: { seq: number; ids: string[] };
  /** It has the same key, and other bytes. */
  conflict: boolean;
  /** Why there may be one that was not found. */
  unchecked?: string;
}

/**
 * T1. The request and its alerts go to disk together; an alert without `routed_at` is its own outbox entry.
 * A duplicate is looked for by the explicit key first, and by the body only when there is none. When looking fails, because what it
 * reads is damaged, alerts are stored as new ones and answered `unchecked`: a repeat costs less than a loss.
 */
export function createAccepting(context: TransactionContext) {
  const { db } = context;
  const seenBodies = createSeenBodies(context);
  const keyFuse = createFuse();
  const bodyFuse = createFuse();
  const countFuse = createFuse();
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

  /** Of all its alerts. Ids sort by time and none is older than its request, so the walk begins there. */
  function idsOf(requestSeq: number): string[] | undefined {
    const request = requestOf.get(requestSeq);
    if (request === undefined) return undefined;
    const ids = listIds.all(firstIdAt(request.received_at), requestSeq, request.items);
    return ids.length === request.items ? ids : undefined;
  }

  function findEarlier(request: IncomingRequest): Earlier {
    const { dedupeKey, receivedAt: at } = request;
    const fuse = dedupeKey === undefined ? bodyFuse : keyFuse;
    const unchecked = fuse.blown(at);
    if (unchecked !== undefined) return { conflict: false, unchecked };
    return fuse.guard(at, () => {
      const since = at - request.dedupeWindowMs;
      const seq = findSame(request, since);
      if (seq !== undefined) {
        const ids = idsOf(seq);
        if (ids !== undefined) return { same: { seq, ids }, conflict: false };
        return { conflict: false, unchecked: `not all alerts of request ${seq} are there` };
      }
      if (dedupeKey !== undefined) return { conflict: findByKey.get(dedupeKey, since) !== undefined };
      return seenBodies.isBehind()
        ? { conflict: false, unchecked: "earlier requests are still being read" }
        : { conflict: false };
    });
  }

  /** Without its key while keys cannot be looked up: their indexes cannot be written either then. */
  function insert(request: IncomingRequest, conflict: boolean): void {
    const { receivedAt: at } = request;
    const dedupeKey = keyFuse.blown(at) === undefined ? request.dedupeKey : undefined;
    const insertRow = () =>
      insertRequest.run(
        at,
        request.contentType ?? null,
        request.headers,
        request.body,
        request.fingerprint,
        request.ids.length,
        dedupeKey ?? null,
        conflict ? 1 : 0,
      ).lastInsertRowid;
    const seq = Number(dedupeKey === undefined ? insertRow() : keyFuse.guard(at, insertRow));
    request.ids.forEach((id, item) => {
      insertAlert.run(id, seq, item, request.origin, at);
    });
    if (bodyFuse.blown(at) !== undefined) return;
    const fingerprint = dedupeKey === undefined ? request.fingerprint : null;
    bodyFuse.guard(at, () => seenBodies.add({ seq, fingerprint, bytes: request.body.length }));
  }

  return {
    /** @throws RunAgain when a part fails that it can do without. */
    acceptRequest(request: IncomingRequest): Acceptance {
      const { receivedAt: at, ids } = request;
      const { same, conflict, unchecked } = findEarlier(request);
      if (same === undefined) {
        insert(request, conflict);
        return { kind: "accepted", ids, conflict, ...(unchecked !== undefined && { unchecked }) };
      }
      if (request.dedupeKey === undefined && request.identical === "ask")
        return { kind: "identical", ids: same.ids };
      if (countFuse.blown(at) === undefined) countFuse.guard(at, () => countDuplicate.run(same.seq));
      return { kind: "duplicate", ids: same.ids };
    },
  };
}
