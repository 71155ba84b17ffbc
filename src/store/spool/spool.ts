import type { SpoolView } from "../../contract/operations.ts";
import { type Clock, within } from "../../core/clock.ts";
import { AppError, isStoreAway } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { Acceptance, Inbox, IncomingRequest } from "../../core/ports/inbox.ts";
import { errorMessage } from "../../ground/text/error-text.ts";
import { openSpoolDatabase, type SpoolDatabase, type SpooledCount, type SpooledRequest } from "./spool-database.ts";

export interface SpoolOptions {
  dir: string;
  maxBytes: number;
  /** An inbox of a store that knows requests by their ids, see `IncomingRequest.mayBeStored`. */
  inbox: Inbox;
  clock: Clock;
  log: Log;
  /** Called when a request was refused: neither the store nor the disk has it. */
  onRefused?(reason: AppError): void;
  /** How long a sender waits for the store before the request is spooled. Default: 3,000. */
  spoolAfterMs?: number;
  /** See `DatabaseThreadOptions`. */
  threadEntry?: URL;
}

const shortestPauseMs = 250;
const longestPauseMs = 2_000;
/** The pause before the store is asked again about a request that it refuses for its content. */
const stuckAgainMs = 60_000;
const mostPerChunk = 256;

/**
 * An inbox that takes requests while the store takes none. They are put on disk on this machine and answered, and handed over
 * when the store is back.
 *
 *     request ──▶ nothing waits here? ──▶ the store ──▶ answered
 *                     │ no                   │ unavailable, or no answer in time
 *                     ▼                      ▼
 *                its database, fsynced ──▶ answered ──▶ handed over, oldest first
 *
 * While requests wait here, new ones wait behind them, so that no resolving alert is sent before its firing one. The store keeps
 * the order in which it is asked. New requests therefore go to the store again as soon as the last waiting one is on its way
 * there.
 *
 * Nothing is stored twice. A request has the ids of its alerts before the first try. They are unique in the database, and the
 * request counts as handed over when the log has them. The store judges idempotency keys at the handover, by the time when each
 * request came.
 */
export class Spool implements Inbox {
  /** Tries that have not ended, by the first id of their request. */
  readonly #asked = new Map<string, Promise<Acceptance>>();
  /** Requests here that were not given to the store yet, or must be given again. */
  #behind = 0;
  /** Alerts on disk that the log may not have yet. */
  #alerts = 0;
  #spooledInAll = 0;
  #since?: number;
  #oldestAt?: number;
  #problem?: string;
  #again: SpooledRequest[] = [];
  #stuck: SpooledRequest[] = [];
  #stuckAt = Number.NEGATIVE_INFINITY;
  /** Alerts that cannot be read back. */
  #unreadable = 0;
  /** The last try to take requests from the disk failed. */
  #isUnread = false;
  #waiting = new AbortController();

  /** @throws as `openSpoolDatabase` does. */
  static async open(options: SpoolOptions): Promise<Spool> {
    return new Spool(options, await openSpoolDatabase(options));
  }

  private constructor(
    private readonly options: SpoolOptions,
    private readonly database: SpoolDatabase,
  ) {
    const { log, clock } = options;
    const { damaged, torn, requests, alerts, oldestAt = clock.now(), bytes } = database.found;
    if (damaged !== undefined) log.error("spool.damaged", { file: damaged });
    for (const { file, tornBytes, isDamaged } of torn)
      isDamaged
        ? log.error("spool.damaged", { file, bytes: tornBytes })
        : log.warn("spool.torn", { file, bytes: tornBytes });
    if (requests === 0) return;
    this.#behind = requests;
    this.#count(alerts, oldestAt);
    log.warn("spool.found", { alerts, bytes, oldestAt: new Date(oldestAt).toISOString() });
  }

  acceptRequest(request: IncomingRequest): Promise<Acceptance> {
    return this.#behind > 0 ? this.#keep(request, new Error("others wait in the spool")) : this.#askStore(request);
  }

  readonly view = (): SpoolView => ({
    alerts: this.#alerts,
    bytes: this.database.bytes(),
    maxBytes: this.options.maxBytes,
    oldestAt: this.#oldestAt,
    since: this.#since,
    problem: this.#problem,
    stuck: this.#stuck.length,
    unreadable: this.#unreadable,
    damagedFiles: [...this.database.damagedFiles()],
  });

  /** Hands over the waiting requests until `stop` is aborted, and finishes the handover in progress. Never rejects. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, log, dir } = this.options;
    stop.addEventListener("abort", () => this.#waiting.abort(woken), { once: true });
    let pauseMs = shortestPauseMs;
    while (!stop.aborted) {
      this.#waiting = new AbortController();
      const taken = await this.#next();
      if (taken === undefined || !(await this.#handOverAll(taken, stop))) {
        await clock.sleep(pauseMs, stop);
        pauseMs = Math.min(longestPauseMs, pauseMs * 2);
        continue;
      }
      pauseMs = shortestPauseMs;
      if (this.#stuck.length > 0 && clock.now() - this.#stuckAt >= stuckAgainMs) await this.#retryStuck();
      if (taken.length === 0) await clock.sleep(this.#stuck.length > 0 ? stuckAgainMs : idleMs, this.#waiting.signal);
    }
    if (this.#alerts > 0) log.warn("spool.left", { alerts: this.#alerts, dir });
  }

  /** The next process finds the waiting requests. */
  readonly close = (): Promise<void> => this.database.close();

  async #askStore(request: IncomingRequest): Promise<Acceptance> {
    const { inbox, clock, spoolAfterMs = 3_000 } = this.options;
    const asking = inbox.acceptRequest(request);
    const settled = asking.then(
      (acceptance) => ({ acceptance }),
      (error: unknown) => ({ error }),
    );
    const outcome = await within(settled, spoolAfterMs, clock);
    if (outcome !== undefined && "acceptance" in outcome) return outcome.acceptance;
    if (outcome !== undefined) {
      if (isStoreAway(outcome.error)) return this.#keep(request, outcome.error);
      throw outcome.error;
    }
    const [id = ""] = request.ids;
    this.#asked.set(id, asking);
    void settled.then(() => this.#asked.delete(id));
    // If the spool cannot keep the request, only the store's own answer is left to wait for.
    return this.#keep(request, new Error(`no answer within ${spoolAfterMs} ms`)).catch(() => asking);
  }

  async #keep(request: IncomingRequest, why: unknown): Promise<Acceptance> {
    const { log, onRefused } = this.options;
    this.#behind += 1;
    const acceptance = await this.database.append(request).catch((error: unknown) => {
      this.#behind -= 1;
      if (this.#problem === undefined) log.error("spool.refuses", { error: errorMessage(error) });
      this.#problem = errorMessage(error);
      if (error instanceof AppError) onRefused?.(error);
      throw error;
    });
    if (this.#problem !== undefined) log.info("spool.writes_again");
    this.#problem = undefined;
    if (this.#since === undefined) log.warn("spool.begun", { because: errorMessage(why) });
    // A duplicate is handed over too, so that it is counted.
    this.#count(request.ids.length, request.receivedAt);
    this.#waiting.abort(woken);
    return acceptance;
  }

  #count(added: number, receivedAt: number): void {
    this.#alerts += added;
    this.#spooledInAll += added;
    this.#since ??= this.options.clock.now();
    this.#oldestAt ??= receivedAt;
  }

  /** These alerts wait no more. */
  #settle(count: number): void {
    const { clock, log } = this.options;
    this.#alerts -= count;
    if (this.#alerts > 0) return;
    const tookMs = clock.now() - (this.#since ?? clock.now());
    if (this.#spooledInAll > 0) log.info("spool.handed_over", { alerts: this.#spooledInAll, tookMs });
    this.#since = undefined;
    this.#oldestAt = undefined;
    this.#spooledInAll = 0;
  }

  #noteUnreadable(lost: SpooledCount): void {
    this.options.log.error("spool.unreadable", { ...lost });
    this.#behind -= lost.requests;
    this.#unreadable += lost.alerts;
    this.#spooledInAll -= lost.alerts;
    this.#settle(lost.alerts);
  }

  /** The next requests to hand over. Undefined: they cannot be read. */
  async #next(): Promise<SpooledRequest[] | undefined> {
    if (this.#again.length > 0) return this.#again.splice(0);
    try {
      const taken = await this.database.take((lost) => this.#noteUnreadable(lost));
      this.#isUnread = false;
      return taken;
    } catch (error) {
      if (!this.#isUnread) this.options.log.error("spool.unread", { error: errorMessage(error) });
      this.#isUnread = true;
      return undefined;
    }
  }

  /** Whether the store could answer for each request. The others are in `again`. */
  async #handOverAll(taken: readonly SpooledRequest[], stop: AbortSignal): Promise<boolean> {
    let isWell = true;
    for (let from = 0; from < taken.length; from += mostPerChunk) {
      const chunk = taken.slice(from, from + mostPerChunk);
      // Requests after one that the store could not be asked about wait with it.
      if (isWell && !stop.aborted) isWell = await this.#handOver(chunk);
      else this.#again.push(...chunk);
    }
    return isWell;
  }

  async #handOver(chunk: readonly SpooledRequest[]): Promise<boolean> {
    const { inbox } = this.options;
    // Waits for the results of earlier tries: otherwise the same ids might meet in one transaction.
    const before = await Promise.all(
      chunk.map(({ request }) => this.#asked.get(request.ids[0] ?? "")?.catch(() => undefined)),
    );
    this.#oldestAt = chunk[0]?.request.receivedAt;
    this.#behind -= chunk.length;
    const outcomes = await Promise.allSettled(
      chunk.map(({ request }, place) => before[place] ?? inbox.acceptRequest({ ...request, mayBeStored: true })),
    );
    for (const [place, outcome] of outcomes.entries()) {
      const one = chunk[place] as SpooledRequest;
      if (outcome.status === "fulfilled") this.#finish(one);
      // A refused request is tried again alone, since two tries may have met.
      else if (isStoreAway(outcome.reason) || (await this.#tryAlone(one)) === "away") this.#again.push(one);
    }
    this.#behind += this.#again.length;
    return this.#again.length === 0;
  }

  /** One request alone: one that is refused for its content then delays no other. */
  async #tryAlone(one: SpooledRequest): Promise<"done" | "away" | "stuck"> {
    const { inbox, clock, log } = this.options;
    try {
      await inbox.acceptRequest({ ...one.request, mayBeStored: true });
      this.#finish(one);
      return "done";
    } catch (error) {
      if (isStoreAway(error)) return "away";
      log.error("spool.stuck", { ids: one.request.ids, error: errorMessage(error), triedAgainInMs: stuckAgainMs });
      this.#stuck.push(one);
      this.#stuckAt = clock.now();
      return "stuck";
    }
  }

  async #retryStuck(): Promise<void> {
    this.#stuckAt = this.options.clock.now();
    for (const one of this.#stuck.splice(0)) if ((await this.#tryAlone(one)) === "away") this.#stuck.push(one);
  }

  #finish({ request, done }: SpooledRequest): void {
    done();
    this.#settle(request.ids.length);
  }
}

/** In case a wake is lost. Nothing waits then. */
const idleMs = 5_000;

/** One error for all: `abort()` without a reason makes an exception with a stack each time. */
const woken = new Error("woken");
