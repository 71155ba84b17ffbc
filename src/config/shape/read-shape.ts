import { z } from "zod";
import { suggestOrList } from "../../ground/text/suggest.ts";
import { adviseOnMap, refuseKind } from "./advise-on-kind.ts";
import type { ConfigPath, ProblemList } from "./problem-list.ts";

/**
 * Reads one part of the file by its shape; `undefined` after telling every mistake in it. A part whose only mistakes are
 * unknown options is read without them, so that what it refers to is checked in the same run.
 */
export function readShape<T>(
  schema: z.ZodType<T>,
  value: unknown,
  path: ConfigPath,
  problems: ProblemList,
): T | undefined {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) tellIssue(issue, { schema, value, path, problems });
  const isUnknownOnly = result.error.issues.every((issue) => issue.code === "unrecognized_keys");
  return isUnknownOnly ? schema.safeParse(withoutKeys(value, result.error.issues)).data : undefined;
}

function withoutKeys(value: unknown, issues: z.core.$ZodIssue[]): unknown {
  const copy: unknown = structuredClone(value);
  for (const issue of issues) {
    if (issue.code !== "unrecognized_keys") continue;
    const owner = valueAt(copy, issue.path);
    if (typeof owner !== "object" || owner === null) continue;
    for (const key of issue.keys) Reflect.deleteProperty(owner, key);
  }
  return copy;
}

interface Reading {
  schema: z.ZodType;
  value: unknown;
  path: ConfigPath;
  problems: ProblemList;
}

function tellIssue(issue: z.core.$ZodIssue, { schema, value, path, problems }: Reading): void {
  const at = [...path, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
  switch (issue.code) {
    case "custom": {
      const instead: unknown = issue.params?.instead;
      problems.add(at, issue.message, typeof instead === "string" ? instead : undefined);
      return;
    }
    case "unrecognized_keys": {
      const known = knownKeys(schema, issue.path);
      for (const key of issue.keys)
        problems.add([...at, key], "is not known here", suggestOrList(key, known), "key");
      return;
    }
    default: {
      const found = valueAt(value, issue.path);
      const key = at.at(-1);
      const refusal = refuseKind(
        "map",
        key === undefined ? undefined : String(key),
        found,
        adviseOnMap(key, found),
      );
      problems.add(at, refusal.message, refusal.instead);
    }
  }
}

function valueAt(value: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>((current, step) => {
    if (typeof current !== "object" || current === null) return undefined;
    return Reflect.get(current, step);
  }, value);
}

/** The options that the shape has at this place. */
function knownKeys(schema: z.ZodType, path: PropertyKey[]): string[] {
  let current: z.core.$ZodType | undefined = schema;
  for (const step of [...path, undefined]) {
    while (current instanceof z.ZodOptional) current = current.unwrap();
    if (!(current instanceof z.ZodObject)) return [];
    if (step === undefined) return Object.keys(current.shape);
    current = current.shape[String(step)];
  }
  return [];
}
