import type { Now, Random } from "../../src/core/clock.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Accounts } from "./accounts.ts";
import type { Catalogue, Metric } from "./catalogue.ts";
import { type Market, roundTo } from "./market.ts";
import type { AlertEvent } from "./notification.ts";
import type { Notifier } from "./notifier.ts";
import type { SandboxAccount, SandboxState, WatchCondition, WatchSubscription } from "./state.ts";

/** A manual alert; what is absent is filled in from the market. */
export interface FireInput {
  /** Default the first account. */
  accountId?: string;
  /** Default any metric. */
  metricKey?: string;
  /**
   * Default firing. A repeat and a resolution keep the condition of the manual alert before, as a subscription would.
   */
  status?: AlertEvent["status"];
  /** Default warning. */
  severity?: AlertEvent["severity"];
  value?: number;
  previousValue?: number;
  threshold?: number;
  /** Default `above` or `below`, whichever agrees with value, threshold and status. */
  condition?: string;
}

/** What a manual alert was about: the condition that a subscription would have. */
interface ManualCondition {
  condition: "above" | "below";
  threshold: number;
}

/** Watches the subscriptions' conditions and turns what changes into events. */
export interface Alarm {
  /** Looks at every subscription once; each turn becomes an event. */
  watch(): AlertEvent[];
  /** One manual event. Throws `AppError` "not_found" for an unknown account or metric. */
  fire(input?: FireInput): AlertEvent;
  /** That many events at once, on as many metrics. */
  storm(count: number, accountId?: string): AlertEvent[];
}

export function createAlarm(
  deps: {
    state: SandboxState;
    accounts: Accounts;
    catalogue: Catalogue;
    market: Market;
    notifier: Notifier;
    now: Now;
    random: Random;
    /** Where a reader sees the event. */
    linkOf: (eventId: string) => string;
    changed: () => void;
  },
  options: { speed: number },
): Alarm {
  const { state, accounts, catalogue, market, notifier, now, random } = deps;
  let lookedAt = now();
  const manual = new Map<string, ManualCondition>();

  function watch(): AlertEvent[] {
    const times = { at: now(), previousAt: lookedAt, speed: options.speed };
    lookedAt = times.at;
    return state.accounts.flatMap((account) => {
      const events: AlertEvent[] = [];
      for (const subscription of account.subscriptions) {
        const metric = catalogue.findMetric(subscription.metricKey);
        // A state kept from a larger catalogue may watch what is not there any more.
        if (metric === undefined) continue;
        const sight = lookAt(market, metric, subscription.condition, times);
        if (sight.holds === subscription.isFiring) continue;
        subscription.isFiring = sight.holds;
        subscription.changedAt = times.at;
        const id = accounts.newId("evt");
        events.push(describeTurn(subscription, metric, sight, { id, account, at: times.at, link: deps.linkOf(id) }));
      }
      if (events.length > 0) {
        deps.changed();
        notifier.notify(account, events);
      }
      return events;
    });
  }

  function compose(input: FireInput): AlertEvent {
    const metric = input.metricKey === undefined ? anyMetric() : catalogue.findMetric(input.metricKey);
    if (metric === undefined) {
      throw new AppError("not_found", `The sandbox has no metric ${input.metricKey}`, {
        hint: "GET /alerting/metrics lists the keys",
      });
    }
    const id = accounts.newId("evt");
    const isFiring = (input.status ?? "firing") === "firing";
    const draw = random();
    const { value, threshold, condition } = chooseNumbers(input, metric, isFiring, draw);
    const isOver = value > threshold;
    return {
      id,
      accountId: accounts.getAccount(input.accountId).id,
      subscriptionId: "manual",
      at: now(),
      status: isFiring ? "firing" : "resolved",
      severity: input.severity ?? "warning",
      ...factsOf(metric),
      condition,
      value,
      // On the other side of the threshold, since this is a turn.
      previousValue: input.previousValue ?? roundTo(threshold * (1 + (isOver ? -1 : 1) * (0.01 + 0.08 * draw)), 8),
      threshold,
      link: deps.linkOf(id),
    };
  }

  function chooseNumbers(
    input: FireInput,
    metric: Metric,
    isFiring: boolean,
    draw: number,
  ): { value: number; threshold: number; condition: string } {
    const known = manual.get(metric.key);
    const isFree = input.threshold === undefined && input.condition === undefined;
    if (known !== undefined && isFree) {
      const isOver = (known.condition === "above") === isFiring;
      // Across the threshold, wherever the market is.
      const value = input.value ?? roundTo(known.threshold * (1 + (isOver ? 1 : -1) * (0.005 + 0.02 * draw)), 8);
      if (value > known.threshold === isOver) return { value, ...known };
    }
    const value = input.value ?? market.metricValue(metric, now());
    const threshold = input.threshold ?? roundTo(value * (draw < 0.5 ? 0.98 : 1.02), 4);
    const natural = value > threshold === isFiring ? "above" : "below";
    const condition = input.condition ?? natural;
    if (condition === "above" || condition === "below") manual.set(metric.key, { condition, threshold });
    return { value, threshold, condition };
  }

  function anyMetric(): Metric | undefined {
    const chainId = catalogue.chainIds[Math.floor(random() * catalogue.chainIds.length)] ?? "eth";
    // The first chain's share is the largest; an ordinal that another chain lacks falls back to its first metric.
    const ordinal = Math.floor(random() * (catalogue.metricCount / catalogue.chainIds.length));
    return catalogue.metricAt(chainId, ordinal) ?? catalogue.metricAt(chainId, 0);
  }

  return {
    watch,
    fire(input = {}) {
      const event = compose(input);
      notifier.notify(accounts.getAccount(event.accountId), [event]);
      return event;
    },
    storm(count, accountId) {
      const severities = ["critical", "warning", "info"] as const;
      const events = Array.from({ length: count }, (_, index) =>
        compose({ accountId, severity: severities[index % severities.length] }),
      );
      notifier.notify(accounts.getAccount(accountId), events);
      return events;
    },
  };
}

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

/** What every event says of its metric. */
function factsOf(metric: Metric) {
  return {
    metricKey: metric.key,
    metricName: metricNames[metric.kind],
    unit: unitOfMetric(metric),
    chain: metric.chainId,
    tokenSymbol: metric.token.symbol,
    tokenAddress: metric.token.address,
  };
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
function lookAt(
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

/** The event that says how a condition turned, for the account's outputs. */
function describeTurn(
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
    ...factsOf(metric),
    condition: subscription.condition.kind,
    value: sight.value,
    previousValue: sight.previousValue,
    threshold: sight.threshold,
    link: facts.link,
  };
}
