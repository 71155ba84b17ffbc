import { describe, expect, it } from "vitest";
import { boundaryBefore, clip, clipWithEllipsis } from "../../../src/ground/text/graphemes.ts";

describe("a cut", () => {
  it("falls between two characters as a reader sees them", () => {
    const text = `${"x".repeat(100)}👩‍👩‍👧‍👦🇨🇭e\u0301`;
    const boundaries = [100, 111, 115, 117];
    for (let index = 100; index <= text.length; index += 1) {
      const expected = boundaries.findLast((boundary) => boundary <= index);
      expect(boundaryBefore(text, index)).toBe(expected);
    }
  });

  it("never divides a surrogate pair, even in a character without end", () => {
    const endless = "👩\u200d".repeat(1000);
    for (let index = 1; index < 600; index += 1) {
      expect(clip(endless, index)).not.toMatch(/\p{Cs}/u);
    }
    expect(clip(endless, 599).length).toBeGreaterThan(590);
  });

  it("leaves short text alone and shows where long text goes on", () => {
    expect(clipWithEllipsis("short", 5)).toBe("short");
    expect(clipWithEllipsis("two words", 5)).toBe("two…");
  });
});
