import { describe, expect, it } from "vitest";
import { writeAmount, writeValueLine } from "../../src/rendering/value-line.ts";

function line(...said: Parameters<typeof writeValueLine>): string {
  return writeValueLine(...said)
    .map((inline) => ("text" in inline ? inline.text : ""))
    .join("");
}

describe("the line of numbers", () => {
  const below = [{ name: "condition", value: "below" }];
  const huge = "1234567890123456789";

  it.each([
    [{}, ""],
    [{ value: "1.10" }, "1.10"],
    [{ value: "5.2", unit: "%" }, "5.2 %"],
    [
      { value: "95.3", threshold: "95", previousValue: "94.3", unit: "%" },
      "95.3 % · 0.3 points above 95 % · was 94.3 % (+1 point)",
    ],
    [
      { value: "1.2e-9", threshold: "1.3e-9", previousValue: "1.5e-9" },
      "1.2e-9 · 7.7 % below 1.3e-9 · was 1.5e-9 (−20.0 %, −3e-10)",
    ],
    [{ value: "0.000000000000000001234567" }, "1.23457e-18"],
    [
      { value: "24,318,772.10", threshold: "25,000,000", previousValue: "26,000,000" },
      "24,318,772 · 2.7 % below 25,000,000 · was 26,000,000 (−6.5 %, −1,681,228)",
    ],
    [{ value: "4", threshold: "5" }, "4 · 20.0 % below 5"],
    [{ value: "6", threshold: "5.0" }, "6 · 20.0 % above 5.0"],
    [{ value: "5", threshold: "5.00" }, "5 · limit 5.00"],
    [{ threshold: "5" }, "limit 5"],
    [{ value: "26.3", unit: "M USD", threshold: "25000000" }, "26.3 M USD · limit 25,000,000"],
    [{ value: "24.3M", threshold: "$25 M", previousValue: "1.2bn" }, "24.3M · 2.8 % below $25 M · was 1.2bn (−98.0 %)"],
    [{ value: "24.3", threshold: "25M" }, "24.3 · limit 25M"],
    [{ value: "4h", threshold: "5h" }, "4h · limit 5h"],
    [{ value: "94", previousValue: "100" }, "94 · was 100 (−6.0 %, −6)"],
    [{ value: "-1", previousValue: "-2" }, "-1 · was -2 (+50.0 %, +1)"],
    [{ value: "3", previousValue: "1" }, "3 · was 1 (+200 %, +2)"],
    [{ value: "100.0001", previousValue: "100" }, "100.0001 · was 100 (+0.0001)"],
    [{ value: "1", previousValue: "0" }, "1 · was 0 (+1)"],
    [{ value: "12345678.9", unit: "USD" }, "12,345,679 USD"],
    // No side that the sender denies.
    [{ value: "10", threshold: "5", fields: below }, "10 · limit 5"],
    [{ value: "10", threshold: "5", fields: below, status: "resolved" as const }, "10 · 100 % above 5"],
    [{ value: "10", threshold: "5", title: "ETH below $5" }, "10 · limit 5"],
    // What are no plain decimals is not compared.
    [{ value: "1,000", threshold: "5 M", previousValue: "0x10" }, "1,000 · limit 5 M · was 0x10"],
    // A difference that a double cannot hold.
    [{ value: `${huge}1`, threshold: `${huge}2` }, "12,345,678,901,234,567,891 · below 12,345,678,901,234,567,892"],
    // No value is rounded onto its threshold, nor onto what it was.
    [
      { value: "4999.9999", threshold: "5000", previousValue: "5000.0001" },
      "4,999.9999 · below 5,000 · was 5,000.0001 (−0.0002)",
    ],
  ])("says %o as %s", (facts, expected) => {
    expect(line(facts)).toBe(expected);
  });

  it("does not hold a value against the threshold of a change", () => {
    const facts = { value: "3305.36", unit: "USD", threshold: "2.5" };
    for (const field of [
      { name: "condition.kind", value: "change_percent" },
      { name: "condition", value: "moved by" },
      { name: "rule.operator", value: "PCT_CHANGE" },
      { name: "conditionType", value: "percentage" },
    ]) {
      expect(line({ ...facts, fields: [field] })).toBe("3,305.36 USD · limit of the change 2.5");
    }
    for (const field of [
      { name: "condition.kind", value: "above" },
      { name: "note", value: "percent" },
    ]) {
      expect(line({ ...facts, fields: [field] })).toBe("3,305.36 USD · above 2.5");
    }
  });

  it("does not say again what the first line says, as numbers of their own", () => {
    const facts = { value: "24.1", threshold: "25" };
    expect(line(facts, "USDC pool TVL 24.1, below 25 (eth)")).toBe("3.6 % below 25");
    for (const first of ["Pool 124.1", "Pool 24.15", "Pool -24.1", "Moved 24.1M", "Pool 24.1%"])
      expect(line(facts, first)).toBe("24.1 · 3.6 % below 25");
    expect(line({ value: "250", threshold: "250" }, "Pool 250, limit 250")).toBe("");
    // The number of a vault, a chain, a fee tier is not taken for the value.
    expect(line({ value: "1", threshold: "1.2" }, "Health of vault 1 fell")).toBe("1 · 16.7 % below 1.2");
    expect(line({ value: "0.3", threshold: "1" }, "USDC/WETH 0.3 moved")).toBe("0.3 · 70.0 % below 1");
  });

  it("leaves an amount out where it is too long, and never shows a part of a number", () => {
    expect(writeAmount({ value: "1234567890123456", unit: "USD" }, 40)).toBe("1,234,567,890,123,456 USD");
    expect(writeAmount({ value: "1234567890123456", unit: "barrels of oil" }, 28)).toBe("1,234,567,890,123,456 barre…");
    expect(writeAmount({ value: "1234567890123456", unit: "USD" }, 20)).toBe("");
  });

  it("keeps the digits of a huge amount together as code", () => {
    const digits = "123456789012345678901234567890123456789";
    expect(writeValueLine({ value: digits })[0]).toEqual({ kind: "code", text: digits });
  });
});
