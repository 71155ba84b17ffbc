import type { SpoolView } from "../../contract/operations.ts";
import { type Clock, within } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { Acceptance, Inbox, IncomingRequest } from "../../core/ports/inbox.ts";
import { openSpoolDatabase, type SpooledRequest } from "./spool-database.ts";

export interface SpoolOptions {
  dir: string;
  maxBytes: number;
  /** Of a store that knows requests by their ids, see `IncomingRequest.mayBeStored`. */
  inbox: Inbox;
  clock: Clock;
  log: Log;
  /** Hears why a request was refused: it is neither in the store nor on the disk. */
  onRefused?(reason: AppError): void;
  /** A sender is not kept waiting longer than this for the store. Default: 3,000. Milliseconds. */
  spoolAfterMs?: number;
  /** See `SpoolDatabaseOptions`. */
  threadEntry?: URL;
}

export interface Spool extends Inbox {
  view(): SpoolView;
  /** Hands over what waits until `stop` is aborted, and what is under way then. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
  /** What waits is found by the next process. */
  close(): Promise<void>;
}

const shortestPauseMs = 250;
const longestPauseMs = 2_000;
/** What the store refuses for what it is. */
const stuckAgainMs = 60_000;
const mostPerChunk = 256;
/**
 * An inbox that takes requests while the store takes none: they are put on disk on this machine and answered,
 * and handed over when the store is back.
 *
 *     request ──▶ nothing waits here? ──▶ the store ──▶ answered
 *                     │ no                   │ unavailable, or no answer in time
 *                     ▼                      ▼
 *                its database, fsynced ──▶ answered ──▶ handed over, oldest first
 *
 * While anything is still to be handed over, what comes goes behind it: what has ended shall not be told before it has
 * begun. As soon as the last of it is on its way to the store, which stores in the order in which it is asked, what comes
 * is asked of the store again.
 *
 * Nothing is stored twice: each request has the ids of its alerts since before the first try, and one whose ids are in the log
 * counts as handed over. A try that is under way somewhere in the database all the same meets the ids of the next one there,
 * which are unique. What idempotency keys decide, the store decides at the handover, by when each request came.
 *
 * @throws as `openSpoolDatabase` does.
 */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const { inbox, maxBytes, clock, log, onRefused, spoolAfterMs = 3_000 } = options;
  /** Tries that have not come to their end, by the first id of their request. */
  const asked = new Map<string, Promise<Acceptance>>();
  /** Requests that are here and were not given to the store, or are to be given again. */
  let behind = 0;
  /** Alerts on disk that the log may not have. */
  let alerts = 0;
  let spooledInAll = 0;
  let since: number | undefined;
  let oldestAt: number | undefined;
  let problem: string | undefined;
  let again: SpooledRequest[] = [];
  let stuck: SpooledRequest[] = [];
  /** Alerts that cannot be read back. */
  let unreadable = 0;
  let stuckAt = Number.NEGATIVE_INFINITY;
  let waiting = new AbortController();

  function count(added: number, receivedAt: number): void {
    alerts += added;
    spooledInAll += added;
    since ??= clock.now();
    oldestAt ??= receivedAt;
  }

  const database = await openSpoolDatabase({
    ...options,
    onUnreadable(lost) {
      log.error("spool.unreadable", { ...lost });
      behind -= lost.requests;
      unreadable += lost.alerts;
      spooledInAll -= lost.alerts;
      settle(lost.alerts);
    },
  });
  const { found } = database;
  if (found.damaged !== undefined) log.error("spool.damaged", { file: found.damaged });
  for (const { file, tornBytes: bytes, isDamaged } of found.torn)
    isDamaged ? log.error("spool.damaged", { file, bytes }) : log.warn("spool.torn", { file, bytes });
  if (found.requests > 0) {
    behind = found.requests;
    count(found.alerts, found.oldestAt ?? clock.now());
    log.warn("spool.found", { alerts, bytes: database.bytes(), oldestAt: toIso(oldestAt) });
  }

  async function keep(request: IncomingRequest, why: unknown): Promise<Acceptance> {
    behind += 1;
    let twin: string[] | undefined;
    try {
      twin = await database.append(request);
      if (problem !== undefined) log.info("spool.writes_again");
      problem = undefined;
    } catch (error) {
      behind -= 1;
      if (problem === undefined) log.error("spool.refuses", { error: textOf(error) });
      problem = textOf(error);
      if (error instanceof AppError) onRefused?.(error);
      throw error;
    }
    if (since === undefined) log.warn("spool.begun", { because: textOf(why) });
    count(request.ids.length, request.receivedAt);
    waiting.abort(woken);
    // A twin is handed over as well, so that it is counted.
    return twin === undefined
      ? { kind: "accepted", ids: request.ids, conflict: false }
      : { kind: "duplicate", ids: twin };
  }

  async function askStore(request: IncomingRequest): Promise<Acceptance> {
    const asking = inbox.acceptRequest(request);
    const settled = asking.then(
      (acceptance) => ({ acceptance }),
      (error: unknown) => ({ error }),
    );
    const outcome = await within(settled, spoolAfterMs, clock);
    if (outcome !== undefined && "acceptance" in outcome) return outcome.acceptance;
    if (outcome !== undefined) {
      if (isAway(outcome.error)) return keep(request, outcome.error);
      throw outcome.error;
    }
    const [id = ""] = request.ids;
    asked.set(id, asking);
    void settled.then(() => asked.delete(id));
    // Where it cannot be kept, the store's own answer is all that is left to wait for.
    return keep(request, new Error(`no answer within ${spoolAfterMs} ms`)).catch(() => asking);
  }

  function finish({ request, done }: SpooledRequest): void {
    done();
    settle(request.ids.length);
  }

  /** So many alerts wait no more. */
  function settle(count: number): void {
    alerts -= count;
    if (alerts > 0) return;
    if (spooledInAll > 0)
      log.info("spool.handed_over", { alerts: spooledInAll, tookMs: clock.now() - (since ?? clock.now()) });
    since = undefined;
    oldestAt = undefined;
    spooledInAll = 0;
  }

  /** Whether the store had a word for each of them. What it could not be asked is in `again`. */
  async function handOver(chunk: SpooledRequest[]): Promise<boolean> {
    // What the tries before have come to has to be known, lest the same ids meet in one transaction.
    const before = await Promise.all(
      chunk.map(({ request }) => asked.get(request.ids[0] ?? "")?.catch(() => undefined)),
    );
    oldestAt = chunk[0]?.request.receivedAt;
    behind -= chunk.length;
    const outcomes = await Promise.allSettled(
      chunk.map(({ request }, place) => before[place] ?? inbox.acceptRequest({ ...request, mayBeStored: true })),
    );
    for (const [place, outcome] of outcomes.entries()) {
      const one = chunk[place] as SpooledRequest;
      if (outcome.status === "fulfilled") finish(one);
      // Once more by itself where it was refused: two tries may have met.
      else if (isAway(outcome.reason) || (await tryAlone(one)) === "away") again.push(one);
    }
    behind += again.length;
    return again.length === 0;
  }

  /** What the store refuses for what it is keeps no other from being handed over. */
  async function tryAlone(one: SpooledRequest): Promise<"done" | "away" | "stuck"> {
    try {
      await inbox.acceptRequest({ ...one.request, mayBeStored: true });
      finish(one);
      return "done";
    } catch (error) {
      if (isAway(error)) return "away";
      log.error("spool.stuck", { ids: one.request.ids, error: textOf(error), triedAgainInMs: stuckAgainMs });
      stuck.push(one);
      stuckAt = clock.now();
      return "stuck";
    }
  }

  async function retryStuck(): Promise<void> {
    const tried = stuck;
    stuck = [];
    stuckAt = clock.now();
    for (const one of tried) if ((await tryAlone(one)) === "away") stuck.push(one);
  }

  let isUnread = false;
  async function take(): Promise<SpooledRequest[] | undefined> {
    try {
      const taken = await database.take();
      isUnread = false;
      return taken;
    } catch (error) {
      if (!isUnread) log.error("spool.unread", { error: textOf(error) });
      isUnread = true;
      return undefined;
    }
  }

  return {
    acceptRequest: (request) => (behind > 0 ? keep(request, new Error("others wait in the spool")) : askStore(request)),
    view: () => ({
      alerts,
      bytes: database.bytes(),
      maxBytes,
      oldestAt,
      since,
      problem,
      stuck: stuck.length,
      unreadable,
      damagedFiles: [...database.damagedFiles()],
    }),
    async run(stop) {
      stop.addEventListener("abort", () => waiting.abort(woken), { once: true });
      let pauseMs = shortestPauseMs;
      while (!stop.aborted) {
        waiting = new AbortController();
        const rest = again;
        again = [];
        const taken = rest.length > 0 ? rest : await take();
        let isWell = taken !== undefined;
        for (let from = 0; from < (taken?.length ?? 0); from += mostPerChunk) {
          const chunk = taken?.slice(from, from + mostPerChunk) ?? [];
          // Those behind one that the store could not be asked wait with it.
          if (isWell && !stop.aborted) isWell = await handOver(chunk);
          else again.push(...chunk);
        }
        if (!isWell) {
          await clock.sleep(pauseMs, stop);
          pauseMs = Math.min(longestPauseMs, pauseMs * 2);
          continue;
        }
        pauseMs = shortestPauseMs;
        if (stuck.length > 0 && clock.now() - stuckAt >= stuckAgainMs) await retryStuck();
        if (taken?.length === 0) await clock.sleep(stuck.length > 0 ? stuckAgainMs : idleMs, waiting.signal);
      }
      if (alerts > 0) log.warn("spool.left", { alerts, dir: options.dir });
    },
    close: () => database.close(),
  };
}

/** Nothing waits, so nothing is late: a safety net under a wake that was lost. */
const idleMs = 5_000;

/** A reason that is made once: each of `abort()` without one is an exception with a stack. */
const woken = new Error("woken");

const isAway = (error: unknown): boolean => error instanceof AppError && error.code === "store_unavailable";

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 300);

const toIso = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : new Date(at).toISOString();
