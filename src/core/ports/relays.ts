import { countOf } from "../../ground/text/count-of.ts";
import type { Now } from "../clock.ts";
import type { RefusedReason } from "../source.ts";

/** The requests to one source's hook since a relay began. */
export interface HookReport {
  /** Requests that were answered 202. */
  accepted: number;
  /** When the last accepted request came. Epoch milliseconds, by the relay's own clock. */
  lastAcceptedAt?: number;
  /** Requests that did not pass the source's check, by reason. */
  refused: Partial<Record<RefusedReason, number>>;
  lastRefusedAt?: number;
}

/** The state of a relay, sent to the others with each announcement. Holds no secret. */
export interface RelayReport {
  /** Whether the relay was ready at least once since it began. Absent in reports of old versions: it was. */
  started?: boolean;
  ready: boolean;
  /** Why the relay is not ready. Empty when it is. */
  reasons: string[];
  /** The port that the relay listens on. Absent in reports of old versions. */
  port?: number;
  /** Alerts accepted since the relay began. */
  accepted: number;
  /** Alerts in the relay's spool that wait for the database. Absent: it has no spool. */
  spooled?: number;
  /** The reports of the hooks, by source. */
  hooks: Record<string, HookReport>;
}

/** `1 alert waits in the spool of this relay`. */
export const waitsInSpool = (alerts: number): string =>
  `${countOf(alerts, "alert waits", "alerts wait")} in the spool of this relay`;

/** A relay as it announces itself to the others. */
export interface RelaySelf {
  /** The id of this process, which owns its lanes. */
  id: string;
  /** The name for people: usually that of the machine. Several relays may have the same. */
  name: string;
  version: string;
  /** Hash of the relay's configuration. */
  configuration: string;
  /** Epoch milliseconds, by its own clock. */
  startedAt: number;
  /** Absent for an old version, which sends no report. */
  report?: RelayReport;
}

/** A relay that runs on this database. */
export interface RelayView extends RelaySelf {
  /** Grows with the time at which this configuration was first seen on this database. At least 1. */
  configurationVersion: number;
  /** When the relay last announced itself, epoch milliseconds by the clock of the driver. */
  seenAt: number;
  /** A later configuration ran on this database within the last day. */
  isSuperseded?: boolean;
  /** The lane groups that the relay holds. */
  lanes: string[];
  /** Since when the relay holds each group. Epoch milliseconds by the clock of the driver. */
  lanesSince?: Record<string, number>;
}

/** The relays on one database, so they can share lanes and people can see them. */
export interface Relays {
  /**
   * The time that all relays on this database use, whatever the clocks of their machines say. Epoch milliseconds. Absent: there
   * is one relay, which uses its machine's clock.
   */
  now?: Now;
  /**
   * Announces this relay with its report, for `leaseMs` from now by the clock of the driver.
   * @returns all relays that run now, with this one, in the order of their ids
   */
  announceRelay(self: RelaySelf, leaseMs: number): Promise<RelayView[]>;
  /** Removes the relay at a clean stop, so nobody waits for its lease to end. */
  forgetRelay(id: string): Promise<void>;
  /** All relays that run now, in the order of their ids. A store for one relay lists only that one. */
  listRelays(): Promise<RelayView[]>;
}
