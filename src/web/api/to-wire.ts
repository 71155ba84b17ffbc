import type { z } from "@hono/zod-openapi";
import { muteStateOf } from "../../contract/panels/mutes.ts";
import type { AlertFacts } from "../../core/alert.ts";
import type { GapReport } from "../../core/gaps.ts";
import type {
  AccountView,
  DestinationView,
  LogView,
  MutePreview,
  ResendPreview,
  RoutedAgain,
  RoutingPart,
  RunningRelay,
  ShapesView,
  SilenceView,
  StatusView,
  TryResult,
} from "../../core/operations.ts";
import type { PictureOf } from "../../core/picture-outcome.ts";
import type { AlertDetail, AlertSummary, AttemptEntry, DeliverySummary } from "../../core/ports/alert-log.ts";
import type { RefusedDetail, RefusedSummary } from "../../core/ports/refused.ts";
import type { WatchView } from "../../core/ports/watch.ts";
import type { Mute } from "../../core/rules.ts";
import type { LearnedName } from "../../core/subject-name.ts";
import { titleForPeople } from "../../core/what-happened.ts";
import { vendorOf } from "../../vendors/index.ts";
import { judgeDestination, provenAt } from "../../vendors/verdict.ts";
import { readBody } from "../body-text.ts";
import type {
  alertDetailSchema,
  alertSchema,
  attemptSchema,
  deliverySchema,
  destinationSchema,
  factsSchema,
  gapsSchema,
  mutePreviewSchema,
  muteSchema,
  refusedDetailSchema,
  refusedSchema,
  requestSchema,
  resendPreviewSchema,
  routedAgainSchema,
  runningRelaySchema,
  shapesSchema,
  statusSchema,
  tryResultSchema,
  watchSchema,
} from "./schemas.ts";

export type AlertOnWire = z.infer<typeof alertSchema>;

/** What alerts are written with. */
export interface WireContext {
  publicUrl: string;
  /** See `WebDeps`. */
  learnedName?: (facts: AlertFacts) => LearnedName | undefined;
  /** See `WebDeps`. */
  pictureOf?: PictureOf;
}

/** An alert as lists and the event stream give it. */
export function alertToWire(alert: AlertSummary, { publicUrl, learnedName }: WireContext): AlertOnWire {
  const learned = alert.facts && learnedName?.(alert.facts);
  const { id, version, origin, source, routingError, unmatched, dropped, repeatOf, facts } = alert;
  return {
    id,
    version,
    url: `${publicUrl}/alerts/${id}`,
    origin,
    source,
    receivedAt: toIso(alert.receivedAt),
    routedAt: alert.routedAt === undefined ? null : toIso(alert.routedAt),
    routingError,
    unmatched,
    dropped,
    repeatOf,
    title: facts?.title ?? null,
    headline: facts === undefined ? null : titleForPeople({ origin, facts }, learned),
    learnedName: learned && learnedNameToWire(learned),
    severity: facts?.severity ?? null,
    status: facts?.status ?? null,
    facts: facts === undefined ? null : factsToWire(facts),
    deliveries: alert.deliveries.map(deliveryToWire),
  };
}

function learnedNameToWire({ kind, chain, address, name, learnedAt }: LearnedName): AlertOnWire["learnedName"] {
  return { kind, chain, address, name, learnedAt: toIso(learnedAt) };
}

export function alertDetailToWire(alert: AlertDetail, context: WireContext): z.infer<typeof alertDetailSchema> {
  return {
    ...alertToWire(alert, context),
    deliveries: alert.deliveries.map((delivery) => ({
      ...deliveryToWire(delivery),
      attempts: delivery.attempts.map(attemptToWire),
      picture: context.pictureOf?.(delivery, alert.id),
    })),
    decisions: alert.decisions,
    request: alert.request === undefined ? null : requestToWire(alert.request),
  };
}

export function routedAgainToWire({ at, differences, ...rest }: RoutedAgain): z.infer<typeof routedAgainSchema> {
  return {
    at: toIso(at),
    isSame: differences.every(({ onlyByHour }) => onlyByHour),
    differences: differences.map(({ destination, before, now, onlyByHour }) => ({
      destination: destination ?? null,
      before: partToWire(before),
      now: partToWire(now),
      onlyByHour,
    })),
    ...rest,
  };
}

function partToWire({ result, route, reason }: RoutingPart) {
  return { result, route, reason };
}

export function deliveryToWire(delivery: DeliverySummary): z.infer<typeof deliverySchema> {
  const { id, destination, channel, recipient, route, purpose, state, reason, digestId, insteadOf } = delivery;
  return {
    id,
    destination,
    channel,
    recipient,
    route,
    purpose,
    state,
    reason,
    createdAt: toIso(delivery.createdAt),
    dueAt: toOptionalIso(delivery.dueAt),
    finishedAt: toOptionalIso(delivery.finishedAt),
    digestId,
    insteadOf,
    resentBy: delivery.resentBy,
  };
}

function attemptToWire(attempt: AttemptEntry): z.infer<typeof attemptSchema> {
  const { outcome, reason, detail, durationMs, action, part, parts } = attempt;
  return { at: toIso(attempt.at), outcome, reason, detail, durationMs, action, part, parts };
}

/** Title, severity and status stand beside the facts, not in them. */
function factsToWire(facts: AlertFacts): z.infer<typeof factsSchema> {
  const { title: _title, severity: _severity, status: _status, occurredAt, ...rest } = facts;
  return { ...rest, occurredAt: toOptionalIso(occurredAt) };
}

function requestToWire(request: NonNullable<AlertDetail["request"]>): z.infer<typeof requestSchema> {
  const { contentType, headers, item, items, dedupeKey, conflict, duplicates } = request;
  const body = readBody(request.body);
  return {
    receivedAt: toIso(request.receivedAt),
    contentType,
    headers,
    body: body.kind === "text" ? body.text : Buffer.from(request.body).toString("base64"),
    bodyEncoding: body.kind === "text" ? "utf8" : "base64",
    bodyBytes: request.body.byteLength,
    item: item + 1,
    items,
    dedupeKey,
    conflict,
    duplicates,
  };
}

export function refusedToWire({ released, receivedAt, ...rest }: RefusedSummary): z.infer<typeof refusedSchema> {
  return {
    ...rest,
    receivedAt: toIso(receivedAt),
    released: released && { at: toIso(released.at), alertIds: released.alertIds },
  };
}

export function refusedDetailToWire(refused: RefusedDetail): z.infer<typeof refusedDetailSchema> {
  const { headers, body, ...summary } = refused;
  const shown = readBody(body);
  return {
    ...refusedToWire(summary),
    headers,
    body: shown.kind === "text" ? shown.text : Buffer.from(body).toString("base64"),
    bodyEncoding: shown.kind === "text" ? "utf8" : "base64",
  };
}

export function destinationToWire(view: DestinationView): z.infer<typeof destinationSchema> {
  const { name, channel, recipients, health, reason, movedTo, definedAt, counts, heldByQuietHours, resending } = view;
  return {
    name,
    channel,
    recipients,
    verdict: judgeDestination(view),
    provenAt: toOptionalIso(provenAt(view)),
    health,
    reason,
    since: toOptionalIso(view.since),
    nextTryAt: toOptionalIso(view.nextTryAt),
    lastSentAt: toOptionalIso(view.lastSentAt),
    lastFailedAt: toOptionalIso(view.lastFailedAt),
    probeProves: vendorOf(channel).probeProves,
    lastProvenAt: toOptionalIso(view.lastProvenAt),
    failedProbes: view.failedProbes,
    paused: view.paused && { at: toIso(view.paused.at), by: view.paused.by },
    movedTo,
    relay: view.relay,
    definedAt,
    counts,
    oldestWaitingAt: toOptionalIso(view.oldestWaitingAt),
    heldByQuietHours: heldByQuietHours && {
      count: heldByQuietHours.count,
      until: toIso(heldByQuietHours.until),
    },
    resending: resending && { ...resending, since: toIso(resending.since) },
  };
}

type StatusOnWire = z.infer<typeof statusSchema>;

export function statusToWire(view: StatusView): StatusOnWire {
  const { relay, relays, troubles, account, sources, watches, silence, canary, spool } = view;
  return {
    troubles: troubles.map(({ since, ...trouble }) => ({ ...trouble, since: toOptionalIso(since) })),
    relay: { ...relay, startedAt: toIso(relay.startedAt) },
    relays: relays.map(relayToWire),
    ...logToWire(view),
    account: accountToWire(account),
    sources: sources.map(({ account: own, ...source }) => ({
      ...source,
      ...(own && { account: accountToWire(own) }),
      lastAcceptedAt: toOptionalIso(source.lastAcceptedAt),
      lastRefusedAt: toOptionalIso(source.lastRefusedAt),
    })),
    watches: watches.map(watchToWire),
    silence: silence.map(silenceToWire),
    canary: canary && {
      ...canary,
      lastAt: toOptionalIso(canary.lastAt),
      lastOkAt: toOptionalIso(canary.lastOkAt),
      nextAt: toIso(canary.nextAt),
      since: toOptionalIso(canary.since),
      toldAt: toOptionalIso(canary.toldAt),
    },
    spool: spool && { ...spool, oldestAt: toOptionalIso(spool.oldestAt), since: toOptionalIso(spool.since) },
  };
}

function accountToWire<T extends Pick<AccountView, "answer" | "canPutBack">>({ answer, ...others }: T) {
  if (answer === undefined) return others;
  const { at, keyExpiresAt } = answer;
  return { ...others, answer: { ...answer, at: toIso(at), keyExpiresAt: toOptionalIso(keyExpiresAt) } };
}

function watchToWire({ lookedAt, since, ...others }: WatchView): z.infer<typeof watchSchema> {
  return { ...others, since: toOptionalIso(since), lookedAt: toOptionalIso(lookedAt) };
}

function silenceToWire({ alertKey: _key, ...view }: SilenceView): StatusOnWire["silence"][number] {
  return {
    ...view,
    since: toIso(view.since),
    lastAt: toOptionalIso(view.lastAt),
    quietMs: Math.round(view.quietMs),
    usualMs: view.usualMs === undefined ? undefined : Math.round(view.usualMs),
    tellsAt: toOptionalIso(view.tellsAt),
    toldAt: toOptionalIso(view.toldAt),
    mute: view.mute && { ...view.mute, until: toIso(view.mute.until) },
  };
}

type KnownOfRelay =
  | "relay"
  | "relays"
  | "troubles"
  | "account"
  | "sources"
  | "watches"
  | "silence"
  | "canary"
  | "spool";

/** The part of the status that is known without a relay. */
export function relayToWire(relay: RunningRelay): z.infer<typeof runningRelaySchema> {
  const { startedAt, seenAt, destinations, ...others } = relay;
  return {
    ...others,
    startedAt: toIso(startedAt),
    seenAt: toIso(seenAt),
    destinations: destinations.map(({ name, since }) => ({ name, since: toOptionalIso(since) })),
  };
}

export function logToWire(view: LogView): Omit<StatusOnWire, KnownOfRelay> {
  const { alerts, queue, destinations, disk, retention } = view;
  return {
    alerts: {
      ...alerts,
      oldestReceivedAt: toOptionalIso(alerts.oldestReceivedAt),
      lastReceivedAt: toOptionalIso(alerts.lastReceivedAt),
    },
    queue: {
      ...queue,
      oldestUnroutedAt: toOptionalIso(queue.oldestUnroutedAt),
      oldestWaitingAt: toOptionalIso(queue.oldestWaitingAt),
    },
    destinations: destinations.map(destinationToWire),
    disk,
    retention,
  };
}

export function previewToWire(preview: ResendPreview): z.infer<typeof resendPreviewSchema> {
  return {
    failedUntil: toIso(preview.failedUntil),
    deliveries: preview.deliveries,
    destinations: preview.destinations.map(({ oldestAt, newestAt, ...others }) => ({
      ...others,
      oldestAt: toIso(oldestAt),
      newestAt: toIso(newestAt),
    })),
  };
}

export function tryResultToWire({ nextTryAt, ...others }: TryResult): z.infer<typeof tryResultSchema> {
  return { ...others, nextTryAt: toOptionalIso(nextTryAt) };
}

export function muteToWire(mute: Mute, now: number): z.infer<typeof muteSchema> {
  const { id, matchers, reason, createdBy } = mute;
  return {
    id,
    state: muteStateOf(mute, now),
    matchers,
    reason,
    startsAt: toIso(mute.startsAt),
    endsAt: toIso(mute.endsAt),
    createdAt: toIso(mute.createdAt),
    createdBy,
  };
}

export function mutePreviewToWire({ since, ...counts }: MutePreview): z.infer<typeof mutePreviewSchema> {
  return { ...counts, since: toIso(since) };
}

/** An instant that no date can hold (senders write anything) is left out rather than costing the whole answer. */
function toOptionalIso(at: number | undefined): string | undefined {
  return at === undefined || !isInstant(at) ? undefined : new Date(at).toISOString();
}

export function toIso(at: number): string {
  return new Date(isInstant(at) ? at : 0).toISOString();
}

function isInstant(at: number): boolean {
  return Number.isFinite(at) && Math.abs(at) <= 8.64e15;
}

export function gapsToWire({ sight: _, ...report }: GapReport): z.infer<typeof gapsSchema> {
  const span = ({ fromAt, toAt }: { fromAt: number; toAt: number }) => ({ fromAt: toIso(fromAt), toAt: toIso(toAt) });
  return {
    ...report,
    since: toIso(report.since),
    until: toIso(report.until),
    checkedAt: toIso(report.checkedAt),
    downtimes: report.downtimes.map((one) => ({
      ...span(one),
      asleep: one.asleep === true,
      restored: one.restored === true,
    })),
    missing: report.missing.map((one) => ({ ...one, ...span(one) })),
    outages: report.outages.map((one) => ({
      ...one,
      ...span(one),
      comesAgainAt: one.comesAgainAt === undefined ? undefined : toIso(one.comesAgainAt),
    })),
    lastAlertAt: report.lastAlertAt === undefined ? undefined : toIso(report.lastAlertAt),
  };
}

export function shapesToWire({ kinds, unfollowed }: ShapesView): z.infer<typeof shapesSchema> {
  return {
    kinds: kinds.map(({ source = null, firstAt, lastAt, places, ...kind }) => ({
      ...kind,
      source,
      firstAt: toIso(firstAt),
      lastAt: toIso(lastAt),
      places: places.map((place) => ({ ...place, firstAt: toIso(place.firstAt), lastAt: toIso(place.lastAt) })),
    })),
    unfollowed,
  };
}
