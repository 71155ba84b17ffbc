import type { Alert } from "../../core/alert.ts";
import type { ChannelType } from "../../core/delivery.ts";
import type { ClaimedDelivery } from "../../core/delivery-job.ts";
import type { Document } from "../../core/document.ts";
import type { Json } from "../../core/json.ts";
import type { Log } from "../../core/log.ts";
import type { Message, MessageForm, WebhookData } from "../../core/message.ts";
import type { DigestContext, MessageContext, Rendering } from "../../core/message-context.ts";
import type { Destination } from "../../core/rules.ts";
import { isGoodNews } from "../plan/plan-claim.ts";

/** What of a delivery its message is made from. */
export interface MessageSource
  extends Pick<
    ClaimedDelivery,
    | "id"
    | "digestId"
    | "alertId"
    | "alertSeq"
    | "origin"
    | "receivedAt"
    | "facts"
    | "status"
    | "purpose"
    | "ambiguous"
    | "form"
  > {
  /** Of the sender, for channels that carry it. */
  payload?: Json;
}

/** Makes the messages of a claim. A fault in rendering costs the looks of a message, as far as there is any way left. */
export interface Composer {
  alert(delivery: MessageSource, alert: Alert, telling: MessageContext, destination: Destination): Message[];
  digest(
    deliveries: MessageSource[],
    telling: DigestContext,
    form: MessageForm,
    destination: Destination,
  ): Message[];
}

export function createComposer(deps: { rendering: Rendering; log: Log; publicUrl?: string }): Composer {
  const { rendering, log, publicUrl } = deps;

  function render(
    channel: ChannelType,
    compose: () => Document,
    options: { form: MessageForm; timeZone: string; data?: WebhookData },
    alert: Alert,
  ): Message[] {
    try {
      return rendering.renderDocument(channel, compose(), options);
    } catch (error) {
      log.error("rendering.failed", { alert: alert.id, channel, error: errorName(error) });
      return rendering.renderDocument(channel, bareDocument(alert), { ...options, form: "plain" });
    }
  }

  function dataOf(type: WebhookData["type"], deliveries: MessageSource[], now: number): WebhookData {
    return {
      type,
      deliveryId: deliveries[0]?.digestId ?? deliveries[0]?.id ?? "",
      at: now,
      repeat: deliveries.some((delivery) => delivery.ambiguous > 0),
      silent: deliveries.every(isGoodNews),
      alerts: deliveries.map((delivery) => ({
        id: delivery.alertId,
        receivedAt: delivery.receivedAt,
        title: delivery.facts.title,
        severity: delivery.facts.severity,
        status: delivery.facts.status,
        facts: { ...delivery.facts },
        payload: delivery.payload,
        url: publicUrl === undefined ? undefined : `${publicUrl}/alerts/${delivery.alertId}`,
      })),
    };
  }

  return {
    alert(delivery, alert, telling, destination) {
      const type = alert.origin === "notice" ? "notice" : "alert";
      const data = destination.type === "webhook" ? dataOf(type, [delivery], telling.now) : undefined;
      const options = { form: delivery.form, timeZone: destination.timeZone, data };
      return render(destination.type, () => rendering.composeAlert(alert, telling), options, alert);
    },
    digest(deliveries, telling, form, destination) {
      const alerts = deliveries.map(alertOf);
      const data = destination.type === "webhook" ? dataOf("digest", deliveries, telling.now) : undefined;
      const options = { form, timeZone: destination.timeZone, data };
      return render(
        destination.type,
        () => rendering.composeDigest(alerts, telling),
        options,
        alerts[0] as Alert,
      );
    },
  };
}

export function alertOf(delivery: MessageSource): Alert {
  return {
    id: delivery.alertId,
    seq: delivery.alertSeq,
    origin: delivery.origin,
    receivedAt: delivery.receivedAt,
    facts: delivery.facts,
  };
}

function bareDocument(alert: Alert): Document {
  const { title, severity, status } = alert.facts;
  return {
    subject: title.replace(/\s+/g, " ").slice(0, 200),
    severity,
    status,
    blocks: [
      { kind: "heading", inlines: [{ kind: "bold", text: title }] },
      { kind: "note", inlines: [{ kind: "text", text: `Alert ${alert.id}` }] },
    ],
  };
}

function errorName(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 300) : typeof error;
}
