import type {
  FailedAtDestination,
  FailedFilter,
  ResendPreview,
  ResendResult,
  TryResult,
} from "../contract/operations.ts";
import type { Alert } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { type FailedState, failedStates } from "../core/delivery.ts";
import type { DestinationHealth } from "../core/destination-status.ts";
import { AppError } from "../core/errors.ts";
import { findAlert } from "../core/find-alert.ts";
import type { Log } from "../core/log.ts";
import type {
  AlertLog,
  DeliverySummary,
  FailedCount,
  FailedDelivery,
  FailedQuery,
  Position,
} from "../core/ports/alert-log.ts";
import type { Dispatch, ResendCall, ResentCount } from "../core/ports/dispatch.ts";
import type { Damped } from "../core/ring.ts";
import {
  type Destination,
  keptNameOf,
  type MessageExtras,
  type Mute,
  type PlannedDelivery,
  planDeliveries,
} from "../core/rules.ts";
import { createTimeFormat } from "../ground/time/time-format.ts";
import { directionOf } from "../ringing/distance.ts";
import { addUp, heldBackOf } from "../ringing/judge-ring.ts";
import { ringEventOf } from "../ringing/ring-event.ts";
import { hasSeveralRecipients, recipientsOf } from "../vendors/index.ts";
import { findNamed, listNames } from "./targets.ts";

export interface ResendDeps {
  store: Pick<AlertLog, "getAlert" | "countFailed" | "listFailed"> & Pick<Dispatch, "addDeliveries" | "resendFailed">;
  destinations: Destination[];
  /** All mutes, with those of the configuration and the ended ones. */
  listMutes(includeEnded: true): Promise<Mute[]>;
  /** The worse of the destination's own health and its account's. */
  healthOf(destination: string): DestinationHealth;
  isPaused(destination: string): boolean;
  /** See `Operations.tryDestination`. */
  tryDestination(name: string): Promise<TryResult>;
  clock: Clock;
  log: Log;
}

/** The writing thread takes some 10 ms for a transaction of this many, the longest wait for an accepted alert. */
const batchSize = 100;
/** Resends are due after this time: several transactions are then sent together. */
const gatherMs = 250;

export async function resendAlert(
  { store, destinations, clock }: Pick<ResendDeps, "store" | "destinations" | "clock">,
  alertId: string,
  names?: readonly string[],
): Promise<DeliverySummary[]> {
  const alert = await findAlert(store, alertId);
  if (!alert.facts) {
    throw new AppError("conflict", "The alert has not been routed yet.", { hint: "Try again in a moment." });
  }
  const targets =
    names === undefined
      ? formerTargets(destinations, alert.deliveries)
      : [...new Set(names)].map((name) => findNamed(destinations, name));
  const now = clock.now();
  const planned = targets.flatMap((target) =>
    planResend(target, recipientsOf(target), { reason: "sent again by hand", dueAt: now }),
  );
  return store.addDeliveries(alert.id, planned, "resend", now);
}

function formerTargets(destinations: Destination[], deliveries: DeliverySummary[]): Destination[] {
  const names = new Set(deliveries.map((delivery) => delivery.destination));
  const targets = destinations.filter((destination) => names.has(destination.name));
  if (targets.length > 0) return targets;
  throw new AppError("conflict", "The alert went to no destination that is configured now.", {
    hint: `Name the destination. Configured are: ${listNames(destinations)}.`,
  });
}

export async function previewResend(deps: ResendDeps, filter: FailedFilter): Promise<ResendPreview> {
  const { mute, bounded } = await bound(deps, filter);
  const { failedUntil } = bounded;
  const counts = await countFailed(deps, bounded);
  // Failures at a former destination are counted under its name. A misspelt name has none.
  if (filter.destination !== undefined && counts.length === 0) findNamed(deps.destinations, filter.destination);
  const destinations = counts.map((count): FailedAtDestination => {
    const destination = deps.destinations.find(({ name }) => name === count.destination);
    const health = destination && deps.healthOf(destination.name);
    const asDigests = destination !== undefined && count.alerts > destination.digestOver;
    const paused = destination !== undefined && deps.isPaused(destination.name);
    return { ...count, health, paused: paused || undefined, asDigests };
  });
  const sum = (those: Pick<FailedCount, "deliveries">[]) => those.reduce((all, one) => all + one.deliveries, 0);
  const deliveries = sum(destinations.filter(({ health }) => health !== undefined));
  if (mute === undefined) return { failedUntil, deliveries, destinations };
  const withOver = await countFailed(deps, { ...bounded, over: true });
  return { failedUntil, deliveries, over: sum(withOver) - sum(counts), destinations };
}

/** The filter with an end, by default now, and the mute that it names. Throws as `findEndedMute` does. */
async function bound(deps: ResendDeps, { failedUntil = deps.clock.now(), mute: id, ...filter }: FailedFilter) {
  const mute = id === undefined ? undefined : await findEndedMute(deps, id);
  return { mute, bounded: { ...filter, failedUntil, mute: mute && keptNameOf(mute) } };
}

/** @throws AppError `not_found`, and `conflict` for a mute that is still in force. */
async function findEndedMute({ listMutes, clock }: ResendDeps, id: string): Promise<Mute> {
  const mute = (await listMutes(true)).find((one) => one.id === id || keptNameOf(one) === id);
  if (mute === undefined) {
    throw new AppError("not_found", `There is no mute ${id}.`, { hint: "List them to see their ids." });
  }
  if (mute.endsAt > clock.now()) {
    throw new AppError("conflict", `The mute ${id} still holds.`, { hint: "End it first." });
  }
  return mute;
}

export async function resendFailed(deps: ResendDeps, filter: FailedFilter): Promise<ResendResult> {
  const at = deps.clock.now();
  const { mute, bounded } = await bound(deps, filter);
  const left: ResendResult["left"] = [];
  const ready: Destination[] = [];
  for (const { destination: name, deliveries } of await countFailed(deps, bounded)) {
    const destination = deps.destinations.find((candidate) => candidate.name === name);
    const why = destination === undefined ? "it is no longer configured" : await whyNot(deps, destination);
    if (why !== undefined) left.push({ destination: name, deliveries, why });
    else if (destination !== undefined) ready.push(destination);
  }
  const total = { made: 0, resent: 0 };
  try {
    for (const destination of ready) {
      const { made, resent, noRecipient } = await resendTo(deps, destination, bounded, at, mute);
      total.made += made;
      total.resent += resent;
      if (noRecipient > 0) {
        const why = "their address is no longer configured, and all others have had them";
        left.push({ destination: destination.name, deliveries: noRecipient, why });
      }
    }
  } finally {
    deps.log.info("deliveries.resent", { ...total, left: left.length, mute: mute?.id });
  }
  return { ...total, left };
}

/** A destination that refuses everything is tried once first: each resend would fail like the try. */
async function whyNot(deps: ResendDeps, { name }: Destination): Promise<string | undefined> {
  const health = deps.healthOf(name);
  if (health !== "dead" && health !== "paused") return undefined;
  const { result, detail } = await deps.tryDestination(name);
  return result === "works" || result === "answers" ? undefined : `it still takes no messages: ${detail}`;
}

/**
 * The newest alerts first, or for a mute in the order of `releases`.
 * @param at the creation time of all, in every batch: they are counted together
 * @param mute the mute that has held these alerts back
 */
async function resendTo(
  deps: ResendDeps,
  destination: Destination,
  filter: FailedFilter & { failedUntil: number },
  at: number,
  mute?: Mute,
): Promise<ResentCount> {
  const late = mute && `muted until ${createTimeFormat(destination.timeZone).clock(mute.endsAt)}`;
  const reason = late === undefined ? "resent with all that failed" : `released: it was ${late}`;
  const extras: MessageExtras | undefined = late === undefined ? undefined : { late };
  const total = { made: 0, resent: 0, noRecipient: 0 };
  for (const state of statesOf(filter)) {
    const found = failedPages(deps, { ...filter, states: [state], destination: destination.name });
    const batches: AsyncGenerator<Resent[]> = mute === undefined ? found : releases(found);
    for await (const batch of batches) {
      const dueAt = deps.clock.now() + gatherMs;
      const calls = batch.map(({ deliverySeq, recipient, toldBy, damped }) => {
        const onlyNew = hasSeveralRecipients(destination.type) && !recipientsOf(destination).includes(recipient);
        const how = { reason, dueAt, extras, damped };
        const planned = planResend(destination, recipientsNow(destination, recipient), how);
        return { deliverySeq, planned, onlyNew, ...(!onlyNew && { toldBy }) };
      });
      const count = await deps.store.resendFailed(calls, at);
      total.made += count.made;
      total.resent += count.resent;
      total.noRecipient += count.noRecipient;
    }
  }
  return total;
}

async function* failedPages({ store }: ResendDeps, query: FailedQuery): AsyncGenerator<FailedDelivery[]> {
  let after: Position | undefined;
  do {
    const failed = await store.listFailed(query, { limit: batchSize, after });
    if (failed.length > 0) yield failed;
    after = failed.length < batchSize ? undefined : failed.at(-1)?.position;
  } while (after !== undefined);
}

/** A delivery that is sent again, or whose alert is in the text of another resend. */
type Resent = Pick<FailedDelivery, "deliverySeq" | "recipient"> & Pick<ResendCall, "toldBy"> & { damped?: Damped };

/**
 * The latest delivery of each alert key, whose text includes the others of the key. The newest message comes last. The
 * others of a key come before its latest: after a kill in between, the latest is left for the next release.
 */
async function* releases(pages: AsyncGenerator<FailedDelivery[]>): AsyncGenerator<Resent[]> {
  const ofKeys = new Map<string, [Resent, ...Resent[]]>();
  for await (const page of pages) {
    for (const { deliverySeq, recipient, alert } of page) {
      const key = JSON.stringify([alert?.facts.alertKey, recipient]);
      const ofKey = ofKeys.get(key);
      if (ofKey === undefined) {
        ofKeys.set(key, [{ deliverySeq, recipient }]);
        continue;
      }
      const [latest] = ofKey;
      ofKey.push({ deliverySeq, recipient, toldBy: latest.deliverySeq });
      if (alert !== undefined && alert.facts.status !== "resolved") latest.damped = withEarlier(latest.damped, alert);
    }
  }
  const all = [...ofKeys.values()].flat().reverse();
  for (let from = 0; from < all.length; from += batchSize) yield all.slice(from, from + batchSize);
}

function withEarlier(known: Damped | undefined, alert: Pick<Alert, "id" | "receivedAt" | "facts">): Damped {
  const event = ringEventOf(alert);
  const its = heldBackOf(event, alert.receivedAt);
  return { ...(known === undefined ? its : addUp(its, known, directionOf(event))), why: "released" };
}

function recipientsNow(destination: Destination, recipient: string): string[] {
  const recipients = recipientsOf(destination);
  return recipients.includes(recipient) ? [recipient] : recipients;
}

function planResend(
  destination: Destination,
  recipients: string[],
  how: Pick<PlannedDelivery, "reason" | "dueAt" | "extras" | "damped">,
): PlannedDelivery[] {
  return planDeliveries(destination, recipients, { route: "resend", state: "queued", updates: "new", ...how });
}

function countFailed({ store }: ResendDeps, filter: FailedFilter & { failedUntil: number }): Promise<FailedCount[]> {
  return store.countFailed({ ...filter, states: statesOf(filter) });
}

function statesOf({ state, mute }: FailedFilter): readonly FailedState[] {
  // Alerts that a mute has held back are listed once, whatever their states.
  if (mute !== undefined) return ["failed"];
  return state === undefined ? failedStates : [state];
}
