import type { TransactionContext } from "./context.ts";

/**
 * So many requests, or bodies of so many bytes, are kept in memory before they are laid down together: a few milliseconds of
 * one commit. As many are read again at a start.
 */
const mostFresh = 2_048;
const mostFreshBytes = 8 * 1024 * 1024;

/** So many times `mostFresh` requests are read anew at a stretch. More are missing only when for some time none could be added. */
const mostPieces = 4;

/** Requests of one part; see the migration `0002_lighter_accepting.sql`. */
const partLength = 2 ** 16;

/** Where a body without a key has been seen before. */
export interface SeenBodies {
  /** The latest request after `since` with the very same bytes. */
  find(fingerprint: number, since: number, body: Uint8Array): number | undefined;
  /** Every request, in its order. One with a key has no fingerprint here: its body is found by the key. */
  add(request: FreshRequest): void;
  /** Some requests before the next are still to be read, a stretch with each call: what `find` did not find may be among them. */
  isBehind(): boolean;
}

interface FreshRequest {
  seq: number;
  fingerprint: number | null;
  /** Of its body. */
  bytes: number;
}

/**
 * An index from the fingerprint of a body to its requests that costs a commit next to nothing: the latest entries are in
 * memory, and `requests` has what is needed to find them again after a restart or a transaction that was undone. An entry
 * only names a candidate; the bytes decide.
 */
export function createSeenBodies({ db, undone }: TransactionContext): SeenBodies {
  const cursor = db.prepare<[], number>("SELECT request_seq FROM request_bodies_cursor").pluck();
  const moveCursor = db.prepare("UPDATE request_bodies_cursor SET request_seq = ?");
  const listBehind = db.prepare<[number], FreshRequest>(
    `SELECT seq, iif(dedupe_key IS NULL, fingerprint, NULL) AS fingerprint, length(body) AS bytes FROM requests
     WHERE seq > ? ORDER BY seq LIMIT ${mostFresh}`,
  );
  const lastRequest = db.prepare<[], number | null>("SELECT max(seq) FROM requests").pluck();
  // Never a reason to refuse an alert: an entry that is there already says the same.
  const layDown = db.prepare(
    "INSERT OR IGNORE INTO request_bodies (part, fingerprint, request_seq) VALUES (?, ?, ?)",
  );
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

  let fresh: FreshRequest[] = [];
  let byFingerprint = new Map<number, number[]>();
  let freshBytes = 0;
  let laidDownTo = -1;
  let isBehind = true;
  const endOfPart = new Map<number, number>();

  function remember(request: FreshRequest): void {
    const { seq, fingerprint, bytes } = request;
    fresh.push(request);
    freshBytes += bytes;
    if (fingerprint === null) return;
    const same = byFingerprint.get(fingerprint);
    if (same === undefined) byFingerprint.set(fingerprint, [seq]);
    else same.push(seq);
  }

  function forgetLatest(): void {
    const request = fresh.pop();
    if (request === undefined) return;
    freshBytes -= request.bytes;
    if (request.fingerprint !== null) byFingerprint.get(request.fingerprint)?.pop();
  }

  function startBehind(requestSeq: number): void {
    fresh = [];
    byFingerprint = new Map();
    freshBytes = 0;
    laidDownTo = requestSeq;
  }

  const latest = () => fresh.at(-1)?.seq ?? laidDownTo;
  const isFull = () => fresh.length >= mostFresh || freshBytes >= mostFreshBytes;

  /** After a transaction that was undone, at once: its numbers are given again, and what they name then is another request. */
  function takeBack(): void {
    isBehind = true;
    try {
      const last = lastRequest.get() ?? 0;
      while (fresh.length > 0 && latest() > last) forgetLatest();
    } catch {
      startBehind(-1);
    }
  }

  /** At a start, and after a transaction that was undone, or requests that could not be added: reads what is missing. */
  function catchUp(): void {
    endOfPart.clear();
    const position = cursor.get() ?? 0;
    // They differ when what was laid down was undone.
    if (position !== laidDownTo) startBehind(position);
    for (let piece = 0; piece < mostPieces; piece += 1) {
      const missing = listBehind.all(latest());
      for (const request of missing) remember(request);
      if (isFull()) layDownFresh();
      if (missing.length < mostFresh) {
        isBehind = false;
        return;
      }
    }
  }

  function catchUpAtStart(): void {
    try {
      db.transaction(catchUp).immediate();
    } catch {
      // No reason not to start: it is tried again with the next alert, which says so if it fails.
      isBehind = true;
    }
  }

  /** In the order of the table, so that each of its pages is written once. */
  function layDownFresh(): void {
    const entries = fresh.flatMap(({ seq, fingerprint }) =>
      fingerprint === null ? [] : [[partOf(seq), fingerprint, seq] as const],
    );
    entries.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    for (const entry of entries) layDown.run(...entry);
    const last = fresh.at(-1)?.seq ?? laidDownTo;
    moveCursor.run(last);
    startBehind(last);
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

  if (!db.readonly) catchUpAtStart();
  undone.add(takeBack);
  return {
    isBehind: () => isBehind,
    find(fingerprint, since, body) {
      if (isBehind) catchUp();
      const recent = byFingerprint
        .get(fingerprint)
        ?.findLast((seq) => isSame.get(seq, since, body) !== undefined);
      if (recent !== undefined) return recent;
      for (let part = partOf(laidDownTo); part >= 0; part -= 1) {
        const found = findInPart(part, fingerprint, since, body);
        if (found !== undefined) return found;
        if (part > 0 && (endOf(part - 1) ?? 0) <= since) return undefined;
      }
      return undefined;
    },
    add(request) {
      if (isBehind) catchUp();
      // It will be read in its turn, or has just been.
      if (isBehind || latest() >= request.seq) return;
      remember(request);
      if (isFull()) layDownFresh();
    },
  };
}

function partOf(requestSeq: number): number {
  return Math.floor(requestSeq / partLength);
}
