import { z } from "zod";
import { isInstant } from "../ground/time/time-format.ts";

/** An instant beyond all dates becomes 1970. */
export function toIso(at: number): string {
  return new Date(isInstant(at) ? at : 0).toISOString();
}

const codec = { decode: (text: string) => Date.parse(text), encode: toIso };

/** ISO 8601 in UTC outside, epoch milliseconds in the program. */
export const instant = z.codec(z.iso.datetime(), z.number(), codec).meta({ example: "2026-11-21T14:02:05.123Z" });

/** An instant as people write it, with any zone. */
export const writtenInstant = z.codec(
  z.iso.datetime({ offset: true, error: "must be a time in ISO 8601 with its zone, e.g. 2026-11-21T14:00:00Z" }),
  z.number(),
  codec,
);

/** Undefined: the value stays unchanged. */
type Write = ((value: unknown) => unknown) | undefined;

const writers = new WeakMap<z.core.$ZodType, { write: Write }>();

/**
 * Writes a view as JSON. It checks nothing: one odd stored value must not fail the whole answer. Takes half the time of
 * `z.encode`. An optional instant beyond all dates is left out.
 * @throws Error for a schema of a kind that it cannot write: a defect of the contract
 */
export function encode<S extends z.ZodType>(schema: S, value: z.output<S>): z.input<S> {
  const write = writerOf(schema);
  return (write === undefined ? value : write(value)) as z.input<S>;
}

function writerOf(schema: z.core.$ZodType): Write {
  const known = writers.get(schema);
  if (known !== undefined) return known.write;
  const write = createWriter(schema);
  writers.set(schema, { write });
  return write;
}

const defOf = (schema: z.core.$ZodType) => (schema as z.core.$ZodTypes)._zod.def;

function createWriter(schema: z.core.$ZodType): Write {
  const def = defOf(schema);
  switch (def.type) {
    case "pipe": {
      const { reverseTransform } = def;
      if (reverseTransform === undefined) throw new Error("a pipe can be written only where it is a codec");
      return (value) => reverseTransform(value, unchecked);
    }
    case "object":
      return createObjectWriter(def.shape);
    case "array": {
      const write = writerOf(def.element);
      return write && ((list) => (list as unknown[]).map(write));
    }
    case "optional": {
      const write = writerOf(def.innerType);
      return isOfInstants(def.innerType) ? (at) => (isInstant(at as number) ? write?.(at) : undefined) : write;
    }
    case "nullable": {
      const write = writerOf(def.innerType);
      return write && ((value) => (value === null ? null : write(value)));
    }
    case "default":
      return writerOf(def.innerType);
    case "lazy":
      // A recursive schema is looked into only when there is a value.
      return (value) => encode(def.getter() as z.ZodType, value);
    default: {
      // No view has codecs inside a union, a tuple or a record.
      const parts = plainTypes.has(def.type) ? [] : partsOf(def);
      if (parts === undefined || parts.some((part) => writerOf(part) !== undefined))
        throw new Error(`how a ${def.type} of these is written is not known`);
      return undefined;
    }
  }
}

const plainTypes = new Set<string>(["string", "number", "boolean", "enum", "literal", "unknown"]);

function partsOf(def: z.core.$ZodTypes["_zod"]["def"]): readonly z.core.$ZodType[] | undefined {
  if (def.type === "record") return [def.valueType];
  return def.type === "tuple" ? def.items : def.type === "union" ? def.options : undefined;
}

/** A codec gets this object with the value, to report problems. */
const unchecked = { value: undefined, issues: [] };

function isOfInstants(schema: z.core.$ZodType): boolean {
  const def = defOf(schema);
  return def.type === "pipe" && def.reverseTransform === codec.encode;
}

function createObjectWriter(shape: z.core.$ZodShape): Write {
  const fields = Object.entries(shape).map(([name, field]) => ({ name, write: writerOf(field) }));
  return (value) => {
    const written: Record<string, unknown> = {};
    for (const { name, write } of fields) {
      const one = (value as Record<string, unknown>)[name];
      if (one !== undefined) written[name] = write === undefined ? one : write(one);
    }
    return written;
  };
}
