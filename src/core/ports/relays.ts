import type { Now } from "../clock.ts";

/** A relay as it tells the others of itself. */
export interface RelaySelf {
  /** Of this process; the owner of its lanes. */
  id: string;
  /** What people call it: the name of its machine, as a rule. */
  name: string;
  version: string;
  /** Hash of the configuration that it runs with. */
  configuration: string;
  /** Epoch milliseconds, by its own clock. */
  startedAt: number;
}

/** A relay that runs on this database. */
export interface RelayView extends RelaySelf {
  /** The higher, the later this configuration was first seen on this database; 1 or more. */
  configurationVersion: number;
  /** When it last said that it runs, epoch milliseconds by the clock of the driver. */
  seenAt: number;
  /** The lane groups that it holds. */
  lanes: string[];
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
  /** All that run now, in the order of their ids. A driver for one relay knows of that one alone. */
  listRelays(): Promise<RelayView[]>;
}
