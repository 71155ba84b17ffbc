import type { HistoryPoint, MetricHistoryService } from "../core/ports/metric-history.ts";
import { createQuestions, type Questions, type QuestionsDeps } from "./questions.ts";

export interface MetricHistoriesDeps extends QuestionsDeps {
  service: Pick<MetricHistoryService, "lookAtRecords">;
  /** The time limit of a question, with its wait. Default 2.5 s. */
  timeLimitMs?: number;
}

/** The last seven days of a metric, by time. Pictures and market lines share one question. */
export type MetricHistories = Questions<readonly HistoryPoint[]>;

const weekMs = 7 * 24 * 60 * 60 * 1000;
/** A week with a value for each second would take the memory of all others. */
const mostPoints = 20_000;

/** 120 calls an hour: the account's other duties, such as the watch over it, use the same key. */
export function createMetricHistories({ service, timeLimitMs, ...deps }: MetricHistoriesDeps): MetricHistories {
  return createQuestions(deps, {
    event: "metric_history.failed",
    timeLimitMs,
    async ask(key, options) {
      const now = deps.clock.now();
      const { points } = await service.lookAtRecords({ key, fromAt: now - weekMs, toAt: now }, options);
      return points.length > mostPoints ? points.slice(-mostPoints) : points;
    },
  });
}
