import { countOf } from "../../ground/text/count-of.ts";
import type { Now } from "../clock.ts";
import type { RefusedReason } from "../source.ts";

/** Requests to one source's hook since the relay began. */
export interface HookReport {
  /** Answered 202. */
  accepted: number;
  /** Epoch milliseconds, by the relay's own clock. */
  lastAcceptedAt?: number;
  /** Counts for each reason. */
  refused: Partial<Record<RefusedReason, number>>;
  lastRefusedAt?: number;
}

/** The state that a relay announces to the others. Holds no secret. */
export interface RelayReport {
  /** Whether the relay was ready since it began. Absent in reports of old versions: it was. */
  started?: boolean;
  ready: boolean;
  /** Why the relay is not ready. Empty when it is. */
  reasons: string[];
  /** Absent in reports of old versions. */
  port?: number;
  /** Since the relay began. */
  accepted: number;
  /** Alerts in the relay's spool. Absent: it has no spool. */
  spooled?: number;
  /** For each source. */
  hooks: Record<string, HookReport>;
}

/** `1 alert waits in the spool of this relay`. */
export const waitsInSpool = (alerts: number): string =>
  `${countOf(alerts, "alert waits", "alerts wait")} in the spool of this relay`;

export interface RelaySelf {
  /** The id of the process. It owns the lanes. */
  id: string;
  /** For people: usually the machine's name. Several relays may have the same. */
  name: string;
  version: string;
  /** Hash of the relay's configuration. */
  configuration: string;
  /** Epoch milliseconds, by its own clock. */
  startedAt: number;
  /** Absent for old versions. */
  report?: RelayReport;
}

/** A running relay, as the others see it. */
export interface RelayView extends RelaySelf {
  /** Larger for a configuration that was first seen later on this database. At least 1. */
  configurationVersion: number;
  /** The last announcement, epoch milliseconds by the driver's clock. */
  seenAt: number;
  /** A later configuration ran on this database in the last day. */
  isSuperseded?: boolean;
  lanes: string[];
  /** For each group, in epoch milliseconds by the driver's clock. */
  lanesSince?: Record<string, number>;
}

/** The relays on one database. They share lanes, and people see them. */
export interface Relays {
  /** The clock of all relays on this database, epoch milliseconds. Absent: only one relay works here. */
  now?: Now;
  /** Announces this relay for `leaseMs` by the driver's clock. Gives all running relays, with this one, in the order of ids. */
  announceRelay(self: RelaySelf, leaseMs: number): Promise<RelayView[]>;
  /** For a clean stop: the others need not wait for the lease to end. */
  forgetRelay(id: string): Promise<void>;
  /** In the order of their ids. */
  listRelays(): Promise<RelayView[]>;
}
