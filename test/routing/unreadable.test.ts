import { expect, it } from "vitest";
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
  /** Each alert as it stands, for a person to read; of many alike the first and the last. */
  const tell = async () => {
    const alerts = (await scene.store.listAlerts({ limit: 300 })).toReversed();
    const places = new Map(alerts.map(({ id }, index) => [id, `<${index + 1}>`]));
    const details = await Promise.all(alerts.map(({ id }) => scene.store.getAlert(id)));
    const lines = details.map((alert) => {
      const { facts, routingError, unmatched, deliveries = [], decisions = [] } = alert ?? {};
      const { title, format, severity, text, fields = [], notes } = facts ?? {};
      const sent = deliveries.map(({ destination, state, purpose }) => `${destination} ${state} ${purpose}`);
      const given = { title, format, severity, text, fields, notes, routingError, unmatched, sent, decisions };
      return JSON.stringify(given).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => places.get(id) ?? id);
    });
    return `\n${(lines.length > 20 ? [...lines.slice(0, 3), lines.at(-1)] : lines).join("\n")}\n`;
  };
  return Object.assign(scene, { tell });
}

it("sends an alert that cannot be read as it came, after the second failure, once", async () => {
  const { accept, clock, counters, store, send, tell } = await start();
  await clock.settle();
  await accept("so bad");
  await send("good");
  expect(await tell()).toMatchSnapshot();
  await clock.advance(6_000);
  const sent = await tell();
  expect(sent).toMatchSnapshot();
  expect(counters.givenUp).toBe(1);
  await clock.advance(3_600_000);
  expect(await tell()).toBe(sent);
  expect(await store.listUnrouted(10, clock.now())).toEqual([]);
});

it("sends it to every destination when no default route names one, muted or not", async () => {
  const routes = [routeTo(["desk"]), routeTo([], { isDefault: true })];
  const mutes = [mute("m", [], { endsAt: Number.MAX_SAFE_INTEGER })];
  const { send, tell } = await start({ router: createRouter({ ...rules, routes, mutes }) });
  await send("bad", 6_000);
  expect(await tell()).toMatchSnapshot();
});

it("sends one message for a request that cannot be read, and shows the others of it as contained", async () => {
  const { accept, send, tell } = await start();
  await accept("bad batch", 250);
  await send("good", 6_000);
  expect(await tell()).toMatchSnapshot();
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
  const { send, clock, tell } = await start({ router: broken });
  await send("a,b,c", 0, 3);
  expect(await tell()).toMatchSnapshot();
  await clock.advance(6_000);
  expect(await tell()).toMatchSnapshot();
});

it("finds the one alert that cannot be recorded; the others of its round are not held up", async () => {
  const scene = await start({
    async recording(records, record) {
      if (records.some(({ facts }) => facts.title === "odd")) throw new Error("it cannot be bound");
      return record(records);
    },
  });
  scene.hears = false;
  for (const body of ["before", "odd"]) await scene.accept(body);
  await scene.send("after", 1_000);
  expect(await scene.tell()).toMatchSnapshot();
  await scene.clock.advance(6_000);
  expect(await scene.tell()).toMatchSnapshot();
});

it("counts an end in the middle of reading as a failure, reads it behind one round of others and alone, and sends it at the third end, an ordinary one at the tenth", async () => {
  const reader = createLocalReader((body) => [{ facts: factsOf(Buffer.from(body).toString()) }]);
  const order: string[][] = [];
  const { tell, clock } = await start({
    reader: {
      read(bodies) {
        order.push(bodies.map(({ body }) => Buffer.from(body).toString()));
        return reader.read(bodies);
      },
    },
    journal: createMemoryJournal([1, 2, 3, 4, 5]),
    async before(store, accept) {
      const titles = ["interrupted twice", "interrupted three times", "once", "{ nine times }", "{ ten times }"];
      for (const title of [...titles, ...Array.from({ length: 150 }, () => "new")]) await accept(title);
      for (const before of [[1, 2], [2], ...Array.from({ length: 8 }, () => [4, 5]), [5]])
        await store.recordRoutingFailure(before, "Tocsin ended while it was reading this", 0);
    },
  });
  await clock.advance(50);
  const read = order.filter(({ length }) => length > 0).map(([title, ...others]) => `${title}: ${others.length + 1}`);
  expect(read).toEqual(["new: 100", "interrupted twice: 1", "once: 1", "{ nine times }: 1", "new: 50"]);
  expect(await tell()).toMatchSnapshot();
});

it("waits, and blames no alert, while nothing can be read at all", async () => {
  const reader = fussy();
  let canRead = false;
  const { tell, clock, send } = await start({
    reader: {
      read: async (bodies) =>
        canRead ? reader.read(bodies) : bodies.map(() => ({ kind: "not_read", reason: "no threads left" })),
    },
  });
  await send("good", 60_000);
  expect(await tell()).toMatchSnapshot();
  canRead = true;
  await clock.advance(2_000);
  expect(await tell()).toMatchSnapshot();
});
