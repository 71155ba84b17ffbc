/** One of several changes that are made together. */
export interface RecordChange {
  name: string;
  /** What the record has to hold now; undefined: it must not exist. */
  from: string | undefined;
  /** Undefined: it is removed. */
  to: string | undefined;
}

/**
 * Small texts that outlive a process, and that all processes of one installation share: the secrets that were made, what
 * setup has registered, and how far it has come. Their names are those of files below DATA_DIR, wherever they are kept. Each
 * method rejects with the driver's own error (of the file system), or with `AppError("store_unavailable")` when the database
 * is away.
 */
export interface KeptRecords {
  /** In the order asked, and as they were at one moment; undefined for what is not there. */
  read(...names: string[]): Promise<(string | undefined)[]>;
  /**
   * All of them, on disk when it resolves; false, and none, when one is not as its `from` says. When several callers change one
   * record at once, one gets true. Files are changed one after another in this order, so changes that a crash may not separate
   * come first.
   */
  change(changes: readonly RecordChange[]): Promise<boolean>;
  /** In place of whatever is there; undefined removes it. */
  write(name: string, text: string | undefined): Promise<void>;
  /** The names of all that are there, sorted. */
  list(): Promise<string[]>;
  /** Where it is kept, for people: `/data/secrets/admin-token`. */
  placeOf(name: string): string;
  /** Copies and restores often let other users read a file: it is closed to them again. Absent: it has no users. */
  closeToOthers?(name: string): Promise<void>;
}
