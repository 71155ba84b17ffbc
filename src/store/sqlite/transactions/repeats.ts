import { crc32 } from "node:zlib";
import type { TransactionContext } from "./context.ts";

const lengths = 2 ** 21;

/** Checksum and length in one number of 53 bits. It only finds candidates: the bytes decide. */
export function fingerprintOf(body: Uint8Array): number {
  return crc32(body) * lengths + (body.length % lengths);
}

export interface LookedUp {
  /**
   * Kept with the alert, so that later ones find it. Undefined: it has a key, and was compared by that when it came.
   */
  fingerprint?: number;
  /** Id of the first alert, when this one is its repeat. */
  repeatOf?: string;
}

interface BodyRow {
  request_seq: number;
  item: number;
  received_at: number;
  fingerprint: number;
}

/** Bodies that a sender makes collide on purpose cost no more than this many comparisons. */
const mostCompared = 10;

/**
 * Finds the alert that another one repeats byte for byte. Only alerts that the rules have routed have a fingerprint,
 * and repeats have none: so nothing is a repeat of what was itself not sent as one, or could not be read.
 */
export function createRepeats({ db }: Pick<TransactionContext, "db">) {
  const findBody = db.prepare<[number], BodyRow>(
    `SELECT a.request_seq, a.item, a.received_at, r.fingerprint FROM alerts a JOIN requests r ON r.seq = a.request_seq
     WHERE a.seq = ? AND r.dedupe_key IS NULL`,
  );
  const listCandidates = db.prepare<[number, number, number, number], { id: string; request_seq: number }>(
    `SELECT id, request_seq FROM alerts WHERE fingerprint = ? AND item = ? AND seq <> ? AND received_at > ?
     ORDER BY seq DESC LIMIT ${mostCompared}`,
  );
  const compare = db
    .prepare<[number, number], number>(
      "SELECT 1 FROM requests one, requests other WHERE one.seq = ? AND other.seq = ? AND one.body = other.body",
    )
    .pluck();
  /** All alerts of a batch ask about the same two bodies. */
  let compared: { one: number; other: number; isSame: boolean } | undefined;

  function isSameBody(one: number, other: number): boolean {
    if (compared?.one !== one || compared.other !== other)
      compared = { one, other, isSame: compare.get(one, other) !== undefined };
    return compared.isSame;
  }

  return {
    lookUp(alertSeq: number, windowMs: number): LookedUp {
      const body = findBody.get(alertSeq);
      if (body === undefined) return {};
      const { fingerprint, item, received_at } = body;
      const first = listCandidates
        .all(fingerprint, item, alertSeq, received_at - windowMs)
        .find(({ request_seq }) => isSameBody(request_seq, body.request_seq));
      return first === undefined ? { fingerprint } : { repeatOf: first.id };
    },
  };
}

export type Repeats = ReturnType<typeof createRepeats>;
