import type { MappedFact } from "../contract/operations.ts";
import { isJsonObject } from "../core/json.ts";
import { type FactMapping, type MappableFact, mappableFacts } from "../core/mapping.ts";
import { isInstant } from "../ground/time/time-format.ts";
import { type AdviseOnMissing, createMissingAdvice } from "../matching/near-path.ts";
import { valueAtPath } from "../matching/path.ts";
import type { ExplainedReading } from "./explainer.ts";

/** What a mapping gave, and what its facts would be without it. `guess`: the same alert, read without. */
export function compareMapping(mapping: FactMapping, reading: ExplainedReading, guess: ExplainedReading): MappedFact[] {
  const advise = createMissingAdvice();
  return mappableFacts.flatMap((fact) => {
    const paths = mapping[fact];
    if (paths === undefined) return [];
    const path = reading.mapped?.[fact];
    const why = path === undefined ? whyNothing(paths, reading, advise) : undefined;
    return [{ fact, paths, path, why, value: textOf(reading, fact), guess: textOf(guess, fact) }];
  });
}

function whyNothing(
  paths: string[],
  { facts, payload }: ExplainedReading,
  advise: AdviseOnMissing,
): string | undefined {
  for (const path of paths) {
    const value = payload === undefined ? undefined : valueAtPath(payload, path);
    if (isJsonObject(value)) return `${path} is an object: name one of its members`;
    if (Array.isArray(value)) return `${path} is a list: name one of its elements`;
    if (value !== undefined && value !== null) return `what ${path} holds cannot be read as that`;
    const near = advise(path, { facts, payload, origin: "hook" });
    // A mapping names one element.
    if (near !== undefined) return near.replaceAll("[*]", "[0]");
  }
  return undefined;
}

function textOf({ facts }: ExplainedReading, fact: MappableFact): string | undefined {
  const value = facts[fact];
  if (typeof value !== "number") return value;
  return isInstant(value) ? new Date(value).toISOString() : undefined;
}
