/** Differences between drivers as data. Nothing asks which driver it is. */
export interface StoreCapabilities {
  /** Whether several relays may share one database. Without it a second opening is refused with `store_locked`. */
  sharedByRelays: boolean;
}

export interface StoreHealth {
  /** Whether a change has just been committed as a test. */
  writable: boolean;
  /** No room on the disk: new alerts are refused until there is some. Everything else works. */
  full: boolean;
  /** Why earlier alerts could not be looked up, the last time. The database is probably damaged, and repeats may be sent. */
  damage?: string;
  /** Alerts that wait for routing. */
  unrouted: number;
  oldestUnroutedAt?: number;
  /** On disk, with the log of recent writes. */
  bytes: number;
  /** Room on the database's disk. Absent on another machine. */
  freeBytes?: number;
  diskBytes?: number;
}

/** `synchronous`: commits wait for a standby. `asynchronous`: they do not. `unclear`: a copy is taken by an unknown program. */
export type Standbys = "none" | "synchronous" | "asynchronous" | "unclear";

/** The work that was done, for the log. */
export type Maintenance = Record<string, number | boolean>;

export interface Administration {
  readonly capabilities: StoreCapabilities;
  /** Looks anew each time, and tests writing by a write. */
  health(): Promise<StoreHealth>;
  /** Absent: there can be no standbys. */
  standbys?(): Promise<Standbys>;
  /**
   * The driver's housekeeping, called about once a second: removes expired keys, makes alerts searchable. Works in
   * pieces that delay no commit for long, until `stop` is aborted. Resolves with a summary about once an hour,
   * otherwise with nothing. Absent: the database needs none.
   */
  maintain?(now: number, stop?: AbortSignal): Promise<Maintenance | undefined>;
  /** Makes a checked copy at `path`, which must not exist. Absent: the database has its own tools. */
  backup?(path: string): Promise<void>;
  /** Waits for earlier calls. Later calls are refused. */
  close(): Promise<void>;
}
