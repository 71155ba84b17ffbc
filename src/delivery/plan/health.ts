import type { Outcome, ReasonCode } from "../../core/delivery.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { DestinationState, DestinationStatus, StatusKey } from "../../core/destination-status.ts";
import type { Destination } from "../../core/rules.ts";
import type { Vendor } from "../../vendors/vendor.ts";
import { accountOf } from "./accounts.ts";

const minuteMs = 60_000;
/** A mail server may shut out an address that tries a refused password too often. */
const pausedProbeMs = 10 * minuteMs;
/** A destination that asks to come later, as a greylist does, counts as down only after so long. */
const putOffMs = 10 * minuteMs;
/** A dead destination is probed 1, 3 and 8 min after it died (or was needed again), then every 15 min. */
const deadProbes = [
  { beforeMs: minuteMs, pauseMs: minuteMs },
  { beforeMs: 3 * minuteMs, pauseMs: 2 * minuteMs },
  { beforeMs: 8 * minuteMs, pauseMs: 5 * minuteMs },
];
const longestDeadPauseMs = 15 * minuteMs;
/** A delivery waits this long for a dead destination, then fails. */
export const waitForDeadMs = 60 * minuteMs;

function nextProbeOf(status: DestinationStatus, now: number): number {
  if (status.health !== "dead") return now + pausedProbeMs;
  const passedMs = now - Math.max(status.since, status.neededAt ?? 0);
  return now + (deadProbes.find(({ beforeMs }) => passedMs < beforeMs)?.pauseMs ?? longestDeadPauseMs);
}

/** For the first alert that waits for a dead destination: it is probed soon, and often at first. Pure. */
export function neededNow(status: DestinationStatus, now: number): DestinationStatus {
  if (status.health !== "dead" || status.probeAt === undefined) return status;
  return { ...status, neededAt: now, probeAt: Math.min(status.probeAt, now + minuteMs) };
}

export function newStatus({ kind, name }: StatusKey, now: number): DestinationStatus {
  return { kind, name, health: "ok", reason: "", since: now, failures: 0 };
}

export function keyOf({ name }: Pick<Destination, "name">): StatusKey {
  return { kind: "destination", name };
}

/** The destination's account. Undefined when it has none. */
export function accountKeyOf(destination: Destination): StatusKey | undefined {
  const name = accountOf(destination);
  return name === undefined ? undefined : { kind: "account", name };
}

/** A destination without a status is well. */
export function stateOf(
  destination: Destination,
  find: (key: StatusKey) => DestinationStatus | undefined,
  now: number,
): DestinationState {
  const statusOf = (key: StatusKey) => find(key) ?? newStatus(key, now);
  const account = accountKeyOf(destination);
  return { destination, own: statusOf(keyOf(destination)), account: account && statusOf(account) };
}

/** Whether the destination takes messages, as far as is known, and is not paused. */
export function isWell({ own, account }: DestinationState): boolean {
  if (own.paused !== undefined || (account?.health ?? "ok") !== "ok") return false;
  return own.health === "ok" || own.health === "degraded";
}

/**
 * What a call says about the destination, or (`account`) about the bot or mail account. Pure.
 *
 *     ok ──5 failures in a row──▶ down: the breaker is open, one call after each pause, which doubles; where it answers
 *          and asks to come later, not before ten minutes
 *     ok, down ──refused for good──▶ dead: probed after 1, 2, 5 and each 15 min    (destinations)
 *     ok ──credentials refused──▶ paused: probed every 10 minutes                 (accounts)
 *     dead, paused ──a probe gets through that proves nothing more──▶ the same, and the next message is the try (`openUntil`)
 *     dead, paused, being tried ──a call without a clear answer──▶ down
 *     any ──a call succeeds, or a probe that is as good as one──▶ ok
 *     any ──a call succeeds, though not as configured (a topic is gone)──▶ degraded
 */
export function judgeOutcome(
  status: DestinationStatus,
  outcome: Outcome,
  settings: DeliverySettings,
  now: number,
): DestinationStatus {
  switch (outcome.kind) {
    case "sent":
      return { ...afterMessage(status, outcome.degraded, now), lastSentAt: now };
    case "retry":
      if (outcome.movedTo !== undefined) return status;
      return outcome.countsAsAttempt === false ? status : failedOnce(status, outcome, settings, now);
    case "ambiguous":
      return failedOnce(status, outcome, settings, now);
    case "rejected":
      return judgeRejection(status, outcome, now);
    default:
      return outcome satisfies never;
  }
}

function judgeRejection(
  status: DestinationStatus,
  outcome: Extract<Outcome, { kind: "rejected" }>,
  now: number,
): DestinationStatus {
  const { scope } = outcome;
  switch (scope) {
    case "message":
    case "recipient":
      return recovered(status, now);
    case "destination":
      return turned(status, "dead", outcome, now);
    case "account":
      return turned(status, "paused", outcome, now);
    default:
      return scope satisfies never;
  }
}

/**
 * What a probe says about a dead or paused destination. Pure. Only a clear success changes anything. With `proves` it counts like
 * a delivered message. Without, it was only a connection, which anything at the address could answer: the next message is tried
 * at once, and the destination counts as refusing until that gets through. A destination that is down is probed only when a
 * person asks.
 */
export function judgeProbe(
  status: DestinationStatus,
  outcome: Outcome,
  proves: boolean,
  now: number,
): DestinationStatus {
  if (status.health === "down") {
    if (outcome.kind !== "sent") return status;
    return proves ? recovered(status, now) : { ...status, openUntil: now };
  }
  if (outcome.kind !== "sent") {
    const reason = outcome.kind === "rejected" ? outcome.detail : status.reason;
    return { ...status, reason, probeAt: nextProbeOf(status, now), openUntil: undefined };
  }
  return proves ? recovered(status, now) : { ...status, probeAt: undefined, openUntil: now };
}

/** Unasked probes that must fail in a row: one in twenty may fail for months. */
const failedProbesThatCount = 5;
/** Nobody answers at the address. Where a probe is only a connection, other reasons say nothing about messages. */
const unreachable: readonly ReasonCode[] = [
  "connect_failed",
  "dns_failed",
  "tls_failed",
  "timeout_before_send",
  "no_answer",
  "connection_lost",
];

/**
 * What an unasked probe says about a destination that seems well, or that only such probes have found down. Pure.
 *
 *     ok, degraded ──refused for good──▶ dead or paused, as if a delivery had found it
 *     ok, degraded ──no answer, five times in a row──▶ down, and its next message is still tried at once
 *     down, found so ──a yes──▶ ok
 *
 * A refusal counts only where the probe asks the same as a delivery. A server may lack a page for its health.
 */
export function judgeProof(
  status: DestinationStatus,
  outcome: Outcome,
  proves: Vendor["probeProves"],
  now: number,
): DestinationStatus {
  switch (outcome.kind) {
    case "sent": {
      const well = isFoundByProbes(status) ? recovered(status, now) : status;
      return { ...well, failedProbes: undefined, lastProvenAt: now };
    }
    case "rejected": {
      const isRefused = outcome.scope === "destination" || outcome.scope === "account";
      return isRefused && proves !== "connection" ? judgeRejection(status, outcome, now) : status;
    }
    case "retry":
      if (outcome.movedTo !== undefined || outcome.countsAsAttempt === false) return status;
      return unproven(status, outcome, proves, now);
    case "ambiguous":
      return unproven(status, outcome, proves, now);
    default:
      return outcome satisfies never;
  }
}

function unproven(
  status: DestinationStatus,
  { reason, detail }: Failure,
  proves: Vendor["probeProves"],
  now: number,
): DestinationStatus {
  const isJudged = status.health === "ok" || status.health === "degraded" || isFoundByProbes(status);
  if (!isJudged || (proves === "connection" && !unreachable.includes(reason))) return status;
  const failedProbes = { count: (status.failedProbes?.count ?? 0) + 1, reason, detail };
  if (failedProbes.count < failedProbesThatCount || isFoundByProbes(status)) return { ...status, failedProbes };
  return { ...status, health: "down", reason: detail, reasonCode: reason, since: now, openUntil: now, failedProbes };
}

/** Whether only probes have found it down. One that succeeds then ends it. */
export function isFoundByProbes({ health, failedProbes }: DestinationStatus): boolean {
  return health === "down" && failedProbes !== undefined;
}

/** A shut destination is tried at the start of its lane, since a person may have mended it. Pure. */
export function tryAgainNow(status: DestinationStatus, now: number): DestinationStatus {
  if (isProbed(status)) return { ...status, probeAt: now };
  return status.openUntil === undefined ? status : { ...status, openUntil: now };
}

/** Whether the destination refuses everything, and gets no message before a probe has succeeded. */
export function isProbed(status: DestinationStatus): boolean {
  return isRefusing(status) && status.openUntil === undefined;
}

function isRefusing({ health }: DestinationStatus): boolean {
  return health === "dead" || health === "paused";
}

interface Failure {
  reason: ReasonCode;
  detail: string;
}

function failedOnce(
  status: DestinationStatus,
  { reason: reasonCode, detail: reason }: Failure,
  { breaker }: DeliverySettings,
  now: number,
): DestinationStatus {
  if (isProbed(status)) return { ...status, failures: status.failures + 1 };
  const isConfirmed = isFoundByProbes(status) || isRefusing(status);
  const failures = isConfirmed ? Math.max(status.failures + 1, breaker.openAfter) : status.failures + 1;
  const since = status.health === "ok" ? now : status.since;
  const isNews = !isConfirmed && status.health !== "down";
  const isPutOff = isNews && reasonCode === "temporary_refusal" && Math.abs(now - since) < putOffMs;
  if (failures < breaker.openAfter || isPutOff) {
    return { ...status, failedProbes: undefined, failures, reason, reasonCode, health: "degraded", since };
  }
  const pauseMs = Math.min(breaker.firstPauseMs * 2 ** (failures - breaker.openAfter), breaker.maxPauseMs);
  const openUntil = now + pauseMs;
  return { ...status, failedProbes: undefined, failures, reason, reasonCode, health: "down", since, openUntil };
}

function turned(
  status: DestinationStatus,
  health: "dead" | "paused",
  { reason: reasonCode, detail: reason }: Failure,
  now: number,
): DestinationStatus {
  const next: DestinationStatus = {
    ...status,
    health,
    reason,
    reasonCode,
    since: status.health === health ? status.since : now,
    openUntil: undefined,
    failures: status.failures + 1,
    failedProbes: undefined,
  };
  return { ...next, probeAt: nextProbeOf(next, now) };
}

function afterMessage(status: DestinationStatus, degraded: string | undefined, now: number): DestinationStatus {
  const well = recovered(status, now);
  if (degraded === undefined) return well;
  const since = status.health === "degraded" ? status.since : now;
  return { ...well, health: "degraded", reason: degraded, since };
}

function recovered(status: DestinationStatus, now: number): DestinationStatus {
  if (status.health === "ok" && status.failures === 0 && status.failedProbes === undefined) return status;
  return {
    ...status,
    health: "ok",
    reason: "",
    reasonCode: undefined,
    since: status.health === "ok" ? status.since : now,
    failures: 0,
    openUntil: undefined,
    probeAt: undefined,
    neededAt: undefined,
    failedProbes: undefined,
  };
}
