import type { NotificationShape } from "./options.ts";

export interface AlertEvent {
  id: string;
  accountId: string;
  subscriptionId: string;
  at: number;
  status: "firing" | "resolved";
  severity: "critical" | "warning" | "info";
  metricKey: string;
  metricName: string;
  unit: string;
  chain: string;
  tokenSymbol: string;
  tokenAddress: string;
  /** `above`, `below`, `change_percent`, or the text of a manual alert. */
  condition: string;
  value: number;
  previousValue: number;
  threshold: number;
  link: string;
}

export interface NotificationBody {
  contentType: string;
  body: string;
  eventIds: string[];
  summary: string;
}

const batchSize = 50;

/** Only `batch` joins several events in one body. */
export function composeNotifications(shape: NotificationShape, events: readonly AlertEvent[]): NotificationBody[] {
  if (shape !== "batch") {
    return events.map((event) => ({ ...writeOne(shape, event), eventIds: [event.id], summary: describeEvent(event) }));
  }
  const parts = Array.from({ length: Math.ceil(events.length / batchSize) }, (_, index) =>
    events.slice(index * batchSize, (index + 1) * batchSize),
  );
  return parts.map((part) => ({
    ...asJson(asBatch(part)),
    eventIds: part.map(({ id }) => id),
    summary: part.length === 1 && part[0] ? describeEvent(part[0]) : `${part.length} alerts`,
  }));
}

type Written = Pick<NotificationBody, "contentType" | "body">;

const asJson = (body: object): Written => ({ contentType: "application/json", body: JSON.stringify(body) });

function writeOne(shape: Exclude<NotificationShape, "batch">, event: AlertEvent): Written {
  switch (shape) {
    case "flat":
      return asJson(asFlat(event));
    case "nested":
      return asJson(asNested(event));
    case "minimal":
      return asJson({ key: event.metricKey, value: event.value });
    case "text":
      return { contentType: "text/plain; charset=utf-8", body: describeEvent(event) };
    case "form": {
      const pairs = Object.entries(asFlat(event)).map(([name, value]): [string, string] => [name, String(value)]);
      return { contentType: "application/x-www-form-urlencoded", body: new URLSearchParams(pairs).toString() };
    }
  }
}

/** A sentence for the summary and the messenger output. */
export function describeEvent(event: AlertEvent): string {
  const turn = event.status === "firing" ? event.severity.toUpperCase() : "RESOLVED";
  return (
    `${turn} ${event.tokenSymbol} on ${event.chain}: ${event.metricName} ${event.value} ` +
    `${event.unit} (${describeLimit(event)}), before ${event.previousValue}`
  );
}

function asFlat(event: AlertEvent): Record<string, string | number> {
  const { id, at, accountId: _account, ...facts } = event;
  return { eventId: id, title: titleOf(event), ...facts, timestamp: new Date(at).toISOString() };
}

function asNested(event: AlertEvent): object {
  return {
    id: event.id,
    type: event.status === "firing" ? "alert.triggered" : "alert.resolved",
    createdAt: new Date(event.at).toISOString(),
    data: {
      severity: event.severity,
      subscription: {
        id: event.subscriptionId,
        condition: { kind: event.condition, threshold: event.threshold },
      },
      metric: {
        key: event.metricKey,
        name: event.metricName,
        chainId: event.chain,
        unit: event.unit,
        token: { symbol: event.tokenSymbol, address: event.tokenAddress },
      },
      value: { current: event.value, previous: event.previousValue },
      link: event.link,
    },
  };
}

function asBatch(events: readonly AlertEvent[]): object {
  const isFiring = events.some((event) => event.status === "firing");
  return {
    version: "4",
    receiver: "webhook",
    status: isFiring ? "firing" : "resolved",
    alerts: events.map((event) => ({
      status: event.status,
      labels: {
        alertname: event.metricName,
        severity: event.severity,
        chain: event.chain,
        token: event.tokenSymbol,
        metric: event.metricKey,
      },
      annotations: {
        summary: titleOf(event),
        value: String(event.value),
        previousValue: String(event.previousValue),
        threshold: String(event.threshold),
      },
      startsAt: new Date(event.at).toISOString(),
      ...(event.status === "resolved" ? { endsAt: new Date(event.at).toISOString() } : {}),
      generatorURL: event.link,
      fingerprint: event.id,
    })),
  };
}

function titleOf(event: AlertEvent): string {
  const turn = event.status === "firing" ? describeLimit(event) : "back to normal";
  return `${event.tokenSymbol} ${event.metricName}: ${turn}`;
}

function describeLimit({ condition, threshold }: AlertEvent): string {
  return condition === "change_percent" ? `moved ${threshold} % or more` : `${condition} ${threshold}`;
}
