import type { Clock } from "../../core/clock.ts";
import { AppError, type ErrorCode } from "../../core/errors.ts";
import type { Downtime, GapReport } from "../../core/gaps.ts";
import type { AlertLog, Position } from "../../core/ports/alert-log.ts";
import type { HistoryPoint, MetricHistoryService } from "../../core/ports/metric-history.ts";
import { oneLine } from "../../ground/text/clean.ts";
import { type GapEvidence, judgeGaps } from "./judge-gaps.ts";
import { isMetricKey, readSubscriptions } from "./read-subscriptions.ts";
import { readSighting, type Sighting } from "./sightings.ts";

export interface GapCheckDeps {
  service: MetricHistoryService;
  store: Pick<AlertLog, "listFacts">;
  clock: Clock;
}

export interface GapQuestion {
  /** Default: as far back as the service has records, seven days. Epoch milliseconds. */
  since?: number;
  /** Default: now. */
  until?: number;
  downtimes: readonly Downtime[];
}

export interface GapCheck {
  /** Asks the service, reads the log and compares. Rejects as the store does, and with `cancelled`. */
  check(question: GapQuestion, signal?: AbortSignal): Promise<GapReport>;
}

/** The interface document, section 8: history covers up to seven days. */
export const historyMs = 7 * 24 * 3_600_000;
/** Each costs one call of the service. */
const mostMetrics = 100;
const restBetweenCallsMs = 200;
/** A service that fails so often in a row is not asked any further. */
const mostFailures = 3;
/** The log is read in steps that keep nobody who reads waiting, with rests between. */
const stepSize = 500;
const restMs = 20;
/** What one check holds in memory. */
const mostSightings = 100_000;
const mostKeptPoints = 300_000;
/** Records and alerts may arrive a while after their time. */
const overlapMs = 3_600_000;

/** Keeps what it has read, so that the next check asks for what is new. */
export function createGapCheck({ service, store, clock }: GapCheckDeps): GapCheck {
  const kept = new Map<string, HistoryPoint[]>();
  let sightings = new Map<number, Sighting>();
  let isWhole = true;
  let readUpTo: number | undefined;

  async function readLog(now: number, signal?: AbortSignal): Promise<void> {
    const oldestAt = now - historyMs;
    sightings = new Map([...sightings].filter(([, { receivedAt }]) => receivedAt >= oldestAt));
    const fromAt = Math.max(oldestAt, (readUpTo ?? oldestAt) - overlapMs);
    let before: Position | undefined;
    do {
      throwIfStopped(signal);
      const step = await store.listFacts({ fromAt, before, limit: stepSize });
      for (const { alertSeq, facts, receivedAt, source } of step) {
        // What another sender says is no alert of the account that is asked.
        if (source === undefined && !sightings.has(alertSeq)) sightings.set(alertSeq, readSighting(facts, receivedAt));
      }
      before = step.at(-1)?.position;
      isWhole = sightings.size < mostSightings;
      if (before !== undefined) await clock.sleep(restMs, signal);
    } while (before !== undefined && isWhole);
    readUpTo = now;
  }

  async function readSubscribed(signal?: AbortSignal): Promise<GapEvidence["subscriptions"] & { short?: string }> {
    try {
      const { entries, total = 0 } = await service.lookAtSubscriptions({ signal });
      const short =
        total > entries.length ? `the service says that it has ${total}, and has given ${entries.length}` : undefined;
      return { ...readSubscriptions(entries), short };
    } catch (error) {
      return { failed: explain(error, signal) };
    }
  }

  async function readHistory(key: string, now: number, signal?: AbortSignal): Promise<[HistoryPoint[], number]> {
    const oldestAt = now - historyMs;
    const before = (kept.get(key) ?? []).filter(({ at }) => at >= oldestAt);
    const lastAt = before.at(-1)?.at;
    const fromAt = lastAt === undefined ? oldestAt : lastAt - overlapMs;
    const { points, unread } = await service.lookAtRecords({ key, fromAt, toAt: now }, { signal });
    const firstAt = points[0]?.at ?? Number.POSITIVE_INFINITY;
    const whole = [
      ...before.filter(({ at }) => at < firstAt),
      ...points.filter(({ at }) => at >= oldestAt && at <= now),
    ];
    kept.delete(key);
    const count = [...kept.values()].reduce((sum, { length }) => sum + length, 0);
    if (count + whole.length <= mostKeptPoints) kept.set(key, whole);
    return [whole, unread];
  }

  async function readHistories(keys: string[], now: number, signal?: AbortSignal): Promise<Histories> {
    const histories: Histories = new Map();
    let failures = 0;
    let lastFailure = "";
    for (const key of keys) {
      if (failures >= mostFailures) {
        histories.set(key, lastFailure);
        continue;
      }
      try {
        const [points, unread] = await readHistory(key, now, signal);
        histories.set(key, { points, unread });
        failures = 0;
      } catch (error) {
        lastFailure = explain(error, signal);
        histories.set(key, lastFailure);
        if (!isAboutKey(error)) failures += 1;
      }
      await clock.sleep(restBetweenCallsMs, signal);
      throwIfStopped(signal);
    }
    return histories;
  }

  return {
    async check({ since, until, downtimes }, signal) {
      const now = clock.now();
      await readLog(now, signal);
      const subscriptions = await readSubscribed(signal);
      const all = [...sightings.values()];
      const keys = chooseKeys(subscriptions, all);
      const histories = await readHistories(keys.slice(0, mostMetrics), now, signal);
      const from = Math.max(since ?? 0, now - historyMs);
      const report = judgeGaps({
        since: from,
        until: Math.min(until ?? now, now),
        now,
        subscriptions,
        histories,
        sightings: all,
        downtimes,
      });
      const notes = [
        "short" in subscriptions &&
          subscriptions.short !== undefined && { what: "subscriptions", why: subscriptions.short },
        since !== undefined &&
          since < from && { what: "the time before", why: "the service has no records older than seven days" },
        !isWhole && {
          what: "the time before",
          why: `more than ${mostSightings.toLocaleString("en")} alerts came since`,
        },
      ].filter((note) => note !== false);
      return { ...report, unknown: [...notes, ...report.unknown] };
    },
  };
}

type Histories = Map<string, { points: HistoryPoint[]; unread: number } | string>;

/** Those that alerts name most come first. */
function chooseKeys(subscriptions: GapEvidence["subscriptions"], sightings: readonly Sighting[]): string[] {
  const counts = new Map<string, number>();
  const isReadable = !("failed" in subscriptions);
  if (isReadable) for (const { metricKey } of subscriptions.rules) counts.set(metricKey, 0);
  const revealsMore = !isReadable || subscriptions.unread.length > 0;
  for (const { words } of sightings) {
    for (const word of words) {
      const count = counts.get(word);
      if (count !== undefined) counts.set(word, count + 1);
      else if (revealsMore && isMetricKey(word)) counts.set(word, 1);
    }
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([key]) => key);
}

/** The service does not know this one, which says nothing about the others. */
function isAboutKey(error: unknown): boolean {
  const codes: ErrorCode[] = ["upstream_not_found", "upstream_rejected", "upstream_bad_answer"];
  return error instanceof AppError && codes.includes(error.code);
}

function explain(error: unknown, signal?: AbortSignal): string {
  throwIfStopped(signal);
  if (!(error instanceof AppError)) throw error;
  return oneLine(error.message, 200);
}

function throwIfStopped(signal?: AbortSignal): void {
  if (signal?.aborted) throw new AppError("cancelled", "stopped before it was done");
}
