import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { compareDecimals, type Decimal, parseAmount, parseDecimal } from "../../../src/ground/numbers/decimal.ts";
import * as numbers from "../../../src/ground/numbers/format-number.ts";

const { groupDigits, writeChange, writeDifference, writeDistance, writeNumber, writeShortNumber } = numbers;

test.each([
  ["0", "0"],
  ["999", "999"],
  ["1000", "1,000"],
  ["-1246377700.2500", "-1,246,377,700.2500"],
  ["+12345", "+12,345"],
  ["0012345", "0012345"],
  ["1e9", "1e9"],
  ["1,000", "1,000"],
  ["12 apples", "12 apples"],
  ["0x10000", "0x10000"],
  ["1".repeat(31), "1".repeat(31)],
])("groups the digits of %s: %s", (sent, expected) => {
  expect(groupDigits(sent)).toBe(expected);
});

test.each([
  ["18623.426", "18,623.4"],
  ["24318772.10", "24,318,772"],
  ["24318772.50", "24,318,773"],
  ["99999.96", "100,000"],
  ["999999.96", "1,000,000"],
  ["1.10", "1.10"],
  ["-4812.345678", "-4,812.35"],
  ["0.00016623106", "0.000166231"],
  ["0.9999999", "1.00000"],
  ["0.30000000000000004", "0.3"],
  ["2.1753413e-7", "2.17534e-7"],
  ["9.9999999e-7", "1.00000e-6"],
  ["0.000000000000000001234567", "1.23457e-18"],
  ["0.0000000", "0.0000000"],
  ["319932020", "319,932,020"],
  ["about 5", "about 5"],
  ["", ""],
])("writes %s as %s", (sent, expected) => {
  expect(writeNumber(sent)).toBe(expected);
});

test.each([
  ["18623.426", "18,623"],
  ["0.00016623106", "0.0001662"],
  ["2998.4", "2,998"],
  ["999999.4", "999,999"],
  ["1000000", "1 M"],
  ["24318772.10", "24.32 M"],
  ["-1246377700", "-1.246 bn"],
  ["999999999", "1.000 bn"],
  ["3e12", "3 tn"],
  ["7.5e15", "7.5e15"],
  ["1500000000000000000000", "1.5e21"],
  ["0.00000021753413", "2.175e-7"],
  ["0.5", "0.5"],
  ["0.99996", "1.000"],
  ["12.500", "12.500"],
  ["12.5004", "12.5"],
])("writes %s shortly as %s", (sent, expected) => {
  expect(writeShortNumber(sent)).toBe(expected);
});

describe("beside other numbers", () => {
  it("never reads as a limit that it has not reached", () => {
    expect(writeNumber("4.9999999", { besides: ["5"] })).toBe("4.9999999");
    expect(writeNumber("18999.999", { besides: ["19000", undefined] })).toBe("18,999.999");
    expect(writeShortNumber("24999999", { besides: ["25000000"] })).toBe("24.999999 M");
    expect(writeShortNumber("25000000", { besides: ["24999999"] })).toBe("25 M");
    expect(writeShortNumber("999999.99", { besides: ["1000000"] })).toBe("999,999.99");
    const [tiny, next] = ["0.000000000000000001234567", "0.000000000000000001234568"];
    expect(writeShortNumber(tiny, { besides: [next] })).toBe("1.234567e-18");
  });

  it("keeps the order of any two numbers", () => {
    const amount = fc
      .tuple(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), fc.integer({ min: 0, max: 18 }), fc.boolean())
      .map(([whole, scale, isPlain]) => (isPlain ? plainOf(`${whole}e-${scale}`) : `${whole}e-${scale}`));
    const near = fc
      .tuple(fc.bigInt({ min: 1n, max: 10n ** 20n }), fc.bigInt({ min: -9n, max: 9n }), fc.integer({ min: 0, max: 18 }))
      .map(([whole, apart, scale]) => [plainOf(`${whole}e-${scale}`), plainOf(`${whole + apart}e-${scale}`)] as const)
      .filter(([, other]) => !other.startsWith("-"));
    const pair = fc.oneof(fc.tuple(amount, amount), near);
    fc.assert(
      fc.property(pair, ([one, other]) => {
        for (const write of [writeNumber, writeShortNumber]) {
          const [first, second] = [write(one, { besides: [other] }), write(other, { besides: [one] })];
          const [a, b] = [parseDecimal(one), parseDecimal(other)];
          if (a === undefined || b === undefined || compareDecimals(a, b) === 0) return;
          const read = Math.sign(compareDecimals(readBack(first), readBack(second)));
          expect(read, `${first}, ${second}`).toBe(Math.sign(compareDecimals(a, b)));
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

/** What a reader takes it for. */
function readBack(shown: string): Decimal {
  const read = parseAmount(shown.replaceAll(",", ""));
  if (read === undefined) throw new Error(`${shown} reads as no number`);
  return read;
}

function plainOf(text: string): string {
  const [digits = "0", exponent = "0"] = text.split("e-");
  const sign = digits.startsWith("-") ? "-" : "";
  const padded = digits.replace("-", "").padStart(Number(exponent) + 1, "0");
  const at = padded.length - Number(exponent);
  return `${sign}${padded.slice(0, at)}${at === padded.length ? "" : `.${padded.slice(at)}`}`;
}

test.each([
  ["100", "94", "−6.0 %", "−6"],
  ["-2", "-1", "+50.0 %", "+1"],
  ["1", "3", "+200 %", "+2"],
  ["100", "100.0001", undefined, "+0.0001"],
  ["0", "1", undefined, "+1"],
  ["5", "5.0", undefined, undefined],
  ["5102000", "4812345.67", "−5.7 %", "−289,654"],
  ["1e-18", "1.5e-18", "+50.0 %", "+5e-19"],
  ["1e400", "2e400", undefined, undefined],
  ["5 M", "6 M", "+20.0 %", undefined],
  ["5", "6 M", undefined, undefined],
  ["0.1", "0.3", "+200 %", "+0.2"],
  ["999999999.99999", "-999999999.99999", "−200 %", "−2,000,000,000"],
  ["12345678901234567891", "12345678901234567892", undefined, "+1"],
])("from %s to %s it changed by %s, which is %s", (before, now, change, difference) => {
  expect([writeChange(before, now), writeDifference(before, now)]).toEqual([change, difference]);
});

test.each([
  ["1246470000", "1246377700", "0.0074 %"],
  ["5000000", "4812345.67", "3.8 %"],
  ["1", "3", "200 %"],
  ["10", "9.95", "0.5 %"],
  ["12345678901234567892", "12345678901234567891", undefined],
  ["0", "1", undefined],
  ["5", "5", undefined],
])("with the limit %s, %s is %s away", (limit, now, expected) => {
  expect(writeDistance(limit, now)).toBe(expected);
});
