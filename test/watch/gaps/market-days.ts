import type { GapReport, MissingAlert } from "../../../src/contract/operations.ts";
import type { AlertFacts } from "../../../src/core/alert.ts";
import type { HistoryPoint } from "../../../src/core/ports/metric-history.ts";
import { translateRequest } from "../../../src/intake/translate.ts";
import type { GapEvidence } from "../../../src/watch/gaps/follow-rules.ts";
import { judgeGaps } from "../../../src/watch/gaps/judge-gaps.ts";
import { readSubscriptions } from "../../../src/watch/gaps/read-subscriptions.ts";
import { readSighting } from "../../../src/watch/gaps/sightings.ts";
import { planSubscriptions } from "../../../workshop/service/accounts.ts";
import { Catalogue } from "../../../workshop/service/catalogue.ts";
import { Market } from "../../../workshop/service/market.ts";
import { composeNotifications } from "../../../workshop/service/notification.ts";

const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;
export const firstDay = Date.UTC(2026, 10, 10);

/** An alert as it was sent: what a relay that runs has in its log. */
export interface SentAlert {
  rule: string;
  at: number;
  status: "firing" | "resolved";
  facts: AlertFacts;
}

export interface MarketDays {
  since: number;
  until: number;
  /** As the service lists them. */
  subscriptions: unknown[];
  alerts: SentAlert[];
  histories: Map<string, { points: HistoryPoint[]; unread: number }>;
}

/**
 * Days of the sandbox's market with its own subscriptions above and below a threshold, looked at each second as the
 * sandbox does it, and no HTTP between.
 */
export function liveThrough({
  seed,
  days,
  recordEveryMs = 5 * minute,
}: {
  seed: number;
  days: number;
  recordEveryMs?: number;
}): MarketDays {
  const catalogue = new Catalogue({ seed, metricCount: 1000 });
  const market = new Market({ speed: 1, nudges: () => [] });
  const until = firstDay + days * day;
  const world: MarketDays = { since: firstDay, until, subscriptions: [], alerts: [], histories: new Map() };
  for (const [index, plan] of planSubscriptions(catalogue, market, firstDay).entries()) {
    const { condition, metricKey } = plan;
    const metric = catalogue.findMetric(metricKey);
    if (metric === undefined || condition.kind === "change_percent") continue;
    const rule = `sub_${index}`;
    const createdAt = new Date(firstDay).toISOString();
    world.subscriptions.push({ subscription: { id: rule, ...plan, createdAt }, metric: { key: metricKey } });
    const points: HistoryPoint[] = [];
    for (let at = firstDay; at < until; at += recordEveryMs) points.push({ at, value: market.metricValue(metric, at) });
    world.histories.set(metricKey, { points, unread: 0 });
    let wasHeld = false;
    // The service's looks and its records are not made at the same instants.
    for (let at = firstDay + 317; at < until; at += 1000) {
      const value = market.metricValue(metric, at);
      const holds = condition.kind === "above" ? value > condition.threshold : value < condition.threshold;
      if (holds === wasHeld) continue;
      wasHeld = holds;
      const status = holds ? ("firing" as const) : ("resolved" as const);
      const [body] = composeNotifications("flat", [
        {
          id: `evt_${rule}_${at}`,
          accountId: "acc",
          subscriptionId: rule,
          at,
          status,
          severity: plan.severity ?? "info",
          metricKey,
          metricName: "price",
          unit: "USD",
          chain: metric.chainId,
          tokenSymbol: metric.token.symbol,
          tokenAddress: metric.token.address,
          condition: condition.kind,
          value,
          previousValue: value,
          threshold: condition.threshold,
          link: "http://sandbox.test/",
        },
      ]);
      const [translation] = translateRequest(Buffer.from(body?.body ?? ""), body?.contentType);
      if (translation !== undefined) world.alerts.push({ rule, at, status, facts: translation.facts });
    }
  }
  return world;
}

export function isWithin({ at }: { at: number }, spans: readonly { fromAt: number; toAt: number }[]): boolean {
  return spans.some(({ fromAt, toAt }) => at >= fromAt && at < toAt);
}

/** What the check says of a log that has these alerts. */
export function judgeDays(
  days: MarketDays,
  alerts: readonly SentAlert[],
  changes: Partial<GapEvidence> = {},
): GapReport {
  return judgeGaps({
    since: days.since,
    until: days.until,
    now: days.until,
    subscriptions: readSubscriptions(days.subscriptions),
    histories: days.histories,
    sightings: alerts.map(({ facts, at }) => readSighting(facts, at + 200)),
    downtimes: [],
    ...changes,
  });
}

/** A look of the service may come a moment after the record. */
const lookMs = 2000;

/** An alert that was lost is what the entry says. @param lateMs how long after its record a look may be */
export function isTrue(entry: MissingAlert, lost: readonly SentAlert[], lateMs = lookMs): boolean {
  return lost.some(
    ({ rule, status, at }) =>
      rule === entry.rule && status === entry.status && at > entry.fromAt - lookMs && at <= entry.toAt + lateMs,
  );
}

/** The entry speaks of the time in which this alert was lost. */
export function covers({ rule, fromAt, toAt }: MissingAlert, alert: SentAlert): boolean {
  return rule === alert.rule && alert.at > fromAt - lookMs && alert.at <= toAt + lookMs;
}

/** Whether the records on both sides of a lost alert differ: else it began and ended between two of them. */
export function isVisible(days: MarketDays, { rule, at }: SentAlert): boolean {
  const found = readSubscriptions(days.subscriptions).rules.find(({ name }) => name === rule);
  const points = days.histories.get(found?.metricKey ?? "")?.points ?? [];
  const after = points.findIndex((point) => point.at >= at);
  const sides = [points[after - 1], points[after]].map((point) => (point?.value ?? 0) > (found?.threshold ?? 0));
  return sides[0] !== sides[1];
}

/** The same days of a service that looks at its conditions so seldom: what happens in between it does not see. */
export function lookSeldom(days: MarketDays, everyMs: number): MarketDays {
  const rules = new Map<string, SentAlert[]>();
  for (const alert of days.alerts) rules.set(alert.rule, [...(rules.get(alert.rule) ?? []), alert]);
  const alerts = [...rules.values()].flatMap((turns) => {
    const seen: SentAlert[] = [];
    let next = 0;
    for (let at = days.since + 37_000; at < days.until; at += everyMs) {
      while ((turns[next]?.at ?? Number.POSITIVE_INFINITY) <= at) next += 1;
      const turn = turns[next - 1];
      if (turn === undefined || turn.status === (seen.at(-1)?.status ?? "resolved")) continue;
      seen.push({ ...turn, at, facts: { ...turn.facts, occurredAt: at } });
    }
    return seen;
  });
  return { ...days, alerts: alerts.sort((a, b) => a.at - b.at) };
}
