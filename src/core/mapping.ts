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

/** Paths to each fact in a sender's payload (`payload.rule.headline`), tried before any guess. Grammar: `readKeyPath`. */
export interface FactMapping extends Partial<Record<MappableFact, string[]>> {
  /** A sender's own words for severities: `{ havoc: "critical" }`. They are looked up before the known words. */
  severities?: Record<string, Severity>;
}
