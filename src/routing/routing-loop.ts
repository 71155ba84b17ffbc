import type { RoutingDesk, UnroutedRequest } from "../core/ports/routing-desk.ts";
import { createRound, type Round, type RoundDeps } from "./round.ts";

export interface RoutingLoopDeps extends Omit<RoundDeps, "store"> {
  store: RoundDeps["store"] & Pick<RoutingDesk, "listUnrouted">;
  /** Whether alerts come in so fast that accepting must not wait for routing. */
  isFlooded(): boolean;
}

export interface RoutingLoop {
  /** Something was accepted: look at once. */
  wake(): void;
  counters: Round["counters"];
  /** Runs until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}

const batchSize = 100;
/**
 * Rounds begin at least this far apart: alerts that come one after another share a round and its commits, and each is
 * answered behind its own sync instead of behind the rounds of those before it. One that comes alone is routed at
 * once.
 */
const roundMs = 5;
/**
 * What a round is taken for at most, so that a clock that was set forward, or a body that took long, puts nothing
 * off.
 */
const longestRoundMs = 100;
/** In a flood: small batches, so that accepting gets its turn between two, and at most this share of the time. */
const floodBatchSize = 25;
const floodShare = 0.1;
/** The safety net under a lost signal, and the wait after a store that refused. */
const pollMs = 1_000;

/**
 * Takes what was accepted through reading and the rules, round after round (round.ts).
 *
 * Reading an alert costs several times what storing it does. In a flood the relay stores first: routing goes on, with a
 * bounded share of the time, and catches up when the flood is over (docs/adr/0003-accept-before-routing.md).
 */
export function createRoutingLoop(deps: RoutingLoopDeps): RoutingLoop {
  const { store, journal, clock, log } = deps;
  const round = createRound(deps);
  let waiting = new AbortController();

  /** `isFull`: there may be more at once. */
  async function routeSome(limit: number, stop: AbortSignal): Promise<{ count: number; isFull: boolean }> {
    const requests = await store.listUnrouted(limit, clock.now());
    const hasFailed = ({ alerts }: UnroutedRequest) => alerts.some(({ failures }) => failures > 0);
    const fresh = requests.filter((request) => !hasFailed(request));
    const failed = requests.filter(hasFailed);
    // What has failed before is read when all others are routed and on disk.
    for (const some of [fresh, failed]) if (some.length > 0 && !stop.aborted) await round.route(some, stop);
    const count = requests.reduce((sum, { alerts }) => sum + alerts.length, 0);
    return { count, isFull: count >= limit || failed.length > 0 };
  }

  /** Reading one of them may have been the death of the last process. */
  async function flagInterrupted(): Promise<void> {
    const { interrupted } = journal;
    if (interrupted.length > 0) {
      log.warn("routing.was_interrupted", { alerts: interrupted.length });
      await store.recordRoutingFailure(interrupted, "Tocsin ended while it was reading this", clock.now());
    }
    journal.write([]);
  }

  function report(error: unknown): void {
    log.error("routing.failed", { error: String(error).slice(0, 300) });
  }

  return {
    counters: round.counters,
    wake() {
      waiting.abort();
    },
    async run(stop) {
      stop.addEventListener("abort", () => waiting.abort(), { once: true });
      for (let isFlagged = false; !isFlagged && !stop.aborted; ) {
        try {
          await flagInterrupted();
          isFlagged = true;
        } catch (error) {
          report(error);
          await clock.sleep(pollMs, stop);
        }
      }
      while (!stop.aborted) {
        waiting = new AbortController();
        const flooded = deps.isFlooded();
        const limit = flooded ? floodBatchSize : batchSize;
        const startedAt = clock.now();
        const { count, isFull } = await routeSome(limit, stop).catch((error: unknown) => {
          report(error);
          return { count: 0, isFull: false };
        });
        const tookMs = Math.min(Math.max(1, clock.now() - startedAt), longestRoundMs);
        if (flooded) await clock.sleep(tookMs * (1 / floodShare - 1), stop);
        else if (!isFull) {
          await clock.sleep(pollMs, waiting.signal);
          // Bounded, since the clock may have been set back meanwhile.
          const restMs = Math.min(roundMs, startedAt + roundMs - clock.now());
          if (count > 0) await clock.sleep(restMs, stop);
        }
      }
    },
  };
}
