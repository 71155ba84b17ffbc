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
  /** Only what is stored behind this position is removed. Absent: from the oldest on. */
  after?: Position;
  /** What was received then or later stays. Epoch milliseconds. */
  receivedBefore: number;
  /** How many alerts are looked at, at least one. What the step takes grows with it. */
  limit: number;
}

export interface Removal {
  removed: number;
  /** Where the next step goes on. Absent: nothing behind it is old enough. */
  next?: Position;
  /** How many alerts the log has ever taken: by how much it grows, removing has to keep up with that. */
  accepted: number;
  /** Bytes that the log takes now. Freed room that is used again does not count. */
  usedBytes: number;
  /** How long the database had to do with it, milliseconds. */
  tookMs: number;
}

export interface RoomGiven {
  /** There is more to give back. */
  more: boolean;
  tookMs: number;
}

/** How long alerts are kept. */
export interface RetentionRules {
  /** Absent: however old they are. Milliseconds. */
  maxAgeMs?: number;
  /**
   * When the log takes more, the oldest alerts are removed, but not those of the last hour. Absent: however much it takes. Bytes.
   */
  maxBytes?: number;
}

/** How the log is kept from growing for ever. Each call is one short commit between those of the alerts. */
export interface Retention {
  /**
   * Removes alerts that are old and finished, each with its deliveries and attempts, and its request when no other alert
   * is of it; which messages their keys had is forgotten a few at each step. Finished is an alert that was routed and whose every
   * delivery is sent, failed, muted, expired or digested, or held and resent. The rest stays however old it is, and so does what
   * the log needs to number what comes next. It goes no further than the first alert that is young: what was stored behind it is
   * younger, whatever a clock that was behind says. An alert from the future says nothing of those behind it. Nothing on a full
   * disk.
   */
  removeAlerts(step: RemovalStep): Promise<Removal>;
  /** A step waits for itself alone: others can write meanwhile. Default: alerts may have to wait for a step. */
  removesBesideOthers?: boolean;
  /** Gives some of the room that was freed back to the disk. Absent: the database does it by itself. */
  giveBackRoom?(): Promise<RoomGiven>;
}
