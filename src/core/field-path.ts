/**
 * The names that a matcher may look at. The grammar:
 *
 *     field   = fact | "payload" { step }
 *     step    = "." name | "[" index "]" | "[*]" | "[" json-string "]"
 *     name    = any characters except "." "[" "]" and white space
 */
export const factFields = [
  "title",
  "severity",
  "status",
  "metric",
  "token",
  "chain",
  "value",
  "previousValue",
  "threshold",
  "unit",
  "link",
  "externalId",
  "source",
  "alertKey",
  "text",
  "origin",
  "format",
] as const;
export type FactField = (typeof factFields)[number];

export type PathStep =
  | { kind: "key"; key: string }
  | { kind: "index"; index: number }
  /** Every element of a list. */
  | { kind: "each" };

export type FieldPath = { kind: "fact"; fact: FactField } | { kind: "payload"; steps: PathStep[] };

/** A refusal is in words: what is wrong, and the fields one could have meant are in `factFields`. */
export type FieldPathResult = { ok: true; path: FieldPath } | { ok: false; problem: string };

const step = /\.([^.[\]\s]+)|\[(\d{1,9})\]|\[(\*)\]|\[("(?:[^"\\]|\\.)*")\]/y;

/** Reads `severity` or `payload.items[*]["a.b"].id`. Never throws. */
export function parseFieldPath(field: string): FieldPathResult {
  const fact = factFields.find((name) => name === field);
  if (fact !== undefined) return { ok: true, path: { kind: "fact", fact } };
  if (!/^payload(?![^.[])/.test(field)) return { ok: false, problem: "is not a field of an alert" };

  const steps: PathStep[] = [];
  let position = "payload".length;
  while (position < field.length) {
    step.lastIndex = position;
    const found = step.exec(field);
    const parsed = found === null ? undefined : readStep(found);
    if (found === null || parsed === undefined) {
      return { ok: false, problem: `the path cannot be read from character ${position + 1} on` };
    }
    steps.push(parsed);
    position += found[0].length;
  }
  return { ok: true, path: { kind: "payload", steps } };
}

function readStep(found: RegExpExecArray): PathStep | undefined {
  const [, name, index, each, quoted] = found;
  if (name !== undefined) return { kind: "key", key: name };
  if (index !== undefined) return { kind: "index", index: Number(index) };
  if (each !== undefined) return { kind: "each" };
  try {
    return { kind: "key", key: JSON.parse(quoted ?? "") as string };
  } catch {
    return undefined;
  }
}

/** The way back: a path that is read to the same steps, in either form of `match`. */
export function writeFieldPath(path: FieldPath): string {
  if (path.kind === "fact") return path.fact;
  return `payload${path.steps.map(writeStep).join("")}`;
}

function writeStep(step: PathStep): string {
  if (step.kind === "index") return `[${step.index}]`;
  if (step.kind === "each") return "[*]";
  return /^[^\s.[\]"=<>!~,]+$/.test(step.key) ? `.${step.key}` : `[${JSON.stringify(step.key)}]`;
}
