import { describe, expect, it } from "vitest";
import { parseRetryAfter } from "../../../src/ground/net/retry-after.ts";

describe("Retry-After", () => {
  const nowMs = Date.parse("2026-11-20T12:00:00Z");
  it.each([
    ["0", 0],
    ["120", 120_000],
    [" 3 ", 3_000],
    ["0.25", 250],
    ["86400", 86_400_000],
    ["Fri, 20 Nov 2026 12:00:30 GMT", 30_000],
    ["Friday, 20-Nov-26 12:00:30 GMT", 30_000],
    ["Fri, 20 Nov 2026 11:00:00 GMT", 0],
    ["-5", undefined],
    ["soon", undefined],
    ["not before 2030", undefined],
    ["", undefined],
    ["1e9", undefined],
    [undefined, undefined],
    [null, undefined],
  ])("reads %j as %j milliseconds", (value, expected) => {
    expect(parseRetryAfter(value, nowMs)).toBe(expected);
  });
});
