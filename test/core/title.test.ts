import { expect, test } from "vitest";
import { cutTitle, titleWithoutState, writeTitle } from "../../src/core/title.ts";

const numbers = { value: "58379600", threshold: "58000000.5", previousValue: "1e9" };

test.each([
  ["USDC pool 24h volume: above 58379600", "USDC pool 24h volume: above 58,379,600"],
  ["58379600 USD (limit 58000000.5).", "58,379,600 USD (limit 58,000,000.5)."],
  ["order-58379600 and pool_58379600 and 0x58379600", "order-58379600 and pool_58379600 and 0x58379600"],
  ["A#58379600# and 58379600-A and #58379600", "A#58379600# and 58379600-A and #58379600"],
  ["a/58379600/b", "a/58379600/b"],
  ["58379600.25 is another number, and so is 1,58379600", "58379600.25 is another number, and so is 1,58379600"],
  ["block 21000000 is none of them", "block 21000000 is none of them"],
  ["from 1e9", "from 1e9"],
])("groups the digits of the alert's own numbers in its title: %s", (title, expected) => {
  expect(writeTitle({ title, ...numbers })).toBe(expected);
});

test.each([
  ["Reserves are 1,250,000.75 USD", 22, "Reserves are…"],
  ["Reserves are 1,250,000.75 USD", 27, "Reserves are 1,250,000.75…"],
  ["Reserves are 12. And more", 18, "Reserves are 12.…"],
  ["Reserves are low", 16, "Reserves are low"],
  ["1234567890", 5, "1234…"],
])("cuts no number in two: %s at %i", (title, maxUnits, expected) => {
  expect(cutTitle(title, maxUnits)).toBe(expected);
});

test.each([
  ["✅ Resolved: all is well", "Firing: ✅ Resolved: all is well"],
  ["[RESOLVED] all is well", "Firing: [RESOLVED] all is well"],
  ["Over after 8 min: USDC", "Firing: Over after 8 min: USDC"],
  ["OK: nothing to do", "Firing: OK: nothing to do"],
  ["Over 5 pools drained", "Over 5 pools drained"],
  ["OKX is down", "OKX is down"],
])("lets no alert that fires begin as if it were over: %s", (title, expected) => {
  expect(writeTitle({ title, status: "firing" })).toBe(expected);
  expect(writeTitle({ title, status: "resolved" })).toBe(title);
});

test.each([
  ['ALARM: "KeeperBalanceLow" in EU (Ireland)', "firing", "KeeperBalanceLow (EU Ireland)"],
  ['OK: "KeeperBalanceLow" in US East (N. Virginia)', "resolved", "KeeperBalanceLow (US East N. Virginia)"],
  ["[Triggered on {host:rpc-2,env:prod}] RPC error rate", "firing", "RPC error rate (rpc-2, prod)"],
  ["[Re-Triggered] RPC error rate", "firing", "RPC error rate"],
  ["[Recovered on {host:rpc-2}] RPC error rate", "resolved", "RPC error rate (rpc-2)"],
] as const)("takes a monitor's title out of its frame: %s", (title, status, expected) => {
  expect(writeTitle({ title, status })).toBe(expected);
  expect(titleWithoutState(title)).toBe(status === "resolved" ? expected : title);
});

test.each([
  ["[Recovered on {host:rpc-2}] RPC error rate", "unknown"],
  ["[No data on {host:rpc-2}] RPC error rate", "firing"],
  ['INSUFFICIENT_DATA: "KeeperBalanceLow" in EU (Ireland)', "firing"],
  ["[Triggered on {host:rpc-2}] RPC error rate", "resolved"],
] as const)("keeps the frame of what says another state than the alert has: %s", (title, status) => {
  expect(writeTitle({ title, status })).toBe(title);
});
