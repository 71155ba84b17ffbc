/** What differs between drivers, as data: nobody asks which driver it is. */
export interface StoreCapabilities {
  /** Several relays may work on one database. Where not, opening it a second time is refused with `store_locked`. */
  sharedByRelays: boolean;
}

export interface StoreHealth {
  /** A change was committed just now. */
  writable: boolean;
  /** There is no room: new alerts are refused until there is some again, and whatever else is asked for goes on. */
  full: boolean;
  /**
   * Set when earlier alerts could not be looked up since the start, with the last reason: the database is probably
   * damaged there, and repeats may have been sent.
   */
  damage?: string;
  /** Alerts that wait for routing. */
  unrouted: number;
  oldestUnroutedAt?: number;
  /** Size of the database on disk, in bytes, with what was written and not yet put into its place. */
  bytes: number;
  /** Room on the disk of the database. Absent where that is another machine's. */
  freeBytes?: number;
  /** Size of that disk. Absent likewise. */
  diskBytes?: number;
}

/**
 * Whether another server that would take this one's place has every alert that was answered: `synchronous`, commits wait for one;
 * `asynchronous`, they do not; `unclear`, something copies from this server, and its user may not see whether that is a standby.
 */
export type Standbys = "none" | "synchronous" | "asynchronous" | "unclear";

/** What was done, as fields for the log. */
export type Maintenance = Record<string, number | boolean>;

export interface Administration {
  readonly capabilities: StoreCapabilities;
  /** Looks at the database anew each time: that it can be written is found by writing. */
  health(): Promise<StoreHealth>;
  /** As far as it can be seen just now. Absent: there can be none. */
  standbys?(): Promise<Standbys>;
  /**
   * The driver's own housekeeping, to be asked for about once a second: it does what is due at `now`, in pieces that
   * delay no commit for long, until `stop` is aborted. Expired keys are removed and alerts become searchable by it.
   * Resolves with what was done now and then, about once an hour, else with nothing. Absent: the database does it by
   * itself.
   */
  maintain?(now: number, stop?: AbortSignal): Promise<Maintenance | undefined>;
  /**
   * A consistent copy at `path` (must not exist), checked and fsynced before it gets its name. Absent: with the
   * database's own tools.
   */
  backup?(path: string): Promise<void>;
  /** Waits for what was called before; whatever is called later is refused. */
  close(): Promise<void>;
}
