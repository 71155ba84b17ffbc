import { countOf } from "../../ground/text/count-of.ts";
import type { Now } from "../clock.ts";
import type { RefusedReason } from "../source.ts";

/** What has come to the hook of one source since a relay began. */
export interface HookReport {
  /** Requests that were answered 202. */
  accepted: number;
  /** When the last accepted request came. Epoch milliseconds, by the relay's own clock. */
  lastAcceptedAt?: number;
  /** Requests that did not pass its check, by why. */
  refused: Partial<Record<RefusedReason, number>>;
  lastRefusedAt?: number;
}

/** How a relay is, as it tells the others with each announcement. Holds no secret. */
export interface RelayReport {
  /** It was ready at least once since it began. Absent of a version that does not say it: it was. */
  started?: boolean;
  ready: boolean;
  /** Why it is not ready; empty when it is. */
  reasons: string[];
  /** On which it listens. Absent of a version that does not say it. */
  port?: number;
  /** Alerts that it has accepted since it began. */
  accepted: number;
  /** Alerts that lie in its spool until the database takes them. Absent: it has no spool. */
  spooled?: number;
  /** The reports of the hooks, by source. */
  hooks: Record<string, HookReport>;
}

/** `1 alert waits in the spool of this relay`. */
export const waitsInSpool = (alerts: number): string =>
  `${countOf(alerts, "alert waits", "alerts wait")} in the spool of this relay`;

/** A relay as it tells the others of itself. */
export interface RelaySelf {
  /** The id of this process, which owns its lanes. */
  id: string;
  /** What people call it: the name of its machine, as a rule. Several may have the same. */
  name: string;
  version: string;
  /** Hash of the configuration that it runs with. */
  configuration: string;
  /** Epoch milliseconds, by its own clock. */
  startedAt: number;
  /** Absent of one whose version tells nothing of it. */
  report?: RelayReport;
}

/** A relay that runs on this database. */
export interface RelayView extends RelaySelf {
  /** The higher, the later this configuration was first seen on this database; 1 or more. */
  configurationVersion: number;
  /** When it last said that it runs, epoch milliseconds by the clock of the driver. */
  seenAt: number;
  /** A later configuration ran on this database within the last day. */
  isSuperseded?: boolean;
  /** The lane groups that it holds. */
  lanes: string[];
  /** Since when it holds them, by group. Epoch milliseconds by the clock of the driver. */
  lanesSince?: Record<string, number>;
}

/** Which relays run on one database, so that they share the lanes and people see them. */
export interface Relays {
  /**
   * The time that all relays on this database go by, whatever the clocks of their machines say. Epoch milliseconds. Absent:
   * there is one relay, and its machine's clock is right.
   */
  now?: Now;
  /**
   * Says that this relay runs, for `leaseMs` from now by the clock of the driver, and how it is.
   * @returns all that run now, itself among them, in the order of their ids
   */
  announceRelay(self: RelaySelf, leaseMs: number): Promise<RelayView[]>;
  /** At a clean stop, so that nobody waits for its time to end. */
  forgetRelay(id: string): Promise<void>;
  /** All relays that run now, in the order of their ids. A store for one relay lists that one alone. */
  listRelays(): Promise<RelayView[]>;
}
