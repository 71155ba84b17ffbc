import { expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { NameOf } from "../../src/core/subject-name.ts";
import { readableText } from "../../src/vendors/index.ts";
import { createRendering } from "../support/rendering.ts";
import { makeAlert, makeContext } from "./sample.ts";
import { expectScenes } from "./scenes.ts";

const address = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const facts: Partial<AlertFacts> = {
  title: "TVL of pool 0xa0b8…eb48 on polygon is 18623.4 USD, below 19000",
  metric: `polygon_pool_total_tvl_${address}`,
  value: "18623.4",
  threshold: "19000",
  unit: "USD",
  severity: "critical",
};
const named: NameOf = () => "ONYX504/USDC";

/** Of an alert, or of several in a digest. */
function textOf(nameOf: NameOf | undefined, over: Partial<AlertFacts> = {}, context = {}, count = 1): string {
  const rendering = createRendering({ nameOf });
  const alerts = Array.from({ length: count }, (_, seq) =>
    makeAlert({ seq, facts: { ...facts, alertKey: `k${seq}`, ...over } }),
  );
  const digest = { now: makeContext().now, reason: "burst", possibleRepeat: false } as const;
  const [alert = makeAlert(), ...others] = alerts;
  const document = others.length
    ? rendering.composeDigest(alerts, digest)
    : rendering.composeAlert(alert, makeContext(context));
  const messages = rendering.renderDocument("telegram", document, { form: "plain", timeZone: "UTC" });
  return messages.map(readableText).join("\n");
}

it("a name that was learned is asked for by the instant of the message and what it is the name of", () => {
  const asked: unknown[] = [];
  textOf((...from) => {
    asked.push(from);
    return undefined;
  });
  expect(asked).toEqual([[{ kind: "pool", chain: "polygon", address }, makeContext().now]]);
});

const own = { fields: [{ name: "poolSymbol", value: "MINE/USDC" }] };
const symbol = { metric: undefined, token: "ETH", chain: "eth", title: "ETH 18623.4" };
const token = { metric: undefined, token: address, chain: "eth", title: "0xa0b8…eb48 18623.4" };
const over = { status: "resolved", value: "20001", title: "TVL of pool 0xa0b8…eb48 on polygon is 20001 USD" } as const;

it("a name that was learned stands where it should", () =>
  expectScenes("learned-names", [
    ["in the first line in place of the address, which stands below", textOf(named)],
    ["also where little is shown", textOf(named, {}, { detail: "short" })],
    ["nowhere where it is not known", textOf(() => undefined)],
    ["nowhere where the sender says one", textOf(named, own)],
    ["nowhere where the sender says a symbol", textOf(named, symbol)],
    ["in the lines of a digest", textOf(named, {}, {}, 2)],
    ["not in those of a digest where it is not known", textOf(undefined, {}, {}, 2)],
    ["with the address in a resolution", textOf(named, over)],
    ["fenced off where it is written from right to left", textOf(() => "דולר")],
    ["on one row with the address of a token", textOf(() => "USDC", token)],
  ]));
