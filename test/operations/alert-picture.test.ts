import { setMaxListeners } from "node:events";
import { expect, it } from "vitest";
import type { DeskResult } from "../../src/charts/png-desk.ts";
import type { ChartPoint } from "../../src/charts/series.ts";
import type { AlertFacts } from "../../src/core/alert.ts";
import { type AlertPicturesDeps, createAlertPictures } from "../../src/operations/alert-picture.ts";
import { createWebFixture } from "../support/web-fixture.ts";

const hour = 3_600_000;
const metric = "eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const value = { value: "24.3", threshold: "25", unit: "USD" };
const facts: Partial<AlertFacts> = { title: "USDC TVL fell", metric, token: "USDC", alertKey: "usdc", ...value };
const asPng = (svg: string): DeskResult => ({ png: new TextEncoder().encode(svg) });
const never = new AbortController().signal;
setMaxListeners(0, never);
/** Nothing of what a test waits for takes so long. */
const long = { signal: never, deadlineMs: 300_000 };

async function open(deps: Partial<AlertPicturesDeps> = {}) {
  const fixture = await createWebFixture();
  const { store, clock } = fixture;
  const drawn: string[] = [];
  const draw = createAlertPictures({
    store,
    clock,
    toPng: async (svg) => {
      drawn.push(svg);
      return asPng(svg);
    },
    ...deps,
  });
  const record = (hours: number): ChartPoint[] =>
    Array.from({ length: hours + 1 }, (_, n) => ({ at: clock.now() - (hours - n) * hour, value: 25 + n / 100 }));
  /** Alerts of one key with these values, an hour apart. The id of the last. */
  async function bring(...values: string[]): Promise<string> {
    let id = "";
    for (const [index, value] of values.entries()) {
      if (index > 0) await clock.advance(hour);
      id = (await fixture.addAlert({ facts: { ...facts, value } })).id;
    }
    return id;
  }
  return { ...fixture, draw, drawn, record, bring };
}

/** With a service that has a week of the metric, and what it was asked for. */
async function openWithRecord() {
  const asked: string[] = [];
  const scene = await open({
    readHistory: async (key): Promise<ChartPoint[]> => {
      asked.push(key);
      return scene.record(168);
    },
  });
  return { ...scene, asked };
}

it("the picture of an alert is of the metric's record, where the service has one, and of the alert's own value", async () => {
  const { bring, draw, asked } = await openWithRecord();
  expect(await draw(await bring("24.3"), long)).toMatchObject({
    alt: expect.stringMatching(/^USDC total TVL on eth: 24\.3 USD, threshold 25 USD, .*24 h: .* 7 d: /),
  });
  expect(asked).toEqual([metric]);
});

it.each([
  ["the service does not know", async (): Promise<undefined> => undefined],
  ["the service has no record", async (): Promise<ChartPoint[]> => []],
  ["the service fails", async (): Promise<ChartPoint[]> => Promise.reject<ChartPoint[]>(new Error("500"))],
  ["there is no service", undefined],
] as const)(
  "the picture of an alert is of what the alerts of its key have brought, where %s",
  async (_why, readHistory) => {
    const scene = await open(readHistory === undefined ? {} : { readHistory });
    await scene.addAlert({ facts: { ...facts, value: "26" } });
    await scene.clock.advance(hour);
    await scene.addAlert({ facts: { ...facts, value: "25.9", status: "resolved" } });
    await scene.clock.advance(hour);
    const { id } = await scene.addAlert({ facts });
    expect(await scene.draw(id, long)).toMatchObject({
      alt: expect.stringMatching(/3 alerts: since .*low 24\.3, high 26\.$/),
    });
  },
);

it("the picture of an alert has the alerts that arrived before, also where each says that it happened before those arrived", async () => {
  const scene = await open();
  const ids: string[] = [];
  for (const minutes of [3, 2, 1]) {
    const occurredAt = scene.clock.now() - minutes * 60_000;
    ids.push((await scene.addAlert({ facts: { ...facts, value: `2${minutes}`, occurredAt } })).id);
    await scene.clock.advance(1_000);
  }
  expect(await scene.draw(ids[1] as string, long)).toMatchObject({ alt: expect.stringContaining("2 alerts: ") });
  expect(await scene.draw(ids[2] as string, long)).toMatchObject({ alt: expect.stringContaining("3 alerts: ") });
});

it("the picture of an alert joins no value of another metric, chain, token or unit that came under the same key", async () => {
  const scene = await open();
  const other = "eth_token_total_tvl_0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
  for (const about of [{ metric: other }, { token: "WETH" }, { chain: "base" }, { unit: "M USD" }, { unit: "%" }]) {
    await scene.addAlert({ facts: { ...facts, value: "99", ...about } });
    await scene.clock.advance(hour);
  }
  const { id } = await scene.addAlert({ facts: { ...facts, chain: "eth" } });
  expect(await scene.draw(id, long)).toEqual({ none: "no_values" });
  await scene.clock.advance(hour);
  // What one of them leaves out does not tell them apart.
  await scene.addAlert({ facts: { ...facts, value: "26", unit: undefined } });
  await scene.clock.advance(hour);
  const last = await scene.addAlert({ facts: { ...facts, chain: "eth" } });
  expect(await scene.draw(last.id, long)).toMatchObject({
    alt: expect.stringMatching(/3 alerts: .*low 24\.3, high 26\.$/),
  });
});

it.each([
  ["chain", { chain: "base" }],
  ["chain by its id", { chain: "8453" }],
  ["token", { token: "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2" }],
  [
    "pool",
    {
      metric: "eth_pool_total_tvl_0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640",
      fields: [{ name: "pool.address", value: "0x4e68ccd3e89f51c3074ca5072bbac773960dfa36" }],
    },
  ],
])("the picture of an alert shows no record of another %s than its message names", async (_what, said) => {
  const { addAlert, draw, asked } = await openWithRecord();
  const { id } = await addAlert({ facts: { ...facts, ...said } });
  expect(await draw(id, long)).toEqual({ none: "no_values" });
  expect(asked).toEqual([]);
});

it("the picture of an alert does not wait for a service that hangs, and is looked for again soon after", async () => {
  let isHanging = true;
  const scene = await open({
    readHistory: (): Promise<ChartPoint[]> => (isHanging ? new Promise(() => {}) : Promise.resolve(scene.record(168))),
  });
  const id = await scene.bring("26", "24.3");
  const poor = scene.draw(id, long);
  await scene.clock.advance(1_200);
  expect(await poor).toMatchObject({ alt: expect.stringContaining("2 alerts: ") });
  isHanging = false;
  await scene.clock.advance(60_000);
  expect(await scene.draw(id, long)).toMatchObject({ alt: expect.stringContaining("7 d: ") });
});

it.each([
  ["a change in percent", { value: "-12.3", unit: "%" }],
  ["a change that nobody gave a unit", { value: "-12.3", unit: undefined }],
  ["a change by its condition", { value: "0.8", unit: undefined, title: "TVL moved 2.5 % or more" }],
  ["millions", { value: "0.0000247", unit: "M USD" }],
])("the picture of an alert takes no number of another kind for one of the records: %s", async (_what, said) => {
  const scene = await openWithRecord();
  const { id } = await scene.addAlert({ facts: { ...facts, threshold: "-10", ...said } });
  const picture = await scene.draw(id, long);
  expect(picture).toMatchObject({ alt: expect.stringMatching(/^USDC total TVL on eth: 26\.68, 2/) });
  expect(picture).not.toMatchObject({ alt: expect.stringMatching(/threshold|low [−0]/) });
});

it("the picture of an alert is drawn once for all who ask at the same time, and for those who ask in the minutes after", async () => {
  const { draw, drawn, clock, bring } = await open();
  const id = await bring("26", "24.3");
  const both = await Promise.all([draw(id, long), draw(id, long)]);
  expect(both[0]).toBe(both[1]);
  expect(await draw(id, long)).toEqual(both[0]);
  expect(drawn).toHaveLength(1);
  await draw(id, { ...long, theme: "dark" });
  expect(drawn).toHaveLength(2);
  expect(drawn[1]).toContain("#171e26");
  await clock.advance(6 * 60_000);
  await draw(id, long);
  expect(drawn).toHaveLength(3);
});

it("the picture of an alert is late for whoever does not wait longer, and there for who comes after", async () => {
  let finish: (result: DeskResult) => void = () => {};
  const { draw, bring, clock } = await open({
    toPng: () =>
      new Promise((resolve) => {
        finish = resolve;
      }),
  });
  const id = await bring("26", "24.3");
  const gone = new AbortController();
  const first = draw(id, { signal: gone.signal, deadlineMs: 300_000 });
  const hasty = draw(id, { signal: never, deadlineMs: 2_000 });
  await clock.advance(2_000);
  expect(await hasty).toEqual({ none: "late" });
  expect(await draw(id, { signal: AbortSignal.abort(), deadlineMs: 2_000 })).toEqual({ none: "late" });
  gone.abort();
  expect(await first).toEqual({ none: "late" });
  const patient = draw(id, long);
  await clock.settle();
  finish(asPng("<svg/>"));
  expect(await patient).toHaveProperty("png");
});

it("the picture of an alert is refused at once while too many are being drawn, and none is kept beyond a number of bytes", async () => {
  const waiting: (() => void)[] = [];
  let bytes = 10;
  const scene = await open({
    toPng: () => new Promise((resolve) => waiting.push(() => resolve({ png: new Uint8Array(bytes) }))),
  });
  await scene.addAlert({ facts: { ...facts, value: "26" } });
  const ids: string[] = [];
  await scene.clock.advance(hour);
  for (let n = 0; n < 17; n += 1) ids.push((await scene.addAlert({ facts })).id);
  const asked = ids.map((id) => scene.draw(id, long));
  expect(await asked.at(-1)).toEqual({ none: "busy" });
  while (waiting.length < 16) await scene.clock.settle();
  bytes = 3 * 1024 * 1024;
  for (const finish of waiting.splice(0)) finish();
  await Promise.all(asked);
  // The last two fit: the first has to be drawn again.
  expect(await scene.draw(ids[15] as string, long)).toHaveProperty("png");
  expect(waiting).toHaveLength(0);
  const again = scene.draw(ids[0] as string, long);
  while (waiting.length === 0) await scene.clock.settle();
  waiting[0]?.();
  await again;
});
