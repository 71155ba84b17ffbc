import type { AlertOrigin } from "../../../core/alert.ts";
import type { TransactionContext } from "./context.ts";

export interface LookedUp {
  /** Kept with the alert, so that later ones find it. Undefined: it is a repeat, or was compared by its key. */
  fingerprint?: number;
  /** Id of the first alert, when this one is its repeat. */
  repeatOf?: string;
}

interface BodyRow {
  request_seq: number;
  item: number;
  origin: AlertOrigin;
  source: string | null;
  received_at: number;
  fingerprint: number;
}

/** Bodies that a sender makes collide on purpose cost no more than this many rows and comparisons, however old. */
const mostCompared = 10;

/**
 * Finds the alert that another one repeats byte for byte. A fingerprint is stored only for an alert that the rules have
 * routed, whose body names its own event (`intake/key/names-itself.ts`), and that has no key that counts and is no repeat
 * itself. So what could not be read is never the first of a pair, and a repeat points at the alert that was sent.
 */
export function createRepeats({ db }: Pick<TransactionContext, "db">) {
  const findBody = db.prepare<[number, number], BodyRow>(
    `SELECT a.request_seq, a.item, a.origin, a.source, a.received_at, r.fingerprint
     FROM alerts a JOIN requests r ON r.seq = a.request_seq WHERE a.seq = ? AND (r.dedupe_key IS NULL OR ?)`,
  );
  const listCandidates = db.prepare<unknown[], { id: string; request_seq: number; received_at: number }>(
    `SELECT id, request_seq, received_at FROM alerts WHERE fingerprint = ? AND item = ? AND origin = ? AND source IS ? AND seq <> ?
     ORDER BY seq DESC LIMIT ${mostCompared}`,
  );
  const compare = db
    .prepare<[number, number], number>(
      "SELECT 1 FROM requests one, requests other WHERE one.seq = ? AND other.seq = ? AND one.body = other.body",
    )
    .pluck();
  /** All alerts of a batch ask about the same bodies. */
  let asked = { about: -1, answers: new Map<number, boolean>() };

  function isSameBody(one: number, other: number): boolean {
    if (asked.about !== one) asked = { about: one, answers: new Map() };
    const isSame = asked.answers.get(other) ?? compare.get(one, other) !== undefined;
    asked.answers.set(other, isSame);
    return isSame;
  }

  return {
    /** @param despiteKey see `RoutingRecord.isRepeatDespiteKey` */
    lookUp(alertSeq: number, windowMs: number, despiteKey = false): LookedUp {
      const body = findBody.get(alertSeq, Number(despiteKey));
      if (body === undefined) return {};
      const { fingerprint, item, origin, source } = body;
      const since = body.received_at - windowMs;
      const first = listCandidates
        .all(fingerprint, item, origin, source, alertSeq)
        .find((one) => one.received_at > since && isSameBody(body.request_seq, one.request_seq));
      return first === undefined ? { fingerprint } : { repeatOf: first.id };
    },
  };
}

export type Repeats = ReturnType<typeof createRepeats>;
