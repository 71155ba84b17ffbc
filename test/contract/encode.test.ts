import { expect, it } from "vitest";
import { z } from "zod";
import { routes } from "../../src/contract/api.ts";
import { encode, instant } from "../../src/contract/encode.ts";

const at = Date.UTC(2026, 10, 21, 12);
const iso = "2026-11-21T12:00:00.000Z";

it("writes what a codec reads as the codec writes it, and only the fields of the schema", () => {
  const upper = z.codec(z.string(), z.string(), {
    decode: (text) => text.toUpperCase(),
    encode: (text) => text.toLowerCase(),
  });
  const view = z.object({ at: instant, word: upper, sub: z.array(z.object({ at: instant.nullable() })) });
  const value = { at, word: "ABC", sub: [{ at, more: 1 }, { at: null }], secret: "x" };
  expect(encode(view, value)).toEqual({ at: iso, word: "abc", sub: [{ at: iso }, { at: null }] });
});

it("leaves out an optional instant that no date can hold", () => {
  const view = z.object({ at: instant.optional().describe("With words."), name: z.string() });
  expect(encode(view, { at: 1e20, name: "a" })).toEqual({ name: "a" });
  expect(encode(view, { at, name: "a" })).toEqual({ at: iso, name: "a" });
});

it("can write what each route of the API is asked and says, and refuses a schema that it cannot", () => {
  for (const [name, { query, body, data, meta }] of routes) {
    for (const schema of [query, body, data, meta]) {
      if (schema !== undefined) expect(() => encode(z.array(schema), []), name).not.toThrow();
    }
  }
  for (const unwritable of [
    z.string().transform(Number),
    z.union([instant, z.string()]),
    z.record(z.string(), instant),
    z.map(z.string(), z.string()),
  ])
    expect(() => encode(z.object({ unwritable }), { unwritable: undefined as never })).toThrow(/written/);
});
