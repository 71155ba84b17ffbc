import { expect, test } from "vitest";
import { parseFieldPath, valueAtPath, writeFieldPath } from "../../src/matching/path.ts";

test("reads the facts of an alert", () => {
  expect(parseFieldPath("severity")).toEqual({ ok: true, path: { kind: "fact", fact: "severity" } });
});

test("reads every kind of step into a payload", () => {
  const key = (name: string) => ({ kind: "key", key: name });
  const steps = [key("pool"), key("a.b"), { kind: "index", index: 0 }, { kind: "each" }, key("id")];
  expect(parseFieldPath('payload.pool["a.b"][0][*].id')).toEqual({ ok: true, path: { kind: "payload", steps } });
  expect(parseFieldPath("payload")).toEqual({ ok: true, path: { kind: "payload", steps: [] } });
  expect(parseFieldPath("payload.a-b_c:d")).toMatchObject({ ok: true });
  expect(parseFieldPath('payload["a\\"]b"]')).toMatchObject({ path: { steps: [key('a"]b')] } });
  expect(parseFieldPath(`payload['a "b"\\']`)).toMatchObject({ path: { steps: [key('a "b"\\')] } });
});

test.each([
  ...["", "severty", "payloads", "payload.", "payload..a", "payload.a[", "payload.a[x]", "payload[-1]"],
  ...['payload["a]', 'payload["\\q"]', "payload.a b", "Severity"],
])("refuses %j", (field) => {
  expect(parseFieldPath(field)).toMatchObject({ ok: false });
});

test("writes a name that cannot be seen, or turns the reading direction, by its codes, and reads it back", () => {
  for (const [key, written] of [
    ["a\u202eb", '["a\\u202eb"]'],
    ["a\u2028b", '["a\\u2028b"]'],
    ["\u0085", '["\\u0085"]'],
    ["\u200b", '["\\u200b"]'],
    ["\ud800", '["\\ud800"]'],
    ["\u{e0041}", '["\\udb40\\udc41"]'],
    ["\u0000\u001b", '["\\u0000\\u001b"]'],
    ["größe-😀", ".größe-😀"],
    ["__proto__", ".__proto__"],
  ] as const) {
    const path = writeFieldPath({ kind: "payload", steps: [{ kind: "key", key }] });
    expect(path).toBe(`payload${written}`);
    expect(parseFieldPath(path)).toMatchObject({ path: { steps: [{ kind: "key", key }] } });
  }
});

test("the path of a sender's key reaches one value, and by a number a list and a map alike", () => {
  const payload = { items: ["x", { "a.b": "y" }], "0": "zero", payload: "own", nothing: null };
  for (const [path, value] of [
    ["payload.items[0]", "x"],
    ["payload.items.0", "x"],
    ['payload.items[1]["a.b"]', "y"],
    ["payload.items[1]['a.b']", "y"],
    ["payload[0]", "zero"],
    ["payload.payload", "own"],
    ["payload.nothing", null],
    ["payload.nothing.below", undefined],
    ["payload.items[*]", undefined],
    ["payload.items[", undefined],
    ["payload.items.length", undefined],
    ["payload.constructor", undefined],
    ["payload", undefined],
    ["title", undefined],
    ["", undefined],
  ] as const) {
    expect(valueAtPath(payload, path), path).toEqual(value);
  }
});
