import { crc32 } from "node:zlib";
import { type MappableFact, mappableFacts } from "../../core/mapping.ts";
import type { BodyShape, PlaceType, SeverityWord, ShapePlace } from "../../core/shape.ts";
import { type Leaf, type Leaves, perPlace } from "../../facts/leaves.ts";
import { looksSecret } from "../../ground/shape/show-value.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { toPlainLine } from "../../ground/text/plain-text.ts";
import { type PathStep, writeFieldPath } from "../../matching/path.ts";
import type { FactRead } from "./find-facts.ts";
import { isCredential } from "./list-fields.ts";

/** A body with more leaves gets no shape. */
const maxLeaves = 1_000;
const maxPath = 300;
const maxExample = 60;
/** Shapes that are known to have been described. Beyond this all are forgotten and described again. */
const maxDescribed = 1_000;
/** A budget for descriptions: a shape costs one, and one for each 50 leaves. Each body adds a hundredth. */
const mostCredit = 300;
const creditOfBody = 1 / 100;

export type ShapeReader = ReturnType<typeof createShapeReader>;

/** The id of a shape is a sum over leaves, the same in any order and process. Two sources (`hook`) never share a shape. */
export function createShapeReader(hook?: string) {
  const seed = hook === undefined ? 0 : crc32(hook);
  // The text of each id. Writing a number of 16 digits costs more than finding it here.
  const described = new Map<number, string>();
  let credit = mostCredit;
  return {
    /** @param keyLeaves returns the leaves of the alert's key. Called only for a shape that is described */
    shapeOf(
      { leaves, more }: Leaves,
      reads: readonly FactRead[],
      keyLeaves: () => readonly Leaf[],
    ): BodyShape | undefined {
      credit = Math.min(mostCredit, credit + creditOfBody);
      if (more > 0 || leaves.length > maxLeaves || leaves.length === 0) return undefined;
      const hash = hashOf(leaves, reads, seed);
      const known = described.get(hash);
      if (known !== undefined) return { id: known };
      const id = hash.toString(32);
      const cost = 1 + leaves.length / 50;
      if (credit < cost) return { id };
      credit -= cost;
      if (described.size >= maxDescribed) described.clear();
      described.set(hash, id);
      const asKey = keyLeaves().map((leaf): FactRead => ({ fact: "alertKey", leaf }));
      return { id, places: describe(leaves, [...reads, ...asKey]) };
    },
    /** Describes these shapes again when they come again, since their descriptions were lost. */
    forget(ids: readonly string[]): void {
      for (const id of ids) described.delete(Number.parseInt(id, 32));
    },
  };
}

/** Distinct from the codes of types. */
const codes = Object.fromEntries(
  mappableFacts.map((fact, index) => [fact, Math.imul(index + 5, 0x9e3779b1)]),
) as Readonly<Record<MappableFact, number>>;

function hashOf(leaves: Leaf[], reads: readonly FactRead[], seed: number): number {
  let a = seed | 0;
  let b = mix(seed);
  const add = ({ place: { shape } }: Leaf, code: number) => {
    if (shape === undefined) return;
    a = (a + mix(shape.a ^ code)) | 0;
    b = (b + mix(shape.b + code)) | 0;
  };
  for (const leaf of leaves) add(leaf, codesOfTypes[typeOf(leaf)]);
  for (const { fact, leaf } of reads) add(leaf, codes[fact]);
  // 53 bits fit into a number.
  return (a >>> 0) * 0x200000 + (b >>> 11);
}

function mix(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return Math.imul(once ^ (once >>> 13), 0xc2b2ae35) ^ (once >>> 16);
}

const codesOfTypes: Readonly<Record<PlaceType, number>> = { list: 1, text: 2, number: 3, boolean: 4 };

function typeOf({ kind, isList }: Leaf): PlaceType {
  if (isList) return "list";
  return kind === "string" ? "text" : kind;
}

/** Undefined where the word may be a credential. */
export function describeWord(leaf: Leaf): SeverityWord | undefined {
  const word = exampleOf(leaf).toLowerCase();
  return leaf.place.shape === undefined || word === "" || word === "(not shown)"
    ? undefined
    : { path: pathOf(leaf), word };
}

/** A place with two spellings (`a.b` as one name and as two) is listed once. */
function describe(leaves: Leaf[], reads: readonly FactRead[]): ShapePlace[] {
  const places = new Map<string, ShapePlace>();
  for (const leaf of leaves) {
    if (leaf.place.shape === undefined) continue;
    const path = pathOf(leaf);
    if (!places.has(path)) places.set(path, { path, type: typeOf(leaf), example: exampleOf(leaf), facts: [] });
  }
  for (const { fact, leaf } of reads) {
    const facts = leaf.place.shape && places.get(pathOf(leaf))?.facts;
    if (facts !== undefined && !facts.includes(fact)) facts.push(fact);
  }
  return [...places.values()];
}

const pathOf = perPlace(({ path }) => {
  const steps = path.map(
    (name): PathStep => (name === "[0]" ? { kind: "index", index: 0 } : { kind: "key", key: name }),
  );
  return cut(writeFieldPath({ kind: "payload", steps }), maxPath);
});

function exampleOf(leaf: Leaf): string {
  const text = leaf.text.slice(0, 4 * maxExample);
  return isCredential(leaf) || looksSecret(text) ? "(not shown)" : cut(toPlainLine(text), maxExample);
}
