import type { z } from "zod";
import type { AlertFacts } from "../core/alert.ts";
import type { PictureOf } from "../core/picture-outcome.ts";
import type { AlertDetail, AlertSummary } from "../core/ports/alert-log.ts";
import type { RefusedDetail } from "../core/ports/refused.ts";
import type { Mute } from "../core/rules.ts";
import { type LearnedName, titleForPeople } from "../core/subject-name.ts";
import type { alertDetailView, alertView } from "./views/alerts.ts";
import type { muteView } from "./views/mutes.ts";
import type { refusedDetailView } from "./views/refused.ts";

export interface ViewContext {
  /** The page's address for browsers, without a trailing slash. */
  publicUrl: string;
  /** See `TokenNames.find`. Default: only names in alerts are known. */
  learnedName?: (facts: AlertFacts) => LearnedName | undefined;
  /** The result of the picture for a delivery's message, for the latest ones. Default: none is known. */
  pictureOf?: PictureOf;
}

/** Field by field: a spread takes twice the time, and logs are long. */
export function viewAlert(alert: AlertSummary, { publicUrl, learnedName }: ViewContext): z.output<typeof alertView> {
  const { id, version, origin, source, receivedAt, facts } = alert;
  const { routedAt = null, routingError, unmatched, dropped, repeatOf, deliveries } = alert;
  const learned = facts && learnedName?.(facts);
  return {
    id,
    version,
    url: `${publicUrl}/alerts/${id}`,
    origin,
    source,
    receivedAt,
    routedAt,
    routingError,
    unmatched,
    dropped,
    repeatOf,
    title: facts?.title ?? null,
    headline: facts === undefined ? null : titleForPeople({ origin, facts }, learned),
    learnedName: learned,
    severity: facts?.severity ?? null,
    status: facts?.status ?? null,
    facts: facts ?? null,
    deliveries,
  };
}

export function viewAlertDetail(alert: AlertDetail, context: ViewContext): z.output<typeof alertDetailView> {
  const { id, deliveries, decisions, request } = alert;
  return {
    ...viewAlert(alert, context),
    deliveries: deliveries.map((delivery) => ({ ...delivery, picture: context.pictureOf?.(delivery, id) })),
    decisions,
    request:
      request === undefined
        ? null
        : { ...request, ...viewBody(request.body), bodyBytes: request.body.byteLength, item: request.item + 1 },
  };
}

function viewBody(body: Uint8Array): { body: string; bodyEncoding: "utf8" | "base64" } {
  const text = readText(body);
  if (text !== undefined) return { body: text, bodyEncoding: "utf8" };
  return { body: Buffer.from(body).toString("base64"), bodyEncoding: "base64" };
}

/** Undefined for bytes that are not UTF-8. */
export function readText(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}

export function viewRefused(refused: RefusedDetail): z.output<typeof refusedDetailView> {
  return { ...refused, ...viewBody(refused.body) };
}

export function viewMute(mute: Mute & { silenced?: number }, now: number): z.output<typeof muteView> {
  const state = now >= mute.startsAt ? "active" : "coming";
  return { ...mute, state: now >= mute.endsAt ? "ended" : mute.isDisabled ? "disabled" : state };
}
