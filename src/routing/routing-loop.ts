import { fullListBytes, type RoutingDesk, type UnroutedRequest } from "../core/ports/routing-desk.ts";
import { errorText } from "../ground/text/error-text.ts";
import { Round, type RoundDeps, seqsOf } from "./round.ts";

export interface RoutingLoopDeps extends Omit<RoundDeps, "store"> {
  store: RoundDeps["store"] & Pick<RoutingDesk, "listUnrouted">;
  /** Whether this relay routes. Default: always. */
  mayRoute?(): boolean;
  /** Whether alerts come too fast for routing. Accepting then must not wait for it. */
  isFlooded(): boolean;
}

/** One error for all: `abort()` without a reason makes an exception with a stack each time. */
const woken = new Error("woken");

const batchSize = 100;
/** The least time between two rounds, so that alerts share a round and its commits. A single alert is routed at once. */
const roundMs = 5;
/** A longer round counts as this long, so a clock that was set forward, or a slow body, delays nothing. */
const longestRoundMs = 100;
/** In a flood routing takes small batches, and at most this share of the time. Accepting gets the rest. */
const floodBatchSize = 25;
const floodShare = 0.1;
/** A flood is over after this long without a sign of it. In any flood the door is idle for a moment between two commits. */
const calmMs = 10;
const floodLookMs = 5;
/** Sorts interrupted requests before all other failures. */
const interruptedAt = 0;
const whyInterrupted = "Tocsin ended while it was reading this";
/** After this many lists of urgent requests comes one of all, so that the others do not starve. */
const mostUrgentLists = 3;
/** The wait where a signal was lost, or the store has refused. */
const pollMs = 1_000;

interface Batch {
  count: number;
  /** Whether the store may have more that can be read at once. */
  isFull: boolean;
  /** The loop's `#news` when it listed the batch. */
  news: number;
  reading?: ReturnType<Round["begin"]>;
  /** Requests that have failed before. They are read when all others are routed and on disk. */
  failed: UnroutedRequest[];
  /** A list from elsewhere would have its requests again, until they are recorded. */
  isUrgent: boolean;
}

/** Where a list begins: with the oldest request, behind the last list, or with the oldest urgent request. */
type Place = "start" | "last" | "urgent";

/**
 * Takes accepted requests through reading and the rules, round after round (round.ts), in the order in which they came. While
 * more wait than a round takes, as after a kill, those that look urgent go first.
 *
 *     listed ──▶ read ──▶ judged ──▶ recorded
 *                     └── the next batch is read meanwhile
 *
 * Requests that a process was reading at its end are interrupted. One of them may have ended it. The next start
 * therefore reads one round of others first, then the interrupted ones one by one, then the rest.
 *
 * A list begins where the list before it has ended. Once a second it begins with the oldest request in the store, in
 * case a list missed one.
 *
 * In a flood the relay stores first. Routing has a bounded share of the time, and catches up later
 * (docs/adr/0003-accept-before-routing.md).
 */
export class RoutingLoop {
  readonly #round: Round;
  #waiting = new AbortController();
  /** All requests up to this one are taken, as far as is known. */
  #takenUpTo = 0;
  #listedAllAt = Number.NEGATIVE_INFINITY;
  #ahead: Promise<Batch> | undefined;
  /** False in the first round: if the process ends in it, everything that is being read counts as interrupted. */
  #mayReadAhead = false;
  /** A process has ended while it was reading requests. Some of these may still wait. */
  #mayBeInterrupted = false;
  #isCaughtUp = false;
  /** More may wait than a round takes. */
  #isBehind = true;
  /** Lists of urgent requests since the last other one. */
  #urgentLists = 0;
  /** How often the loop was woken. A request that came after a look is found by the next one. */
  #news = 0;

  constructor(private readonly deps: RoutingLoopDeps) {
    this.#round = new Round(deps);
  }

  /** Called when something was accepted. */
  wake = (): void => {
    this.#isCaughtUp = false;
    this.#news += 1;
    this.#waiting.abort(woken);
  };

  /** Called when another relay has left requests in the store. */
  lookAtAll = (): void => {
    this.#listedAllAt = Number.NEGATIVE_INFINITY;
    this.wake();
  };

  /** Whether all known requests are routed, except those that are to be tried again later. */
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
    // Each accepted request wakes the loop. Without news, nothing waits after a list that was not full.
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

  /** Takes the distance in both directions, since the clock may have been set back. */
  #isListDue(ms: number): boolean {
    return Math.abs(this.deps.clock.now() - this.#listedAllAt) >= ms;
  }

  async #begin(limit: number, place: Place, stop: AbortSignal): Promise<Batch> {
    const seen = this.#news;
    const requests = await this.#list(limit, place);
    const isUrgent = place === "urgent";
    const fresh = requests.filter((request) => !hasFailed(request));
    const failed = requests.filter(hasFailed);
    if (requests.length > 0) this.#isCaughtUp = false;
    const count = fresh.reduce((sum, { alerts }) => sum + alerts.length, 0);
    const bytes = fresh.reduce((sum, { body }) => sum + body.length, 0);
    // An earlier process ended before it had read all its interrupted requests.
    if (failed.some(({ alerts }) => alerts.some(({ error }) => error === whyInterrupted)))
      this.#mayBeInterrupted = true;
    if (!isUrgent) this.#takenUpTo = fresh.at(-1)?.alerts.at(-1)?.seq ?? this.#takenUpTo;
    const reading = fresh.length === 0 ? undefined : this.#round.begin(fresh, stop);
    const isFull = isUrgent || count >= limit || bytes >= fullListBytes || failed.length > 0 || this.#mayBeInterrupted;
    return { count, isFull, news: seen, reading, failed, isUrgent };
  }

  async #list(limit: number, place: Place): Promise<UnroutedRequest[]> {
    const { store, clock } = this.deps;
    const after = place === "last" ? this.#takenUpTo : 0;
    const requests = await store.listUnrouted(limit, clock.now(), after, place === "urgent");
    if (place === "start") this.#listedAllAt = clock.now();
    const interrupted = requests.filter((request) => request.isInterrupted);
    if (interrupted.length === 0) return requests;
    await this.#flag(seqsOf(interrupted));
    const others = requests.filter((request) => !request.isInterrupted);
    return others.length > 0 ? others : this.#list(limit, place === "urgent" ? place : "start");
  }

  async #take(limit: number, stop: AbortSignal): Promise<Batch> {
    const begun = this.#ahead;
    this.#ahead = undefined;
    if (begun !== undefined) return begun;
    if (this.#isBehind && this.#urgentLists < mostUrgentLists) {
      const urgent = await this.#begin(limit, "urgent", stop);
      this.#urgentLists += 1;
      // Failed ones go behind a round of others, so the next list has to give them.
      if (urgent.count > 0) return urgent;
    }
    this.#urgentLists = 0;
    // Continues after the last list. Requests that it may have missed are looked for later.
    const isDue = this.#isListDue(this.#isCaughtUp ? pollMs : 2 * pollMs);
    const batch = await this.#begin(limit, isDue ? "start" : "last", stop);
    return batch.count === 0 && this.#isListDue(pollMs) ? this.#begin(limit, "start", stop) : batch;
  }

  /** Nothing else is read meanwhile: if the process ends, all that is being read counts as failed. */
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
    const isBetweenUrgent = this.#urgentLists === mostUrgentLists;
    const batch = await this.#take(limit, stop);
    const isAlone = batch.failed.length > 0 || batch.isUrgent || isBetweenUrgent || this.#mayBeInterrupted;
    this.#isBehind = batch.isFull;
    if (readsAhead && this.#mayReadAhead && !isAlone && batch.count >= limit && !this.#isListDue(2 * pollMs)) {
      this.#ahead = this.#begin(limit, "last", stop);
      this.#ahead.catch(() => {});
    }
    await batch.reading?.finish();
    this.#mayReadAhead = true;
    if (batch.failed.length > 0 && !stop.aborted) {
      // A list has only one failed request, so the next list is due at once.
      this.#listedAllAt = Number.NEGATIVE_INFINITY;
      await this.#round.begin(batch.failed, stop).finish();
    }
    if (this.#ahead === undefined) await this.#readInterrupted(stop);
    return batch;
  }

  /** Drops what was read ahead: it must not overtake alerts that could not be recorded. The store still has both. */
  async #beginAnew(): Promise<void> {
    const begun = this.#ahead;
    this.#ahead = undefined;
    this.#listedAllAt = Number.NEGATIVE_INFINITY;
    this.#isBehind = true;
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

  /** Flags the requests that the last process was reading at its end. One of them may have ended it. */
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
