import type { FactMapping } from "./mapping.ts";

/** Where a sender keeps its own key of an event: in a header (lower case), or at a path of the body. */
export type KeyPlace = { header: string } | { path: string };

/** A named hook beside the account's: what came by it carries the name as the fact `source`. */
export interface Source {
  /** `isSourceName`. */
  name: string;
  /** Looked at before the usual headers and the paths of all hooks. */
  keyPlaces: KeyPlace[];
  /** Comes before the mapping of all hooks, fact by fact. */
  mapping: FactMapping;
}

/** It stands in names of files, labels and addresses: small letters, digits, `-` and `_`, 40 at most. */
export function isSourceName(text: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,39}$/.test(text);
}

/** What the account's own hook is called where sources are listed. */
export const accountHook = "hook";
