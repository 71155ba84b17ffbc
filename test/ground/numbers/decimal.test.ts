import fc from "fast-check";
import { expect, test } from "vitest";
import { compareDecimals, parseAmount, parseDecimal } from "../../../src/ground/numbers/decimal.ts";
import { createCostMeter } from "../../support/cpu-cost.ts";

function compare(a: string, b: string): number {
  const [left, right] = [parseDecimal(a), parseDecimal(b)];
  if (left === undefined || right === undefined) throw new Error("not a decimal");
  return Math.sign(compareDecimals(left, right));
}

test.each(["", ".", "-", "e5", "1e", "1,000", "12%", "NaN", "Infinity", "0x10", "1 2", "--1"])(
  "%j is not a number",
  (text) => {
    expect(parseDecimal(text)).toBeUndefined();
  },
);

test.each([`1e${"9".repeat(400)}`, `1e-${"9".repeat(400)}`, "1e9007199254740993"])(
  "an exponent that no number keeps is no number: %s",
  (text) => expect(parseDecimal(text)).toBeUndefined(),
);

test.each([
  ["1", "1.0", 0],
  ["-0", "0.000", 0],
  ["1e3", "1000", 0],
  [".5", "0.50", 0],
  ["5.", "+5", 0],
  ["0.001", "1e-3", 0],
  ["-2", "-1", -1],
  ["-2", "1", -1],
  ["0", "-0.1", 1],
  ["9.99", "10", -1],
  ["100", "99.99999999999999999999", 1],
  ["1e400", "1e399", 1],
])("%s against %s is %i", (a, b, expected) => {
  expect(compare(a, b)).toBe(expected);
  expect(compare(b, a) + expected).toBe(0);
});

test.each([
  ["$4,012.3", "4012.3"],
  ["1,000,000", "1000000"],
  ["-1,250.5", "-1250.5"],
  ["3.2M", "3200000"],
  ["5 M", "5000000"],
  ["$5m", "5000000"],
  ["4 billion", "4000000000"],
  ["1.5k", "1500"],
  ["2tn", "2000000000000"],
  ["1.0000000000000000000000000001M", "1000000.0000000000000000000001"],
  ["7.10", "7.1"],
])("the amount %s is %s", (written, number) => {
  expect(parseAmount(written)).toEqual(parseDecimal(number));
});

test.each(["5m", "1,00", "1,0000", "12%", "$", "M", "1.234.567", "1 000", "3,912.20 EUR", "v1", "0x1f", "1,000,"])(
  "%j is no amount",
  (text) => {
    expect(parseAmount(text)).toBeUndefined();
  },
);

test("orders numbers as JavaScript does where JavaScript is exact", () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(number, number, (a, b) => {
      expect(compare(String(a), String(b))).toBe(a === b ? 0 : a < b ? -1 : 1);
    }),
  );
});

test("reads a long row of zeros in linear time", () => {
  const long = `1${"0".repeat(200_000)}1${"0".repeat(200_000)}`;
  expect(createCostMeter().measure(() => parseDecimal(long), 25)).toBeLessThan(25);
});
