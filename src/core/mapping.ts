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
 * Where senders keep a fact, by the one who runs the relay: for each fact paths to one value of the payload
 * (`payload.rule.headline`), asked in their order and before any guess. See `readKeyPath` for the grammar.
 */
export interface FactMapping extends Partial<Record<MappableFact, string[]>> {
  /** What a sender's own words for a severity mean, before the words that are known: `{ havoc: "critical" }`. */
  severities?: Record<string, Severity>;
}
