import type { Severity } from "./alert.ts";

/** Facts for which a `mapping` can name a place. */
export const mappableFacts = [
  "title",
  "text",
  "severity",
  "status",
  "metric",
  "token",
  "chain",
  "value",
  "previousValue",
  "threshold",
  "unit",
  "occurredAt",
  "link",
  "externalId",
  "source",
  "alertKey",
] as const;
export type MappableFact = (typeof mappableFacts)[number];

/**
 * The places where senders keep a fact, as the operator configures them. Each fact has paths to one value of the payload
 * (`payload.rule.headline`). They are tried in order, before any guess. See `readKeyPath` for the grammar.
 */
export interface FactMapping extends Partial<Record<MappableFact, string[]>> {
  /** The meaning of a sender's own words for a severity: `{ havoc: "critical" }`. Looked up before the known words. */
  severities?: Record<string, Severity>;
}
