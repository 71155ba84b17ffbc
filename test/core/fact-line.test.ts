import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { writeFactLine } from "../../src/core/fact-line.ts";
import { compareDecimals, type Decimal, parseAmount, parseDecimal } from "../../src/ground/numbers/decimal.ts";
import { makeAlert, usdc } from "../rendering/sample.ts";

const poolTvl: Partial<AlertFacts> = {
  ...{ title: "Total TVL of pool 0x0b92…c1e0 on polygon", chain: "polygon", token: "ONYX504", unit: "USD" },
  metric: "polygon_pool_total_tvl_0x0b92aaaabbbbccccddddeeeeffff00001111c1e0",
  ...{ value: "18623.426", previousValue: "20282.771", threshold: "19000" },
};

const lineOf = (facts: Partial<AlertFacts>) => writeFactLine(makeAlert({ facts }).facts);
const titleOf = (facts: Partial<AlertFacts>) => lineOf(facts)?.title;

const condition = (value: string) => ({ fields: [{ name: "condition", value }] });
const untitled = { ...poolTvl, title: "18623.426 USD" };
const volume = { ...poolTvl, metric: "polygon_pool_h24_volume_0x0b92aaaabbbbccccddddeeeeffff00001111c1e0" };
const long = "1234567890".repeat(4);
const near = { value: "589735030408322843000000", threshold: "589735030408322843000001", previousValue: undefined };
const hebrew = { ...poolTvl, token: "שקל", unit: "دينار", chain: "سلسلة" };
const ofUsdc = { ...untitled, metric: `eth_token_total_tvl_${usdc}`, chain: "eth", token: usdc };
const pool = { value: "10", threshold: "20", token: "USDC", metric: "pool", chain: "eth" };
const depeg = {
  token: "USDX",
  chain: "arbitrum",
  value: "0.9712",
  previousValue: "0.9987",
  threshold: "0.98",
  unit: "USD",
};
const tvl = { metric: "total TVL", token: "USDC", unit: "USD" };
const grouped = { ...tvl, value: "24,318,772.10", previousValue: "26,000,000", threshold: "25,000,000" };
const eth = { metric: "price", token: "ETH", value: "5", threshold: "4" };
const over = { ...poolTvl, status: "resolved" as const, value: "19400.5" };
const fired = { ...over, value: "18000" };
const made = {
  metric: `eth_token_total_tvl_${usdc}`,
  token: "USDC",
  chain: "eth",
  value: "4812345.67",
  threshold: "5000000",
};

describe("the first line of an alert, made of its facts, its end, and what all mails of its key have", () => {
  it.each<[string, Partial<AlertFacts>]>([
    ["what, how much, by how much, which limit and where", poolTvl],
    ["the same for its limit in the title", { ...poolTvl, title: "ONYX504 pool TVL: below 19000" }],
    ["the same in words", { ...poolTvl, title: "Pool 0x0b92…c1e0 is 18623.426 USD, was 20282.771, below 19000" }],
    ["a volume of 24 hours once", { ...volume, title: "ONYX504 pool 24h volume: below 19000" }],
    ["right to left text fenced off", { ...hebrew, title: "18623.426" }],
    ["it behind a title fenced off", { ...hebrew, title: "تنبيه" }],
    ["six digits", { ...poolTvl, value: "1246377700.123", previousValue: "1246536700", threshold: "1250000000" }],
    ["no value rounded onto its limit", { ...poolTvl, value: "18999.999" }],
    ["a number whole", { ...poolTvl, ...near }],
    ["a number whole or not at all", { ...poolTvl, value: `${long}0`, threshold: `${long}1` }],
    ["one that has no near limit shortly", { ...poolTvl, value: long }],
    ["a token by its address", ofUsdc],
    ["a token by its symbol", { ...ofUsdc, fields: [{ name: "token.symbol", value: "USDC" }] }],
    ["a pool by its pair", { ...poolTvl, fields: [{ name: "pool.name", value: "ONYX504/WETH" }] }],
    ...["Pool A", "Pool H", "Pool a", "A pool of USDC"].map((title): [string, object] => [title, { ...pool, title }]),
    ["a title that says more, and the facts", { ...depeg, title: "Depeg" }],
    ["a long one alone", { ...depeg, title: `Depeg of a stable coin that ${"really ".repeat(12)}matters` }],
    ["one that has the value alone", { ...depeg, title: "Depeg to 0.9712" }],
    ["no number that nothing is said about", { title: "Large withdrawal", value: "0", chain: "mainnet" }],
    ["no text for a number", { title: "Depeg", value: "1\n✅ Resolved", unit: "USD" }],
    ["nothing without a value", { title: "Bridge paused" }],
    ["nothing of what could not be read", { ...poolTvl, format: "broken-json" }],
    ["no side that the sender denies", { ...untitled, ...condition("above") }],
    ["one that the sender says", { ...untitled, ...condition("below") }],
    ["no side that the title denies", { ...poolTvl, title: "ONYX504 pool TVL is above 19,000" }],
    ["a side that the title says is over", { ...poolTvl, title: "ONYX504 pool TVL no longer above 19000" }],
    ["no end that the sender denies", { ...untitled, ...condition("above"), status: "resolved" }],
    ["digits in groups", { ...grouped, title: "USDC total TVL 24,318,772.10 USD (below 25,000,000)" }],
    ["an amount", { ...tvl, value: "24.3M", threshold: "25,000,000", title: "USDC TVL 24.3M, below 25,000,000" }],
    ["one and a half, or fifteen hundred", { ...tvl, value: "1,500", threshold: "2", title: "1,500" }],
    ...["down 5%", "is down 5 percent", "fell 5", "change", "−5", "fell to 5", "5"].map((said): [string, object] => [
      `a change or a value: ETH price ${said}`,
      { ...eth, title: `ETH price ${said}` },
    ]),
    ["the limit of a change", { ...poolTvl, title: "18623.426", threshold: "2.5", ...condition("change_percent") }],
    ["one that the title has", { ...poolTvl, title: "ONYX504 pool TVL: moved 2.5 % or more", threshold: "2.5" }],
    ["one that it alone has", { ...poolTvl, title: "ONYX504 pool TVL: moved 2.5 % or more", threshold: undefined }],
    ["that it is back", { ...over, previousValue: "18600" }],
    ["that it is back by its condition", { ...over, ...condition("below") }],
    // Alertmanager repeats the value that fired.
    ["not that it is where it fired", { ...fired, previousValue: undefined }],
    ["nor against its condition", { ...fired, ...condition("below") }],
    ["steadily another value", { ...poolTvl, value: "17000", title: "ONYX504 pool TVL 17000 USD" }],
    ["steadily its end", { ...over, title: "ONYX504 pool TVL: ok" }],
    ["words of the facts", { ...made, title: "USDC total TVL fell below 5,000,000" }],
    ["their numbers", { ...made, title: "[CRITICAL] USDC TVL dropped to $4,812,345.67 (limit 5000000)" }],
    ["their end", { ...made, title: "✅ RESOLVED: USDC on eth is back to normal" }],
    ["other words", { ...made, title: "USDC TVL fell below 5,000,000 after the exploit" }],
    ["another number", { ...made, title: "USDC TVL fell below 6,000,000" }],
    ["another language", { ...made, title: "Vorsicht: USDC" }],
  ])("says %s", (_what, facts) => {
    expect(lineOf(facts)).toMatchSnapshot();
    expect(titleOf(facts)?.length ?? 0).toBeLessThanOrEqual(Math.max(110, facts.title?.length ?? 0));
  });
});

describe("whatever the numbers are", () => {
  const digits = (most: number) =>
    fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: most }).map((all) => all.join(""));
  const number = fc
    .tuple(fc.boolean(), digits(24), fc.option(digits(12)), fc.option(fc.integer({ min: -30, max: 30 }), { freq: 5 }))
    .map(([negative, whole, fraction, exponent]) => {
      const plain = `${negative ? "-" : ""}${whole.replace(/^0+(?=.)/, "")}${fraction === null ? "" : `.${fraction}`}`;
      return exponent === null ? plain : `${plain}e${exponent}`;
    });
  /** Two that may be near each other. */
  const pair = fc.oneof(
    fc.tuple(number, number),
    fc
      .tuple(fc.bigInt({ min: 1n, max: 10n ** 16n }), fc.bigInt({ min: -3n, max: 3n }))
      .map(([one, by]) => [`${one}`, `${one + by}`]),
    number.map((one) => [one, one]),
  ) as fc.Arbitrary<[string, string]>;
  const said = fc.constantFrom(undefined, "above", "below", "gte", "lt");
  const unit = fc.constantFrom(undefined, "USD", "%", "wei");
  const readAs = (shown: string): Decimal => {
    const read = parseAmount(shown.replaceAll(",", "").replace("−", "-"));
    if (read === undefined) throw new Error(`${shown} reads as no number`);
    return read;
  };

  it("never states a side, a sign or an order of two numbers that is not so", () => {
    fc.assert(
      fc.property(pair, fc.option(number), said, unit, ([value, threshold], before, condition, unit) => {
        const fields = condition === undefined ? [] : [{ name: "condition", value: condition }];
        const previousValue = before ?? undefined;
        const named = { title: "T", metric: "price", token: "T", unit, fields };
        const title = titleOf({ ...named, value, threshold, previousValue });
        if (title === undefined) return;
        const [, amount = "", share, side, limit = ""] =
          /^T price (\S+(?: (?:M|bn|tn))?)(?: %| USD| wei)?(?:, ([+−][\d,.]+) %)?, (below|above|limit) (\S+(?: (?:M|bn|tn))?)(?: %)?$/.exec(
            title,
          ) ?? expect.fail(title);
        const order = Math.sign(compareDecimals(parseDecimal(value) as Decimal, parseDecimal(threshold) as Decimal));
        expect(Math.sign(compareDecimals(readAs(amount), readAs(limit))), title).toBe(order);
        if (side !== "limit") expect(side, title).toBe(order < 0 ? "below" : "above");
        if (side === "limit" && condition === undefined) expect(order, title).toBe(0);
        const isAbove = condition === "above" || condition === "gte";
        if (condition !== undefined && side !== "limit") expect(side === "above", title).toBe(isAbove);
        if (share !== undefined) expect(share.startsWith("+"), title).toBe(Number(value) > Number(previousValue));
      }),
      { numRuns: 2_000 },
    );
  });
});
