import { AppError } from "../../src/core/errors.ts";
import type { Metric } from "./catalogue.ts";
import { type Market, roundTo } from "./market.ts";
import type { AlertEvent } from "./notification.ts";
import type { ServiceSandbox } from "./service.ts";
import type { SandboxAccount, WatchCondition, WatchSubscription } from "./state.ts";

/** A manual alert. Absent parts come from the market. */
export interface FireInput {
  accountId?: string;
  metricKey?: string;
  /** Default firing. A repeat and a resolution keep the condition of the last manual alert, as a subscription would. */
  status?: AlertEvent["status"];
  severity?: AlertEvent["severity"];
  value?: number;
  previousValue?: number;
  threshold?: number;
  /** Default `above` or `below`, to agree with value, threshold and status. */
  condition?: string;
}

const severities = ["critical", "warning", "info"] as const;

/** Watches the subscriptions' conditions and makes events of their turns. */
export class Alarm {
  /** The condition of each manual alert, as a subscription would have. */
  readonly #manual = new Map<string, { condition: "above" | "below"; threshold: number }>();
  #lookedAt: number;

  constructor(private readonly sandbox: ServiceSandbox) {
    this.#lookedAt = sandbox.settings.now();
  }

  watch(): void {
    const { state, notifier, settings } = this.sandbox;
    const times = { at: settings.now(), previousAt: this.#lookedAt, speed: settings.speed };
    this.#lookedAt = times.at;
    for (const account of state.accounts) {
      const events = account.subscriptions.flatMap((subscription) => this.#look(account, subscription, times));
      if (events.length === 0) continue;
      this.sandbox.changed();
      notifier.notify(account, events);
    }
  }

  /** Throws `AppError` "not_found" for an unknown account or metric. */
  fire(input: FireInput = {}): AlertEvent {
    const event = this.#compose(input);
    this.#notify(event.accountId, [event]);
    return event;
  }

  /** This many events at once, on as many metrics. */
  storm(count: number, accountId?: string): AlertEvent[] {
    const events = Array.from({ length: count }, (_, index) =>
      this.#compose({ accountId, severity: severities[index % severities.length] }),
    );
    this.#notify(accountId, events);
    return events;
  }

  #notify(accountId: string | undefined, events: AlertEvent[]): void {
    const { notifier, accounts } = this.sandbox;
    notifier.notify(accounts.getAccount(accountId), events);
  }

  #look(account: SandboxAccount, subscription: WatchSubscription, times: Times): AlertEvent[] {
    const { catalogue, market, accounts } = this.sandbox;
    const { metricKey, condition, severity } = subscription;
    const metric = catalogue.findMetric(metricKey);
    // A state from a larger catalogue may have unknown metrics.
    if (metric === undefined) return [];
    const { holds, ...sight } = lookAt(market, metric, condition, times);
    if (holds === subscription.isFiring) return [];
    subscription.isFiring = holds;
    subscription.changedAt = times.at;
    const id = accounts.newId("evt");
    const status = holds ? "firing" : "resolved";
    const facts = { id, accountId: account.id, subscriptionId: subscription.id, at: times.at } as const;
    return [
      {
        ...facts,
        ...{ status, severity },
        ...factsOf(metric),
        condition: condition.kind,
        ...sight,
        link: this.#linkOf(id),
      },
    ];
  }

  #compose(input: FireInput): AlertEvent {
    const { catalogue, accounts, settings } = this.sandbox;
    const metric = input.metricKey === undefined ? this.#anyMetric() : catalogue.getMetric(input.metricKey);
    const id = accounts.newId("evt");
    const status = input.status ?? "firing";
    const draw = settings.random();
    const { value, threshold, condition } = this.#chooseNumbers(input, metric, status === "firing", draw);
    // The value was on the other side of the threshold before this turn.
    const before = threshold * (1 + (value > threshold ? -1 : 1) * (0.01 + 0.08 * draw));
    return {
      ...{ id, accountId: accounts.getAccount(input.accountId).id, subscriptionId: "manual", status },
      at: settings.now(),
      ...{ severity: input.severity ?? "warning", ...factsOf(metric), condition, value },
      ...{ previousValue: input.previousValue ?? roundTo(before, 8), threshold, link: this.#linkOf(id) },
    };
  }

  #chooseNumbers(input: FireInput, metric: Metric, isFiring: boolean, draw: number) {
    const { market, settings } = this.sandbox;
    const known = this.#manual.get(metric.key);
    const isFree = input.threshold === undefined && input.condition === undefined;
    if (known !== undefined && isFree) {
      const isOver = (known.condition === "above") === isFiring;
      // Across the threshold, independent of the market.
      const value = input.value ?? roundTo(known.threshold * (1 + (isOver ? 1 : -1) * (0.005 + 0.02 * draw)), 8);
      if (value > known.threshold === isOver) return { value, ...known };
    }
    const value = input.value ?? market.metricValue(metric, settings.now());
    const threshold = input.threshold ?? roundTo(value * (draw < 0.5 ? 0.98 : 1.02), 4);
    const natural = value > threshold === isFiring ? "above" : "below";
    const condition = input.condition ?? natural;
    if (condition === "above" || condition === "below") this.#manual.set(metric.key, { condition, threshold });
    return { value, threshold, condition };
  }

  #anyMetric(): Metric {
    const { catalogue, settings } = this.sandbox;
    const { random } = settings;
    const { chainIds, metricCount } = catalogue;
    const chainId = chainIds[Math.floor(random() * chainIds.length)] ?? "eth";
    // The first chain has the most metrics. A chain without this ordinal gives its first metric.
    const ordinal = Math.floor(random() * (metricCount / chainIds.length));
    const found = catalogue.metricAt(chainId, ordinal) ?? catalogue.metricAt(chainId, 0);
    if (found === undefined) throw new AppError("not_found", `The sandbox has no metric on ${chainId}`);
    return found;
  }

  #linkOf(eventId: string): string {
    return `${this.sandbox.url}/?event=${eventId}`;
  }
}

/** Names for people. The interface documents none. */
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

interface Times {
  at: number;
  previousAt: number;
  speed: number;
}

/** Compares the value with the last look, or with a window ago. `speed` shortens the window, like all times. */
function lookAt(market: Market, metric: Metric, condition: WatchCondition, { at, previousAt, speed }: Times) {
  const value = market.metricValue(metric, at);
  if (condition.kind === "change_percent") {
    const { percent: threshold, windowMs } = condition;
    const previousValue = market.metricValue(metric, at - windowMs / speed);
    const change = previousValue === 0 ? 0 : Math.abs(value / previousValue - 1) * 100;
    return { value, previousValue, threshold, holds: change >= threshold };
  }
  const { threshold } = condition;
  const holds = condition.kind === "above" ? value > threshold : value < threshold;
  return { value, previousValue: market.metricValue(metric, previousAt), threshold, holds };
}
