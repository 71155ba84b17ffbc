import type { Metric } from "./catalogue.ts";
import type { Market } from "./market.ts";
import type { AlertEvent } from "./notification.ts";
import type { SandboxAccount, WatchCondition, WatchSubscription } from "./state.ts";

/** Names for people; the interface shows none. */
export const metricNames = {
  token_total_tvl: "total TVL",
  token_price: "price",
  pool_h24_volume: "pool 24h volume",
  pool_price: "pool price",
  pool_total_tvl: "pool TVL",
} as const satisfies Record<Metric["kind"], string>;

export function unitOfMetric(metric: Metric): string {
  return metric.kind === "pool_price" ? (metric.pool?.quote.symbol ?? "") : "USD";
}

/** What a look at one subscription sees. */
export interface Sight {
  value: number;
  /** The value that the condition compares with: at the last look, or a window ago. */
  previousValue: number;
  threshold: number;
  holds: boolean;
}

/** Whether the condition holds at the instant. `speed` shortens the window of `change_percent` as it does all times. */
export function lookAt(
  market: Market,
  metric: Metric,
  condition: WatchCondition,
  times: { at: number; previousAt: number; speed: number },
): Sight {
  const value = market.metricValue(metric, times.at);
  switch (condition.kind) {
    case "above":
    case "below": {
      const { threshold } = condition;
      const holds = condition.kind === "above" ? value > threshold : value < threshold;
      return { value, previousValue: market.metricValue(metric, times.previousAt), threshold, holds };
    }
    case "change_percent": {
      const previousValue = market.metricValue(metric, times.at - condition.windowMs / times.speed);
      const change = previousValue === 0 ? 0 : Math.abs(value / previousValue - 1) * 100;
      return { value, previousValue, threshold: condition.percent, holds: change >= condition.percent };
    }
    default:
      return condition satisfies never;
  }
}

/** The event that tells a turn, for the account's outputs. */
export function describeTurn(
  subscription: WatchSubscription,
  metric: Metric,
  sight: Sight,
  facts: { id: string; account: SandboxAccount; at: number; link: string },
): AlertEvent {
  return {
    id: facts.id,
    accountId: facts.account.id,
    subscriptionId: subscription.id,
    at: facts.at,
    status: sight.holds ? "firing" : "resolved",
    severity: subscription.severity,
    metricKey: metric.key,
    metricName: metricNames[metric.kind],
    unit: unitOfMetric(metric),
    chain: metric.chainId,
    tokenSymbol: metric.token.symbol,
    tokenAddress: metric.token.address,
    condition: subscription.condition.kind,
    value: sight.value,
    previousValue: sight.previousValue,
    threshold: sight.threshold,
    link: facts.link,
  };
}
