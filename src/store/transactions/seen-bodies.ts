import type { TransactionContext } from "./context.ts";

/** So many, or bodies of so many bytes, are kept in memory before they are laid down together: a few milliseconds of one commit. */
const mostFresh = 2_048;
const mostFreshBytes = 8 * 1024 * 1024;

/** Requests of one part; see the migration `0002_lighter_accepting.sql`. */
const partLength = 2 ** 16;

/** Where a body without a key has been seen before. */
export interface SeenBodies {
  /** The latest request after `since` with the very same bytes. */
  find(fingerprint: number, since: number, body: Uint8Array): number | undefined;
  add(fingerprint: number, requestSeq: number, bytes: number): void;
}

/**
 * An index from the fingerprint of a body to its requests that costs a commit next to nothing: the latest entries are in
 * memory, and `requests` has what is needed to find them again after a restart or a transaction that was undone. An entry
 * only names a candidate; the bytes decide.
 */
export function createSeenBodies({ db, undone }: TransactionContext): SeenBodies {
  const cursor = db.prepare<[], number>("SELECT request_seq FROM request_bodies_cursor").pluck();
  const moveCursor = db.prepare("UPDATE request_bodies_cursor SET request_seq = ?");
  const listFresh = db.prepare<[number], { seq: number; fingerprint: number; bytes: number }>(
    `SELECT seq, fingerprint, length(body) AS bytes FROM requests
     WHERE seq > ? AND dedupe_key IS NULL ORDER BY seq`,
  );
  const layDown = db.prepare("INSERT INTO request_bodies (part, fingerprint, request_seq) VALUES (?, ?, ?)");
  const isInPart = db
    .prepare<[number, number], number>(
      "SELECT 1 FROM request_bodies WHERE part = ? AND fingerprint = ? LIMIT 1",
    )
    .pluck();
  const listOfPart = db
    .prepare<[number, number], number>(
      "SELECT request_seq FROM request_bodies WHERE part = ? AND fingerprint = ? ORDER BY request_seq DESC",
    )
    .pluck();
  const isSame = db
    .prepare<[number, number, Uint8Array], number>(
      "SELECT 1 FROM requests WHERE seq = ? AND received_at > ? AND dedupe_key IS NULL AND body = ?",
    )
    .pluck();
  const receivedAt = db.prepare<[number], number>("SELECT received_at FROM requests WHERE seq = ?").pluck();

  let fresh = new Map<number, number[]>();
  let freshCount = 0;
  let freshBytes = 0;
  let latest = 0;
  let isStale = true;
  const endOfPart = new Map<number, number>();

  function remember(fingerprint: number, requestSeq: number, bytes: number): void {
    const requests = fresh.get(fingerprint);
    if (requests === undefined) fresh.set(fingerprint, [requestSeq]);
    else requests.push(requestSeq);
    freshCount += 1;
    freshBytes += bytes;
    latest = Math.max(latest, requestSeq);
  }

  function forgetFresh(): void {
    fresh = new Map();
    freshCount = 0;
    freshBytes = 0;
  }

  function reload(): void {
    forgetFresh();
    latest = cursor.get() ?? 0;
    for (const { seq, fingerprint, bytes } of listFresh.all(latest)) remember(fingerprint, seq, bytes);
    isStale = false;
  }

  /** In the order of the table, so that each of its pages is written once. */
  function layDownFresh(): void {
    const entries = [...fresh].flatMap(([fingerprint, requests]) =>
      requests.map((seq) => [partOf(seq), fingerprint, seq] as const),
    );
    entries.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    for (const entry of entries) layDown.run(...entry);
    moveCursor.run(latest);
    forgetFresh();
  }

  /** When the last request of a part that is complete came. Undefined: it is gone. */
  function endOf(part: number): number | undefined {
    let end = endOfPart.get(part);
    if (end === undefined) {
      end = receivedAt.get(partLength * (part + 1) - 1);
      if (end !== undefined) endOfPart.set(part, end);
    }
    return end;
  }

  function findInPart(
    part: number,
    fingerprint: number,
    since: number,
    body: Uint8Array,
  ): number | undefined {
    // Nearly always it is new: asking first whether there is any costs less than an empty list.
    if (isInPart.get(part, fingerprint) === undefined) return undefined;
    return listOfPart.all(part, fingerprint).find((seq) => isSame.get(seq, since, body) !== undefined);
  }

  if (!db.readonly) reload();
  undone.add(() => {
    isStale = true;
  });
  return {
    find(fingerprint, since, body) {
      if (isStale) reload();
      const recent = fresh.get(fingerprint)?.findLast((seq) => isSame.get(seq, since, body) !== undefined);
      if (recent !== undefined) return recent;
      for (let part = partOf(latest); part >= 0; part -= 1) {
        const found = findInPart(part, fingerprint, since, body);
        if (found !== undefined) return found;
        if (part > 0 && (endOf(part - 1) ?? 0) <= since) return undefined;
      }
      return undefined;
    },
    add(fingerprint, requestSeq, bytes) {
      if (isStale) reload();
      remember(fingerprint, requestSeq, bytes);
      if (freshCount >= mostFresh || freshBytes >= mostFreshBytes) layDownFresh();
    },
  };
}

function partOf(requestSeq: number): number {
  return Math.floor(requestSeq / partLength);
}
