import { formatBytes } from "../../ground/text/format-bytes.ts";
import { writeDuration } from "../../ground/time/duration.ts";
import type { Position } from "./alert-log.ts";

/** `90 days`, `90 days, and at most 20.0 GiB`, `ever`. */
export function describeRetention({ maxAgeMs, maxBytes }: RetentionRules): string {
  const size = maxBytes === undefined ? undefined : formatBytes(maxBytes);
  if (maxAgeMs === undefined) return size === undefined ? "ever" : `as long as they fit in ${size}`;
  const days = maxAgeMs / 86_400_000;
  const age = Number.isInteger(days) ? `${days} ${days === 1 ? "day" : "days"}` : writeDuration(maxAgeMs);
  return size === undefined ? age : `${age}, and at most ${size}`;
}

/** One small step through the oldest alerts. */
export interface RemovalStep {
  /** Only alerts after this position are removed. Absent: from the oldest on. */
  after?: Position;
  /** Alerts received at or after this time stay. Epoch milliseconds. */
  receivedBefore: number;
  /** How many alerts to look at, at least one. The step's duration grows with it. */
  limit: number;
}

export interface Removal {
  removed: number;
  /** Where the next step continues. Absent: no later alert is old enough. */
  next?: Position;
  /** How many alerts the log has ever accepted. Removal has to keep up with its growth. */
  accepted: number;
  /** Bytes that the log takes now. Freed room that is used again does not count. */
  usedBytes: number;
  /** How long the step kept the database busy, milliseconds. */
  tookMs: number;
}

export interface RoomGiven {
  /** Whether there is more room to give back. */
  more: boolean;
  tookMs: number;
}

/** How long alerts are kept. */
export interface RetentionRules {
  /** Absent: age removes nothing. Milliseconds. */
  maxAgeMs?: number;
  /** If the log takes more, the oldest alerts are removed, except those of the last hour. Absent: size removes nothing. Bytes. */
  maxBytes?: number;
}

/** Keeps the log from growing forever. Each call is one short commit between those of the alerts. */
export interface Retention {
  /**
   * Removes old, finished alerts, each with its deliveries and attempts, and its request with the last of its alerts. Each step
   * also forgets the threads of a few keys. An alert is finished when it was routed and every delivery is sent, failed, muted,
   * expired or digested, or held and resent. Other alerts stay, however old, and so does the data from which the log numbers
   * new ones. Removal stops at the first young alert: alerts that were stored after it are younger, whatever a slow clock says.
   * An alert from the future says nothing about later ones. On a full disk nothing is removed.
   */
  removeAlerts(step: RemovalStep): Promise<Removal>;
  /** Whether others can write during a step. Default: alerts may have to wait for a step. */
  removesBesideOthers?: boolean;
  /** Gives some of the freed room back to the disk. Absent: the database does it by itself. */
  giveBackRoom?(): Promise<RoomGiven>;
}
