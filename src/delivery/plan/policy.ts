import type { Random } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { DeliveryProgress, DueDelivery, NextStep } from "../../core/delivery-job.ts";
import type { DeliverySettings, RetrySchedule } from "../../core/delivery-settings.ts";
import type { Destination } from "../../core/rules.ts";
import { settingsOf, vendorOf } from "../../vendors/index.ts";
import { formOf, isManual, openSince } from "./plan-claim.ts";

/** What the policy knows of a delivery before the attempt that it judges. */
export type DeliveryHistory = ReturnType<typeof historyOf>;

/** The wait when the vendor asks for one without a time. */
const defaultPatienceMs = 5_000;

/** A group may be upgraded, and its configured id may be old too. More moves are a loop. */
const maxMoves = 3;

/**
 * The next step after an outcome. Pure. All rules for repeats are here.
 *
 * | outcome | next |
 * |---|---|
 * | sent | sent, or digested |
 * | retry, moved | at once, at the new address; failed after three moves |
 * | retry with a wait | not before that wait is over; failed when it ends after the schedule |
 * | retry | on the schedule; failed when it is used up |
 * | rejected: message | once more as plain text, where the vendor has that form; then failed |
 * | rejected: recipient | failed |
 * | rejected: destination | waits, as all that comes for a dead one; a manual resend or test fails |
 * | rejected: account | waits until the account is accepted again; a manual resend or test fails |
 * | ambiguous | `retry`: later, marked, at most so often, then held; `hold`: held |
 */
export function decideNext(
  outcome: Outcome,
  history: DeliveryHistory,
  settings: DeliverySettings,
  now: number,
  random: Random,
): NextStep {
  switch (outcome.kind) {
    case "sent":
      return { state: history.inDigest ? "digested" : "sent", reason: outcome.note ?? "" };
    case "retry":
      return decideRetry(outcome, history, settings, now, random);
    case "rejected":
      return decideRejected(outcome, history, now);
    case "ambiguous":
      return decideAmbiguous(outcome, history, settings, now);
    default:
      return outcome satisfies never;
  }
}

function decideRetry(
  outcome: Extract<Outcome, { kind: "retry" }>,
  history: DeliveryHistory,
  settings: DeliverySettings,
  now: number,
  random: Random,
): NextStep {
  if (outcome.movedTo !== undefined) {
    if (history.moves >= maxMoves) return { state: "failed", reason: "the chat's new address leads in a circle" };
    return { state: "waiting", reason: outcome.detail, dueAt: now };
  }
  const { schedule } = settingsOf(history.channel, settings);
  if (outcome.countsAsAttempt === false) {
    return withinLifetime(now + (outcome.waitMs ?? defaultPatienceMs), outcome.detail, history, schedule);
  }
  const asked = now + (outcome.waitMs ?? 0);
  const wait = waitAfter(history.attempts + 1, schedule, settings.jitter, random);
  if (wait === undefined)
    return { state: "failed", reason: `gave up after ${history.attempts + 1} tries: ${outcome.detail}` };
  return withinLifetime(Math.max(asked, now + wait), outcome.detail, history, schedule);
}

function withinLifetime(dueAt: number, detail: string, history: DeliveryHistory, schedule: RetrySchedule): NextStep {
  if (dueAt > history.since + schedule.giveUpAfterMs) {
    const hours = Math.round(schedule.giveUpAfterMs / 3_600_000);
    return { state: "failed", reason: `gave up after ${hours} h: ${detail}` };
  }
  return { state: "waiting", reason: detail, dueAt };
}

function decideRejected(
  outcome: Extract<Outcome, { kind: "rejected" }>,
  history: DeliveryHistory,
  now: number,
): NextStep {
  const { scope, detail } = outcome;
  const failed: NextStep = { state: "failed", reason: detail };
  const waits = (reason: string) => ({ state: "waiting", reason, dueAt: now }) as const;
  switch (scope) {
    case "message":
      if (history.form !== "rich") return failed;
      return { ...waits(`refused, once more as plain text: ${detail}`), form: "plain" };
    case "account":
      // A manual delivery does not stop at a pause, so it would be tried again at once.
      return history.manual ? failed : waits(`waits until the account is accepted again: ${detail}`);
    case "destination":
      return history.manual ? failed : waits(detail);
    case "recipient":
      return failed;
    default:
      return scope satisfies never;
  }
}

function decideAmbiguous(
  outcome: Extract<Outcome, { kind: "ambiguous" }>,
  history: DeliveryHistory,
  settings: DeliverySettings,
  now: number,
): NextStep {
  const advice = `${outcome.detail}; look there, then resend if it is missing`;
  if (history.onAmbiguous === "hold") return { state: "held", reason: `may or may not have arrived: ${advice}` };
  const { waitMs, maxRepeats } = settingsOf(history.channel, settings).ambiguous;
  if (history.ambiguous >= maxRepeats) {
    return { state: "held", reason: `${history.ambiguous + 1} tries ended without an answer: ${advice}` };
  }
  return {
    state: "waiting",
    reason: `may or may not have arrived: ${outcome.detail}`,
    dueAt: now + Math.max(waitMs, outcome.waitMs ?? 0),
  };
}

/** `failures`: 1 or more. `jitter` 0.2: times a random factor of 0.8 to 1.2. Undefined when the schedule is used up. */
export function waitAfter(
  failures: number,
  schedule: RetrySchedule,
  jitter: number,
  random: Random,
): number | undefined {
  const base = schedule.stepsMs[failures - 1] ?? schedule.thenEveryMs;
  if (base === undefined) return undefined;
  return Math.round(base * (1 - jitter + 2 * jitter * random()));
}

/** The delivery that was tried least decides, so a fresh alert does not fail with an old one. Each repeat may be a double. */
export function historyOf(
  claim: { deliveries: readonly [DueDelivery, ...DueDelivery[]]; digest?: unknown },
  destination: Destination,
  progress: DeliveryProgress,
) {
  const { deliveries, digest } = claim;
  return {
    channel: destination.type,
    onAmbiguous: destination.onAmbiguous,
    since: Math.max(...deliveries.map(openSince)),
    /** Failed attempts that count, and ambiguous ones. */
    attempts: Math.min(...deliveries.map((delivery) => delivery.attempts)),
    ambiguous: Math.max(...deliveries.map((delivery) => delivery.ambiguous)),
    form: vendorOf(destination.type).can.plainForm ? formOf(claim) : "plain",
    moves: progress.moves ?? 0,
    // Sent together with others, or counted in another message. An alert that a cause holds back is counted in the cause's
    // message.
    inDigest: digest !== undefined || (deliveries[0].updates === "count" && deliveries[0].extras?.with === undefined),
    /** A person asked for it and waits. */
    manual: isManual(deliveries[0]),
  };
}
