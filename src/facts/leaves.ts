import { isJsonObject, type Json, JsonNumber, type JsonObject } from "../core/json.ts";
import { toPlainLine } from "../ground/text/plain-text.ts";

/** One scalar of a payload, or one short list of scalars. */
export interface Leaf {
  /** The names on the way, as the sender spells them, each cut to 200 characters. Elements of a list are `[1]`. */
  path: string[];
  /** The path for look-ups: lower case, letters and digits only, without first elements of lists. */
  names: string[];
  kind: "string" | "number" | "boolean";
  /** As sent, digit for digit. Never empty. */
  text: string;
  isList: boolean;
  /** The leaf's place, without its value. All alerts with a leaf there share it. */
  place: Place;
  /** `text` as one plain line, after `lineOf` was called. */
  line: string | undefined;
}

/** A leaf's path and names, and results that were computed from them. */
export interface Place extends Pick<Leaf, "path" | "names"> {
  length: number;
  /** Two hashes of the path. Undefined for later elements of lists, and for places under a name that is an id. */
  shape: { a: number; b: number } | undefined;
  /** Results of `perPlace`, by its slot. */
  notes: unknown[];
  below: Map<string | number, Place> | undefined;
}

/** Part of every name of an element beyond the first, so no fact is read from the second of two things. */
export const laterElement = "#";

/** Further leaves are counted and not kept. */
const maxLeaves = 2_000;
/** `parseJson` accepts at most 64 levels, and as many again in a string. */
const maxDepth = 160;
/** Longer lists of scalars become one leaf for each element. */
const maxJoined = 20;
/** Every leaf repeats the names above it. These limits bound the size of 2,000 leaves below one name. */
const maxNameLength = 200;
/** Names after a longer path are cut to `shortNameLength`. */
const maxPathLength = 2_000;
const shortNameLength = 40;
const maxNamesOfKey = 16;
const maxNamesOfLeaf = 128;

/** A member or element on the way to a leaf. It points to its parent, so only kept leaves pay for a path. */
interface Step {
  above: Step | undefined;
  step: string | number;
  place?: Place;
}

/** A sender's alerts share their places. Beyond these bounds (units: steps and characters) all are made anew. */
const maxPlaces = 4_000;
const maxUnitsOfPlaces = 200_000;
/** Longer names are not kept. */
const maxKeptName = 100;

const noShape = { a: 0x811c9dc5, b: 0x9747b28c } as const;

let top = makePlace([], [], 0, noShape);
let places = 0;
let unitsOfPlaces = 0;

function makePlace(path: string[], names: string[], length: number, shape: Place["shape"]): Place {
  return { path, names, length, shape, notes: [], below: undefined };
}

let slots = 0;

/** Computes a result once for each place. `derive` never returns undefined. */
export function perPlace<T extends {}>(derive: (place: Place) => T): (leaf: Leaf) => T {
  const slot = slots;
  slots += 1;
  return ({ place }) => {
    const known = place.notes[slot] as T | undefined;
    if (known !== undefined) return known;
    const made = derive(place);
    place.notes[slot] = made;
    return made;
  };
}

export function looseLeaf(name: string, text: string, kind: Leaf["kind"] = "string"): Leaf {
  return makeLeaf(makePlace([name], namesOf(name), name.length, undefined), kind, text);
}

export function lineOf(leaf: Leaf): string {
  leaf.line ??= toPlainLine(leaf.text);
  return leaf.line;
}

/** In the order of the payload. `more`: how many there are beyond the 2,000 that are kept. */
export interface Leaves {
  leaves: Leaf[];
  more: number;
}

/**
 * Leaves out nulls, empty strings and values deeper than `maxDepth`. `readsPairs`: a list of `{name, value}` pairs, as
 * in chat messages and CloudWatch, counts as an object.
 */
export function listLeaves(value: unknown, { readsPairs = true } = {}): Leaves {
  const leaves: Leaf[] = [];
  let more = 0;
  const add = (
    above: Step | undefined,
    step: string | number | undefined,
    kind: Leaf["kind"],
    text: string,
    isList = false,
  ) => {
    if (isBlank(text)) return;
    if (leaves.length === maxLeaves) {
      more += 1;
      return;
    }
    const place = placeOf(above);
    leaves.push(makeLeaf(step === undefined ? place : placeBelow(place, step), kind, text, isList));
  };
  /** The step of a scalar without an object round it is undefined. */
  const visit = (inner: unknown, above: Step | undefined, step: string | number | undefined, depth: number): void => {
    if (typeof inner === "string") add(above, step, "string", inner);
    else if (typeof inner === "boolean") add(above, step, "boolean", String(inner));
    else if (inner instanceof JsonNumber) add(above, step, "number", inner.text);
    else if (typeof inner === "number") add(above, step, "number", String(inner));
    else if (typeof inner === "object" && inner !== null && depth < maxDepth) {
      const own = step === undefined ? above : { above, step };
      if (Array.isArray(inner)) visitList(inner, own, depth + 1);
      else for (const key in inner) visit((inner as Record<string, unknown>)[key], own, key, depth + 1);
    }
  };
  const visitList = (list: unknown[], own: Step | undefined, depth: number): void => {
    const joined = joinScalars(list);
    if (joined !== undefined) {
      add(own, undefined, "string", joined, true);
      return;
    }
    for (const [index, element] of list.entries()) {
      const pair = readsPairs ? pairOf(element as Json) : undefined;
      if (pair === undefined) visit(element, own, index, depth);
      else visit(pair.value, own, pair.name, depth);
    }
  };
  visit(value, undefined, undefined, 0);
  return { leaves, more };
}

/** A short list of scalars as one text. Undefined for any other list. */
export function joinScalars(list: unknown[]): string | undefined {
  if (list.length > maxJoined || !list.every(isScalar)) return undefined;
  return list.filter((one) => one !== null && one !== "").join(", ");
}

/** Like `text.trim() === ""`, without a copy. */
function isBlank(text: string): boolean {
  return text.charCodeAt(0) > 0x20 && text.charCodeAt(0) < 0x7f ? false : text.trim() === "";
}

function makeLeaf(place: Place, kind: Leaf["kind"], text: string, isList = false): Leaf {
  return { path: place.path, names: place.names, kind, text, isList, place, line: undefined };
}

function placeOf(step: Step | undefined): Place {
  if (step === undefined) return top;
  step.place ??= placeBelow(placeOf(step.above), step.step);
  return step.place;
}

function placeBelow(above: Place, step: string | number): Place {
  return above.below?.get(step) ?? keepPlace(above, step);
}

function keepPlace(above: Place, step: string | number): Place {
  if (typeof step === "string" && step.length > maxKeptName) return extend(above, step);
  // A copy, as a substring would keep its whole body in memory.
  const own = typeof step === "string" ? (JSON.parse(JSON.stringify(step)) as string) : step;
  const place = extend(above, own);
  places += 1;
  unitsOfPlaces += place.path.length + place.names.length + place.length;
  if (places > maxPlaces || unitsOfPlaces > maxUnitsOfPlaces) {
    top = makePlace([], [], 0, noShape);
    places = 0;
    unitsOfPlaces = 0;
  } else {
    above.below ??= new Map();
    above.below.set(own, place);
  }
  return place;
}

function extend({ path, names, length, shape }: Place, step: string | number): Place {
  if (typeof step === "number") {
    const own = step === 0 ? shapeBelow(shape, "[0]") : undefined;
    return makePlace([...path, `[${step}]`], step === 0 ? names : [...names, laterElement], length, own);
  }
  const name = step.slice(0, length > maxPathLength ? shortNameLength : maxNameLength);
  const own = namesOf(name);
  const fitting = names.length + own.length > maxNamesOfLeaf ? own.slice(-1) : own;
  const below = isId(name) ? undefined : shapeBelow(shape, name);
  return makePlace([...path, name], [...names, ...fitting], length + name.length, below);
}

function shapeBelow(shape: Place["shape"], name: string): Place["shape"] {
  if (shape === undefined) return undefined;
  let { a, b } = shape;
  for (let at = 0; at < name.length; at += 1) {
    const code = name.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995) ^ (b >>> 13);
  }
  // Marks the end of a name: "ab" with "c" below it is not "a" with "bc".
  return { a: Math.imul(a ^ 0x2e, 0x01000193), b: Math.imul(b ^ 0x2e, 0x5bd1e995) };
}

/** Whether a name differs from body to body: an address or a key with one, a hash, a UUID or ULID, a number, a date. */
function isId(name: string): boolean {
  return idForms.some((form) => form.test(name)) || isBase58(name);
}

const idForms = [
  /^(?:\d+|[0-9a-f]{16,}|[0-7][0-9a-hjkmnp-tv-z]{25})$/i,
  /(?:^|[^0-9a-z])0x[0-9a-f]{6,}(?![0-9a-z])/i,
  /(?:^|[^0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])/i,
  /^[a-z]{1,12}1[02-9ac-hj-np-z]{38,90}$/,
  /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d|$)/,
];

/** Finds addresses of Solana, Tron or Bitcoin. Other names of that length lack three digits or one case of letters. */
function isBase58(name: string): boolean {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(name)) return false;
  return /[a-z]/.test(name) && /[A-Z]/.test(name) && name.replace(/\D/g, "").length >= 3;
}

/** `alertName`, `alert_name`, `Alert-Name` → `alertname`; `alert.name` and `alert[name]` → two names. */
function namesOf(key: string): string[] {
  if (/^[a-z0-9]+$/.test(key)) return [key];
  const parts = /^[\w-]+(?:\.[\w-]+|\[[\w-]+\])+$/.test(key) ? key.split(/[.[\]]+/).filter(Boolean) : [key];
  return (parts.length > maxNamesOfKey ? [key] : parts).map(
    (part) => part.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "") || part,
  );
}

function isScalar(value: unknown): value is null | boolean | string | number | JsonNumber {
  return typeof value !== "object" || value === null || value instanceof JsonNumber;
}

function pairOf(element: Json): { name: string; value: unknown } | undefined {
  if (!isJsonObject(element)) return undefined;
  const keys = Object.keys(element);
  // A third and fourth member are layout ("short", "inline") or a type. With more members the element is no pair.
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
