import { createHash } from "node:crypto";
import type { AlertField } from "../../core/alert.ts";
import type { Document } from "../../core/document.ts";
import type { Message, MessageData, MessageForm } from "../../core/message.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { isLinkable } from "../../ground/text/linkable.ts";
import { isInstant, type TimeFormat } from "../../ground/time/time-format.ts";
import { fitPlainText } from "../layout/plain-text.ts";

/**
 * "Parameters" of https://developer.pagerduty.com/docs/events-api-v2/trigger-events/ : `payload.summary`, `dedup_key`.
 */
const maxSummaryUnits = 1024;
const maxKeyUnits = 255;
/**
 * Far below the 512 KB of an event ("Size Limits" of https://developer.pagerduty.com/docs/events-api-v2/overview/):
 * who is woken reads the beginning, the page has the rest.
 */
const maxTextUnits = 16_000;

export interface PagerdutyMessage extends Message {
  kind: "pagerduty";
  /** What is sent, without the routing key. */
  event: {
    event_action: "trigger" | "acknowledge" | "resolve";
    /** Absent, PagerDuty makes one: every event is an incident of its own. */
    dedup_key?: string;
    client: string;
    client_url?: string;
    links?: { href: string; text: string }[];
    payload: {
      summary: string;
      source: string;
      /** As in "Parameters" of the page above. */
      severity: "critical" | "error" | "warning" | "info";
      timestamp?: string;
      component?: string;
      group?: string;
      class?: string;
      custom_details: { text: string } & Record<string, unknown>;
    };
  };
}

/**
 * One event of the Events API v2. All alerts of one key share the `dedup_key`, so a repeat joins the incident that is
 * open and a resolution resolves it. The plain form leaves all but the text out.
 */
export function renderPagerduty(
  document: Document,
  times: TimeFormat,
  form: MessageForm,
  data: MessageData | undefined,
): PagerdutyMessage {
  const text = fitPlainText(document, times, ({ length }) => length <= maxTextUnits);
  const summary = cut(document.subject, maxSummaryUnits);
  const severity = severityOf(document);
  const alert = data?.alerts[0];
  if (alert === undefined) {
    const payload = { summary, source: "Tocsin", severity, custom_details: { text } };
    return { kind: "pagerduty", event: { event_action: "trigger", client: "Tocsin", payload } };
  }
  const word = (name: string): string | undefined => {
    const value = alert.facts[name];
    return typeof value === "string" && value !== "" ? cut(value, maxKeyUnits) : undefined;
  };
  const fields = Array.isArray(alert.facts.fields) ? (alert.facts.fields as AlertField[]) : [];
  const link = word("link");
  const links = [
    ...(alert.url === undefined ? [] : [{ href: alert.url, text: "Open in Tocsin" }]),
    ...(link !== undefined && isLinkable(link) ? [{ href: link, text: "The sender's link" }] : []),
  ];
  return {
    kind: "pagerduty",
    event: {
      event_action: actionOf(document, fields),
      dedup_key: keyOf(alert.facts.alertKey),
      client: "Tocsin",
      ...(alert.url === undefined ? {} : { client_url: alert.url }),
      ...(links.length === 0 ? {} : { links }),
      payload: {
        summary,
        source: word("source") ?? "Tocsin",
        severity,
        timestamp: isInstant(alert.receivedAt) ? new Date(alert.receivedAt).toISOString() : undefined,
        component: word("token"),
        group: word("chain"),
        class: word("metric"),
        custom_details: form === "plain" ? { text } : { text, alert: alert.id, ...detailsOf(alert.facts, fields) },
      },
    },
  };
}

/** A longer key is its hash, so that two of them stay two. */
function keyOf(alertKey: unknown): string {
  const key = `tocsin:${String(alertKey)}`;
  if (key.length <= maxKeyUnits) return key;
  return `tocsin:${createHash("sha256").update(key).digest("hex")}`;
}

/** What is acknowledged still fires, so a field says it: `status: acknowledged`, `event: incident.acknowledged`. */
function actionOf(document: Document, fields: AlertField[]): "trigger" | "acknowledge" | "resolve" {
  if (document.status === "resolved") return "resolve";
  const isAcknowledged = fields.some(
    ({ name, value }) =>
      /^(?:status|state|(?:event_?)?(?:action|type)|event)$/i.test(name) &&
      /(?:^|[^a-z])(?:acknowledged?|acked)$/i.test(value.trim()),
  );
  return isAcknowledged ? "acknowledge" : "trigger";
}

/** An alert without severity may be the worst one, and `error` wakes people as `critical` does. */
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
