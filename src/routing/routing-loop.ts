import { fullListBytes, type RoutingDesk, type UnroutedRequest } from "../core/ports/routing-desk.ts";
import { errorText } from "../ground/text/error-text.ts";
import { Round, type RoundDeps, seqsOf } from "./round.ts";

export interface RoutingLoopDeps extends Omit<RoundDeps, "store"> {
  store: RoundDeps["store"] & Pick<RoutingDesk, "listUnrouted">;
  /** Whether this relay is the one that routes. Default: always. */
  mayRoute?(): boolean;
  /** Whether alerts come in so fast that accepting must not wait for routing. */
  isFlooded(): boolean;
}

/** One reason for all: each `abort()` without a reason makes an exception with a stack. */
const woken = new Error("woken");

const batchSize = 100;
/**
 * Rounds begin at least this far apart. Alerts that come one after another then share a round and its commits, and none waits for the
 * rounds of earlier ones before it is answered. An alert that comes alone is routed at once.
 */
const roundMs = 5;
/**
 * A round counts as no longer than this, so a clock that was set forward, or a slow body, delays nothing.
 */
const longestRoundMs = 100;
/** In a flood routing takes small batches, between which accepting gets its turn, and at most this share of the time. */
const floodBatchSize = 25;
const floodShare = 0.1;
/** A flood is over when none was seen for this long. In any flood the door is empty for a moment between two commits. */
const calmMs = 25;
const floodLookMs = 5;
/** The time of failure that sorts them before all other failures. */
const interruptedAt = 0;
const whyInterrupted = "Tocsin ended while it was reading this";
/** The safety net under a lost signal, and the wait after a store that refused. */
const pollMs = 1_000;

/** Requests that are being read. */
interface Batch {
  count: number;
  /** The store may have more that can be read at once. */
  isFull: boolean;
  /** How often the loop had been woken when it looked. */
  news: number;
  reading?: ReturnType<Round["begin"]>;
  /** Requests that have failed before. They are read when all others are routed and on disk. */
  failed: UnroutedRequest[];
}

/**
 * Takes accepted requests through reading and the rules, round after round (round.ts), in the order in which they came.
 *
 *     listed ──▶ read ──▶ judged ──▶ recorded
 *                     └── the next batch is read meanwhile
 *
 * The requests that a process was reading at its end come after one round of others, so no start begins with what the last process
 * died of. They come before all else that waits, one by one, since one of them may end this process too.
 *
 * A list begins where the list before it has ended. Once a second, also in a flood, it begins with the oldest request in the store,
 * even if that was thought to be routed.
 *
 * In a flood that is too fast to be routed as it comes, the relay stores first. Routing has a bounded share of the time, and
 * catches up when the flood is over (docs/adr/0003-accept-before-routing.md).
 */
export class RoutingLoop {
  readonly #round: Round;
  #waiting = new AbortController();
  /** All requests up to this one are taken, as far as is known. */
  #takenUpTo = 0;
  #listedAllAt = Number.NEGATIVE_INFINITY;
  #ahead: Promise<Batch> | undefined;
  /** False in the first round: a process may die of it, and all that is being read then counts as interrupted. */
  #mayReadAhead = false;
  /** A process has ended while it was reading requests, and some of these may still wait. */
  #mayBeInterrupted = false;
  #isCaughtUp = false;
  /** How often the loop was woken. A request that came after a look is found by the next one. */
  #news = 0;

  constructor(private readonly deps: RoutingLoopDeps) {
    this.#round = new Round(deps);
  }

  /** Something was accepted: look at once. */
  wake = (): void => {
    this.#isCaughtUp = false;
    this.#news += 1;
    this.#waiting.abort(woken);
  };

  /** Another relay has left requests in the store: look at all of them at once. */
  lookAtAll = (): void => {
    this.#listedAllAt = Number.NEGATIVE_INFINITY;
    this.wake();
  };

  /** All requests that were found are routed, except those that are tried again later, and none came since. */
  isCaughtUp = (): boolean => this.#isCaughtUp && this.#mayRoute();

  /** Runs until `stop` is aborted. Never rejects. */
  async run(stop: AbortSignal): Promise<void> {
    stop.addEventListener("abort", () => this.#waiting.abort(woken), { once: true });
    await this.#flagInterrupted(stop);
    while (!stop.aborted) {
      this.#waiting = new AbortController();
      if (this.#mayRoute()) await this.#turn(stop);
      else {
        await this.#beginAnew();
        await this.deps.clock.sleep(pollMs, this.#waiting.signal);
      }
    }
    this.#isCaughtUp = false;
    await this.#beginAnew();
  }

  #mayRoute(): boolean {
    return this.deps.mayRoute?.() ?? true;
  }

  /** A round, and the wait for the next one. */
  async #turn(stop: AbortSignal): Promise<void> {
    const { clock, isFlooded } = this.deps;
    const flooded = isFlooded();
    const limit = flooded ? floodBatchSize : batchSize;
    const startedAt = clock.now();
    const batch = await this.#routeSome(limit, !flooded, stop).catch(async (error: unknown) => {
      this.#report(error);
      await this.#beginAnew();
      return undefined;
    });
    // Each accepted request wakes the loop, so nothing waits after a list that was not full, when there is no news.
    const isMore = batch !== undefined && (batch.isFull || batch.news !== this.#news);
    this.#isCaughtUp = batch !== undefined && !isMore && !stop.aborted;
    const tookMs = Math.min(Math.max(1, clock.now() - startedAt), longestRoundMs);
    if (flooded) return this.#restInFlood(tookMs * (1 / floodShare - 1), stop);
    const isRound = batch !== undefined && batch.count > 0 && !batch.isFull;
    // Bounded, since the clock may have been set back meanwhile.
    const restMs = isRound ? Math.min(roundMs, Math.max(0, startedAt + roundMs - clock.now())) : 0;
    await clock.sleep(restMs, stop);
    if (!isMore) await clock.sleep(pollMs - restMs, this.#waiting.signal);
  }

  /** The distance counts in both directions, since the clock may have been set back. */
  #isListDue(ms: number): boolean {
    return Math.abs(this.deps.clock.now() - this.#listedAllAt) >= ms;
  }

  async #begin(limit: number, isFromStart: boolean, stop: AbortSignal): Promise<Batch> {
    const seen = this.#news;
    const requests = await this.#list(limit, isFromStart);
    const fresh = requests.filter((request) => !hasFailed(request));
    const failed = requests.filter(hasFailed);
    if (requests.length > 0) this.#isCaughtUp = false;
    const count = fresh.reduce((sum, { alerts }) => sum + alerts.length, 0);
    const bytes = fresh.reduce((sum, { body }) => sum + body.length, 0);
    // These are left from a process that ended before it had read all interrupted requests.
    if (failed.some(({ alerts }) => alerts.some(({ error }) => error === whyInterrupted)))
      this.#mayBeInterrupted = true;
    this.#takenUpTo = fresh.at(-1)?.alerts.at(-1)?.seq ?? this.#takenUpTo;
    const reading = fresh.length === 0 ? undefined : this.#round.begin(fresh, stop);
    const isFull = count >= limit || bytes >= fullListBytes || failed.length > 0 || this.#mayBeInterrupted;
    return { count, isFull, news: seen, reading, failed };
  }

  async #list(limit: number, isFromStart: boolean): Promise<UnroutedRequest[]> {
    const { store, clock } = this.deps;
    const requests = await store.listUnrouted(limit, clock.now(), isFromStart ? 0 : this.#takenUpTo);
    if (isFromStart) this.#listedAllAt = clock.now();
    const interrupted = requests.filter((request) => request.isInterrupted);
    if (interrupted.length === 0) return requests;
    await this.#flag(seqsOf(interrupted));
    const others = requests.filter((request) => !request.isInterrupted);
    return others.length > 0 ? others : this.#list(limit, true);
  }

  async #take(limit: number, stop: AbortSignal): Promise<Batch> {
    const begun = this.#ahead;
    this.#ahead = undefined;
    if (begun !== undefined) return begun;
    // Woken for the newest request: older ones that a list may have missed are looked for later.
    const batch = await this.#begin(limit, this.#isListDue(this.#isCaughtUp ? pollMs : 2 * pollMs), stop);
    return batch.count === 0 && this.#isListDue(pollMs) ? this.#begin(limit, true, stop) : batch;
  }

  /** Reads them while nothing else is being read: the end of the process counts as a failure of all that is being read. */
  async #readInterrupted(stop: AbortSignal): Promise<void> {
    while (this.#mayBeInterrupted && !stop.aborted) {
      const requests = await this.deps.store.listUnrouted(0, interruptedAt);
      const again = requests.filter(({ isInterrupted }) => isInterrupted);
      if (again.length > 0) await this.#flag(seqsOf(again));
      else if (requests.length > 0) await this.#round.begin(requests, stop).finish();
      else this.#mayBeInterrupted = false;
    }
  }

  async #routeSome(limit: number, readsAhead: boolean, stop: AbortSignal): Promise<Batch> {
    const batch = await this.#take(limit, stop);
    const isAlone = batch.failed.length > 0 || this.#mayBeInterrupted;
    if (readsAhead && this.#mayReadAhead && !isAlone && batch.count >= limit && !this.#isListDue(2 * pollMs)) {
      this.#ahead = this.#begin(limit, false, stop);
      this.#ahead.catch(() => {});
    }
    await batch.reading?.finish();
    this.#mayReadAhead = true;
    if (batch.failed.length > 0 && !stop.aborted) {
      // A list has one of them at a time.
      this.#listedAllAt = Number.NEGATIVE_INFINITY;
      await this.#round.begin(batch.failed, stop).finish();
    }
    if (this.#ahead === undefined) await this.#readInterrupted(stop);
    return batch;
  }

  /** Alerts that were read ahead must not overtake alerts that could not be recorded; the store has both. */
  async #beginAnew(): Promise<void> {
    const begun = this.#ahead;
    this.#ahead = undefined;
    this.#listedAllAt = Number.NEGATIVE_INFINITY;
    const batch = await begun?.catch(() => undefined);
    await batch?.reading?.drop();
  }

  async #restInFlood(ms: number, stop: AbortSignal): Promise<void> {
    let calmForMs = 0;
    for (let left = ms; left > 0 && calmForMs < calmMs && !stop.aborted; left -= floodLookMs) {
      await this.deps.clock.sleep(Math.min(left, floodLookMs), stop);
      calmForMs = this.deps.isFlooded() ? 0 : calmForMs + floodLookMs;
    }
  }

  /** Marks the requests that the last process was reading at its end: one of them may have caused it. */
  async #flagInterrupted(stop: AbortSignal): Promise<void> {
    const { journal, clock } = this.deps;
    while (!stop.aborted) {
      try {
        if (journal.interrupted.length > 0) await this.#flag(journal.interrupted);
        return journal.write([]);
      } catch (error) {
        this.#report(error);
        await clock.sleep(pollMs, stop);
      }
    }
  }

  async #flag(interrupted: readonly number[]): Promise<void> {
    this.deps.log.warn("routing.was_interrupted", { alerts: interrupted.length });
    await this.deps.store.recordRoutingFailure(interrupted, whyInterrupted, interruptedAt);
    this.#mayBeInterrupted = true;
  }

  #report(error: unknown): void {
    this.deps.log.error("routing.failed", { error: errorText(error) });
  }
}

function hasFailed({ alerts }: UnroutedRequest): boolean {
  return alerts.some(({ failures }) => failures > 0);
}
