import { createHash } from "node:crypto";
import type { AlertField } from "../../core/alert.ts";
import type { Document, MessageData, MessageForm } from "../../core/message.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { isLinkable } from "../../ground/text/linkable.ts";
import { isInstant, type TimeFormat } from "../../ground/time/time-format.ts";
import { fitPlainText } from "../layout/layout.ts";

/** "Parameters" of https://developer.pagerduty.com/docs/events-api-v2/trigger-events/ */
const maxSummaryUnits = 1024;
const maxKeyUnits = 255;
/** Woken people read only the beginning. PagerDuty allows 512 KB an event. */
const maxTextUnits = 16_000;

export type PagerdutyMessage = ReturnType<typeof renderPagerduty>;

/** All alerts of one key share the `dedup_key`: a repeat joins the open incident, and a resolution resolves it. */
export function renderPagerduty(
  document: Document,
  times: TimeFormat,
  form: MessageForm,
  data: MessageData | undefined,
) {
  const text = fitPlainText(document, times, ({ length }) => length <= maxTextUnits);
  const alert = data?.alerts[0];
  const facts: Record<string, unknown> = alert?.facts ?? {};
  const word = (name: string): string | undefined => {
    const value = facts[name];
    return typeof value === "string" && value !== "" ? cut(value, maxKeyUnits) : undefined;
  };
  const fields = Array.isArray(facts.fields) ? (facts.fields as AlertField[]) : [];
  const link = word("link");
  const links = [
    ...(alert?.url === undefined ? [] : [{ href: alert.url, text: "Open in Tocsin" }]),
    ...(link !== undefined && isLinkable(link) ? [{ href: link, text: "The sender's link" }] : []),
  ];
  const details = alert === undefined || form === "plain" ? {} : { alert: alert.id, ...detailsOf(facts, fields) };
  return {
    kind: "pagerduty" as const,
    /** Has no routing key: sending adds it. */
    event: {
      event_action: alert === undefined ? "trigger" : actionOf(document, fields),
      /** Without a key PagerDuty makes one, so every event is its own incident. */
      dedup_key: alert && keyOf(facts.alertKey),
      client: "Tocsin",
      client_url: alert?.url,
      links: links.length === 0 ? undefined : links,
      payload: {
        summary: cut(document.subject, maxSummaryUnits),
        source: word("source") ?? "Tocsin",
        severity: severityOf(document),
        timestamp: alert && isInstant(alert.receivedAt) ? new Date(alert.receivedAt).toISOString() : undefined,
        component: word("token"),
        group: word("chain"),
        class: word("metric"),
        custom_details: { text, ...details },
      },
    },
  };
}

/** A long key becomes its hash, so two long keys stay different. */
function keyOf(alertKey: unknown): string {
  const key = `tocsin:${String(alertKey)}`;
  if (key.length <= maxKeyUnits) return key;
  return `tocsin:${createHash("sha256").update(key).digest("hex")}`;
}

/** An acknowledged alert still fires. Only a field says so: `status: acknowledged`, `event: incident.acknowledged`. */
function actionOf(document: Document, fields: AlertField[]): "trigger" | "acknowledge" | "resolve" {
  if (document.status === "resolved") return "resolve";
  const isAcknowledged = fields.some(
    ({ name, value }) =>
      /^(?:status|state|(?:event_?)?(?:action|type)|event)$/i.test(name) &&
      /(?:^|[^a-z])(?:acknowledged?|acked)$/i.test(value.trim()),
  );
  return isAcknowledged ? "acknowledge" : "trigger";
}

/** An alert without severity may be the worst one. `error` wakes people like `critical`. */
function severityOf({ severity }: Document): "critical" | "error" | "warning" | "info" {
  return severity === "unknown" ? "error" : severity;
}

function detailsOf(facts: Record<string, unknown>, fields: AlertField[]): Record<string, unknown> {
  const names = ["value", "previousValue", "threshold", "unit", "externalId"];
  return {
    ...Object.fromEntries(names.flatMap((name) => (facts[name] === undefined ? [] : [[name, facts[name]]]))),
    ...(fields.length > 0 && { fields: Object.fromEntries(fields.map(({ name, value }) => [name, value])) }),
  };
}
