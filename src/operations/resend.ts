import type {
  FailedAtDestination,
  FailedFilter,
  ResendPreview,
  ResendResult,
  TryResult,
} from "../contract/operations.ts";
import type { Clock } from "../core/clock.ts";
import { type FailedState, failedStates } from "../core/delivery.ts";
import type { DestinationHealth } from "../core/destination-status.ts";
import { AppError } from "../core/errors.ts";
import { findAlert } from "../core/find-alert.ts";
import type { Log } from "../core/log.ts";
import type { AlertLog, DeliverySummary, FailedCount, FailedQuery, Position } from "../core/ports/alert-log.ts";
import type { Dispatch, ResentCount } from "../core/ports/dispatch.ts";
import { type Destination, type PlannedDelivery, planDeliveries } from "../core/rules.ts";
import { hasSeveralRecipients, recipientsOf } from "../vendors/index.ts";
import { findNamed, listNames } from "./targets.ts";

export interface ResendDeps {
  store: Pick<AlertLog, "getAlert" | "countFailed" | "listFailed"> & Pick<Dispatch, "addDeliveries" | "resendFailed">;
  destinations: Destination[];
  /** The worse of its own health and that of the account it shares. */
  healthOf(destination: string): DestinationHealth;
  /** Whether a person has paused it. */
  isPaused(destination: string): boolean;
  /** Probes it at once; see `Operations.tryDestination`. */
  tryDestination(name: string): Promise<TryResult>;
  clock: Clock;
  log: Log;
}

/** One transaction. Making that many takes the writing thread some 10 ms, and accepting alerts waits no longer. */
const batchSize = 100;
/**
 * Due only then, so that what several transactions make is sent together: each is heard of as soon as it is on disk.
 */
const gatherMs = 250;

/** See `Operations.resend`. */
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
  const planned = targets.flatMap((target) => planResend(target, recipientsOf(target), "sent again by hand", now));
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

/** See `Operations.previewResend`. */
export async function previewResend(deps: ResendDeps, filter: FailedFilter): Promise<ResendPreview> {
  const failedUntil = filter.failedUntil ?? deps.clock.now();
  const counts = await countFailed(deps, { ...filter, failedUntil });
  const destinations = counts.map((count): FailedAtDestination => {
    const destination = deps.destinations.find(({ name }) => name === count.destination);
    const health = destination && deps.healthOf(destination.name);
    const asDigests = destination !== undefined && count.alerts > destination.digestOver;
    const paused = destination !== undefined && deps.isPaused(destination.name);
    return { ...count, health, paused: paused || undefined, asDigests };
  });
  const deliveries = destinations.reduce(
    (sum, { health, ...count }) => sum + (health === undefined ? 0 : count.deliveries),
    0,
  );
  return { failedUntil, deliveries, destinations };
}

/** See `Operations.resendFailed`. */
export async function resendFailed(deps: ResendDeps, filter: FailedFilter): Promise<ResendResult> {
  const { clock, log } = deps;
  const at = clock.now();
  const bounded = { ...filter, failedUntil: filter.failedUntil ?? at };
  const left: ResendResult["left"] = [];
  const ready: Destination[] = [];
  for (const { destination: name, deliveries } of await countFailed(deps, bounded)) {
    const destination = deps.destinations.find((candidate) => candidate.name === name);
    if (destination === undefined) {
      left.push({ destination: name, deliveries, why: "it is no longer configured" });
      continue;
    }
    const why = await whyNot(deps, destination);
    if (why === undefined) ready.push(destination);
    else left.push({ destination: name, deliveries, why });
  }
  const total = { made: 0, resent: 0 };
  try {
    for (const destination of ready) {
      const { made, resent, noRecipient } = await resendTo(deps, destination, bounded, at);
      total.made += made;
      total.resent += resent;
      if (noRecipient > 0) {
        const why = "their address is no longer configured, and all others have had them";
        left.push({ destination: destination.name, deliveries: noRecipient, why });
      }
    }
  } finally {
    log.info("deliveries.resent", { ...total, left: left.length });
  }
  return { ...total, left };
}

/** What refuses everything is asked once more before anything is resent: each resend would fail like the first. */
async function whyNot(deps: ResendDeps, { name }: Destination): Promise<string | undefined> {
  const health = deps.healthOf(name);
  if (health !== "dead" && health !== "paused") return undefined;
  const { result, detail } = await deps.tryDestination(name);
  return result === "works" || result === "answers" ? undefined : `it still takes no messages: ${detail}`;
}

/**
 * In batches, the newest alerts first, each batch in a transaction of its own.
 * @param at all of them are made then, whichever their batch: they are counted together
 */
async function resendTo(
  { store, clock }: ResendDeps,
  destination: Destination,
  filter: FailedFilter & { failedUntil: number },
  at: number,
): Promise<ResentCount> {
  const total = { made: 0, resent: 0, noRecipient: 0 };
  for (const state of statesOf(filter)) {
    const query: FailedQuery = { ...filter, states: [state], destination: destination.name };
    let after: Position | undefined;
    do {
      const failed = await store.listFailed(query, { limit: batchSize, after });
      if (failed.length === 0) break;
      const dueAt = clock.now() + gatherMs;
      const calls = failed.map(({ deliverySeq, recipient }) => ({
        deliverySeq,
        planned: planResend(destination, recipientsNow(destination, recipient), "resent with all that failed", dueAt),
        onlyNew: hasSeveralRecipients(destination.type) && !recipientsOf(destination).includes(recipient),
      }));
      const count = await store.resendFailed(calls, at);
      total.made += count.made;
      total.resent += count.resent;
      total.noRecipient += count.noRecipient;
      after = failed.length < batchSize ? undefined : failed.at(-1)?.position;
    } while (after !== undefined);
  }
  return total;
}

/** To the same recipient; when the destination has another address now, to that. */
function recipientsNow(destination: Destination, recipient: string): string[] {
  const recipients = recipientsOf(destination);
  return recipients.includes(recipient) ? [recipient] : recipients;
}

function planResend(destination: Destination, recipients: string[], reason: string, dueAt: number): PlannedDelivery[] {
  return planDeliveries(destination, recipients, {
    route: "resend",
    state: "queued",
    reason,
    dueAt,
    updates: "new",
  });
}

function countFailed({ store }: ResendDeps, filter: FailedFilter & { failedUntil: number }): Promise<FailedCount[]> {
  return store.countFailed({ ...filter, states: statesOf(filter) });
}

function statesOf({ state }: FailedFilter): readonly FailedState[] {
  return state === undefined ? failedStates : [state];
}
