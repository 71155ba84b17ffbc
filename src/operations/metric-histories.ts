import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { HistoryPoint, MetricHistoryService } from "../core/ports/metric-history.ts";
import { withTimeLimit } from "../ground/net/time-limit.ts";

export interface MetricHistoriesDeps {
  service: Pick<MetricHistoryService, "lookAtRecords">;
  clock: Pick<Clock, "now">;
  log: Log;
  /** From the asking to the answer, waiting included. Default 2.5 s. */
  timeLimitMs?: number;
}

export interface MetricHistories {
  /**
   * The last seven days of a metric, by time; undefined when the service does not say, or may not be asked now. Never
   * rejects: a history decorates.
   */
  read(key: string): Promise<readonly HistoryPoint[] | undefined>;
}

const weekMs = 7 * 24 * 60 * 60 * 1000;
/** What was heard is shown again for so long, and a failure too: a page that is looked at again asks nothing. */
const keepMs = 5 * 60_000;
const keepFailureMs = 60_000;
const mostKept = 100;
/** The account's other duties, the watch over it among them, ask with the same key. */
const mostWaiting = 4;
const mostAnHour = 120;
const hourMs = 60 * 60_000;
/** A week of seconds would take the memory of all others. */
const mostPoints = 20_000;

interface Known {
  until: number;
  points?: readonly HistoryPoint[];
}

/** Asks for one history at a time, remembers what it heard, and asks no more than so often. */
export function createMetricHistories(deps: MetricHistoriesDeps): MetricHistories {
  const { service, clock, log, timeLimitMs = 2_500 } = deps;
  /** The one that was asked for last stands last. */
  const known = new Map<string, Known>();
  const underWay = new Map<string, Promise<readonly HistoryPoint[] | undefined>>();
  let last: Promise<unknown> = Promise.resolve();
  let asked: number[] = [];

  function remember(key: string, points: readonly HistoryPoint[] | undefined): void {
    known.delete(key);
    known.set(key, { until: clock.now() + (points === undefined ? keepFailureMs : keepMs), points });
    for (const oldest of known.keys()) {
      if (known.size <= mostKept) break;
      known.delete(oldest);
    }
  }

  function mayAsk(): boolean {
    asked = asked.filter((at) => at > clock.now() - hourMs);
    return underWay.size < mostWaiting && asked.length < mostAnHour;
  }

  async function ask(key: string): Promise<readonly HistoryPoint[] | undefined> {
    const before = last;
    try {
      return await withTimeLimit(timeLimitMs, undefined, async ({ signal }) => {
        const call = before.then(() => {
          signal.throwIfAborted();
          asked.push(clock.now());
          const now = clock.now();
          return service.lookAtRecords({ key, fromAt: now - weekMs, toAt: now }, { signal });
        });
        last = call.catch(() => {});
        const { points } = await Promise.race([call, whenAborted(signal)]);
        const kept = points.length > mostPoints ? points.slice(-mostPoints) : points;
        remember(key, kept);
        return kept;
      });
    } catch (error) {
      log.info("metric_history.failed", { reason: error instanceof AppError ? error.code : "timeout" });
      remember(key, undefined);
      return undefined;
    }
  }

  return {
    read(key) {
      const found = known.get(key);
      if (found !== undefined && found.until > clock.now()) return Promise.resolve(found.points);
      const call = underWay.get(key);
      if (call !== undefined) return call;
      if (!mayAsk()) return Promise.resolve(undefined);
      const started = ask(key).finally(() => underWay.delete(key));
      underWay.set(key, started);
      return started;
    },
  };
}

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
