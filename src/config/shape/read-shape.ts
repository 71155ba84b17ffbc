import { z } from "zod";
import { Refusal } from "../../ground/shape/refusal.ts";
import { looksSecret, showValue } from "../../ground/shape/show-value.ts";
import { isMailAddress } from "../../ground/text/mail-address.ts";
import { suggestOrList } from "../../ground/text/suggest.ts";
import type { ConfigPath, ProblemList } from "./problem-list.ts";

/**
 * Reads one part of the file by its shape; `undefined` after reporting every mistake in it. A part whose only
 * mistakes are unknown options is read without them, so that what it refers to is checked in the same run.
 */
export function readShape<T>(
  schema: z.ZodType<T>,
  value: unknown,
  path: ConfigPath,
  problems: ProblemList,
): T | undefined {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) reportIssue(issue, { schema, value, path, problems });
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

function reportIssue(issue: z.core.$ZodIssue, { schema, value, path, problems }: Reading): void {
  const at = [...path, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
  switch (issue.code) {
    case "custom": {
      problems.add(at, issue.message, issue.params?.instead, issue.params?.part);
      return;
    }
    case "unrecognized_keys": {
      const known = knownKeys(schema, issue.path);
      for (const key of issue.keys) problems.add([...at, key], "is not known here", suggestOrList(key, known), "key");
      return;
    }
    default: {
      const found = valueAt(value, issue.path);
      const key = at.at(-1);
      const refusal = refuseKind("map", key === undefined ? undefined : String(key), found, adviseOnMap(key, found));
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
    current = withoutWrappers(current);
    if (!(current instanceof z.ZodObject)) return [];
    if (step === undefined) return Object.keys(current.shape);
    current = current.shape[String(step)];
  }
  return [];
}

/** What is behind `.optional()`, a default, a check or a transform. */
export function withoutWrappers(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) return withoutWrappers(schema.unwrap());
  return schema instanceof z.ZodPipe ? withoutWrappers(schema.in) : schema;
}

/** The entries of a section that is a list, after refusing what is none. `entry` is what each of them is called. */
export function listEntries(values: unknown, section: string, entry: string, problems: ProblemList): unknown[] {
  if (Array.isArray(values)) return values;
  const { message, instead } = refuseKind("list", section, values, `write a list: each ${entry} begins with '- '`);
  problems.add([section], message, instead);
  return [];
}

/** Where a map or a list belongs and something else stands. `key` is the option, `undefined` for the file itself. */
export function refuseKind(wanted: "map" | "list", key: string | undefined, value: unknown, example: string): Refusal {
  if (value === undefined || value === null) {
    if (key !== undefined && /^\d+$/.test(key)) {
      return new Refusal("is an empty entry", `remove its '- ', or ${example}`);
    }
    const name = key === undefined ? "it" : `${key}:`;
    return new Refusal(
      "has nothing below it",
      `indent the lines that belong to ${name} by two spaces more than it, or ${example}`,
    );
  }
  const found = typeof value === "string" || typeof value === "number" ? showValue(value) : undefined;
  const kind = Array.isArray(value)
    ? "a list"
    : typeof value === "object"
      ? "a map"
      : `the value ${found ?? String(value)}`;
  return new Refusal(`is ${kind}, and a ${wanted} belongs here`, example);
}

/** What to write for an option that takes a map, made of what was written where that can be known. */
function adviseOnMap(key: string | number | undefined, value: unknown): string {
  const text = typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
  const name = /^[A-Za-z0-9][\w.:@+-]{0,63}$/.test(text) && !looksSecret(text) ? text : undefined;
  switch (key) {
    case "fallback":
      return `write { to: ${name ?? (Array.isArray(value) ? String(value[0]) : "desk")}, after: 10m }`;
    case "quietHours": {
      const [, from = "22:00", to = "07:00"] = /^(\d\d:\d\d)\s*(?:-|–|to|\.\.)\s*(\d\d:\d\d)$/.exec(text) ?? [];
      return `write { from: "${from}", to: "${to}" }`;
    }
    case "pace":
    case "telegramBotPace": {
      const [, count = "18", unit = "min"] = /^(\d+)\s*(?:\/|per)?\s*(s|sec|min|m)?/i.exec(text) ?? [];
      return `write { ${/^s/i.test(unit) ? "perSecond" : "perMinute"}: ${count} }`;
    }
    case "ambiguous":
    case "ambiguousEmail":
      return "write { wait: 30s, repeats: 2 }";
    case "breaker":
      return "write { failures: 5, pause: 30s, maxPause: 10m }";
    case "webhook":
      return "write { giveUpAfter: 96h }";
    case "headers":
      return 'write { X-Team: "treasury" }';
    case "defaults":
      return "write { timeZone: UTC }";
    case "intake":
      return "write { maxBodyBytes: 1048576 }";
    case "mapping":
      return "write { title: payload.rule.name }";
    case "delivery":
      return "write { giveUpAfter: 24h }";
    default:
      return typeof key === "number"
        ? "write the options of the entry after its '- ', e.g. - { match: { severity: critical }, to: [desk] }"
        : "write the options with a name, a colon and a value each, e.g. { name: value }";
  }
}

/** For a destination that is no map: a chat, a mailbox and an address can be known by their looks. */
export function adviseOnDestination(value: unknown): string {
  const text = typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
  if (/^-\d+$/.test(text)) return `write { type: telegram, chatId: ${text} }`;
  if (isMailAddress(text)) return `write { type: email, to: [${text}] }`;
  return "write e.g. { type: telegram, chatId: -1001234567890 }";
}
