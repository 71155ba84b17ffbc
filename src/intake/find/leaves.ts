import { isJsonObject, type Json, JsonNumber, type JsonObject } from "../../core/json.ts";
import { unwrapPayload } from "../read/unwrap-payload.ts";

/** One scalar of a payload, or one short list of scalars. */
export interface Leaf {
  /** The names that lead to it as the sender spells them, each cut to 200 characters; elements of a list as `[1]`. */
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
/** Longer lists of scalars become one leaf for each element. */
const maxJoined = 20;
/** Every leaf repeats the names above it: these bound what 2,000 leaves below one name can grow to. */
const maxNameLength = 200;
/** Names behind so long a path are cut to `shortNameLength`. */
const maxPathLength = 2_000;
const shortNameLength = 40;
const maxNamesOfKey = 16;
const maxNamesOfLeaf = 128;

/**
 * A member or element on the way to a leaf. It points to its parent, so that only leaves that are kept pay for a path.
 */
interface Place {
  above: Place | undefined;
  /** A member's name, or an element's index. */
  step: string | number;
  trail?: Trail;
}

interface Trail extends Pick<Leaf, "path" | "names"> {
  /** Characters of `path`. */
  length: number;
}

const top: Trail = { path: [], names: [], length: 0 };

/** Scalars in the order of the payload; `more` is how many there are beyond the 2,000 that are kept. */
export interface Leaves {
  leaves: Leaf[];
  more: number;
}

/** `listLeaves` of a payload without its packing. */
export function listContent(payload: Json): Leaves {
  return listLeaves(isJsonObject(payload) ? unwrapPayload(payload) : payload);
}

/**
 * All scalars of a value. Nulls and empty
 * strings are no content. A list of `{name, value}` pairs, as chat messages and CloudWatch have it, counts as an
 * object. Recursive: the value has to be one that `parseJson` has let through, at most 64 levels deep.
 */
export function listLeaves(value: Json): Leaves {
  const leaves: Leaf[] = [];
  let more = 0;
  const add = (place: Place | undefined, kind: Leaf["kind"], text: string) => {
    if (text.trim() === "") return;
    if (leaves.length < maxLeaves) leaves.push(makeLeaf(trailTo(place), kind, text));
    else more += 1;
  };
  const visit = (inner: Json, place: Place | undefined): void => {
    if (inner === null) return;
    if (typeof inner === "string") add(place, "string", inner);
    else if (typeof inner === "boolean") add(place, "boolean", String(inner));
    else if (inner instanceof JsonNumber) add(place, "number", inner.text);
    else if (isJsonObject(inner)) {
      for (const key in inner) visit(inner[key] ?? null, { above: place, step: key });
    } else visitList(inner, place);
  };
  const visitList = (list: Json[], place: Place | undefined): void => {
    if (list.length <= maxJoined && list.every(isScalar)) {
      add(place, "string", list.filter((one) => one !== null && one !== "").join(", "));
      return;
    }
    for (const [index, element] of list.entries()) {
      const pair = pairOf(element);
      if (pair !== undefined) visit(pair.value, { above: place, step: pair.name });
      else visit(element, { above: place, step: index });
    }
  };
  visit(value, undefined);
  return { leaves, more };
}

function makeLeaf({ path, names }: Trail, kind: Leaf["kind"], text: string): Leaf {
  return { path, names, kind, text };
}

function trailTo(place: Place | undefined): Trail {
  if (place === undefined) return top;
  place.trail ??= extend(trailTo(place.above), place.step);
  return place.trail;
}

function extend({ path, names, length }: Trail, step: string | number): Trail {
  if (typeof step === "number") {
    return { path: [...path, `[${step}]`], names: step === 0 ? names : [...names, laterElement], length };
  }
  const name = step.slice(0, length > maxPathLength ? shortNameLength : maxNameLength);
  const own = namesOf(name);
  const fitting = names.length + own.length > maxNamesOfLeaf ? own.slice(-1) : own;
  return { path: [...path, name], names: [...names, ...fitting], length: length + name.length };
}

/** `alertName`, `alert_name`, `Alert-Name` → `alertname`; `alert.name` and `alert[name]` → two names. */
function namesOf(key: string): string[] {
  if (/^[a-z0-9]+$/.test(key)) return [key];
  const parts = /^[\w-]+(?:\.[\w-]+|\[[\w-]+\])+$/.test(key) ? key.split(/[.[\]]+/).filter(Boolean) : [key];
  return (parts.length > maxNamesOfKey ? [key] : parts).map(
    (part) => part.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "") || part,
  );
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
