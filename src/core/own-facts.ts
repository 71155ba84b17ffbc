import type { AlertFacts } from "./alert.ts";

/** The words of an alert that Tocsin makes itself: a notice, a receipt, a test. */
export interface OwnWords extends Pick<AlertFacts, "title" | "text" | "severity" | "link"> {
  status: "firing" | "resolved";
  /** The part of the alert key after `tocsin:`, the same at the beginning and end of a trouble. */
  key: string;
  /** Default: none. */
  fields?: AlertFacts["fields"];
}

export function ownFacts({ key, fields = [], ...said }: OwnWords): AlertFacts {
  return { ...said, format: "empty", alertKey: `tocsin:${key}`, source: "Tocsin", fields, notes: [] };
}
