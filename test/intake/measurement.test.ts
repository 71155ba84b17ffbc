import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { readFacts } from "./describe-facts.ts";

const measured = [
  "token",
  "chain",
  "metric",
  "value",
  "unit",
  "threshold",
  "previousValue",
] as const satisfies (keyof AlertFacts)[];

/** Only what was read, so that a test names everything. */
function read(body: unknown): Partial<AlertFacts> {
  const facts = readFacts(body);
  return Object.fromEntries(measured.flatMap((name) => (facts[name] === undefined ? [] : [[name, facts[name]]])));
}

const sentences = [
  "CRITICAL kite988 on arbitrum: pool TVL 54563.484 USD (above 53470), before 52763.04",
  "RESOLVED FERN1706 on my-chain: pool price 1.66e-4 WETH (below 0.0001696), before 0.00017",
  "TVL of USDC on eth is 3.2M, was 4M, threshold 5M",
  "ETH price crossed above $4,000 (now $4,012.3)",
  "ETH price: 4012.30 USD (above 4000)",
  "USDC/WETH price deviation 2.41 % above 2 %",
  "Health factor 1.04 below threshold 1.10",
  "ONYX504 TVL down 8.2% to 18.6k",
  "USDC TVL fell by 12 % to 24.7 M USD",
  "TVL fell from 4M to 3.2M",
  "USDX is at 0.962 < 0.97",
  "tvl=3.2M threshold=5M",
  "oracle lag 312 s above 300 s",
  "BTCUSDT, 15 Crossing Down 90000",
  "RPC error rate above 5 % for 5 minutes",
  "Price of 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48 on base is 3 USD",
  "Price of ETH on eth: $3,912.5 (below $4,000)",
  "APY for sDAI: 5.2% (was 6.1%)",
  "🔔 wstETH price is 4,012 USD",
];

describe("a sentence that says what is measured", () => {
  it("is read for all of it", async () => {
    const lines = sentences.map((text) => {
      expect(read({ title: text })).toEqual(read(text));
      return `${text}\n  ${Object.entries(read(text))
        .map((fact) => fact.join(": "))
        .join(", ")}\n`;
    });
    await expect(lines.join("")).toMatchFileSnapshot("golden/measured.txt");
  });

  it.each([
    ["amounts of an event", "Large transfer: 5,000,000 USDC to Binance"],
    ["amounts that left", "4,200 ETH left in ten minutes"],
    ["a distance to something", "USDC TVL is 12 % below 25M"],
    ["a change alone", "TVL of USDC on eth fell by 12 %"],
    ["a limit of a change", "ETH price rose more than 5 % in 24h"],
    ["two limits", "ETH price above 4000 and below 5000"],
    ["a range", "price between 2 and 5"],
    ["a count of things", "Node 5 is 3 blocks behind"],
    ["a share of things", "2 of 5 nodes are down"],
    ["a version", "Version 1.2 is now available"],
    ["a number", "Proposal 42 is now live"],
    ["digits in groups by blanks", "wstETH price is 4 012 USD"],
    ["two values", "price is 5 and price is 6"],
    ["addresses and hosts", "10.0.0.9:8545 is down, block 0x1f4"],
    ["a number of things", "TVL of USDC: 3 pools affected"],
    ["a report's name", "Volume report for ETH: 24.5 of them"],
    ["an order of events", "Rule 17: position 0xabc at 3 ETH"],
  ])("reads nothing from %s: %s", (_, text) => {
    expect(read(text)).toEqual({});
  });

  it.each([
    ["WETH on eth: price 3200 USD (moved 0.8 % or more), before 3100", "threshold"],
    ["ETH price 4012.3, above 5 %", "threshold"],
    ["TVL 5M USD below 6M EUR", "threshold"],
    ["RPC error rate above 5 %", "token"],
    ["Pool 3 TVL is 5M below 6M", "token"],
    ["ETH price on Binance is 4012", "chain"],
  ] as const)("does not take from %j a %s", (text, name) => {
    expect(readFacts(text)[name]).toBeUndefined();
  });

  it("leaves what the payload says itself alone, and takes nothing from a title about something else", () => {
    expect(read({ title: "ETH price 4012.3 above 4000", value: 4012.3, token: "WETH" })).toEqual({
      token: "WETH",
      metric: "price",
      value: "4012.3",
      threshold: "4000",
    });
    expect(read({ title: "ETH price 4012.3 above 4000", value: 7 })).toEqual({ value: "7" });
    // The value may be a share (0.0241) as well as a percentage.
    expect(read({ title: "Deviation above 2 %", value: 0.0241 })).toEqual({ metric: "Deviation", value: "0.0241" });
  });

  it("takes no letter behind a percentage for a multiplier", () => {
    expect(read("TVL crossed 8.2% b")).toEqual({ metric: "TVL", threshold: "8.2", unit: "%" });
    expect(read("TVL of USDC is 8.2 b, was 9 b")).toMatchObject({ value: "8.2 b", previousValue: "9 b" });
  });

  it("reads nothing that is not in the sentence, digit for digit, from any text", () => {
    const word = fc.constantFrom(
      ..."ETH USDC/WETH price TVL is was now above below threshold crossed from to 5 4,012.30 $3 8.2% 18.6k on eth base ( ) , : = < % USD of 1e9".split(
        " ",
      ),
    );
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 8, arbitrary: word }, fc.string()), { maxLength: 25 }), (words) => {
        const text = words.join(" ");
        const facts = readFacts(`x ${text}`);
        for (const name of ["value", "threshold", "previousValue"] as const) {
          const said = facts[name];
          if (said !== undefined) expect(`${facts.title}\n${facts.text}`).toContain(said);
        }
      }),
    );
  });
});

describe("the status of a sentence", () => {
  it.each([
    "USDC total TVL: back to normal",
    "ETH RPC has recovered.",
    "Depeg of USDX (resolved)",
    "USDC on eth: total TVL 26.3 USD (below 25), before 24.1: back to normal",
    "CRITICAL: USDC TVL is back to normal ✅",
  ])("is resolved at the end of %j", (text) => {
    expect(readFacts(text).status).toBe("resolved");
  });

  it.each([
    "Funds recovered",
    "USDC TVL is not back to normal",
    "ETH price is up",
    "Nothing resolved",
    "Is it back to normal?",
    "Withdrawals are paused until the price is back to normal",
    "The peg isn't back to normal",
    "Wait before USDC TVL is back to normal",
    "CRITICAL: the attacker has recovered",
    "Wire transfer: cleared",
  ])("is not resolved by %j", (text) => {
    expect(readFacts(text).status).not.toBe("resolved");
  });
});
