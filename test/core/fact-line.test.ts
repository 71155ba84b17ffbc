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

describe("the first line of an alert, made of its facts", () => {
  it("says what, how much, by how much, which limit and where", () => {
    expect(titleOf(poolTvl)).toBe("ONYX504 pool TVL 18,623 USD, −8.2 %, below 19,000 (polygon)");
    const words = "Pool 0x0b92…c1e0 is 18623.426 USD, was 20282.771, below 19000";
    for (const title of ["ONYX504 pool TVL: below 19000", words])
      expect(titleOf({ ...poolTvl, title })).toBe(titleOf(poolTvl));
  });

  it("says a volume of 24 hours once, however its title writes that", () => {
    const title = "ONYX504 pool 24h volume: below 19000";
    const metric = "polygon_pool_h24_volume_0x0b92aaaabbbbccccddddeeeeffff00001111c1e0";
    const line = "ONYX504 pool 24 h volume 18,623 USD, −8.2 %, below 19,000 (polygon)";
    expect(titleOf({ ...poolTvl, metric, title })).toBe(line);
  });

  it("fences off what runs from right to left, so that it turns no sign and no number", () => {
    const facts = { ...poolTvl, title: "T", token: "שקל", unit: "دينار", chain: "سلسلة" };
    const line = "\u2068שקל\u2069 pool TVL 18,623 \u2068دينار\u2069, −8.2 %, below 19,000 (\u2068سلسلة\u2069)";
    expect(titleOf({ ...facts, title: "18623.426" })).toBe(line);
    expect(titleOf({ ...facts, title: "تنبيه" })).toBe(`\u2068تنبيه\u2069: ${line}`);
  });

  it("fits on a lock screen, with at most six significant digits in a number", () => {
    const long = titleOf({ ...poolTvl, value: "1246377700.123", previousValue: "1246536700", threshold: "1250000000" });
    expect(long).toBe("ONYX504 pool TVL 1.246 bn USD, −0.01 %, below 1.25 bn (polygon)");
    expect(long?.length).toBeLessThanOrEqual(110);
  });

  it("never rounds a value onto its limit", () => {
    expect(titleOf({ ...poolTvl, value: "18999.999" })).toContain("18,999.999 USD");
  });

  it("shows a number whole or not at all", () => {
    const [value, threshold] = ["589735030408322843000000", "589735030408322843000001"];
    const line = "TVL 5.89735030408322843e23 USD, below 5.89735030408322843000001e23";
    expect(titleOf({ ...poolTvl, previousValue: undefined, value, threshold })).toContain(line);
    const long = "1234567890".repeat(4);
    expect(titleOf({ ...poolTvl, value: `${long}0`, threshold: `${long}1` })).toBeUndefined();
    expect(titleOf({ ...poolTvl, value: long })).toContain("TVL 1.235e39 USD, above 19,000");
  });

  it("names a token by its symbol, else shortly by its address", () => {
    const facts = { ...poolTvl, metric: `eth_token_total_tvl_${usdc}`, chain: "eth", title: "T is 18623.426" };
    expect(titleOf({ ...facts, title: "18623.426 USD", token: usdc })).toMatch(/^0xa0b8…eb48 TVL /);
    const fields = [{ name: "token.symbol", value: "USDC" }];
    expect(titleOf({ ...facts, title: "18623.426 USD", token: usdc, fields })).toMatch(/^USDC TVL /);
  });

  it("names a pool by its pair", () => {
    const fields = [{ name: "pool.name", value: "ONYX504/WETH" }];
    expect(titleOf({ ...poolTvl, fields })).toMatch(/^ONYX504\/WETH pool TVL /);
  });

  it("keeps a name of one letter that stands for a little word elsewhere", () => {
    const about = { value: "10", threshold: "20", token: "USDC", metric: "pool", chain: "eth" };
    for (const title of ["Pool A", "Pool H"])
      expect(titleOf({ ...about, title })).toBe(`${title}: USDC 10, below 20 (eth)`);
    for (const title of ["Pool a", "A pool of USDC"])
      expect(titleOf({ ...about, title })).toBe("USDC pool 10, below 20 (eth)");
  });

  it("keeps a title that says more than the facts, and adds them where there is room", () => {
    const values = { value: "0.9712", previousValue: "0.9987", threshold: "0.98", unit: "USD" };
    const depeg = { token: "USDX", chain: "arbitrum", ...values };
    expect(titleOf({ ...depeg, title: "Depeg" })).toBe("Depeg: USDX 0.9712 USD, −2.8 %, below 0.98 (arbitrum)");
    const long = `Depeg of a stable coin that ${"really ".repeat(12)}matters`;
    expect(titleOf({ ...depeg, title: long })).toBe(long);
    expect(titleOf({ ...depeg, title: "Depeg to 0.9712" })).toBe("Depeg to 0.9712");
  });

  it("adds no number that nothing says anything about", () => {
    expect(titleOf({ title: "Large withdrawal", value: "0", chain: "mainnet" })).toBe("Large withdrawal");
  });

  it("takes no text for a number", () => {
    expect(lineOf({ title: "Depeg", value: "1\n✅ Resolved", unit: "USD" })).toBeUndefined();
  });

  it("leaves the sender's title alone without a value, and where the body could not be read for certain", () => {
    expect(lineOf({ title: "Bridge paused" })).toBeUndefined();
    expect(lineOf({ ...poolTvl, format: "broken-json" })).toBeUndefined();
  });

  it("states no side that the sender denies", () => {
    const facts = { ...poolTvl, title: "18623.426 USD" };
    const neutral = "ONYX504 pool TVL 18,623 USD, −8.2 %, limit 19,000 (polygon)";
    const fields = [{ name: "condition", value: "above" }];
    expect(titleOf({ ...facts, fields })).toBe(neutral);
    expect(titleOf({ ...facts, fields: [{ name: "condition", value: "below" }] })).toContain("below 19,000");
    const title = "ONYX504 pool TVL is above 19,000";
    expect(titleOf({ ...poolTvl, title })).toBe(`${title}: 18,623 USD, −8.2 % (polygon)`);
    expect(titleOf({ ...poolTvl, title: "ONYX504 pool TVL no longer above 19000" })).toContain("18,623 USD");
    expect(lineOf({ ...facts, fields, status: "resolved" })?.over).toContain("back below 19,000");
  });

  it("compares numbers whose digits came in groups, and keeps the sender's word for what nobody can compare", () => {
    const facts = { metric: "total TVL", token: "USDC", unit: "USD" };
    const grouped = { value: "24,318,772.10", previousValue: "26,000,000", threshold: "25,000,000" };
    const title = "USDC total TVL 24,318,772.10 USD (below 25,000,000)";
    expect(titleOf({ ...facts, ...grouped, title })).toBe("USDC total TVL 24.32 M USD, −6.5 %, below 25 M");
    const short = { value: "24.3M", threshold: "25,000,000", title: "USDC TVL 24.3M, below 25,000,000" };
    expect(titleOf({ ...facts, ...short })).toBe("USDC total TVL 24.3M USD, below 25 M");
    // One and a half, or fifteen hundred.
    const either = { value: "1,500", threshold: "2", title: "1,500" };
    expect(titleOf({ ...facts, ...either })).toBe("USDC total TVL 1,500 USD, limit 2");
  });

  it.each([
    ["ETH price down 5%", "ETH price down 5%"],
    ["ETH price is down 5 percent", "ETH price is down 5 percent"],
    ["ETH price fell 5", "ETH price fell 5"],
    ["ETH price change", "ETH price change: 5, above 4"],
    ["ETH price −5", "ETH price −5"],
    ["ETH price fell to 5", "ETH price 5, above 4"],
    ["ETH price 5", "ETH price 5, above 4"],
  ])("takes no change for the value itself: %s", (title, expected) => {
    expect(titleOf({ title, metric: "price", token: "ETH", value: "5", threshold: "4" })).toBe(expected);
  });

  it("does not hold a value against the limit of a change", () => {
    const fields = [{ name: "condition", value: "change_percent" }];
    const expected = "ONYX504 pool TVL 18,623 USD, −8.2 %, limit 2.5 % (polygon)";
    const title = "ONYX504 pool TVL: moved 2.5 % or more";
    expect(titleOf({ ...poolTvl, title: "18623.426", threshold: "2.5", fields })).toBe(expected);
    expect(titleOf({ ...poolTvl, title, threshold: "2.5" })).toBe(expected);
    expect(titleOf({ ...poolTvl, title, threshold: undefined })).toBe(expected);
  });

  it("says that it is back, and not that it is where it fired", () => {
    const over = { ...poolTvl, status: "resolved" as const, value: "19400.5" };
    const back = "ONYX504 pool TVL back above 19,000 (19,401 USD, polygon)";
    expect(lineOf({ ...over, previousValue: "18600" })?.over).toBe(back);
    const fields = [{ name: "condition", value: "below" }];
    expect(lineOf({ ...over, fields })?.over).toBe(back);
    // Alertmanager repeats the value that fired.
    const fired = { ...over, value: "18000" };
    const line = (side: string) => `ONYX504 pool TVL 18,000 USD, ${side} 19,000 (polygon)`;
    expect(lineOf({ ...fired, previousValue: undefined })?.over).toBe(line("limit"));
    expect(lineOf({ ...fired, fields })?.over).toBe(line("below"));
  });

  it("has one steady form for the mails of one key, whatever the value, fired or over", () => {
    const steadyOf = (facts: Partial<AlertFacts>) => [
      ...new Set([
        lineOf({ ...poolTvl, ...facts })?.steady,
        lineOf({ ...poolTvl, ...facts, value: "17000", title: "ONYX504 pool TVL 17000 USD" })?.steady,
        lineOf({ ...poolTvl, ...facts, status: "resolved", value: "19400", title: "ONYX504 pool TVL: ok" })?.steady,
      ]),
    ];
    expect(steadyOf({})).toEqual(["ONYX504 pool TVL, limit 19,000 (polygon)"]);
    const fields = [{ name: "subscription.condition", value: "below" }];
    expect(steadyOf({ fields })).toEqual(["ONYX504 pool TVL below 19,000 (polygon)"]);
  });

  it.each([
    ["USDC total TVL fell below 5,000,000", true],
    ["[CRITICAL] USDC TVL dropped to $4,812,345.67 (limit 5000000)", true],
    ["✅ RESOLVED: USDC on eth is back to normal", true],
    ["USDC TVL fell below 5,000,000 after the exploit", false],
    ["USDC TVL fell below 6,000,000", false],
    ["Vorsicht: USDC", false],
  ])("takes %s for words of the facts: %s", (title, isMade) => {
    const facts = { metric: `eth_token_total_tvl_${usdc}`, token: "USDC", chain: "eth", value: "4812345.67" };
    const line = lineOf({ ...facts, threshold: "5000000", title });
    expect(line?.steady.startsWith("USDC TVL, limit 5 M")).toBe(isMade);
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
