/** Differences between drivers, as data: nobody asks which driver it is. */
export interface StoreCapabilities {
  /** Whether several relays may work on one database. If not, opening it a second time is refused with `store_locked`. */
  sharedByRelays: boolean;
}

export interface StoreHealth {
  /** Whether a change was committed just now. */
  writable: boolean;
  /** Whether there is no room. New alerts are refused until there is some. Everything else works. */
  full: boolean;
  /**
   * The last reason why earlier alerts could not be looked up since the start. The database is probably damaged there, and
   * repeats may have been sent.
   */
  damage?: string;
  /** Alerts that wait for routing. */
  unrouted: number;
  oldestUnroutedAt?: number;
  /** Size of the database on disk in bytes, including the log of recent writes. */
  bytes: number;
  /** Room on the database's disk. Absent where it is another machine's. */
  freeBytes?: number;
  /** Size of that disk. Absent likewise. */
  diskBytes?: number;
}

/**
 * Whether another server that would replace this one has every alert that was answered. `synchronous`: commits wait for one.
 * `asynchronous`: they do not. `unclear`: something copies from this server, and its user may not see whether it is a standby.
 */
export type Standbys = "none" | "synchronous" | "asynchronous" | "unclear";

/** The work that was done, as fields for the log. */
export type Maintenance = Record<string, number | boolean>;

export interface Administration {
  readonly capabilities: StoreCapabilities;
  /** Looks at the database anew each time. It tests writing by a write. */
  health(): Promise<StoreHealth>;
  /** The standbys as far as they can be seen now. Absent: there can be none. */
  standbys?(): Promise<Standbys>;
  /**
   * The driver's own housekeeping, called about once a second. It does the work that is due at `now`, in pieces that delay no
   * commit for long, until `stop` is aborted. It removes expired keys and makes alerts searchable. About once an hour it
   * resolves with a summary, otherwise with nothing. Absent: the database does it by itself.
   */
  maintain?(now: number, stop?: AbortSignal): Promise<Maintenance | undefined>;
  /**
   * Makes a consistent copy at `path` (must not exist), checked and fsynced before it gets its name. Absent: the database has
   * its own tools.
   */
  backup?(path: string): Promise<void>;
  /** Waits for earlier calls. Later calls are refused. */
  close(): Promise<void>;
}
