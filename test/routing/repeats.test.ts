import { expect, it } from "vitest";
import type { Rules } from "../../src/core/rules.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { createRouter } from "../../src/routing/router.ts";
import { createLocalReader } from "../support/reader.ts";
import { hourMs, type LoopOptions, startLoop } from "./loop-fixture.ts";
import { chat, route } from "./sample.ts";

const named = '{"eventId":"e-1","title":"TVL fell"}';
const rules: Rules = {
  destinations: [chat("desk")],
  routes: [
    { ...route("noise", []), matchers: [{ field: "title", condition: { equals: ["noise"] } }] },
    route("all", ["desk"]),
  ],
  mutes: [],
};

async function start(options: LoopOptions = {}) {
  const scene = await startLoop({ reader: createLocalReader(), router: createRouter(rules), ...options });
  return {
    ...scene,
    /** Accepts them at once and lets the loop run. */
    async send(...bodies: string[]): Promise<string[]> {
      const ids: string[] = [];
      for (const body of bodies) ids.push(...(await scene.accept(body)));
      await scene.clock.advance(10);
      return ids;
    },
    /** `sent`, `dropped`, or the id of the alert that it repeats. */
    async fateOf(id = ""): Promise<string | undefined> {
      const alert = await scene.store.getAlert(id);
      if (alert?.deliveries.length === 1) return "sent";
      return alert?.dropped ? "dropped" : alert?.repeatOf;
    },
  };
}

it("sends a body that names its own event once, in one round and later, and counts the others", async () => {
  const { send, fateOf, counters } = await start();
  const [first = "", second] = await send(named, named);
  const [third] = await send(named);
  expect([await fateOf(first), await fateOf(second), await fateOf(third)]).toEqual(["sent", first, first]);
  expect(counters.repeats).toBe(2);
});

it("sends each time a body that may truly happen again", async () => {
  const { send, fateOf } = await start();
  const ids = await send('{"title":"TVL fell"}', '{"title":"TVL fell"}', "TVL fell", "TVL fell");
  expect(await Promise.all(ids.map(fateOf))).toEqual(["sent", "sent", "sent", "sent"]);
});

it("sends it again when the window is over", async () => {
  const { send, fateOf, clock } = await start();
  await send(named);
  await clock.advance(hourMs);
  expect(await fateOf((await send(named))[0])).toBe("sent");
});

it("does not send again what the rules did not want the first time", async () => {
  const { send, fateOf } = await start();
  const noise = '{"eventId":"e-2","title":"noise"}';
  const [first, second] = await send(noise, noise);
  expect([await fateOf(first), await fateOf(second)]).toEqual(["dropped", first]);
});

it("sends both when neither can be read: nothing is known of them", async () => {
  const reader = createLocalReader(() => {
    throw new Error("no idea what this is");
  });
  const { send, fateOf, clock } = await start({ reader });
  const ids = await send(named, named);
  // Tried again alone, one after the other.
  for (let turn = 0; turn < 20; turn += 1) await clock.advance(1_000);
  expect(await Promise.all(ids.map(fateOf))).toEqual(["sent", "sent"]);
});

it("sends one of them when reading the first has failed once, whichever is read first", async () => {
  let isBroken = true;
  const reader = createLocalReader((body, contentType) => {
    if (isBroken) throw new Error("a busy machine");
    return translateRequest(body, contentType);
  });
  const { send, fateOf, clock } = await start({ reader });
  const [first] = await send(named);
  isBroken = false;
  const [second = ""] = await send(named);
  expect([await fateOf(first), await fateOf(second)]).toEqual([undefined, "sent"]);
  for (let turn = 0; turn < 6; turn += 1) await clock.advance(1_000);
  expect(await fateOf(first)).toBe(second);
});

it("routes nothing behind a body that could not be read just then, so that the first stays the first", async () => {
  const local = createLocalReader();
  let isAway = true;
  const { send, fateOf, clock } = await start({
    reader: {
      async read(bodies) {
        const readings = await local.read(bodies);
        return isAway ? [{ kind: "not_read", reason: "no thread" }, ...readings.slice(1)] : readings;
      },
    },
  });
  const [first, second] = await send(named, named);
  expect([await fateOf(first), await fateOf(second)]).toEqual([undefined, undefined]);
  isAway = false;
  await clock.advance(1_000);
  expect([await fateOf(first), await fateOf(second)]).toEqual(["sent", first]);
});
