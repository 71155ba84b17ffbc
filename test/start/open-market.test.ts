import { describe, expect, it, onTestFinished } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { Secret } from "../../src/core/secret.ts";
import { bareSubjectOf } from "../../src/core/subject-name.ts";
import { openMarket } from "../../src/start/open-market.ts";
import { expectWords } from "../support/expect-words.ts";
import { anAlert } from "../support/facts.ts";
import { createWebFixture } from "../support/web-fixture.ts";
import { startSandbox } from "../workshop/service-fixture.ts";

const minute = 60_000;
/** For calls that have to come through, however slow the machine is. */
const patience = { deadlineMs: 60 * minute };

interface Setting {
  context?: boolean;
  symbols?: boolean;
  /** Default: both interfaces. */
  configured?: "alerting" | "none";
  watched?: boolean;
}

/** Alerts in a real store, and the sandbox as the service, whose time goes with the relay's. */
async function open({ context = true, symbols = true, configured, watched = true }: Setting = {}) {
  const { sandbox, now, advance, call } = await startSandbox({ at: Date.UTC(2026, 10, 21, 12) });
  onTestFinished(() => sandbox.close());
  const fixture = await createWebFixture();
  const apiKey = new Secret(sandbox.apiKey);
  const upstream = {
    alerting: configured === "none" ? undefined : { url: sandbox.alertingUrl, apiKey },
    pricing: configured === undefined ? { url: sandbox.pricingUrl, apiKey } : undefined,
    equitiesPricePath: "/v1/equities/price",
  };
  const market = await openMarket(
    {
      upstream,
      market: { context, symbols },
      watch: { enabled: watched, everyMs: 5 * minute, putBack: false },
      sources: [],
    },
    {
      store: fixture.store,
      isShared: false,
      clock: fixture.clock,
      random: () => 0.5,
      log: silentLog,
      timeLimitMs: patience.deadlineMs,
    },
  );
  const { body } = await call(`${sandbox.alertingUrl}/metrics?chainId=eth&page=1`);
  const { data } = body as { data: { key: string; type: string; tokenSymbol: string }[] };
  const metricOf = (type: string) => data.find((metric) => metric.type === type) ?? data[0];
  const fire = async (metric = metricOf("pool_total_tvl")?.key, token?: string) =>
    fixture.addAlert({ facts: { metric, token, unit: "USD" } });
  const describeOne = async (id: string) => market.context?.describe(id, patience);
  const pass = async (ms: number) => {
    await fixture.clock.advance(ms);
    advance(ms);
  };
  expect(now()).toBe(fixture.clock.now());
  return { sandbox, fixture, market, data, metricOf, fire, describeOne, pass };
}

describe("what the market does around an alert", () => {
  it("is said of a pool by its records and its state, and known from then on without being asked", async () => {
    const { fixture, market, fire, describeOne } = await open();
    const { id } = await fire();
    const detail = await fixture.store.getAlert(id);
    expect(detail && market.context?.known(detail)).toBeUndefined();
    const line = await describeOne(id);
    expect(line).toMatch(
      /^1 h [+−±][\d.]+ % · 24 h [+−±][\d.]+ % · 7 d [+−±][\d.]+ % · 7 d low [\d.,]+(?: M)?, high [\d.,]+(?: M)? · pool 24 h volume [\d.,]+(?: M)? USD$/,
    );
    expect(detail && market.context?.known(detail)).toBe(line);
    expect(market.views()).toEqual([
      { interface: "alerting", calls: { made: 1, most: 180 } },
      { interface: "pricing", calls: { made: 1, most: 150 } },
    ]);
    expect(await describeOne(id)).toBe(line);
    expect(market.views().map(({ calls }) => calls.made)).toEqual([1, 1]);
  });

  it("is said of a token's price with both kinds of markets, and of another asset's with the same symbol nothing", async () => {
    const { sandbox, metricOf, fire, describeOne, pass } = await open();
    const metric = metricOf("token_price");
    const { id } = await fire(metric?.key, metric?.tokenSymbol);
    expect(await describeOne(id)).toMatch(/ · CEX [\d.,]+, DEX [\d.,]+ USD$/);
    sandbox.moveMetric(metric?.key ?? "", 60, 60 * minute);
    await pass(6 * minute);
    expectWords(await describeOne(id), /^1 h \+/, { not: "CEX" });
  });

  it("is nothing for a metric that is none of the service's, for no alert, and for what has no metric", async () => {
    const { market, fire, describeOne } = await open();
    const unknown = await fire("eth_token_total_tvl_0x00aa11bb22cc33dd44ee55ff66aa77bb88cc99dd");
    expect(await describeOne(unknown.id)).toBeUndefined();
    expect(await describeOne((await fire("TVL of the pool")).id)).toBeUndefined();
    expect(await describeOne("01890000-0000-7000-8000-000000000000")).toBeUndefined();
    expect(market.views()[0]).toEqual({ interface: "alerting", calls: { made: 1, most: 180 } });
  });

  it("is left out while the pricing interface fails, and the records are there all the same", async () => {
    const { sandbox, fire, describeOne } = await open();
    sandbox.faults.next({ kind: "broken-json", route: "GET /v1/pools/state", times: "always" });
    expect(await describeOne((await fire()).id)).toMatch(/^1 h .* · 7 d low [^·]*$/);
  });

  it("is not waited for longer than asked for, and what comes later is there for the next", async () => {
    const { sandbox, fixture, market, fire, describeOne, pass } = await open();
    sandbox.faults.next({ kind: "delay", delayMs: 30_000, route: "*", times: "always" });
    const { id } = await fire();
    const late = market.context?.describe(id, { deadlineMs: 1_000 });
    await fixture.clock.advance(1_000);
    expect(await late).toBeUndefined();
    const ended = new AbortController();
    const aborted = market.context?.describe(id, { ...patience, signal: ended.signal });
    ended.abort();
    expect(await aborted).toBeUndefined();
    sandbox.faults.clear();
    await pass(31_000);
    expect(await market.histories?.read((await fixture.store.getAlert(id))?.facts?.metric ?? "")).toBeDefined();
    expect(await describeOne(id)).toMatch(/^1 h /);
  });

  it.each([
    ["no service is configured", { configured: "none" }],
    ["the service is not to be asked", { watched: false }],
  ] as const)("is nothing when %s", async (_why, setting) => {
    const { market } = await open(setting);
    expect(market).not.toHaveProperty("histories");
    expect(market).not.toHaveProperty("context");
    expect(market).not.toHaveProperty("names");
    expect(market.views()).toEqual([]);
  });

  it("is nothing when nobody wants it, and pictures have their records", async () => {
    const { market } = await open({ context: false, symbols: false });
    expect(market.context).toBeUndefined();
    expect(market.names).toBeUndefined();
    expect(market.histories).toBeDefined();
  });
});

describe("what alerts give by address alone", () => {
  /** Waits for one after another, which are some seconds apart by the clock. */
  async function learn({ market, pass }: Awaited<ReturnType<typeof open>>, ...wished: (() => unknown)[]) {
    const stop = new AbortController();
    const running = market.names?.run(stop.signal);
    for (const isThere of wished) {
      while (isThere() === undefined) await new Promise(setImmediate);
      await pass(3_000);
    }
    stop.abort();
    await running;
  }

  it("is called by its symbol, a pool by its tokens, from the next message on", async () => {
    const world = await open();
    const { market, metricOf, fixture } = world;
    const price = metricOf("token_price");
    const pool = metricOf("pool_total_tvl");
    const nameOf = (key = "") => market.names?.find(factsOf(key))?.name;
    const factsOf = (metric: string) => anAlert({ metric });
    for (const metric of [price, pool]) market.names?.note({ origin: "hook", facts: factsOf(metric?.key ?? "") });
    expect(nameOf(price?.key)).toBeUndefined();
    const firstAt = fixture.clock.now();
    await learn(
      world,
      () => nameOf(price?.key),
      () => nameOf(pool?.key),
    );
    // A symbol that is often copied stands with its address.
    expect(nameOf(price?.key)).toMatch(new RegExp(`^${price?.tokenSymbol}(?: 0x.{4}….{4})?$`));
    expect(nameOf(pool?.key)).toMatch(new RegExp(`^${pool?.tokenSymbol}/[A-Z0-9]+(?: 0x.{4}….{4})?$`));
    expect(market.views().map(({ calls }) => calls.made)).toEqual([1, 1]);
    const subject = bareSubjectOf(factsOf(price?.key ?? ""));
    expect(subject && market.names?.nameOf(subject, firstAt - 1)).toBeUndefined();
  });

  it("gives the ticker of a token's price its symbol", async () => {
    const world = await open();
    const { market, metricOf, fire, describeOne } = world;
    const { id } = await fire(metricOf("token_price")?.key);
    expect(await describeOne(id)).not.toContain("CEX");
    const facts = anAlert({ metric: metricOf("token_price")?.key });
    market.names?.note({ origin: "hook", facts });
    await learn(world, () => market.names?.find(facts));
    expect(await describeOne(id)).toContain("CEX");
  });
});
