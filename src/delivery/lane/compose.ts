import { type Alert, resolvedAfterMs } from "../../core/alert.ts";
import type { ChannelType } from "../../core/delivery.ts";
import type { ClaimedDelivery, DeliveryProgress, Thread } from "../../core/delivery-job.ts";
import type { Json } from "../../core/json.ts";
import type { Log } from "../../core/log.ts";
import type { Document, Message, MessageData, MessageForm, RenderOptions } from "../../core/message.ts";
import type { DigestContext, MessageContext, Rendering } from "../../core/message-context.ts";
import type { Destination } from "../../core/rules.ts";
import { errorText } from "../../ground/text/error-text.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { createZonedClock } from "../../ground/time/zoned-time.ts";
import { renderDocument, vendorOf } from "../../vendors/index.ts";
import { type Claim, formOf, isQuiet, isSilenced } from "../plan/plan-claim.ts";
import type { PlanPicture } from "../plan/plan-picture.ts";
import type { ThreadContext } from "../plan/plan-update.ts";

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
    >,
    Partial<Pick<ClaimedDelivery, "updates" | "extras" | "damped">> {
  /** Only for channels that send it. */
  payload?: Json;
}

/** The source of an alert's first message, for callers without a lane. */
export function firstSource(
  { id, seq, origin, receivedAt, facts }: Alert,
  more: Pick<MessageSource, "purpose" | "payload"> & Partial<MessageSource>,
): MessageSource {
  const ofAlert = { id, alertId: id, alertSeq: seq, origin, receivedAt, facts, status: facts.status };
  return { ...ofAlert, ambiguous: 0, form: "rich", ...more };
}

export type Composer = ReturnType<typeof createComposer>;

export interface ComposerDeps {
  rendering: Rendering;
  log: Log;
  publicUrl?: string;
  /** Absent: messages have no pictures. */
  planPicture?: PlanPicture;
}

/** After a fault in rendering a message is made in a plainer form, as long as there is one. */
export function createComposer({ rendering, log, publicUrl, planPicture }: ComposerDeps) {
  function render(channel: ChannelType, compose: () => Document, options: RenderOptions, alert: Alert): Message[] {
    try {
      return renderDocument(channel, compose(), options);
    } catch (error) {
      log.error("rendering.failed", { alert: alert.id, channel, error: errorText(error) });
      const bare = { ...options, form: "plain" as const, picture: undefined };
      return renderDocument(channel, bareDocument(alert), bare);
    }
  }

  function dataOf(type: MessageData["type"], deliveries: MessageSource[], now: number): MessageData {
    return {
      type,
      deliveryId: deliveries[0]?.digestId ?? deliveries[0]?.id ?? "",
      at: now,
      repeat: deliveries.some((delivery) => delivery.ambiguous > 0),
      silent: deliveries.every((delivery) => isQuiet(delivery) || isSilenced(delivery)),
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
    alert(delivery: MessageSource, alert: Alert, context: MessageContext, destination: Destination): Message[] {
      const type = alert.origin === "notice" ? "notice" : "alert";
      const { can } = vendorOf(destination.type);
      const data = can.carries
        ? { history: historyOf(alert, context), ...dataOf(type, [delivery], context.now) }
        : undefined;
      const picture = delivery.form === "rich" ? planPicture?.(alert, context, destination, can.pictures) : undefined;
      const options = { form: delivery.form, timeZone: destination.timeZone, data, picture };
      const compose = () => rendering.composeAlert(alert, { extras: delivery.extras, ...context });
      return render(destination.type, compose, options, alert);
    },
    digest(
      deliveries: MessageSource[],
      context: DigestContext,
      form: MessageForm,
      destination: Destination,
    ): Message[] {
      const alerts = deliveries.map(alertOf);
      const extras = new Map(deliveries.flatMap(({ alertId, extras }) => (extras ? [[alertId, extras]] : [])));
      const damped = new Map(deliveries.flatMap(({ alertId, damped }) => (damped ? [[alertId, damped]] : [])));
      const data = vendorOf(destination.type).can.carries ? dataOf("digest", deliveries, context.now) : undefined;
      const options = { form, timeZone: destination.timeZone, data };
      const compose = () => rendering.composeDigest(alerts, { ...context, extras, damped });
      return render(destination.type, compose, options, alerts[0] as Alert);
    },
  };
}

/** Undefined for a single alert. */
function historyOf(alert: Alert, { history }: MessageContext): MessageData["history"] {
  if (history === undefined || history.count < 2) return undefined;
  const { count, firstAt } = history;
  if (alert.facts.status !== "resolved") return { count, firstAt };
  return { count, firstAt, lastedMs: Math.max(0, resolvedAfterMs(alert, firstAt)) };
}

function alertOf(delivery: MessageSource): Alert {
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
    subject: cut(title.replace(/\s+/g, " "), 200),
    severity,
    status,
    blocks: [
      { kind: "heading", inlines: [{ kind: "bold", text: title }] },
      { kind: "note", inlines: [{ kind: "text", text: `Alert ${alert.id}` }] },
    ],
  };
}

/** The messages of a claim about one alert. The deliveries' history gives the words about delays and repeats. */
export function composeClaimed(
  composer: Composer,
  destination: Destination,
  claim: Claim,
  progress: DeliveryProgress,
  said: ThreadContext,
): Message[] {
  const [newest] = claim.deliveries;
  const context: MessageContext = {
    purpose: newest.purpose,
    ...timeOf(progress),
    possibleRepeat: mayBeRepeat(claim),
    insteadOf: newest.insteadOf,
    insteadBecause: newest.insteadBecause,
    damped: dampedOf(claim.deliveries),
    detail: destination.detail,
    ...said,
  };
  return composer.alert(newest, alertOf(newest), context, destination);
}

/** From the newest delivery that has one. */
function dampedOf(deliveries: Claim["deliveries"]): MessageContext["damped"] {
  const saying = deliveries.find(({ damped }) => damped !== undefined);
  return saying?.damped && { ...saying.damped, isSummary: saying.updates === "summary" };
}

export function composeDigest(
  composer: Composer,
  destination: Destination,
  claim: Claim,
  progress: DeliveryProgress,
): Message[] {
  const context = {
    ...timeOf(progress),
    reason: claim.digest?.reason ?? "burst",
    quietHours: hoursOf(destination, claim),
    groupName: claim.deliveries[0].groupName,
    total: claim.digest?.total,
    destination: destination.name,
    possibleRepeat: mayBeRepeat(claim),
  };
  return composer.digest(claim.deliveries, context, formOf(claim), destination);
}

/** The first message of a thread, marked as over. It still shows its own alert. */
export function composeResolved(
  composer: Composer,
  destination: Destination,
  { deliveries: [newest] }: Claim,
  { extras, ...root }: Alert & Pick<MessageContext, "extras">,
  { count, firstAt, lastAt }: Thread,
  now: number,
): Message[] {
  const context: MessageContext = {
    now,
    purpose: newest.purpose,
    possibleRepeat: false,
    resolvedBy: alertOf(newest),
    history: { count, firstAt, lastAt },
    detail: destination.detail,
    extras,
  };
  return composer.alert(newest, root, context, destination);
}

function timeOf({ madeAt = 0, late }: DeliveryProgress): Pick<MessageContext, "now" | "late"> {
  return { now: madeAt, late };
}

/** Undefined when the deliveries were held by quiet hours of an earlier configuration. */
function hoursOf({ quietHours, timeZone }: Destination, { deliveries, digest }: Claim): DigestContext["quietHours"] {
  if (quietHours === undefined || digest?.reason !== "quiet_hours") return undefined;
  const { from, to } = quietHours;
  const zonedClock = createZonedClock(timeZone);
  const areIn = deliveries.every(({ receivedAt }) => {
    const { hour, minute } = zonedClock.wallTimeAt(receivedAt);
    const at = `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
    return from < to ? from <= at && at < to : from <= at || at < to;
  });
  return areIn ? { from, to } : undefined;
}

/** Whether an earlier attempt was ambiguous. */
function mayBeRepeat({ deliveries, digest }: Claim): boolean {
  const [{ status }] = deliveries;
  return deliveries.some((delivery) => delivery.ambiguous > 0 && (digest !== undefined || delivery.status === status));
}
