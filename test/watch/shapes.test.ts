import { describe, expect, it } from "vitest";
import type { FactMapping } from "../../src/core/mapping.ts";
import { createShapeReader } from "../../src/intake/find/shape.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createShapeWorld, readShapes, type ShapeWorldOptions } from "./shape-fixture.ts";

const words = { title: "USDC TVL fell", severity: "critical", value: 4.2 };
const alert = { ...words, pool: { id: "p1", fee: 30 }, tags: ["a", "b"], apiKey: "canary-key-0123456789" };
const { severity: _severity, ...without } = alert;

type Sent = [body: unknown, times: number];

/** What a relay of its own tells after these bodies. */
async function noticesOf(options: ShapeWorldOptions, ...sent: Sent[]) {
  const world = await createShapeWorld(options);
  for (const [body, times] of sent) world.send(body, times);
  await world.run();
  return world.notices;
}

describe("what has changed", () => {
  it("is told in words: what is gone, what it gave, who asks for it, what to do", async () => {
    const { severity, pool, ...rest } = alert;
    const changed = { ...rest, level: severity, pool: { ...pool, id: 17 } };
    const routes = { urgent: ["severity"], pools: ["payload.pool.id"] };
    expect(await noticesOf({ routes }, [alert, 100], [changed, 20])).toEqual([
      {
        title: "2 fields have changed in alerts like “USDC TVL fell”",
        text: [
          "payload.severity is gone, perhaps renamed to payload.level. Read from it: severity (read from payload.level now). Route that asks for it: urgent.",
          "payload.pool.id is a number now, no text. Read from it: alertKey (still read from it). Route that asks for it: pools.",
          "It was in 100 requests before, and in none of the last 4. Alerts are sent as before.",
          "If the sender has changed for good, write under mapping: where the fact is now, and try it with tocsin explain.",
        ].join("\n"),
        ...{ severity: "info", status: "firing", format: "empty", source: "Tocsin", fields: [], notes: [] },
        ...{ alertKey: "tocsin:shape:1:payload.severity", link: "https://tocsin.example/shapes" },
      },
    ]);
  });

  it("is told once of a severity that is no word for one, where to map it, and which routes no longer take it", async () => {
    const world = await createShapeWorld({ routes: { urgent: ["severity"] } });
    world.send(alert, 6);
    world.send({ ...alert, severity: "Havoc" }, 3);
    await world.run();
    expect(world.notices).toEqual([
      expect.objectContaining({
        title: "The severity “havoc” is not known, in alerts like “USDC TVL fell”",
        text: [
          "payload.severity says “havoc”, so the severity of these alerts is unknown. They are sent where routes take them without one.",
          "Routes that ask for a severity: urgent.",
          'Say what it means in tocsin.yaml under mapping: severities: { "havoc": critical }, and try it with tocsin explain.',
        ].join("\n"),
        severity: "info",
        status: "firing",
      }),
    ]);
    await world.stop();
    const next = await createShapeWorld({ saved: world.saved() });
    next.send(alert, 2);
    for (const severity of ["havoc", "mayhem", "a", "b", "zz", "yy", "xx", "critical"])
      next.send({ ...alert, severity });
    await next.run();
    expect(next.notices.map(({ title }) => /“(\w+)”/.exec(title)?.[1])).toEqual(["mayhem", "a", "b", "zz"]);
    expect(next.notices.at(-1)?.text).toContain("These alerts have had 5 such words: no further one is reported.");
  });

  const said = (severity: string, times: number): Sent => [{ ...alert, severity }, times];
  it.each<[string, FactMapping["severities"], Sent[]]>([
    ["that is mapped", { havoc: "critical" }, [[alert, 6], said("HAVOC", 3)]],
    ["that is mapped to nothing known", { noise: "unknown" }, [[alert, 6], said("noise", 3), said("unknown", 3)]],
    ["in alerts whose severity was never known", undefined, [said("mauve", 6), said("beige", 6)]],
  ])("says nothing of a word for a severity %s", async (_what, severities, sent) => {
    expect(await noticesOf({ mapping: severities && { severities } }, ...sent)).toEqual([]);
  });

  it("is told at the third alert of a sender with many, and later of one with few", async () => {
    const needed = async (before: number) => {
      const world = await createShapeWorld();
      world.send(alert, before);
      await world.run();
      let after = 0;
      while (world.watch.view().kinds[0]?.places.some(({ isGone }) => isGone) !== true && after < 60) {
        world.send(without);
        after += 1;
      }
      return after;
    };
    expect([await needed(3), await needed(12), await needed(50), await needed(1_000)]).toEqual([60, 9, 5, 3]);
  });

  it("counts a request once, however many alerts it brings", async () => {
    const world = await createShapeWorld();
    world.send(alert, 50);
    world.send(Array.from({ length: 40 }, () => without));
    await world.run();
    expect(world.notices).toEqual([]);
    for (let request = 0; request < 5; request += 1) world.send([without, without]);
    await world.clock.advance(2_000);
    expect(world.notices).toHaveLength(1);
    expect(await noticesOf({}, [Array.from({ length: 100 }, () => alert), 1], [without, 50])).toEqual([]);
  });

  it("is told again when it was mended and breaks again, each time only after a longer while", async () => {
    const world = await createShapeWorld();
    await world.run();
    const toldAfter = async (good: number) => {
      world.send(alert, good);
      world.send(without, 60);
      await world.clock.advance(2_000);
      return world.notices.splice(0).map(({ text }) => /It was in (\d+) requests/.exec(text ?? "")?.[1]);
    };
    expect(await toldAfter(100)).toEqual(["100"]);
    expect(await toldAfter(40)).toEqual(["40"]);
    // A field that comes and goes is optional after all.
    expect(await toldAfter(40)).toEqual([]);
    expect(await toldAfter(300)).toEqual([]);
  });

  it("says of a place that came late in how many requests it was", async () => {
    const text = expect.stringContaining("It was in 60 requests before, and in none of the last 5.");
    expect(await noticesOf({}, [without, 200], [alert, 60], [without, 20])).toMatchObject([{ text }]);
  });

  it("is told of a sender that wraps all it sends", async () => {
    const routes = { pools: ["payload.pool.fee"] };
    const [told, ...more] = await noticesOf({ routes }, [alert, 60], [{ version: 2, event: alert }, 20]);
    expect(more).toEqual([]);
    for (const path of ["title", "severity", "value", "pool.fee"])
      expect(told?.text).toContain(`payload.${path} is gone, perhaps renamed to payload.event.${path}.`);
  });

  it("is not told of a list that became too long to be one place", async () => {
    const world = await createShapeWorld({ routes: { tagged: ["payload.tags[*]"] } });
    const tags = Array.from({ length: 30 }, (_, at) => `tag ${at}`);
    world.send(alert, 60);
    world.send({ ...alert, tags }, 60);
    world.send(alert, 60);
    await world.run();
    expect(world.notices).toEqual([]);
    world.send({ ...alert, tags: "a" }, 20);
    await world.clock.advance(2_000);
    expect(world.notices).toHaveLength(1);
    expect(world.notices[0]?.text).toContain("payload.tags is a text now, no list. Route that asks for it: tagged.");
  });

  it("is not told of what was optional, of another kind of alert, of what nobody reads, and of what came back", async () => {
    const { tags: _tags, ...withoutTags } = alert;
    const report = { report: "weekly", count: 3, owner: "ops", lines: 12 };
    const others: Sent[] = [report, withoutTags].map((body) => [body, 100]);
    expect(await noticesOf({}, [alert, 40], [without, 2], [alert, 40], [without, 100], ...others)).toEqual([]);
  });

  it("is told once, over a store that refuses and over restarts", async () => {
    let isAway = true;
    const first = await createShapeWorld({ refuse: () => (isAway ? new Error("disk full") : undefined) });
    first.send(alert, 50);
    first.send(without, 10);
    await first.run();
    expect(first.notices).toEqual([]);
    await first.stop();
    // It ended before it could send: the next one does.
    const second = await createShapeWorld({ saved: first.saved() });
    await second.run();
    expect(second.notices).toHaveLength(1);
    isAway = false;
    second.send(without, 200);
    await second.clock.advance(120_000);
    await second.stop();
    const third = await createShapeWorld({ saved: second.saved() });
    third.send(without, 200);
    await third.run();
    expect([...second.notices, ...third.notices]).toHaveLength(1);
    expect(third.watch.view().kinds[0]).toMatchObject({ alerts: 460 });
  });

  it("forgets over a new mapping what was read from where, and goes on counting", async () => {
    const { severity, ...rest } = alert;
    const changed = { ...rest, level: "P1" };
    const before = await createShapeWorld();
    before.send(alert, 50);
    before.send(changed, 10);
    await before.run();
    await before.stop();
    expect(before.notices).toHaveLength(1);
    const mapping = { severity: ["payload.level"], title: ["payload.pool.id"] };
    const after = await createShapeWorld({ saved: before.saved(), mapping });
    after.send(changed, 50);
    await after.run();
    const placeOf = (path: string) => after.watch.view().kinds[0]?.places.find((place) => place.path === path);
    expect(after.watch.view().kinds).toMatchObject([{ alerts: 110, number: 1 }]);
    expect(placeOf("payload.severity")).toMatchObject({ facts: [], isGone: false, alerts: 50 });
    expect(placeOf("payload.level")).toMatchObject({ facts: ["severity"], alerts: 60 });
    expect(placeOf("payload.title")).toMatchObject({ facts: [], alerts: 110 });
    // What the mapping reads now is missed, and what it reads no longer is not.
    const { title: _title, ...untitled } = changed;
    after.send(untitled, 20);
    await after.clock.advance(2_000);
    expect(after.notices).toEqual([]);
    const { level: _level, ...without } = changed;
    after.send(without, 20);
    await after.clock.advance(2_000);
    expect(after.notices.map(({ title }) => title)).toEqual(["payload.level is gone in alerts like “USDC TVL fell”"]);
  });

  it("begins anew with a state that it cannot read", async () => {
    for (const saved of [7, {}, { catalogue: { kinds: [{}] }, pending: [] }, { catalogue: null }]) {
      const world = await createShapeWorld({ saved });
      world.send(alert);
      await world.run();
      expect(world.watch.view().kinds).toMatchObject([{ alerts: 1 }]);
    }
  });

  it("never goes twice for what a kill in the middle makes it see again", async () => {
    const world = await createShapeWorld();
    world.send(alert, 50);
    await world.run();
    await world.clock.advance(61_000);
    world.send(without, 10);
    await world.clock.advance(2_000);
    expect(world.notices).toHaveLength(1);
    // Killed here: nothing is saved any more but what went with the notice.
    const next = await createShapeWorld({ saved: world.saved() });
    next.send(without, 100);
    await next.run();
    expect(next.notices).toEqual([]);
  });
});

it("tells nothing in 30,000 alerts with optional fields", async () => {
  const random = createSeededRandom(20261122);
  const world = await createShapeWorld({ routes: { urgent: ["severity", "token"], all: ["payload.extra.c"] } });
  const shares = [0.0005, 0.01, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999];
  const names = ["severity", "token", "value", "threshold", "status", "link", "chain", "eventId"];
  const values = ["critical", "USDC", 5, 6, "firing", "https://a.example/1", "eth", "e-1"];
  for (let at = 0; at < 30_000; at += 1) {
    // Eight senders at once, so that each name has each share; what is their own keeps their kinds apart.
    const turn = at % 8;
    const own = Array.from({ length: 10 }, (_, place) => [`of${turn}-${place}`, place]);
    const body: Record<string, unknown> = { sender: `desk ${turn}`, title: "t", ...Object.fromEntries(own) };
    for (let field = 0; field < names.length; field += 1) {
      if (random.next() < (shares[(field + turn) % shares.length] ?? 0)) body[names[field] ?? ""] = values[field];
    }
    if (random.next() < 0.3) body.extra = { c: random.next() < 0.5 ? 1 : null };
    world.send(body);
  }
  await world.run();
  expect(world.notices.map(({ title }) => title)).toEqual([]);
  const { kinds } = world.watch.view();
  expect(kinds).toHaveLength(8);
  expect(kinds.reduce((sum, { alerts }) => sum + alerts, 0)).toBeGreaterThan(28_000);
});

describe("the catalogue", () => {
  it("has each path with its type, example, counts and times, what is read from it, and who asks for it", async () => {
    const world = await createShapeWorld({ routes: { urgent: ["severity"], tagged: ["payload.tags[*]"] } });
    world.send(alert);
    await world.clock.advance(1_000);
    world.send({ ...alert, shade: "new" });
    world.send("plain text");
    const { kinds, unfollowed } = world.watch.view();
    const [kind] = kinds;
    expect(kinds).toHaveLength(1);
    expect(unfollowed).toEqual({ unknown: 0, without: 1 });
    expect(kind).toMatchObject({ title: "USDC TVL fell", alerts: 2, shapes: 2 });
    const start = kind?.firstAt ?? 0;
    const seen = { firstAt: start, lastAt: start + 1_000, alerts: 2, isGone: false, facts: [], routes: [] };
    expect(kind?.places).toEqual([
      { ...seen, path: "payload.title", type: "text", example: "USDC TVL fell", facts: ["title"] },
      { ...seen, path: "payload.severity", type: "text", example: "critical", facts: ["severity"], routes: ["urgent"] },
      { ...seen, path: "payload.value", type: "number", example: "4.2", facts: ["value"] },
      { ...seen, path: "payload.pool.id", type: "text", example: "p1", facts: ["alertKey"] },
      { ...seen, path: "payload.pool.fee", type: "number", example: "30" },
      { ...seen, path: "payload.tags", type: "list", example: "a, b", routes: ["tagged"] },
      { ...seen, path: "payload.apiKey", type: "text", example: "(not shown)" },
      { ...seen, firstAt: start + 1_000, path: "payload.shade", type: "text", example: "new", alerts: 1 },
    ]);
  });

  it("goes on after the clock was set back, with as many kinds as it may have", async () => {
    const world = await createShapeWorld();
    const sendKinds = (from: number, count: number, at: number) => {
      for (let kind = from; kind < from + count; kind += 1) {
        const body = { [`a${kind}`]: 1, [`b${kind}`]: 2, [`c${kind}`]: 3, [`d${kind}`]: 4 };
        world.watch.note(readShapes(Buffer.from(JSON.stringify(body)), createShapeReader()), at);
      }
    };
    sendKinds(0, 100, 2_000_000_000_000);
    sendKinds(100, 50, 1_000_000_000_000);
    const { kinds } = world.watch.view();
    expect(kinds).toHaveLength(100);
    // The last that came is followed.
    expect(kinds.some(({ places }) => places.some(({ path }) => path === "payload.a149"))).toBe(true);
  });

  it("follows again what it had to forget", async () => {
    const world = await createShapeWorld();
    world.send(alert, 3);
    for (let at = 0; at < 150; at += 1) world.send({ [`a${at}`]: 1, [`b${at}`]: 2, [`c${at}`]: 3, [`d${at}`]: 4 });
    const seen = () => world.watch.view().kinds.find(({ title }) => title === alert.title)?.alerts;
    expect(seen()).toBeUndefined();
    world.send(alert, 3);
    expect(seen()).toBe(2);
    expect(world.watch.view().unfollowed).toEqual({ unknown: 1, without: 0 });
  });

  it("stays small whatever names senders make up, and says of how much it cannot tell", async () => {
    const world = await createShapeWorld();
    world.send(alert, 10);
    for (let at = 0; at < 1_000; at += 1) {
      const fields = Array.from({ length: 100 }, (_, field) => [`name-${at}-${field}`, field]);
      world.send({ title: "t", ...Object.fromEntries(fields), labels: { [`label-${at}`]: "read for the key" } });
    }
    const { kinds, unfollowed } = world.watch.view();
    const places = kinds.reduce((sum, kind) => sum + kind.places.length, 0);
    expect(kinds.length).toBeLessThanOrEqual(100);
    expect(places).toBeLessThanOrEqual(5_000);
    expect(unfollowed.unknown).toBeGreaterThan(600);
    await world.run();
    await world.stop();
    expect(JSON.stringify(world.saved()).length).toBeLessThan(4 * 1024 * 1024);
    expect(world.notices).toEqual([]);
  });
});

describe("a shape", () => {
  const idOf = (body: unknown) => readShapes(Buffer.from(JSON.stringify(body)), createShapeReader())[0]?.shape?.id;

  it("is the same for other values, another order, longer lists of objects, and other ids as names", () => {
    const id = idOf({ a: 1, b: { c: "x" }, items: [{ d: 1 }], by: { "0xa0b86991c6218b36": { e: 1 } } });
    expect(idOf({ by: { "0xffffffffffffffff": { f: 2 } }, items: [{ d: 7 }, { g: 1 }], b: { c: "y" }, a: 2 })).toBe(id);
    expect(idOf({ a: "1", b: { c: "x" }, items: [{ d: 1 }] })).not.toBe(id);
    expect(idOf({ a: 1, b: { c: "x" }, items: [{ d: "1" }] })).not.toBe(id);
    expect(idOf({ ab: { c: 1 } })).not.toBe(idOf({ a: { bc: 1 } }));
    expect(idOf({ a: 1, b: null, c: " " })).toBe(idOf({ a: 1 }));
  });

  it("is the same whatever ids it has for names, as senders write them", () => {
    const ids = [
      ["So11111111111111111111111111111111111111112", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"],
      ["TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TPYmHEhy5n8TCEfYGqW2rPxsghSfzghPDn"],
      ["cosmos1fl48vsnmsdzcv85q5d2q4z5ajdha8yu34mf0eh", "cosmos1clpqr4nrk4khgkxj78fcwwh6dl3uw4epsluffn"],
      ["ethereum_token_total_tvl_0xa0b86991c6218b36c1d1", "base_token_total_tvl_0xffffffffffffffff"],
      ["2026-11-22", "2026-11-23T10:00:00Z"],
      ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "01BX5ZZKBKACTAV9WEVGEMMVRZ"],
      ["pool:123e4567-e89b-12d3-a456-426614174000", "pool:00000000-0000-0000-0000-000000000000"],
    ];
    for (const [one = "", other = ""] of ids) {
      const shapes = [one, other].map((id) => idOf({ title: "t", by: { [id]: { price: 1 } } }));
      expect(shapes[0], one).toBe(shapes[1]);
    }
    for (const name of [
      "h24UsdVolumeChangePercentOfMax",
      "priceChangePercentageInCurrency",
      "total_value_locked_usd_24h",
    ])
      expect(idOf({ [name]: 1, a: 1 }), name).not.toBe(idOf({ other: 1, a: 1 }));
  });

  it("is not made of texts, of nothing, and of more than 1,000 places", () => {
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`f${at}`, at]));
    for (const body of ["text", {}, [], wide]) expect(idOf(body)).toBeUndefined();
  });

  it("is described once, and with what facts were read from, also by a mapping", () => {
    const shapes = createShapeReader();
    const read = () => translateRequest(Buffer.from(JSON.stringify(alert)), undefined, { shapes })[0]?.shape;
    const first = read();
    expect(first?.places?.map(({ path }) => path)).toContain("payload.pool.id");
    expect(read()).toEqual({ id: first?.id });
  });
});
