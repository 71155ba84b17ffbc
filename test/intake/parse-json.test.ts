import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Json, JsonNumber } from "../../src/core/json.ts";
import { parseJson } from "../../src/intake/read/parse-json.ts";

function toPlain(value: Json): unknown {
  if (value instanceof JsonNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(toPlain);
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toPlain(inner)]));
  }
  return value;
}

function accepts(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const valid = [
  ...[" \t\r\n[ ] \n", "[[[[[[[[]]]]]]]]"],
  "[1,-1,0,-0,1.5,1e3,1E+3,1e-3,-0.0e0,123456789012345678901234567890]",
  ...['""', '"\\u0041\\n\\"\\\\\\/\\b\\f\\r\\t"', '"\\ud83d\\ude00"', '"\\ud800"', '"\\udc00\\ud800"'],
  ...['"\u2028\u2029\u007f\uffff"', '{"":1,"__proto__":2,"constructor":3,"toString":4}', '{"a":1,"a":2}'],
  ...["true", "false", "null", "0", '"x"'],
];

const invalid = [
  // Structures.
  ..."{ [ } ] [1,] [,1] [1,,2]".split(" "),
  ...`{"a":1,} {,"a":1} {"a"} {"a":} {a:1} {'a':1} {"a":1}} {"a":1}{"b":2} [1} {"a":1]`.split(" "),
  ...["", " ", "[1 2]", '{"a":1 "b":2}'],
  // Numbers and words.
  ..."01 - -a +1 1. .5 1e 1e+ 0x1 1.5.5 NaN Infinity -Infinity tru truex nul TRUE undefined".split(" "),
  // Strings.
  ...String.raw`" "a "\ "\x41" "\u12" "\u12g4"`.split(" "),
  ...['"\\u 123"', '"a\nb"', '"a\tb"', '"\u0000"'],
  // White space and comments that are none.
  ...["\ufeff{}", "\u00a0{}", "[1]// comment", "/* c */[1]", "[1\u000b]"],
];

describe("parseJson", () => {
  it.each(valid)("reads what JSON.parse reads: %j", (text) => {
    const parsed = parseJson(text);
    expect(parsed.ok).toBe(true);
    if (parsed.ok) expect(JSON.stringify(toPlain(parsed.value))).toBe(JSON.stringify(JSON.parse(text)));
  });

  it.each(invalid)("refuses what JSON.parse refuses: %j", (text) => {
    expect(accepts(text)).toBe(false);
    const parsed = parseJson(text);
    expect(parsed.ok).toBe(false);
    if (!parsed.ok) expect(parsed.message).not.toBe("");
  });

  it("agrees with JSON.parse on any value", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8, stringUnit: "binary" }), fc.nat(3), (text, indent) => {
        const shown = JSON.stringify(JSON.parse(text), null, indent);
        const parsed = parseJson(shown);
        expect(parsed.ok && JSON.stringify(toPlain(parsed.value))).toBe(JSON.stringify(JSON.parse(shown)));
      }),
    );
  });

  it("agrees with JSON.parse on whether a damaged text is JSON", () => {
    const damaged = fc
      .tuple(
        fc.json(),
        fc.nat(),
        fc.constantFrom("", '"', "{", "]", ",", ":", "\\", "0", "e", "-", " ", "\n", "\u0001"),
      )
      .map(([text, place, put]) => {
        const at = place % (text.length + 1);
        return text.slice(0, at) + put + text.slice(at + 1);
      });
    fc.assert(
      fc.property(damaged, (text) => {
        expect(parseJson(text).ok).toBe(accepts(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it("keeps every digit of a number", () => {
    const parsed = parseJson('{"price":1.10,"wei":123456789012345678901,"tiny":1E-400}');
    expect(parsed.ok && JSON.stringify(Object.values(parsed.value as object).map(String))).toBe(
      '["1.10","123456789012345678901","1E-400"]',
    );
  });

  it("treats __proto__ as a name like any other", () => {
    const parsed = parseJson('{"__proto__":{"polluted":true},"a":1}');
    expect(parsed.ok).toBe(true);
    if (!parsed.ok) return;
    const value = parsed.value as Record<string, Json>;
    expect(Object.getPrototypeOf(value)).toBeNull();
    expect(Object.keys(value)).toEqual(["__proto__", "a"]);
    expect(value.polluted).toBeUndefined();
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it("lets the last of a repeated name win", () => {
    const parsed = parseJson('{"a":1,"b":2,"a":3}');
    expect(parsed.ok && toPlain(parsed.value)).toEqual({ a: 3, b: 2 });
  });

  it("says line and column of the fault", () => {
    expect(parseJson('{\n  "a": 1,\n  "b": nope\n}')).toMatchObject({
      ok: false,
      line: 3,
      column: 8,
      message: "expected a value",
    });
    expect(parseJson('{"a": "cut')).toMatchObject({ line: 1, column: 11, message: "it ends inside a string" });
    expect(parseJson('{"a": 1')).toMatchObject({ message: 'it ends too early (expected "," or "}")' });
  });

  it("hands over what stood before the fault", () => {
    const parsed = parseJson('{"title":"TVL fell","data":{"value":3.2,"chain":"eth","note":"cut');
    expect(parsed.ok).toBe(false);
    if (!parsed.ok && parsed.partial !== undefined) {
      expect(toPlain(parsed.partial)).toEqual({ title: "TVL fell", data: { value: 3.2, chain: "eth" } });
    }
  });

  it("takes 64 levels and refuses the 65th", () => {
    expect(parseJson("[".repeat(64) + "]".repeat(64)).ok).toBe(true);
    expect(parseJson("[".repeat(65) + "]".repeat(65))).toMatchObject({
      ok: false,
      column: 65,
      message: "it is nested more than 64 levels deep",
    });
    expect(parseJson('{"a":'.repeat(65))).toMatchObject({ message: "it is nested more than 64 levels deep" });
  });

  it("takes 10,000 names and refuses one more, repeated ones counted", () => {
    const members = (count: number) => `{${Array.from({ length: count }, () => '"a":1').join(",")}}`;
    expect(parseJson(members(10_000)).ok).toBe(true);
    expect(parseJson(members(10_001))).toMatchObject({ ok: false, message: "it has more than 10,000 names" });
  });

  it("takes 100,000 values and refuses one more, of whatever kind", () => {
    expect(parseJson(`[${"{},".repeat(99_998)}0]`).ok).toBe(true);
    const fault = { ok: false, message: "it has more than 100,000 values" };
    expect(parseJson(`[${"{},".repeat(99_999)}0]`)).toMatchObject(fault);
    expect(parseJson(`[${"0,".repeat(99_999)}0]`)).toMatchObject(fault);
  });
});
