import { z } from "zod";
import { referTo } from "../../ground/shape/refusal.ts";
import { looksSecret, showValue } from "../../ground/shape/show-value.ts";
import { isMailAddress } from "../../ground/text/mail-address.ts";
import { suggestOrList } from "../../ground/text/suggest.ts";
import type { ConfigPath, ProblemList } from "./problem-list.ts";

/** `undefined` after reporting every mistake. Unknown options are left out, so references are checked as well. */
export function readShape<T>(
  schema: z.ZodType<T>,
  value: unknown,
  path: ConfigPath,
  problems: ProblemList,
): T | undefined {
  visitOptions(schema, value, path, problems);
  return readVisited(schema, value, path, problems);
}

function readVisited<T>(schema: z.ZodType<T>, value: unknown, path: ConfigPath, problems: ProblemList): T | undefined {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  for (const issue of error.issues) reportIssue(issue, { schema, value, path, problems });
  const isUnknownOnly = error.issues.every((issue) => issue.code === "unrecognized_keys");
  return isUnknownOnly ? readVisited(schema, withoutKeys(value, error.issues), path, problems) : undefined;
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

/** Refuses secrets that are written out, and warns of removed options. */
function visitOptions(schema: z.core.$ZodType, value: unknown, path: ConfigPath, problems: ProblemList): void {
  const { secret, secretKeys, deprecated, description } = metaOf(schema);
  if (deprecated === true && value !== undefined) {
    problems.warn(problems.whereIs(path), `${path.at(-1)} has no effect any more: ${description}`, "remove it");
  }
  if (secret === true) refuseWrittenSecrets(value, path, problems);
  for (const [step, member] of membersOf(value)) {
    if (secretKeys instanceof RegExp && secretKeys.test(String(step)))
      refuseWrittenSecrets(member, [...path, step], problems);
    const shape = memberShape(schema, step, value);
    if (shape !== undefined) visitOptions(shape, member, [...path, step], problems);
  }
}

function refuseWrittenSecrets(value: unknown, path: ConfigPath, problems: ProblemList): void {
  if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) refuseWrittenSecrets(one, [...path, index], problems);
  }
  if (typeof value !== "string" || problems.isReference(path)) return;
  const [section, ...steps] = path.filter((step) => typeof step === "string");
  const name = (steps.length > 1 ? steps : [section, ...steps])
    .join("_")
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replace(/\W+/g, "_")
    .toUpperCase();
  const instead = `write ${referTo(name)} and set that environment variable`;
  problems.add(path, "is secret and does not belong in the file", instead);
}

function membersOf(value: unknown): [step: string | number, member: unknown][] {
  if (Array.isArray(value)) return [...value.entries()];
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

/** The description of a shape, at any of its layers. */
function metaOf(schema: z.core.$ZodType): Record<string, unknown> {
  const inner = layerBelow(schema);
  return { ...(inner && metaOf(inner)), ...z.globalRegistry.get(schema) };
}

/** The shape behind `.optional()`, a default, a check or a transform. */
function layerBelow(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodPrefault)
    return schema.unwrap();
  if (!(schema instanceof z.ZodPipe)) return undefined;
  return schema.in instanceof z.ZodTransform ? schema.out : schema.in;
}

/** The shape below all layers. With alternatives: the one that the value is meant for. */
export function innerShape(schema: z.core.$ZodType, value?: unknown): z.core.$ZodType {
  const below = layerBelow(schema);
  if (below !== undefined) return innerShape(below, value);
  if (!(schema instanceof z.ZodUnion)) return schema;
  const fits = schema.options.map((one) => innerShape(one, value)).find((one) => isFor(one, value));
  return fits ?? schema;
}

function isFor(shape: z.core.$ZodType, value: unknown): boolean {
  if (shape instanceof z.ZodArray) return Array.isArray(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  if (!(shape instanceof z.ZodObject)) return shape instanceof z.ZodUnion;
  const { type } = shape.shape;
  return !(type instanceof z.ZodLiteral) || type.value === Reflect.get(value, "type");
}

/** The shape of one option of a map, or of one entry of a list. */
function memberShape(schema: z.core.$ZodType, step: string | number, value: unknown): z.core.$ZodType | undefined {
  const shape = innerShape(schema, value);
  if (shape instanceof z.ZodObject) return shape.shape[String(step)];
  if (shape instanceof z.ZodRecord) return shape.valueType;
  return shape instanceof z.ZodArray ? shape.element : undefined;
}

interface Reading {
  schema: z.ZodType;
  value: unknown;
  path: ConfigPath;
  problems: ProblemList;
}

function reportIssue(issue: z.core.$ZodIssue, reading: Reading): void {
  const { schema, value, problems } = reading;
  const at = [...reading.path, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
  const found = valueAt(value, issue.path);
  switch (issue.code) {
    case "custom":
      problems.add(at, issue.message, issue.params?.instead, issue.params?.part);
      return;
    case "unrecognized_keys": {
      const owner = shapeAt(schema, value, issue.path);
      const options = owner instanceof z.ZodObject ? Object.entries<z.core.$ZodType>(owner.shape) : [];
      const known = options.flatMap(([name, option]) => (metaOf(option).deprecated === true ? [] : [name]));
      for (const key of issue.keys) problems.add([...at, key], "is not known here", suggestOrList(key, known), "key");
      return;
    }
    case "invalid_union":
      if (issue.discriminator !== undefined) refuseType(at, found, issue, reading);
      else for (const one of likeliestOf(issue)) reportIssue({ ...one, path: [...issue.path, ...one.path] }, reading);
      return;
    default: {
      const key = at.at(-1);
      const isList = issue.code === "invalid_type" && issue.expected === "array";
      const advice = isList ? "write a list: each entry begins with '- '" : adviseOnMap(key, found);
      refuseKind(isList ? "list" : "map", found, advice, at, problems);
    }
  }
}

/** The mistakes of the alternative that the value is meant for: the last one of its kind. */
function likeliestOf({ errors }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] {
  const ofKind = errors.filter(
    (issues) => !issues.some(({ code, path }) => code === "invalid_type" && path.length === 0),
  );
  return ofKind.at(-1) ?? errors[0] ?? [];
}

/** Refuses an unknown `type`, where the type decides the options. */
function refuseType(at: ConfigPath, found: unknown, issue: z.core.$ZodIssueInvalidUnion, reading: Reading): void {
  const owner = shapeAt(reading.schema, reading.value, issue.path.slice(0, -1));
  const types = "options" in issue ? (issue.options ?? []).map(String) : [];
  const known = typeof found === "string" ? suggestOrList(found, types) : `write one of ${types.join(", ")}`;
  const kind = owner && metaOf(owner).kind;
  const message = found === undefined ? "is missing" : `${showValue(found)} is not a type of ${kind}`;
  reading.problems.add(at, message, known);
}

function shapeAt(schema: z.core.$ZodType, value: unknown, path: PropertyKey[]): z.core.$ZodType | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return innerShape(schema, value);
  const member = memberShape(schema, typeof step === "number" ? step : String(step), value);
  return member && shapeAt(member, valueAt(value, [step]), rest);
}

function valueAt(value: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>((current, step) => {
    if (typeof current !== "object" || current === null) return undefined;
    return Reflect.get(current, step);
  }, value);
}

/** Refuses a section that is no list. `entry`: the word for one entry. */
export function listEntries(values: unknown, section: string, entry: string, problems: ProblemList): unknown[] {
  if (Array.isArray(values)) return values;
  refuseKind("list", values, `write a list: each ${entry} begins with '- '`, [section], problems);
  return [];
}

/** `listEntries` for a section that is a map: names with their values. */
export function mapEntries(
  values: unknown,
  section: string,
  entry: string,
  problems: ProblemList,
): [string, unknown][] {
  if (typeof values === "object" && values !== null && !Array.isArray(values)) return Object.entries(values);
  refuseKind("map", values, `write a map: a name, a colon, and below it the ${entry}`, [section], problems);
  return [];
}

/** Refuses another value in the place of a map or a list. */
export function refuseKind(
  wanted: "map" | "list",
  value: unknown,
  example: string,
  path: ConfigPath,
  problems: ProblemList,
): void {
  const key = path.at(-1);
  if (value !== undefined && value !== null) {
    const kind = typeof value === "object" ? showValue(value) : `the value ${showValue(value)}`;
    problems.add(path, `is ${kind}, and a ${wanted} belongs here`, example);
  } else if (/^\d+$/.test(String(key))) {
    problems.add(path, "is an empty entry", `remove its '- ', or ${example}`);
  } else {
    const name = key === undefined ? "it" : `${key}:`;
    const instead = `indent the lines that belong to ${name} by two spaces more than it, or ${example}`;
    problems.add(path, "has nothing below it", instead);
  }
}

const mapExamples = new Map(
  Object.entries({
    ambiguous: "{ wait: 30s, repeats: 2 }",
    ambiguousEmail: "{ wait: 30s, repeats: 2 }",
    breaker: "{ failures: 5, pause: 30s }",
    webhook: "{ giveUpAfter: 96h }",
    headers: '{ X-Team: "treasury" }',
    sources: 'the names of sources with a time or auto each, e.g. { "Pyth alerts": auto }',
    defaults: "{ timeZone: UTC }",
    intake: "{ maxBodyBytes: 1048576 }",
    mapping: "{ title: payload.rule.name }",
    delivery: "{ giveUpAfter: 24h }",
  }),
);

/** Advice for an option that takes a map, made from the written value where possible. */
function adviseOnMap(key: string | number | undefined, value: unknown): string {
  const text = typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
  const name = /^[A-Za-z0-9][\w.:@+-]{0,63}$/.test(text) && !looksSecret(text) ? text : undefined;
  switch (key) {
    case "fallback":
      return `write { to: ${name ?? (Array.isArray(value) ? String(value[0]) : "desk")}, after: 10m }`;
    case "again":
      return `write { furtherBy: ${/^[\d.]+ ?%?$/.test(text) ? text : "5%"} }`;
    case "rearm":
      return `write { backBy: ${/^[\d.]+ ?%?$/.test(text) ? text : "2%"} }`;
    case "quietHours": {
      const [, from = "22:00", to = "07:00"] = /^(\d\d:\d\d)\s*(?:-|–|to|\.\.)\s*(\d\d:\d\d)$/.exec(text) ?? [];
      return `write { from: "${from}", to: "${to}" }`;
    }
    case "pace":
    case "telegramBotPace": {
      const [, count = "18", unit = "min"] = /^(\d+)\s*(?:\/|per)?\s*(s|sec|min|m)?/i.exec(text) ?? [];
      return `write { ${/^s/i.test(unit) ? "perSecond" : "perMinute"}: ${count} }`;
    }
    default:
      if (typeof key === "string" && mapExamples.has(key)) return `write ${mapExamples.get(key)}`;
      return typeof key === "number"
        ? "write the options of the entry after its '- ', e.g. - { match: { severity: critical }, to: [desk] }"
        : "write the options with a name, a colon and a value each, e.g. { name: value }";
  }
}

/** Advice for a destination that is no map: chats, mailboxes and addresses are recognised by their form. */
export function adviseOnDestination(value: unknown): string {
  const text = typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
  if (/^-\d+$/.test(text)) return `write { type: telegram, chatId: ${text} }`;
  if (isMailAddress(text)) return `write { type: email, to: [${text}] }`;
  return "write e.g. { type: telegram, chatId: -1001234567890 }";
}
