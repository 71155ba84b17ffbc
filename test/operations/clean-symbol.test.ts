import { expect, it } from "vitest";
import { cleanSymbol } from "../../src/operations/name-book.ts";

it.each([
  ["ONYX504", "ONYX504"],
  ["USD₮0", "USD0"],
  ["stETH.v2-LP", "stETH.v2-LP"],
  ["  Wrapped   Ether ", "Wrapped Ether"],
  ["ＵＳＤＣ", "USDC"],
  ["🚨 USDC", "USDC"],
  ["✅Resolved: USDC", "Resolved USDC"],
  ["US\u0000D\u001b[31mC", "USD31mC"],
  ["\u202eCDSU\u202c", "CDSU"],
  ["US\u200bDC\n\nsecond line", "USDC second line"],
  ["<b>USDC</b>", "bUSDCb"],
  ["[x](http://evil.example)", "xhttpevil.example"],
  ["דולר", "דולר"],
  ["A".repeat(10_000), `${"A".repeat(19)}…`],
])("keeps of %j what may stand in a first line", (sent, shown) => {
  expect(cleanSymbol(sent)).toBe(shown);
});

it.each([
  "",
  " ",
  "🚨",
  "18,000",
  "12345",
  "-",
  "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
  "Critical",
  "RESOLVED",
  "✅ resolved",
  "tocsin",
  "\ud800",
  "\u202e",
  undefined,
  null,
  7,
  {},
  ["USDC"],
])("makes no name of %j", (sent) => {
  expect(cleanSymbol(sent)).toBeUndefined();
});

it("takes no longer for a long one than for what it keeps", () => {
  for (const part of ["a\u0301", "\u200b", " ", "🚨", "\u0300"]) {
    const symbol = cleanSymbol(`A${part.repeat(1_000_000)}`);
    expect(symbol?.length).toBeLessThanOrEqual(20);
  }
});
