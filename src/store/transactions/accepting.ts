import { firstIdAt } from "../../core/id.ts";
import type { Acceptance, IncomingRequest } from "../../core/store.ts";
import { isDiskFull } from "../store-error.ts";
import { boundLimit, RunAgain, type TransactionContext } from "./context.ts";
import { createSeenBodies } from "./seen-bodies.ts";

/** How long nobody looks for duplicates after it has failed. */
const uncheckedMs = 60_000;

interface Earlier {
  /** It has the same bytes. */
  same?: { seq: number; ids: string[] };
  /** It has the same key, and other bytes. */
  conflict: boolean;
}

/**
 * T1. The request and its alerts go to disk together; an alert without `routed_at` is its own outbox entry.
 * A duplicate is looked for by the explicit key first, and by the body only when there is none. When looking fails, because what it
 * reads is damaged, alerts are stored as new ones for a minute, and are answered `unchecked`: a repeat costs less than a loss.
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

  function findEarlier(request: IncomingRequest, since: number): Earlier {
    const seq = findSame(request, since);
    if (seq !== undefined) return { same: { seq, ids: idsOf(seq) }, conflict: false };
    const { dedupeKey } = request;
    return { conflict: dedupeKey !== undefined && findByKey.get(dedupeKey, since) !== undefined };
  }

  let failure = { at: Number.NEGATIVE_INFINITY, message: "" };

  function looking<T>(request: IncomingRequest, look: () => T): T {
    try {
      return look();
    } catch (error) {
      if (isDiskFull(error)) throw error;
      failure = { at: request.receivedAt, message: (error as Error).message };
      throw new RunAgain("looking for duplicates failed", { cause: error });
    }
  }

  function insert(request: IncomingRequest, conflict: boolean): number {
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
    return Number(lastInsertRowid);
  }

  return {
    /** @throws RunAgain when looking for duplicates fails; run again, it does without. */
    acceptRequest(request: IncomingRequest): Acceptance {
      const { receivedAt, dedupeKey, ids } = request;
      if (Math.abs(receivedAt - failure.at) < uncheckedMs) {
        insert(request, false);
        return { kind: "accepted", ids, conflict: false, unchecked: failure.message };
      }
      const { same, conflict } = looking(request, () =>
        findEarlier(request, receivedAt - request.dedupeWindowMs),
      );
      if (same !== undefined) {
        if (dedupeKey === undefined && request.identical === "ask")
          return { kind: "identical", ids: same.ids };
        countDuplicate.run(same.seq);
        return { kind: "duplicate", ids: same.ids };
      }
      const seq = insert(request, conflict);
      const fingerprint = dedupeKey === undefined ? request.fingerprint : null;
      looking(request, () => seenBodies.add({ seq, fingerprint, bytes: request.body.length }));
      return { kind: "accepted", ids, conflict };
    },
  };
}
