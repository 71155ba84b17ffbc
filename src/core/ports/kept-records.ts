export interface RecordChange {
  name: string;
  /** The content that the record must have. Undefined: it must not exist. */
  from: string | undefined;
  /** Undefined: the record is removed. */
  to: string | undefined;
}

/**
 * Small texts that outlive a process and that all processes of an installation share: generated secrets, what setup has
 * registered, the progress of setup. Names are those of files below DATA_DIR. Methods reject with the file system's
 * error, or with `AppError("store_unavailable")`.
 */
export interface KeptRecords {
  /** In the order asked, as of one moment. Undefined for a missing record. */
  read(...names: string[]): Promise<(string | undefined)[]>;
  /** All changes, or none (false) where a record was not as its `from` says. Files change in this order. */
  change(changes: readonly RecordChange[]): Promise<boolean>;
  /** Undefined removes the record. */
  write(name: string, text: string | undefined): Promise<void>;
  /** Sorted. */
  list(): Promise<string[]>;
  /** For people: `/data/secrets/admin-token`. */
  placeOf(name: string): string;
  /** Removes other users' access to a file. Copies and restores often give it. Absent: records have no users. */
  closeToOthers?(name: string): Promise<void>;
}
