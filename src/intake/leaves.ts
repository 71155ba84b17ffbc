import { isJsonObject, type Json, JsonNumber, type JsonObject } from "../core/json.ts";

/** One scalar of a payload, or one short list of scalars. */
export interface Leaf {
  /** The names that lead to it as the sender spells them; elements of a list as `[1]`. */
  path: string[];
  /** The same for looking things up: lower case, letters and digits only; first elements of lists left out. */
  names: string[];
  kind: "string" | "number" | "boolean";
  /** As sent, digit for digit. Never empty. */
  text: string;
}

/** What every name of an element beyond the first contains, so that no fact is read from the second of two things. */
export const laterElement = "#";

/** Leaves beyond this are counted and not kept. */
const maxLeaves = 2_000;
/** Longer lists of scalars are told element by element. */
const maxJoined = 20;

/**
 * All scalars of a payload in their order; `more` is how many there are beyond the 2,000 that are kept. Nulls and empty
 * strings are no content. A list of `{name, value}` pairs, as chat messages and CloudWatch have it, counts as an object.
 * Recursive: the value has to be one that `parseJson` has let through, at most 64 levels deep.
 */
export function listLeaves(value: Json): { leaves: Leaf[]; more: number } {
  const leaves: Leaf[] = [];
  let more = 0;
  const add = (path: string[], names: string[], kind: Leaf["kind"], text: string) => {
    if (text.trim() === "") return;
    if (leaves.length < maxLeaves) leaves.push({ path, names, kind, text });
    else more += 1;
  };
  const visit = (inner: Json, path: string[], names: string[]): void => {
    if (inner === null) return;
    if (typeof inner === "string") add(path, names, "string", inner);
    else if (typeof inner === "boolean") add(path, names, "boolean", String(inner));
    else if (inner instanceof JsonNumber) add(path, names, "number", inner.text);
    else if (isJsonObject(inner)) {
      for (const key in inner) visit(inner[key] ?? null, [...path, key], [...names, ...namesOf(key)]);
    } else visitList(inner, path, names);
  };
  const visitList = (list: Json[], path: string[], names: string[]): void => {
    if (list.length <= maxJoined && list.every(isScalar)) {
      add(path, names, "string", list.filter((one) => one !== null && one !== "").join(", "));
      return;
    }
    const pairs = list.map(pairOf);
    for (const [index, element] of list.entries()) {
      const pair = pairs[index];
      if (pair !== undefined) visit(pair.value, [...path, pair.name], [...names, ...namesOf(pair.name)]);
      else visit(element, [...path, `[${index}]`], index === 0 ? names : [...names, laterElement]);
    }
  };
  visit(value, [], []);
  return { leaves, more };
}

/** `alertName`, `alert_name`, `Alert-Name` → `alertname`; `alert.name` and `alert[name]` → two names. */
function namesOf(key: string): string[] {
  if (/^[a-z0-9]+$/.test(key)) return [key];
  const parts = /^[\w-]+(?:\.[\w-]+|\[[\w-]+\])+$/.test(key) ? key.split(/[.[\]]+/).filter(Boolean) : [key];
  return parts.map((part) => part.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "") || part);
}

function isScalar(value: Json): value is null | boolean | string | JsonNumber {
  return typeof value !== "object" || value === null || value instanceof JsonNumber;
}

function pairOf(element: Json): { name: string; value: Json } | undefined {
  if (!isJsonObject(element)) return undefined;
  const keys = Object.keys(element);
  // A third and fourth member are layout ("short", "inline") or a type; more of them make it a thing of its own.
  if (keys.length > 4) return undefined;
  const name = firstString(element, ["name", "title", "key", "label"]);
  const value = element.value ?? element.val;
  if (name === undefined || name.length > 80 || value === undefined || !isScalar(value)) return undefined;
  return { name, value };
}

function firstString(object: JsonObject, keys: string[]): string | undefined {
  for (const key of keys) {
    const value = object[key];
    if (typeof value === "string" && value.trim() !== "") return value.trim();
  }
  return undefined;
}
