import { describe, expect, it } from "vitest";
import { createShapeReader } from "../../src/intake/find/shape.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createShapeWorld, readShapes, type ShapeWorldOptions } from "./shape-fixture.ts";
import { tellWatches, type WatchStep } from "./tell-watch.ts";

const words = { title: "USDC TVL fell", severity: "critical", value: 4.2 };
const alert = { ...words, pool: { id: "p1", fee: 30 }, tags: ["a", "b"], apiKey: "canary-key-0123456789" };
const { severity: _severity, ...without } = alert;

type World = Awaited<ReturnType<typeof createShapeWorld>>;
type Step = WatchStep<World>;

const tellShapes = tellWatches<World, ShapeWorldOptions>(
  async (options) => {
    const world = await createShapeWorld(options);
    await world.run();
    return world;
  },
  ({ watch }) =>
    watch
      .view()
      .kinds.map(({ number, title, alerts, places }) => {
        const gone = places.flatMap(({ path, isGone }) => (isGone ? path : []));
        return `${number} ${title}: ${alerts}${gone.length > 0 ? `, gone: ${gone.join(", ")}` : ""}`;
      })
      .join("; "),
);
const sends =
  (body: unknown, times = 1): Step =>
  async ({ send, clock }) => {
    send(body, times);
    await clock.settle();
  };
/** An alert with that severity comes. */
const said = (severity: string, times = 1) => sends({ ...alert, severity }, times);
const cannotTell =
  (refusal?: Error): Step =>
  (world) => {
    world.refusal = refusal;
  };
const restarts =
  (...how: Parameters<World["restart"]>): Step =>
  ({ restart }) =>
    restart(...how);
const placesOf =
  (...paths: string[]): Step =>
  ({ watch }) =>
    watch
      .view()
      .kinds[0]?.places.filter(({ path }) => paths.includes(path))
      .map(({ path, facts, alerts }) => `${path} in ${alerts} for ${facts.join() || "nothing"}`)
      .join("; ");

const { severity, pool, ...rest } = alert;
const { tags: _tags, ...withoutTags } = alert;
const others = [{ report: "weekly", count: 3, owner: "ops", lines: 12 }, withoutTags].map((body) => sends(body, 100));
const manyTags = Array.from({ length: 30 }, (_, at) => `tag ${at}`);
const mapped = { ...rest, pool, level: "P1" };
const { title: _title, ...untitled } = mapped;

describe("what has changed", () => {
  tellShapes([
    [
      "is told in words: what is gone, what it gave, who asks for it, what to do",
      [sends(alert, 100), sends({ ...rest, level: severity, pool: { ...pool, id: 17 } }, 20)],
      { routes: { urgent: ["severity"], pools: ["payload.pool.id"] } },
    ],
    [
      "is told once of a severity that is no word for one, where to map it, and which routes no longer take it",
      [
        ...[sends(alert, 6), said("Havoc", 3), "restart" as const, sends(alert, 2)],
        ...["havoc", "mayhem", "a", "b", "zz", "yy", "xx", "critical"].map((word) => said(word)),
      ],
      { routes: { urgent: ["severity"] } },
    ],
    [
      "is no word for a severity that is mapped",
      [sends(alert, 6), said("HAVOC", 3)],
      { mapping: { severities: { havoc: "critical" } } },
    ],
    [
      "is no word for a severity that is mapped to nothing known",
      [sends(alert, 6), said("noise", 3), said("unknown", 3)],
      { mapping: { severities: { noise: "unknown" } } },
    ],
    ["is no word in alerts whose severity was never known", [said("mauve", 6), said("beige", 6)]],
    [
      "counts a request once, however many alerts it brings",
      [sends(alert, 50), sends(Array(40).fill(without)), sends([without, without], 3), sends([without, without])],
    ],
    ["is not told where one request has brought all", [sends(Array(100).fill(alert)), sends(without, 50)]],
    [
      "is told again when it was mended and breaks again, each time only after a longer while",
      // A field that comes and goes is optional after all.
      [100, 40, 40, 300].flatMap((good) => [sends(alert, good), sends(without, 60)]),
    ],
    [
      "says of a place that came late in how many requests it was",
      [sends(without, 200), sends(alert, 60), sends(without, 20)],
    ],
    [
      "is told of a sender that wraps all it sends",
      [sends(alert, 60), sends({ version: 2, event: alert }, 20)],
      { routes: { pools: ["payload.pool.fee"] } },
    ],
    [
      "is not told of a list that became too long to be one place",
      [sends(alert, 60), sends({ ...alert, tags: manyTags }, 60), sends(alert, 60), sends({ ...alert, tags: "a" }, 20)],
      { routes: { tagged: ["payload.tags[*]"] } },
    ],
    [
      "is not told of what was optional, of another kind of alert, of what nobody reads, and of what came back",
      [sends(alert, 40), sends(without, 2), sends(alert, 40), sends(without, 100), ...others],
    ],
    [
      "is told once, over a store that refuses and over restarts",
      [
        ...[cannotTell(new Error("disk full")), sends(alert, 50), sends(without, 10), "restart" as const, cannotTell()],
        ...[2_000, sends(without, 200), 120_000, "restart" as const, sends(without, 200)],
      ],
    ],
    [
      "forgets over a new mapping what was read from where, and goes on counting",
      [
        ...[sends(alert, 50), sends(mapped, 10)],
        restarts("stopped", { severity: ["payload.level"], title: ["payload.pool.id"] }),
        ...[sends(mapped, 50), placesOf("payload.severity", "payload.level", "payload.title")],
        // What the mapping reads now is missed, and what it reads no longer is not.
        ...[sends(untitled, 20), sends({ ...rest, pool }, 20)],
      ],
    ],
    [
      "never goes twice for what a kill in the middle makes it see again",
      [sends(alert, 50), 61_000, sends(without, 10), 2_000, restarts("killed"), sends(without, 100)],
    ],
  ]);

  it("is told at the third alert of a sender with many, and later of one with few", async () => {
    const needed = async (before: number) => {
      const world = await createShapeWorld();
      world.send(alert, before);
      let after = 0;
      while (world.watch.view().kinds[0]?.places.some(({ isGone }) => isGone) !== true && after < 60) {
        world.send(without);
        after += 1;
      }
      return after;
    };
    expect([await needed(3), await needed(12), await needed(50), await needed(1_000)]).toEqual([60, 9, 5, 3]);
  });

  it("begins anew with a state that it cannot read", async () => {
    for (const saved of [7, {}, { catalogue: { kinds: [{}] }, pending: [] }, { catalogue: null }]) {
      const world = await createShapeWorld({ saved });
      world.send(alert);
      await world.run();
      expect(world.watch.view().kinds).toMatchObject([{ alerts: 1 }]);
    }
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
  expect(world.told.map(({ title }) => title)).toEqual([]);
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
    expect(world.told).toEqual([]);
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
