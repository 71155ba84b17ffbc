import type { AlertFacts } from "./alert.ts";

/** What Tocsin says itself: in a notice, a receipt, a test. */
export interface OwnWords extends Pick<AlertFacts, "title" | "text" | "severity" | "link"> {
  status: "firing" | "resolved";
  /** Behind `tocsin:`; the same for the beginning and the end of one trouble. */
  key: string;
  /** Default: none. */
  fields?: AlertFacts["fields"];
}

export function ownFacts({ key, fields = [], ...said }: OwnWords): AlertFacts {
  return { ...said, format: "empty", alertKey: `tocsin:${key}`, source: "Tocsin", fields, notes: [] };
}
