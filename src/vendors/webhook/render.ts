import { writeJson } from "../../core/json.ts";
import type { Document, MessageData, MessageForm } from "../../core/message.ts";
import { isInstant, type TimeFormat } from "../../ground/time/time-format.ts";
import { layOut, writePlainText } from "../layout/layout.ts";

/** `body`: the JSON text, signed and sent byte for byte. */
export type WebhookMessage = ReturnType<typeof renderWebhook>;

/**
 * The form of Standard Webhooks (`type`, `timestamp`, `data`), times in ISO 8601 in UTC. The plain form has no facts
 * and no payload, as the receiver may have refused their size or content.
 */
export function renderWebhook(document: Document, times: TimeFormat, form: MessageForm, data: MessageData | undefined) {
  const words = { subject: document.subject, text: writePlainText(layOut(document, times)) };
  if (data === undefined) {
    const { severity, status } = document;
    return { kind: "webhook" as const, body: writeJson({ type: "notice", data: { severity, status, ...words } }) };
  }
  return {
    kind: "webhook" as const,
    body: writeJson({
      type: data.type,
      timestamp: isoTime(data.at),
      data: {
        deliveryId: data.deliveryId,
        repeat: data.repeat,
        silent: data.silent,
        ...(data.history && { history: { ...data.history, firstAt: isoTime(data.history.firstAt) } }),
        ...words,
        alerts: data.alerts.map((alert) => writeAlert(alert, form)),
      },
    }),
  };
}

function writeAlert(alert: MessageData["alerts"][number], form: MessageForm): Record<string, unknown> {
  const { id, title, severity, status, url, receivedAt, facts, payload } = alert;
  const occurredAt = typeof facts.occurredAt === "number" ? isoTime(facts.occurredAt) : facts.occurredAt;
  return {
    id,
    title,
    severity,
    status,
    url,
    receivedAt: isoTime(receivedAt),
    ...(form !== "plain" && { facts: { ...facts, occurredAt }, payload }),
  };
}

function isoTime(at: number): string | undefined {
  return isInstant(at) ? new Date(at).toISOString() : undefined;
}
