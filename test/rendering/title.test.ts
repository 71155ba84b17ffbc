import { expect, test } from "vitest";
import { writeTitle } from "../../src/rendering/title.ts";

const numbers = { value: "58379600", threshold: "58000000.5", previousValue: "1e9" };

test.each([
  ["USDC pool 24h volume: above 58379600", "USDC pool 24h volume: above 58,379,600"],
  ["58379600 USD (limit 58000000.5).", "58,379,600 USD (limit 58,000,000.5)."],
  ["order-58379600 and pool_58379600 and 0x58379600", "order-58379600 and pool_58379600 and 0x58379600"],
  ["58379600.25 is another number, and so is 1,58379600", "58379600.25 is another number, and so is 1,58379600"],
  ["block 21000000 is none of them", "block 21000000 is none of them"],
  ["from 1e9", "from 1e9"],
])("groups the digits of the alert's own numbers in its title: %s", (title, expected) => {
  expect(writeTitle({ title, ...numbers })).toBe(expected);
});
