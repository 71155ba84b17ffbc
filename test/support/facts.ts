import type { AlertFacts } from "../../src/core/alert.ts";

/** The facts of an alert; `changes` are what a test is about. */
export const anAlert = (changes: Partial<AlertFacts> = {}): AlertFacts => ({
  title: "An alert",
  severity: "warning",
  status: "firing",
  format: "json",
  alertKey: "key",
  fields: [],
  notes: [],
  ...changes,
});
