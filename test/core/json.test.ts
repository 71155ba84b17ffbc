import { describe, expect, it } from "vitest";
import { JsonNumber, writeJson } from "../../src/core/json.ts";

describe("writeJson", () => {
  it.each([
    "",
    "plain",
    'a "quote"',
    "a \\ backslash",
    "tab\tbreak\nbell\u0007 nul\u0000 unit\u001f",
    "delete\u007f, \u2028 and \u2029",
    "⚠️ pair 😀, lone high \ud83d, lone low \ude00",
    "x".repeat(199),
    "x".repeat(200),
    `${"x".repeat(300)}"`,
  ])("writes a text as JSON does: %j", (text) => {
    expect(writeJson(text)).toBe(JSON.stringify(text));
    expect(writeJson({ [text]: [text] })).toBe(JSON.stringify({ [text]: [text] }));
  });

  it("writes all else as JSON does: order, what is left out, what becomes null", () => {
    const list = [undefined, () => {}, Symbol("x"), null, true, Number.NaN, -0, 1e21, [], {}];
    const bare = Object.assign(Object.create(null), { z: 1, a: { deep: false } });
    const value = { b: 1, 2: "two", 1: "one", gone: undefined, call: () => {}, list, at: new Date(0), bare };
    expect(writeJson(value)).toBe(JSON.stringify(value));
    expect(writeJson([])).toBe("[]");
    expect(writeJson(undefined)).toBe("null");
  });

  it("keeps the digits of a number, and quotes what only claims to be one", () => {
    const numbers = ["1.10", "123456789012345678901", "6.02e-23", "-0", "01", 'x"'].map((text) => new JsonNumber(text));
    expect(writeJson({ numbers })).toBe('{"numbers":[1.10,123456789012345678901,6.02e-23,-0,"01","x\\""]}');
  });
});
