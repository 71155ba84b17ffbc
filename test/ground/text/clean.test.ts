import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cleanLine, cleanText, isolate, oneLine } from "../../../src/ground/text/clean.ts";
import { boundaryBefore, clip, cut } from "../../../src/ground/text/graphemes.ts";
import { createCostMeter } from "../../support/cpu-cost.ts";

describe("a sender's text", () => {
  it("loses what is invisible or turns the text around", () => {
    expect(cleanText("a\u202Eb\u2066c\u200Bd\uFEFFe\u00ADf\u200Eg")).toBe("abcdefg");
  });

  it("shows control characters instead of acting on them", () => {
    expect(cleanText("a\u0000b\u001b[31mc\u007fd\u0085e\u009f")).toBe("a␀b␛[31mc␡d\ne\uFFFD");
  });

  it("keeps line breaks and tabs, with one kind of line break", () => {
    expect(cleanText("a\r\nb\rc\u2028d\te")).toBe("a\nb\nc\nd\te");
  });

  it("replaces lone surrogates and keeps pairs", () => {
    expect(cleanText("\ud800x\udc00 😀")).toBe("\uFFFDx\uFFFD 😀");
  });

  it("keeps emoji families, flags and Persian joiners", () => {
    for (const text of ["👩‍👩‍👧‍👦", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇨🇭", "می‌خواهم", "⚠️"]) expect(cleanText(text)).toBe(text);
  });

  it("keeps the ring of å, which Telegram would remove, by composing the letter", () => {
    expect(cleanText("A\u030Angstrom a\u030A")).toBe("Ångstrom å");
  });

  it("loses the marks that Telegram would remove, as that would move every entity behind them", () => {
    expect(cleanText("x\u0333y\u033Fz 1\u030A")).toBe("xyz 1");
  });

  it("takes down towers of marks", () => {
    expect(cleanText(`Z${"\u0301".repeat(500)}algo`)).toBe(`Z${"\u0301".repeat(6)}algo`);
  });

  it("is judged clean at a glance only where nothing would be replaced", () => {
    // The soft hyphen at the beginning makes cleaning look at all of it; for itself it leaves no trace.
    const differing: string[] = [];
    // Beyond, nothing is assigned but more of the same ideographs, and private use.
    const codes = [...Array(0x20000).keys(), ...Array.from({ length: 0x200 }, (_, at) => 0xe0000 + at)];
    for (const code of codes) {
      const character = String.fromCodePoint(code);
      for (const text of [`a${character}b`, `a${character.repeat(7)}`])
        if (cleanText(text) !== cleanText(`\u00AD${text}`)) differing.push(code.toString(16));
    }
    expect(differing).toEqual([]);
    for (const text of ["a  b", " a", "a\tb", "a\u00A0b", "a \u00A0b", "a\u3000"])
      expect(cleanLine(text)).toBe(text.trim().replace(/\s+/g, " "));
  });

  it("on one line cannot begin a line of its own", () => {
    expect(cleanLine("  value\r\n\t ✅ Resolved \u2028 x ")).toBe("value ✅ Resolved x");
    expect(cleanLine("a\nb", " ⏎ ")).toBe("a ⏎ b");
  });

  it("is fenced off only where it runs from right to left", () => {
    expect(isolate("USDC")).toBe("USDC");
    expect(isolate("שקל")).toBe("\u2068שקל\u2069");
  });

  it("keeps a fence that ends on its line and holds something, and no other", () => {
    const fenced = `TVL of ${isolate("שקל")} 5`;
    expect(cleanText(fenced)).toBe(fenced);
    expect(cleanLine(isolate(`${fenced} ${isolate("שקל")}`))).toBe(isolate(`${fenced} ${isolate("שקל")}`));
    expect(cleanText("a\u2068b\nc\u2069d \u2069\u2068 e")).toBe("ab\ncd  e");
    expect(cleanText("\u2068\u2068\u200B \u2069\u2069")).toBe(" ");
    expect(cleanText(`${"\u2068".repeat(200)}x${"\u2069".repeat(200)}`)).toBe(
      `${"\u2068".repeat(16)}x${"\u2069".repeat(16)}`,
    );
  });

  it("is cleaned in linear time", () => {
    const hostile = " ".repeat(500_000) + "\u0301".repeat(500_000);
    const fences = "\u2068".repeat(500_000) + "a\u2069".repeat(500_000);
    expect(createCostMeter().measure(() => cleanLine(hostile), 100)).toBeLessThan(100);
    expect(cleanLine(fences)).toHaveLength(500_032);
  });
});

describe("another side's answer on one line", () => {
  it("holds nothing that acts or hides, no half character and no more than it may", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), fc.integer({ min: 1, max: 60 }), (text, max) => {
        const line = oneLine(text, max);
        expect(line.length).toBeLessThanOrEqual(max);
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u);
      }),
    );
  });

  it("keeps its words", () => {
    expect(oneLine("bad\r\n\u001b[31m\u202eshape\u2028! \ud800", 80)).toBe("bad [31m shape ! \uFFFD");
    expect(oneLine("two words", 5)).toBe("two…");
  });
});

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
    expect(cut("short", 5)).toBe("short");
    expect(cut("two words", 5)).toBe("two…");
  });
});
