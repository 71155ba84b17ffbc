import type { AlertFacts, AlertOrigin } from "../core/alert.ts";
import { AppError } from "../core/errors.ts";
import { type FactField, type PathStep, parseFieldPath } from "../core/field-path.ts";
import { isJsonObject, type Json, JsonNumber } from "../core/json.ts";

/** What matchers look at: the alert as it was read. */
export interface MatchInput {
  facts: AlertFacts;
  payload?: Json;
  origin: AlertOrigin;
}

/** A text, number or boolean as text; `list` and `object` have no text of their own. */
export type FieldValue = { kind: "text"; text: string } | { kind: "list" } | { kind: "object" };

/** All values of one field in one alert: none when it is missing or null, several only where the path has `[*]`. */
export type ReadField = (input: MatchInput) => FieldValue[];

/** Throws `invalid_request` for a field that no alert can have. */
export function compileField(field: string): ReadField {
  const parsed = parseFieldPath(field);
  if (!parsed.ok) throw new AppError("invalid_request", `Field ${JSON.stringify(field)}: ${parsed.problem}.`);
  const { path } = parsed;
  if (path.kind === "payload") {
    return (input) => (input.payload === undefined ? [] : valuesAt(input.payload, path.steps));
  }
  return (input) => {
    const text = factText(input, path.fact);
    return text === undefined ? [] : [{ kind: "text", text }];
  };
}

function factText(input: MatchInput, fact: FactField): string | undefined {
  return fact === "origin" ? input.origin : input.facts[fact];
}

function valuesAt(root: Json, steps: PathStep[]): FieldValue[] {
  let current: Json[] = [root];
  for (const step of steps) current = current.flatMap((value) => takeStep(value, step));
  return current.flatMap(toFieldValue);
}

function takeStep(value: Json, step: PathStep): Json[] {
  switch (step.kind) {
    case "key": {
      if (!isJsonObject(value) || !Object.hasOwn(value, step.key)) return [];
      const member = value[step.key];
      return member === undefined ? [] : [member];
    }
    case "index": {
      const element = Array.isArray(value) ? value[step.index] : undefined;
      return element === undefined ? [] : [element];
    }
    case "each":
      return Array.isArray(value) ? value : [];
  }
}

function toFieldValue(value: Json): FieldValue[] {
  if (value === null) return [];
  if (typeof value === "string") return [{ kind: "text", text: value }];
  if (typeof value === "boolean") return [{ kind: "text", text: String(value) }];
  if (value instanceof JsonNumber) return [{ kind: "text", text: value.text }];
  return [{ kind: Array.isArray(value) ? "list" : "object" }];
}
