import fc from "fast-check";
import { expect, test } from "vitest";
import { showBody } from "../../src/web/body-text.ts";
import { printJson } from "../../src/web/print-json.ts";

test("JSON laid out for reading keeps every digit, every escape and every double key", () => {
  const text = '{"a":1.10,"b":123456789012345678901,"c":-0.0e+07,"a":"\\u0041\\n","d":[],"e":{},"f":[{}]}';
  expect(printJson(text)?.text).toBe(
    [
      "{",
      '  "a": 1.10,',
      '  "b": 123456789012345678901,',
      '  "c": -0.0e+07,',
      '  "a": "\\u0041\\n",',
      '  "d": [],',
      '  "e": {},',
      '  "f": [',
      "    {}",
      "  ]",
      "}",
    ].join("\n"),
  );
});

test("JSON laid out for reading is what JSON.stringify lays out, wherever that loses nothing", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const compact = JSON.stringify(value);
      expect(printJson(compact)?.text).toBe(JSON.stringify(JSON.parse(compact), null, 2));
      expect(printJson(JSON.stringify(value, null, 7))).toEqual(printJson(compact));
    }),
  );
});

test.each(["", "{", '{"a":}', "hello", "{'a':1}", "[1,]", "NaN"])("%j is no JSON to lay out for reading", (text) => {
  expect(printJson(text)).toBeUndefined();
});

test("JSON laid out for reading: a string of a mebibyte, and nesting as deep as a mebibyte goes, are laid out at once", () => {
  const long = JSON.stringify({ text: `\\"x`.repeat(250_000) });
  expect(printJson(long)?.text.length).toBe(long.length + "\n  ".length + " ".length + "\n".length);
  const depth = 500_000;
  const printed = printJson("[".repeat(depth) + "]".repeat(depth));
  expect(printed?.text.length).toBeLessThan(80 * depth * 2);
});

test("no more is laid out than is asked for, and what is left out is said", () => {
  const printed = printJson(`[${"0,".repeat(500_000)}0]`, 1_000);
  expect(printed?.text.length).toBeGreaterThan(1_000);
  expect(printed?.text.length).toBeLessThan(1_010);
  expect(printed?.isCut).toBe(true);
});

test.each<[string, Uint8Array, string, string]>([
  ["JSON", Buffer.from('{"a":1.0}'), "json", '{\n  "a": 1.0\n}'],
  ["text", Buffer.from("price: 5\r\n\tdown"), "text", "price: 5\r\n\tdown"],
  ["nothing", Buffer.alloc(0), "empty", ""],
  ["bytes", Buffer.from([0x1f, 0x8b, 0x41, 0xff]), "bytes", `00000000  1f 8b 41 ff${" ".repeat(38)}..A.`],
  ["text with a NUL in it", Buffer.from("a\u0000b"), "bytes", `00000000  61 00 62${" ".repeat(41)}a.b`],
])("a body on the page: %s", (_what, body, form, text) => {
  expect(showBody(body)).toEqual({ form, text, isCut: false });
});

test("a body on the page is cut where it would be too long to read, and says so", () => {
  expect(showBody(Buffer.from("x".repeat(200_000)))).toMatchObject({ form: "text", isCut: true });
  const bytes = showBody(Buffer.alloc(5_000, 0xff));
  expect(bytes).toMatchObject({ form: "bytes", isCut: true });
  expect(bytes.text.split("\n")).toHaveLength(256);
});
