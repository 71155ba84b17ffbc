import { type AlertFacts, severities } from "../../core/alert.ts";
import { readJson } from "../../ground/text/read-json.ts";
import type { Row } from "./rescue-rows.ts";

interface JsonText {
  column: string;
  isRight(value: unknown): boolean;
  /** Replaces a damaged text. Absent: the row means nothing without the text. */
  instead?(row: Record<string, unknown>): unknown;
}

const isList = (value: unknown): boolean => Array.isArray(value);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isFacts = (value: unknown): boolean =>
  isObject(value) &&
  [value.title, value.alertKey].every((text) => typeof text === "string") &&
  [value.fields, value.notes].every(isList);

const headers: JsonText = { column: "headers", isRight: isList, instead: () => [] };
const jsonTexts: Record<string, JsonText[]> = {
  requests: [headers],
  refused_requests: [headers, { column: "alert_ids", isRight: isList, instead: () => [] }],
  alerts: [
    { column: "facts", isRight: isFacts, instead: unknownFacts },
    {
      column: "decisions",
      isRight: (value) => isList(value) && (value as unknown[]).every(isObject),
      instead: () => [],
    },
  ],
  deliveries: [
    {
      column: "progress",
      isRight: (value) => isObject(value) && isList(value.refs),
      instead: () => ({ refs: [] }),
    },
    { column: "extras", isRight: isObject, instead: () => ({}) },
    { column: "damped", isRight: isObject, instead: () => nothingHeld },
  ],
  rings: [{ column: "memory", isRight: isObject }],
  group_memories: [{ column: "memory", isRight: isObject }],
  mutes: [{ column: "matchers", isRight: isList }],
  paces: [{ column: "sent_at", isRight: isList, instead: () => [] }],
  destination_statuses: [{ column: "status", isRight: isObject }],
  watch_states: [{ column: "state", isRight: (value) => value !== undefined }],
};

const nothingHeld = { count: 0, sinceAt: 0, why: "", worst: { id: "", at: 0, severity: "unknown" } };

/** Facts for an alert whose own were damaged. It stays in the log with its body and its deliveries. */
function unknownFacts({ id, severity, alert_key }: Record<string, unknown>): AlertFacts {
  return {
    title: "Alert with damaged facts",
    severity: severities.find((known) => known === severity) ?? "unknown",
    status: "unknown",
    format: "text",
    alertKey: typeof alert_key === "string" && alert_key !== "" ? alert_key : `damaged ${id}`,
    fields: [],
    notes: ["the facts were damaged on the disk, and `tocsin repair` left them out: see the body"],
  };
}

/** Replaces each damaged JSON text of a row by a readable one. `unfit`: the row means nothing without the text. */
export function mendTexts(table: string, columns: string[], row: Row): "right" | "mended" | "unfit" {
  let outcome: "right" | "mended" = "right";
  for (const { column, isRight, instead } of jsonTexts[table] ?? []) {
    const place = columns.indexOf(column);
    const text = row[place];
    if (text === null || (typeof text === "string" && isRight(readJson(text)))) continue;
    if (instead === undefined) return "unfit";
    row[place] = JSON.stringify(instead(Object.fromEntries(columns.map((name, index) => [name, row[index]]))));
    outcome = "mended";
  }
  return outcome;
}
