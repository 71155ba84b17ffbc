import type { AlertFacts, AlertOrigin } from "../core/alert.ts";
import { changePercentOf, distancePercentOf } from "../core/computed-facts.ts";
import { isJsonObject, type Json } from "../core/json.ts";
import { mappableFacts } from "../core/mapping.ts";

/**
 * Names for matchers, and paths of a sender's own key. Both have one grammar:
 *     field   = fact | "payload" { step }
 *     step    = "." name | "[" index "]" | "[*]" | "[" json-string "]" | "['" characters but "'" "']"
 *     name    = any characters except "." "[" "]" and white space
 */
export const factFields = [
  // No rule needs an alert's time: a mute and quiet hours have times of their own.
  ...mappableFacts.filter((fact) => fact !== "occurredAt"),
  "origin",
  "format",
  "changePercent",
  "distancePercent",
] as const;
export type FactField = (typeof factFields)[number];

export const numberFields: ReadonlySet<string> = new Set<FactField>([
  "value",
  "previousValue",
  "threshold",
  "changePercent",
  "distancePercent",
]);

/** The facts from which a fact is read: itself, unless it is computed. */
export function factsBehind(fact: FactField): FactField[] {
  if (fact === "changePercent") return ["value", "previousValue"];
  return fact === "distancePercent" ? ["value", "threshold"] : [fact];
}

type ReadText = (alert: { facts: AlertFacts; origin: AlertOrigin }) => string | undefined;

/** The reader returns undefined where the alert lacks the fact. */
export function factReader(fact: FactField): ReadText {
  if (fact === "origin") return ({ origin }) => origin;
  if (fact === "changePercent") return ({ facts }) => changePercentOf(facts);
  if (fact === "distancePercent") return ({ facts }) => distancePercentOf(facts);
  return ({ facts }) => facts[fact];
}

export function readFact(name: string, alert: { facts: AlertFacts; origin: AlertOrigin }): string | undefined {
  const fact = factFields.find((one) => one === name);
  return fact && factReader(fact)(alert);
}

export type PathStep =
  | { kind: "key"; key: string }
  | { kind: "index"; index: number }
  /** Every element of a list. */
  | { kind: "each" };

export type FieldPath = { kind: "fact"; fact: FactField } | { kind: "payload"; steps: PathStep[] };

/** `problem` says in words what is wrong. The possible fields are in `factFields`. */
export type FieldPathResult = { ok: true; path: FieldPath } | { ok: false; problem: string };

/** Reads `severity` or `payload.items[*]["a.b"].id`. Never throws. */
export function parseFieldPath(field: string): FieldPathResult {
  const fact = factFields.find((name) => name === field);
  if (fact !== undefined) return { ok: true, path: { kind: "fact", fact } };
  if (!/^payload(?![^.[])/.test(field)) return { ok: false, problem: "is not a field of an alert" };

  const { steps, end } = readSteps(field, "payload".length);
  if (end === field.length) return { ok: true, path: { kind: "payload", steps } };
  return { ok: false, problem: `the path cannot be read from character ${end + 1} on` };
}

const step = /\.([^.[\]\s]+)|\[(\d{1,9})\]|\[(\*)\]|\[("(?:[^"\\]|\\.)*")\]|\['([^']*)'\]/y;

/** `end`: the first character that belongs to no step. */
function readSteps(text: string, start: number): { steps: PathStep[]; end: number } {
  const steps: PathStep[] = [];
  let end = start;
  while (end < text.length) {
    step.lastIndex = end;
    const found = step.exec(text);
    const parsed = found === null ? undefined : readStep(found);
    if (found === null || parsed === undefined) break;
    steps.push(parsed);
    end += found[0].length;
  }
  return { steps, end };
}

function readStep(found: RegExpExecArray): PathStep | undefined {
  const [, name, index, each, quoted, literal] = found;
  const key = name ?? literal;
  if (key !== undefined) return { kind: "key", key };
  if (index !== undefined) return { kind: "index", index: Number(index) };
  if (each !== undefined) return { kind: "each" };
  try {
    return { kind: "key", key: JSON.parse(quoted ?? "") as string };
  } catch {
    return undefined;
  }
}

/** Writes a path that reads to the same steps, in either form of `match`. */
export function writeFieldPath(path: FieldPath): string {
  return path.kind === "fact" ? path.fact : `payload${path.steps.map(writeStep).join("")}`;
}

export function writeStep(step: PathStep): string {
  if (step.kind === "index") return `[${step.index}]`;
  if (step.kind === "each") return "[*]";
  return /^[^\s.[\]"=<>!~,\p{Cc}\p{Cf}\p{Cs}]+$/u.test(step.key) ? `.${step.key}` : `[${quote(step.key)}]`;
}

/** Writes invisible characters, and those that turn the reading direction, as codes: people read a path and copy it. */
function quote(key: string): string {
  return JSON.stringify(key).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** Several values only where a step is `[*]`. */
export function valuesAt(root: Json, steps: PathStep[]): Json[] {
  let values = [root];
  for (const step of steps) {
    const found: Json[] = [];
    for (const value of values) for (const one of takeStep(value, step)) found.push(one);
    values = found;
  }
  return values;
}

function takeStep(value: Json, step: PathStep): Json[] {
  switch (step.kind) {
    case "key":
      return memberAt(value, step.key);
    case "index": {
      const element = Array.isArray(value) ? value[step.index] : undefined;
      return element === undefined ? [] : [element];
    }
    case "each":
      return Array.isArray(value) ? value : [];
    default:
      return step satisfies never;
  }
}

/** Own members only: a payload has no `constructor` unless its sender wrote one. */
function memberAt(value: Json, key: string): Json[] {
  if (!isJsonObject(value) || !Object.hasOwn(value, key)) return [];
  const member = value[key];
  return member === undefined ? [] : [member];
}

/** The steps of the path of a sender's key. Undefined for any path that does not lead to one value of the body. */
export function readKeyPath(path: string): PathStep[] | undefined {
  const parsed = parseFieldPath(path);
  if (!parsed.ok || parsed.path.kind !== "payload") return undefined;
  const { steps } = parsed.path;
  return steps.length > 0 && steps.every(({ kind }) => kind !== "each") ? steps : undefined;
}

/** A number reaches list elements and map members: `payload.items.0.id`. Matchers keep the two apart. */
export function valueAtPath(payload: Json, path: string): Json | undefined {
  const steps = readKeyPath(path);
  return steps && valueAtSteps(payload, steps);
}

export function valueAtSteps(payload: Json, steps: PathStep[]): Json | undefined {
  return steps.reduce<Json | undefined>((value, step) => {
    if (value === undefined || step.kind === "each") return undefined;
    const name = step.kind === "key" ? step.key : String(step.index);
    if (!Array.isArray(value)) return memberAt(value, name)[0];
    return /^\d+$/.test(name) ? value[Number(name)] : undefined;
  }, payload);
}

/** One place of a payload, with its name for matchers. */
export interface PayloadNode {
  /** `payload.items[0].id` */
  path: string;
  steps: PathStep[];
  value: Json;
}

/** Nobody writes a path that is longer. A sender's payload may hold one of any length. */
const longestPath = 300;
const deepest = 32;

/** In the payload's order, each place before its contents. `mostNodes` bounds the cost for any payload. */
export function listPayloadNodes(payload: Json, mostNodes: number): PayloadNode[] {
  const nodes: PayloadNode[] = [];
  const waiting: PayloadNode[] = [{ path: "payload", steps: [], value: payload }];
  for (let node = waiting.pop(); node !== undefined && nodes.length < mostNodes; node = waiting.pop()) {
    nodes.push(node);
    if (node.steps.length >= deepest) continue;
    const room = mostNodes - nodes.length;
    const members = membersOf(node.value, room).flatMap(([step, value]) => {
      const steps = [...node.steps, step];
      const path = writeFieldPath({ kind: "payload", steps });
      return path.length > longestPath ? [] : [{ path, steps, value }];
    });
    waiting.push(...members.reverse());
  }
  return nodes;
}

/** The first members of a list or map. `for in` does not list a map of a million keys as a whole. */
function membersOf(value: Json, most: number): [PathStep, Json][] {
  if (Array.isArray(value)) {
    return value.slice(0, most).map((element, index) => [{ kind: "index", index }, element]);
  }
  if (!isJsonObject(value)) return [];
  const members: [PathStep, Json][] = [];
  for (const key in value) {
    if (members.length >= most) break;
    const member = value[key];
    if (member !== undefined && key.length <= longestPath) members.push([{ kind: "key", key }, member]);
  }
  return members;
}
