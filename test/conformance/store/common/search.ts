import { expect } from "vitest";
import { aboutScenes, factsOf, noon, openScene, request, routed, type Scene } from "../scene.ts";

const search = async ({ store }: Scene, q: string): Promise<string[]> =>
  (await store.listAlerts({ limit: 10, q })).map(({ facts }) => facts?.title ?? "");

const searches: [string, string, boolean][] = [
  ["a word of the title", "fell", true],
  ["the beginning of a word", "liq", true],
  ["the end of a word", "uidity", false],
  ["words of different places, in any order", "ethereum liquidity", true],
  ["words of which one is missing", "liquidity polygon", false],
  ["a field's name", "pool", true],
  ["a field's value", "0xA0b8", true],
  ["a number with a point", "0.05", true],
  ["digits of that number apart", "05.0", false],
  ["what belongs together", "tvl-24h", true],
  ["accents, with or without", "ZÜRICH zurich zu\u0308rich", true],
  ["a search engine's own syntax as text", 'title:fell OR "x', false],
  ["nothing but signs", '"*()', false],
];

export const describeSearch = aboutScenes("search", openScene, (test) => {
  test("finds what was routed once the store has been maintained, newest first, and catches up after a restart", async (scene) => {
    for (const title of ["one", "two"]) await scene.route({ facts: { title, token: "USDC" } });
    await scene.maintain();
    expect(await search(scene, "usdc")).toEqual(["two", "one"]);
    await scene.route({ facts: { title: "three", token: "USDC" } });
    await scene.restart();
    await scene.maintain();
    await scene.maintain();
    expect(await search(scene, "usdc")).toEqual(["three", "two", "one"]);
  });

  test("finds beginnings of words, numbers and what belongs together, and takes nothing for syntax", async (scene) => {
    const fields = [
      { name: "Pool", value: "0xa0b86991" },
      { name: "Desk", value: "Zürich" },
    ];
    const facts = { title: "Liquidity fell", chain: "Ethereum", metric: "tvl-24h-change", threshold: "0.05", fields };
    const { id } = await scene.route({ facts });
    await scene.maintain();
    for (const [what, q, found] of [...searches, ["its id", id, true] as const])
      expect.soft((await search(scene, q)).length === 1, `${what}: ${q}`).toBe(found);
  });

  test("finds what only the body has, at any place and in any case, newest first, and says what stands around it", async (scene) => {
    const { store } = scene;
    const bodies = [
      '{"tx":"0xDEADbeef","note":"100%_sure"}',
      Buffer.concat([Buffer.from([0, 0xff, 0xfe]), Buffer.from(`${"x".repeat(500)} deadBEEF ${"y".repeat(500)}`)]),
      "",
      "7".repeat(1024 * 1024),
    ];
    for (const [index, body] of bodies.entries())
      await store.acceptRequest(request({ body: Buffer.from(body), receivedAt: noon + index }));
    const find = async (raw: string[]) =>
      (await store.listAlerts({ limit: 10, raw })).map(({ aroundRaw }) => aroundRaw);
    const [binary, json] = await find(["DeadBeef"]);
    expect(binary).toMatch(/^x{59} deadBEEF y{130,}$/);
    expect(json).toBe('{"tx":"0xDEADbeef","note":"100%_sure"}');
    expect(await find(["deadbeef", "SURE"])).toEqual([json]);
    expect(await find(["100%_sure"])).toEqual([json]);
    expect(await find(["100%"])).toHaveLength(1);
    expect(await find(["1__%"])).toEqual([]);
    expect(await find(["7777"])).toEqual(["7".repeat(200)]);
  });

  test("stops looking at bodies in time, says at how many it looked, and goes on from there", async ({ store }) => {
    for (let round = 0; round < 100; round += 1)
      await store.acceptRequest(request({ body: Buffer.from(`{"round":"r${round}."}`), receivedAt: noon + round }));
    const first = await store.listAlertsWithin({ limit: 10, raw: ["r0."] }, 0);
    expect(first).toMatchObject({ alerts: [], stopped: { looked: 32 } });
    let before = first.stopped?.position;
    for (let step = 0; step < 5 && before !== undefined; step += 1) {
      const page = await store.listAlertsWithin({ limit: 10, raw: ["r0."], before }, 0);
      if (page.alerts.length > 0) return;
      before = page.stopped?.position;
    }
    expect.unreachable("the oldest has it");
  });

  test("finds one whose routing failed for a while as well as what came after it", async (scene) => {
    await scene.store.acceptRequest(request());
    const [stuck] = await scene.store.listUnrouted(1, noon);
    const alertSeq = stuck?.alerts[0]?.seq ?? 0;
    await scene.route({ facts: { title: "later" } });
    await scene.maintain();
    await scene.store.recordRoutingFailure([alertSeq], "a bug", noon + 5000);
    await scene.maintain();
    expect(await search(scene, "firing")).toEqual(["later"]);
    await scene.store.recordRouting([routed(alertSeq, { facts: factsOf({ title: "stuck" }) })]);
    await scene.maintain();
    expect(await search(scene, "firing")).toEqual(["later", "stuck"]);
  });
});
