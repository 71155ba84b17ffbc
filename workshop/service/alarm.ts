import { z } from "zod";
import { AppError } from "../../src/core/errors.ts";
import type { Metric } from "./catalogue.ts";
import { roundTo } from "./market.ts";
import type { AlertEvent } from "./notification.ts";
import type { ServiceSandbox } from "./service.ts";
import { type SandboxAccount, severities, severitySchema, type WatchSubscription } from "./state.ts";

/**
 * A manual alert. Absent parts come from the market. A repeat and a resolution keep the condition of the last manual
 * alert, as a subscription would.
 */
export const fireInput = z.strictObject({
  accountId: z.string().optional(),
  metricKey: z.string().optional(),
  /** Default firing. */
  status: z.enum(["firing", "resolved"]).optional(),
  severity: severitySchema.optional(),
  value: z.number().optional(),
  previousValue: z.number().optional(),
  threshold: z.number().optional(),
  /** Default `above` or `below`, to agree with value, threshold and status. */
  condition: z.string().max(100).optional(),
});
export type FireInput = z.infer<typeof fireInput>;

/** Watches the subscriptions' conditions and makes events of their turns. */
export class Alarm {
  /** The condition of each manual alert, as a subscription would have. */
  readonly #manual = new Map<string, { condition: "above" | "below"; threshold: number }>();
  #lookedAt: number;

  constructor(private readonly sandbox: ServiceSandbox) {
    this.#lookedAt = sandbox.settings.now();
  }

  watch(): void {
    const previousAt = this.#lookedAt;
    this.#lookedAt = this.sandbox.settings.now();
    for (const account of this.sandbox.state.accounts) {
      const events = account.subscriptions.flatMap((subscription) => this.#look(account, subscription, previousAt));
      if (events.length > 0) this.sandbox.notifier.notify(account, events);
    }
  }

  /** Throws `AppError` "not_found" for an unknown account or metric. */
  fire(input: FireInput = {}): AlertEvent {
    const { notifier, accounts } = this.sandbox;
    const event = this.#compose(input);
    notifier.notify(accounts.getAccount(event.accountId), [event]);
    return event;
  }

  /** This many events at once, on as many metrics. */
  storm(count: number, accountId?: string): AlertEvent[] {
    const events = Array.from({ length: count }, (_, index) =>
      this.#compose({ accountId, severity: severities[index % severities.length] }),
    );
    const { notifier, accounts } = this.sandbox;
    notifier.notify(accounts.getAccount(accountId), events);
    return events;
  }

  #look(account: SandboxAccount, subscription: WatchSubscription, previousAt: number): AlertEvent[] {
    const { id: subscriptionId, metricKey, condition, severity } = subscription;
    const metric = this.sandbox.catalogue.findMetric(metricKey);
    // A state from a larger catalogue may have unknown metrics.
    if (metric === undefined) return [];
    const { holds, ...sight } = this.#measure(metric, condition, previousAt);
    if (holds === subscription.isFiring) return [];
    subscription.isFiring = holds;
    subscription.changedAt = this.#lookedAt;
    const kind = { subscriptionId, status: holds ? "firing" : "resolved", severity } as const;
    return [this.#describe(account, metric, kind, { condition: condition.kind, ...sight })];
  }

  /** Compares the value with the last look, or with a window ago. `speed` shortens the window, like all times. */
  #measure(metric: Metric, condition: WatchSubscription["condition"], previousAt: number) {
    const { market, settings } = this.sandbox;
    const valueAt = (at: number) => market.metricValue(metric, at);
    const value = valueAt(this.#lookedAt);
    if (condition.kind === "change_percent") {
      const { percent: threshold, windowMs } = condition;
      const previousValue = valueAt(this.#lookedAt - windowMs / settings.speed);
      const change = previousValue === 0 ? 0 : Math.abs(value / previousValue - 1) * 100;
      return { value, previousValue, threshold, holds: change >= threshold };
    }
    const { threshold } = condition;
    const holds = condition.kind === "above" ? value > threshold : value < threshold;
    return { value, previousValue: valueAt(previousAt), threshold, holds };
  }

  #compose(input: FireInput): AlertEvent {
    const { catalogue, accounts, settings } = this.sandbox;
    const { status = "firing", severity = "warning" } = input;
    const account = accounts.getAccount(input.accountId);
    const metric = input.metricKey === undefined ? this.#anyMetric() : catalogue.getMetric(input.metricKey);
    const draw = settings.random();
    const { value, threshold, condition } = this.#chooseNumbers(input, metric, status === "firing", draw);
    // The value was on the other side of the threshold before this turn.
    const before = threshold * (1 + (value > threshold ? -1 : 1) * (0.01 + 0.08 * draw));
    const previousValue = input.previousValue ?? roundTo(before, 8);
    const kind = { subscriptionId: "manual", status, severity };
    return this.#describe(account, metric, kind, { condition, value, previousValue, threshold });
  }

  #describe(
    { id: accountId }: SandboxAccount,
    metric: Metric,
    { subscriptionId, status, severity }: Pick<AlertEvent, "subscriptionId" | "status" | "severity">,
    sight: Pick<AlertEvent, "condition" | "value" | "previousValue" | "threshold">,
  ): AlertEvent {
    const id = this.sandbox.accounts.newId("evt");
    return {
      ...{ id, accountId, subscriptionId, at: this.sandbox.settings.now(), status, severity },
      ...{ metricKey: metric.key, metricName: metricNames[metric.kind], unit: unitOfMetric(metric) },
      ...{ chain: metric.chainId, tokenSymbol: metric.token.symbol, tokenAddress: metric.token.address },
      ...sight,
      link: `${this.sandbox.url}/?event=${id}`,
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
    const { chainIds, metricCount } = catalogue;
    const chainId = chainIds[Math.floor(settings.random() * chainIds.length)] ?? "eth";
    // The first chain has the most metrics. A chain without this ordinal gives its first metric.
    const ordinal = Math.floor(settings.random() * (metricCount / chainIds.length));
    const found = catalogue.metricAt(chainId, ordinal) ?? catalogue.metricAt(chainId, 0);
    if (found === undefined) throw new AppError("not_found", `The sandbox has no metric on ${chainId}`);
    return found;
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
