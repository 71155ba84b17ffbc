import type { NotificationShape } from "./options.ts";
import type { SandboxNotification, WatchSubscription } from "./state.ts";

export interface AlertEvent {
  id: string;
  accountId: string;
  subscriptionId: string;
  at: number;
  status: "firing" | "resolved";
  severity: WatchSubscription["severity"];
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

type NotificationBody = Pick<SandboxNotification, "contentType" | "body" | "eventIds" | "summary">;

const batchSize = 50;

/** Only `batch` joins several events in one body. */
export function composeNotifications(shape: NotificationShape, events: readonly AlertEvent[]): NotificationBody[] {
  const size = shape === "batch" ? batchSize : 1;
  return Array.from({ length: Math.ceil(events.length / size) }, (_, index) => {
    const part = events.slice(index * size, (index + 1) * size);
    const [event] = part as [AlertEvent];
    return {
      ...write(shape, event, part),
      eventIds: part.map(({ id }) => id),
      summary: part.length === 1 ? describeEvent(event) : `${part.length} alerts`,
    };
  });
}

/** @param part all events, for `batch` */
function write(shape: NotificationShape, event: AlertEvent, part: AlertEvent[]): { contentType: string; body: string } {
  const asJson = (body: object) => ({ contentType: "application/json", body: JSON.stringify(body) });
  switch (shape) {
    case "flat":
      return asJson(asFlat(event));
    case "nested":
      return asJson(asNested(event));
    case "batch":
      return asJson(asBatch(part));
    case "minimal":
      return asJson({ key: event.metricKey, value: event.value });
    case "text":
      return { contentType: "text/plain; charset=utf-8", body: describeEvent(event) };
    case "form": {
      const form = new URLSearchParams();
      for (const [name, value] of Object.entries(asFlat(event))) form.set(name, String(value));
      return { contentType: "application/x-www-form-urlencoded", body: form.toString() };
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
  const { metricKey: key, metricName: name, chain: chainId, unit, tokenSymbol: symbol, tokenAddress: address } = event;
  return {
    id: event.id,
    type: event.status === "firing" ? "alert.triggered" : "alert.resolved",
    createdAt: new Date(event.at).toISOString(),
    data: {
      severity: event.severity,
      subscription: { id: event.subscriptionId, condition: { kind: event.condition, threshold: event.threshold } },
      metric: { key, name, chainId, unit, token: { symbol, address } },
      value: { current: event.value, previous: event.previousValue },
      link: event.link,
    },
  };
}

function asBatch(events: readonly AlertEvent[]): object {
  const alerts = events.map((event) => {
    const { status, severity, chain, tokenSymbol: token, metricKey: metric, metricName: alertname } = event;
    const [value, previousValue, threshold] = [event.value, event.previousValue, event.threshold].map(String);
    const startsAt = new Date(event.at).toISOString();
    return {
      status,
      labels: { alertname, severity, chain, token, metric },
      annotations: { summary: titleOf(event), value, previousValue, threshold },
      startsAt,
      ...(status === "resolved" && { endsAt: startsAt }),
      generatorURL: event.link,
      fingerprint: event.id,
    };
  });
  const isFiring = alerts.some(({ status }) => status === "firing");
  return { version: "4", receiver: "webhook", status: isFiring ? "firing" : "resolved", alerts };
}

function titleOf(event: AlertEvent): string {
  const turn = event.status === "firing" ? describeLimit(event) : "back to normal";
  return `${event.tokenSymbol} ${event.metricName}: ${turn}`;
}

function describeLimit({ condition, threshold }: AlertEvent): string {
  return condition === "change_percent" ? `moved ${threshold} % or more` : `${condition} ${threshold}`;
}
