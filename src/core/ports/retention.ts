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

export interface RemovalStep {
  /** Only alerts after this position are removed. Absent: the oldest first. */
  after?: Position;
  /** Later alerts stay. Epoch milliseconds. */
  receivedBefore: number;
  /** How many alerts to look at, at least one. A step takes longer with more. */
  limit: number;
}

export interface Removal {
  removed: number;
  /** Where the next step begins. Absent: no other alert is old enough. */
  next?: Position;
  /** All alerts that the log ever accepted. Removal has to keep up with their number. */
  accepted: number;
  /** The log's bytes without freed room that can be used again. */
  usedBytes: number;
  /** How long the database was busy. */
  tookMs: number;
}

export interface RoomGiven {
  /** Whether there is more room to give back. */
  more: boolean;
  tookMs: number;
}

export interface RetentionRules {
  /** Absent: age removes nothing. */
  maxAgeMs?: number;
  /** Above this the oldest alerts are removed, except those of the last hour. Absent: size removes nothing. Bytes. */
  maxBytes?: number;
}

/** Each call is one short commit. */
export interface Retention {
  /**
   * Removes old, finished alerts with their deliveries and attempts, and a request with its last alert. Also forgets
   * the threads of a few keys. An alert is finished when it was routed and each delivery is sent, failed, muted,
   * expired or digested, or held and resent. Other alerts stay, however old, and so does the data that numbers new
   * ones. Removal stops at the first young alert, whatever a slow clock says of later ones. An alert from the future
   * does not stop it. On a full disk nothing is removed.
   */
  removeAlerts(step: RemovalStep): Promise<Removal>;
  /** Whether others can write during a step. Default: alerts may have to wait for it. */
  removesBesideOthers?: boolean;
  /** Gives some freed room back to the disk. Absent: the database does it by itself. */
  giveBackRoom?(): Promise<RoomGiven>;
}
