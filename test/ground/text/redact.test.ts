import { describe, expect, test } from "vitest";
import { createRedactor } from "../../../src/ground/text/redact.ts";

describe("a secret is hidden", () => {
  const secret = 'pass"wörd/+?';
  const redact = createRedactor([secret]);
  test.each([
    ["as it is", secret],
    ["in JSON", JSON.stringify(secret)],
    ["in JSON with escaped slashes", JSON.stringify(secret).replaceAll("/", "\\/")],
    ["in an address", encodeURIComponent(secret)],
    ["in a pattern", 'pass"wörd/\\+\\?'],
    ["in base64", Buffer.from(secret).toString("base64")],
    ["in base64 without its end", Buffer.from(secret).toString("base64").replaceAll("=", "")],
  ])("%s", (_, echoed) => {
    expect(redact(`say ${echoed} again`)).toMatch(/^say "?\*\*\*=*"? again$/);
  });
});

test("the longest goes first, so that no rest of it is left", () => {
  expect(createRedactor(["token", "token-and-more"])("token-and-more token")).toBe("*** ***");
});

test("what is too short is left, an empty one always", () => {
  expect(createRedactor(["abc", ""])("abc")).toBe("abc");
  expect(createRedactor(["abc", ""], { leastLength: 1 })("abc abd")).toBe("*** abd");
});

test("half a character in a secret is no failure", () => {
  expect(createRedactor(["half \ud800"])("half \ud800")).toBe("***");
});
