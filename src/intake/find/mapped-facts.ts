import type { Severity } from "../../core/alert.ts";
import { isJsonObject, type Json, JsonNumber } from "../../core/json.ts";
import { type FactMapping, type MappableFact, mappableFacts } from "../../core/mapping.ts";
import { joinScalars, type Leaf, looseLeaf } from "../../facts/leaves.ts";
import { wordOf } from "../../ground/text/plain-text.ts";
import { type PathStep, readKeyPath, valueAtSteps } from "../../matching/path.ts";

export interface CompiledMapping {
  facts: readonly { fact: MappableFact; places: readonly { path: string; steps: PathStep[] }[] }[];
  /** In the form of `wordOf`. */
  severities?: ReadonlyMap<string, Severity>;
}

/** A value where a mapping looks for a fact. `leaf` is absent for a list or an object, which is no fact. */
export interface MappedPlace {
  path: string;
  leaf: Leaf | undefined;
}

export type MappedPlaces = ReadonlyMap<MappableFact, readonly MappedPlace[]>;

/** Undefined for an empty mapping. Leaves out paths that cannot be read: the configuration has refused them. */
export function compileMapping(mapping: FactMapping = {}): CompiledMapping | undefined {
  const compiled = mappableFacts.flatMap((fact) => {
    const places = (mapping[fact] ?? []).flatMap((path) => {
      const steps = readKeyPath(path);
      return steps === undefined ? [] : [{ path, steps }];
    });
    return places.length === 0 ? [] : [{ fact, places }];
  });
  const words = Object.entries(mapping.severities ?? {}).map(([word, severity]) => [wordOf(word), severity] as const);
  if (compiled.length === 0 && words.length === 0) return undefined;
  return { facts: compiled, ...(words.length > 0 && { severities: new Map(words) }) };
}

/**
 * The values of an alert at a mapping's places. In a list of `{name, value}` pairs a name leads to its value.
 * @param payload as matchers see it
 * @param content the unpacked payload, where JSON in a string (an SNS `Message`) can be reached
 */
export function findMapped(mapping: CompiledMapping, payload: Json, content: Json, leaves: Leaf[]): MappedPlaces {
  const found = new Map<MappableFact, MappedPlace[]>();
  for (const { fact, places } of mapping.facts) {
    const filled = places.flatMap(({ path, steps }): MappedPlace[] => {
      const value = valueAtSteps(payload, steps) ?? valueAtSteps(content, steps) ?? null;
      const leaf = leafAt(leaves, steps) ?? (isEmpty(value) ? undefined : leafOf(value, steps));
      return leaf === undefined && isEmpty(value) ? [] : [{ path, leaf }];
    });
    if (filled.length > 0) found.set(fact, filled);
  }
  return found;
}

function isEmpty(value: Json): boolean {
  return value === null || (typeof value === "string" && value.trim() === "");
}

/** The payload's own leaf: the field list then leaves it out. */
function leafAt(leaves: Leaf[], steps: PathStep[]): Leaf | undefined {
  return leaves.find(({ path }) => path.length === steps.length && path.every((name, at) => isAt(name, steps[at])));
}

function isAt(name: string, step: PathStep | undefined): boolean {
  if (step?.kind === "index") return name === `[${step.index}]`;
  return step?.kind === "key" && (name === step.key || name === `[${step.key}]`);
}

/** A leaf for a value that is none: an element of a short list, or one of very many. */
function leafOf(value: Json, steps: PathStep[]): Leaf | undefined {
  const last = steps.at(-1);
  const name = last?.kind === "key" ? last.key.slice(0, 200) : "value";
  if (typeof value === "string") return looseLeaf(name, value);
  if (typeof value === "boolean") return looseLeaf(name, String(value), "boolean");
  if (value instanceof JsonNumber) return looseLeaf(name, value.text, "number");
  const joined = Array.isArray(value) && !isJsonObject(value) ? joinScalars(value) : undefined;
  return joined === undefined || joined === "" ? undefined : looseLeaf(name, joined);
}
