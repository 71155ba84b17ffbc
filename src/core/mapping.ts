import type { Severity } from "./alert.ts";

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
 * Where a sender keeps each fact, as the operator configures it: paths to a value of the payload
 * (`payload.rule.headline`). They are tried in order, before any guess. Grammar: `readKeyPath`.
 */
export interface FactMapping extends Partial<Record<MappableFact, string[]>> {
  /** A sender's own words for severities: `{ havoc: "critical" }`. They are looked up before the known words. */
  severities?: Record<string, Severity>;
}
