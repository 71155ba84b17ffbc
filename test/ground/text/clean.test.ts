import { describe, expect, it } from "vitest";
import { cleanLine, cleanText, isolate } from "../../../src/ground/text/clean.ts";
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

  it("on one line cannot begin a line of its own", () => {
    expect(cleanLine("  value\r\n\t ✅ Resolved \u2028 x ")).toBe("value ✅ Resolved x");
    expect(cleanLine("a\nb", " ⏎ ")).toBe("a ⏎ b");
  });

  it("is fenced off only where it runs from right to left", () => {
    expect(isolate("USDC")).toBe("USDC");
    expect(isolate("שקל")).toBe("\u2068שקל\u2069");
  });

  it("is cleaned in linear time", () => {
    const hostile = " ".repeat(500_000) + "\u0301".repeat(500_000);
    expect(createCostMeter().measure(() => cleanLine(hostile), 100)).toBeLessThan(100);
  });
});
