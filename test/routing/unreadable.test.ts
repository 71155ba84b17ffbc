import { expect, it } from "vitest";
import type { RoutingRecord } from "../../src/core/ports/routing-desk.ts";
import type { Route, Rules } from "../../src/core/rules.ts";
import { createRouter, type Router } from "../../src/routing/router.ts";
import { createLocalReader, createMemoryJournal } from "../support/reader.ts";
import { factsOf, type LoopOptions, startLoop } from "./loop-fixture.ts";
import { chat, mute, route } from "./sample.ts";

const desk = chat("desk");
const night = chat("night");
const always = { from: "00:00", to: "23:59", except: [] };

const routeTo = (to: string[], more: Partial<Route> = {}) => route(`to ${to.join()}`, to, more);

const rules: Rules = {
  destinations: [desk, { ...night, quietHours: always }],
  routes: [routeTo(["desk"]), routeTo(["night"], { isDefault: true, name: "rest" })],
  mutes: [],
};

/** Reads as the body says; a body that has "bad" in it cannot be read. */
const fussy = () =>
  createLocalReader((body) => {
    const text = Buffer.from(body).toString();
    if (text.includes("bad")) throw new Error("no idea what this is");
    return text.split(",").map((title) => ({ facts: factsOf(title) }));
  });

async function start(options: LoopOptions = {}) {
  const scene = await startLoop({ router: createRouter(rules), reader: fussy(), ...options });
  const get = async (id = "") => {
    const alert = await scene.store.getAlert(id);
    if (alert === undefined) throw new Error(`no alert ${id}`);
    // What is absent can be asked for.
    return { routedAt: undefined, routingError: undefined, ...alert };
  };
  return Object.assign(scene, { get });
}

it("sends an alert that cannot be read as it came, after the second failure, once", async () => {
  const { accept, get, clock, counters, store, send } = await start();
  const [bad] = await accept("so bad");
  const [good] = await send("good");
  expect((await get(good)).deliveries).toMatchObject([{ destination: "desk" }]);
  expect(await get(bad)).toMatchObject({ routedAt: undefined, routingError: "no idea what this is" });
  await clock.advance(6_000);
  const sent = await get(bad);
  expect(sent.facts).toMatchObject({ format: "unreadable", title: "Unreadable alert (6 bytes)", text: "so bad" });
  expect(sent.deliveries).toMatchObject([{ destination: "night", state: "queued", purpose: "alert" }]);
  const reason = "could not be read: no idea what this is; sent as received to the default destinations";
  expect(sent.decisions).toEqual([{ route: "rest", destination: "night", result: "deliver", reason }]);
  expect(sent).toMatchObject({ unmatched: false, routingError: undefined });
  expect(counters.givenUp).toBe(1);
  await clock.advance(3_600_000);
  expect((await get(bad)).deliveries).toHaveLength(1);
  expect(await store.listUnrouted(10, clock.now())).toEqual([]);
});

it("sends it to every destination when no default route names one, muted or not", async () => {
  const routes = [routeTo(["desk"]), routeTo([], { isDefault: true })];
  const mutes = [mute("m", [], { endsAt: Number.MAX_SAFE_INTEGER })];
  const router = createRouter({ ...rules, routes, mutes });
  const { get, send } = await start({ router });
  const [bad] = await send("bad", 6_000);
  const { deliveries, decisions } = await get(bad);
  expect(deliveries.map(({ destination, state }) => `${destination} ${state}`)).toEqual([
    "desk queued",
    "night queued",
  ]);
  const reason = expect.stringContaining("to every destination, as no default route names one");
  expect(decisions[0]).toMatchObject({ route: "(every destination)", reason });
});

it("sends one message for a request that cannot be read, and shows the others of it as contained", async () => {
  const { accept, get, clock, send } = await start();
  const ids = await accept("bad batch", 250);
  const [good] = await send("good");
  expect((await get(good)).routedAt).toBeDefined();
  await clock.advance(6_000);
  const [first, ...others] = await Promise.all(ids.map(get));
  expect(first?.facts?.title).toBe("Unreadable request of 250 alerts (9 bytes)");
  expect(first?.deliveries).toHaveLength(1);
  for (const other of others) {
    expect(other).toMatchObject({ unmatched: false, deliveries: [], decisions: [{ result: "contained" }] });
    expect(other.decisions[0]?.reason).toContain(`the message of alert ${first?.id} shows the whole request`);
  }
});

it("sends the one alert of a batch that cannot be routed with what was read of it; the others go on", async () => {
  const router = createRouter(rules);
  const broken: Router = {
    ...router,
    route(input, ...rest) {
      if (input.facts.title === "b") throw new Error("a rule broke");
      return router.route(input, ...rest);
    },
  };
  const { accept, get, clock } = await start({ router: broken });
  const [a, b, c] = await accept("a,b,c", 3);
  await clock.settle();
  for (const id of [a, c]) expect((await get(id)).deliveries).toMatchObject([{ destination: "desk" }]);
  expect(await get(b)).toMatchObject({ routedAt: undefined, routingError: "a rule broke" });
  await clock.advance(6_000);
  expect(await get(b)).toMatchObject({
    facts: { title: "b", format: "text", fields: [{ name: "Tocsin" }] },
    deliveries: [{ destination: "night" }],
    decisions: [{ reason: "could not be routed: a rule broke; sent to the default destinations" }],
  });
});

it("finds the one alert that cannot be recorded; the others of its round are not held up", async () => {
  const scene = await start({
    wrap: (store) => ({
      ...store,
      async recordRouting(records: RoutingRecord[]) {
        if (records.some(({ facts }) => facts.title === "odd")) throw new Error("it cannot be bound");
        return store.recordRouting(records);
      },
    }),
  });
  const { accept, get, clock, send } = scene;
  scene.hears = false;
  const [before] = await accept("before");
  const [odd] = await accept("odd");
  const [after] = await send("after", 1_000);
  for (const id of [before, after]) expect((await get(id)).routedAt).toBeDefined();
  expect(await get(odd)).toMatchObject({ routedAt: undefined, routingError: "it cannot be bound" });
  await clock.advance(6_000);
  expect(await get(odd)).toMatchObject({ facts: { text: "odd" }, deliveries: [{ destination: "night" }] });
});

it("counts an end in the middle of reading as a failure, reads it behind one round of others and alone, and sends it at the third end", async () => {
  const reader = createLocalReader((body) => [{ facts: factsOf(Buffer.from(body).toString()) }]);
  const order: string[][] = [];
  const ids: string[] = [];
  const { get, clock } = await start({
    reader: {
      read(bodies) {
        order.push(bodies.map(({ body }) => Buffer.from(body).toString()));
        return reader.read(bodies);
      },
    },
    journal: createMemoryJournal([1, 2, 3]),
    async before(store, accept) {
      const titles = ["interrupted twice", "interrupted three times", "once"];
      for (const title of [...titles, ...Array.from({ length: 150 }, () => "new")]) ids.push(...(await accept(title)));
      for (const before of [[1, 2], [2]])
        await store.recordRoutingFailure(before, "Tocsin ended while it was reading this", 0);
    },
  });
  const [twice, threeTimes] = ids;
  await clock.advance(50);
  const read = order.filter(({ length }) => length > 0).map(([title, ...others]) => `${title}: ${others.length + 1}`);
  expect(read).toEqual(["new: 100", "interrupted twice: 1", "once: 1", "new: 50"]);
  expect((await get(twice)).facts?.title).toBe("interrupted twice");
  expect(await get(threeTimes)).toMatchObject({
    facts: { format: "unreadable", text: "interrupted three times" },
    deliveries: [{ destination: "night" }],
    decisions: [{ reason: expect.stringContaining("Tocsin ended while it was reading this") }],
  });
});

it("waits, and blames no alert, while nothing can be read at all", async () => {
  const reader = fussy();
  let canRead = false;
  const { get, clock, send } = await start({
    reader: {
      read: async (bodies) =>
        canRead ? reader.read(bodies) : bodies.map(() => ({ kind: "not_read", reason: "no threads left" })),
    },
  });
  const [id] = await send("good", 60_000);
  expect(await get(id)).toMatchObject({ routedAt: undefined, routingError: undefined });
  canRead = true;
  await clock.advance(2_000);
  expect((await get(id)).deliveries).toMatchObject([{ destination: "desk" }]);
});
