/** One of several changes that are made together. */
export interface RecordChange {
  name: string;
  /** The content that the record must have now. Undefined: it must not exist. */
  from: string | undefined;
  /** Undefined: the record is removed. */
  to: string | undefined;
}

/**
 * Small texts that outlive a process and that all processes of an installation share: generated secrets, what setup has
 * registered, and the progress of setup. Wherever they are kept, their names are those of files below DATA_DIR. Each method
 * rejects with the driver's own error (of the file system), or with `AppError("store_unavailable")` when the database is away.
 */
export interface KeptRecords {
  /** The records in the order asked, as of one moment. Undefined for a missing one. */
  read(...names: string[]): Promise<(string | undefined)[]>;
  /**
   * Makes all changes, on disk when it resolves. False: none was made, since a record was not as its `from` says. When several
   * callers change one record at once, one gets true. Files are changed one after another in this order, so changes that a
   * crash may not separate come first.
   */
  change(changes: readonly RecordChange[]): Promise<boolean>;
  /** Replaces the record. Undefined removes it. */
  write(name: string, text: string | undefined): Promise<void>;
  /** The names of all records, sorted. */
  list(): Promise<string[]>;
  /** The record's place, for people: `/data/secrets/admin-token`. */
  placeOf(name: string): string;
  /** Removes other users' access to a file, which copies and restores often allow. Absent: records have no users. */
  closeToOthers?(name: string): Promise<void>;
}
