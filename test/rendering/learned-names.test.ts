import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { NameOf } from "../../src/core/subject-name.ts";
import { readableText } from "../../src/vendors/index.ts";
import { createRendering } from "../support/rendering.ts";
import { makeAlert, makeContext } from "./sample.ts";

const address = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const facts: Partial<AlertFacts> = {
  title: "TVL of pool 0xa0b8…eb48 on polygon is 18623.4 USD, below 19000",
  metric: `polygon_pool_total_tvl_${address}`,
  value: "18623.4",
  threshold: "19000",
  unit: "USD",
  severity: "critical",
};

function textOf(nameOf: NameOf | undefined, over: Partial<AlertFacts> = {}, context = {}): string {
  const rendering = createRendering({ nameOf });
  const document = rendering.composeAlert(makeAlert({ facts: { ...facts, ...over } }), makeContext(context));
  const messages = rendering.renderDocument("telegram", document, { form: "plain", timeZone: "UTC" });
  return messages.map(readableText).join("\n");
}

function digestOf(nameOf: NameOf | undefined): string {
  const rendering = createRendering({ nameOf });
  const alerts = [1, 2].map((seq) => ({ ...makeAlert({ facts: { ...facts, alertKey: `k${seq}` } }), seq }));
  const context = { now: makeContext().now, reason: "burst", possibleRepeat: false } as const;
  const document = rendering.composeDigest(alerts, context);
  const messages = rendering.renderDocument("telegram", document, { form: "plain", timeZone: "UTC" });
  return messages.map(readableText).join("\n");
}

const named: NameOf = () => "ONYX504/USDC";

describe("a name that was learned", () => {
  it("stands in the first line in place of the address, which stands below", () => {
    const text = textOf(named);
    expect(text.split("\n")[0]).toBe("🚨 ONYX504/USDC pool TVL 18,623 USD, below 19,000 (polygon)");
    expect(text).toContain(`Pool: ${address}`);
    const short = textOf(named, {}, { detail: "short" });
    expect(short.split("\n")[0]).toContain("ONYX504/USDC pool TVL");
  });

  it("is asked for by the instant of the message and what it is the name of", () => {
    const asked: unknown[] = [];
    textOf((...from) => {
      asked.push(from);
      return undefined;
    });
    expect(asked).toEqual([[{ kind: "pool", chain: "polygon", address }, makeContext().now]]);
  });

  it("changes nothing where it is not known, or where the sender says one", () => {
    expect(textOf(() => undefined)).toBe(textOf(undefined));
    expect(textOf(undefined).split("\n")[0]).toContain("0xa0b8…eb48 pool TVL");
    const own = { fields: [{ name: "poolSymbol", value: "MINE/USDC" }] };
    expect(textOf(named, own)).toBe(textOf(undefined, own));
    const token = { metric: undefined, token: "ETH", chain: "eth", title: "ETH 18623.4" };
    expect(textOf(named, token)).toBe(textOf(undefined, token));
  });

  it("stands in the lines of a digest", () => {
    expect(digestOf(named)).toContain("ONYX504/USDC pool TVL 18,623 USD");
    expect(digestOf(undefined)).toContain("0xa0b8…eb48 pool TVL");
  });

  it("stands beside the address that a resolution is about", () => {
    const text = textOf(named, {
      status: "resolved",
      value: "20001",
      title: "TVL of pool 0xa0b8…eb48 on polygon is 20001 USD",
    });
    expect(text.split("\n")[0]).toContain("ONYX504/USDC pool TVL");
    expect(text).toContain(`Pool: ${address}`);
  });

  it("that is written from right to left turns nothing beside it round", () => {
    const first = textOf(() => "דולר").split("\n")[0] ?? "";
    expect(first).toContain("\u2068דולר\u2069");
  });

  it("and the address of a token are on one row", () => {
    const text = textOf(() => "USDC", {
      metric: undefined,
      token: address,
      chain: "eth",
      title: "0xa0b8…eb48 18623.4",
    });
    expect(text.split("\n")[0]).toContain("USDC 18,623 USD");
    expect(text.match(new RegExp(address, "g"))).toHaveLength(1);
  });
});
