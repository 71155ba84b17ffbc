import { expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import {
  channelOf,
  type EngineFixture,
  ntfyTo,
  outcomesOf,
  type Step,
  startFixture,
  stopEngine,
  telegramTo,
  webhookTo,
} from "./engine-fixture.ts";
import { minute, second } from "./outcomes.ts";
import { fails, tellScenesOf } from "./tell-scene.ts";

tellScenesOf([telegramTo("chat")])([
  ["records a message when the store takes it, once", [fails("recordAttempt"), {}, 20_000, fails(), 3 * minute]],
  ["marks the repeat when it could not record it", [fails("recordAttempt"), {}, 3 * minute, fails(), 3 * minute]],
  ["gives a claim back untried, and calls nothing ambiguous", [fails("findThread"), {}, 3_000, fails(), 10_000]],
  ["does so though that fails as well", [fails("findThread", "releaseClaim"), {}, 3_000, fails(), 10_000]],
]);

const searched: Step = async ({ store }) => (await store.listAlerts({ limit: 5, q: "searchable" })).length;
tellScenesOf([telegramTo("chat"), ntfyTo("hook")])([
  [
    "goes on indexing and calling fallbacks while another duty fails",
    [
      ...[fails("listAbandoned"), "hang" as const],
      ...[[{ title: "searchable" }, { to: ["chat"], fallback: ["hook", 10_000] }] as Step, 20_000, searched],
    ],
  ],
]);

it.each([true, false])(
  "gives back seconds later what it could neither send nor give back (claimed with its routing: %s)",
  async (isClaimed) => {
    const { fixture, clock, failing, receiver } = await startFixture([webhookTo("receiver")]);
    await clock.advance(10 * second);
    fixture.routesByEngine = isClaimed;
    failing.add("findRequests").add("releaseClaim");
    const id = await fixture.accept({}, { body: '{"price":1}' });
    await clock.advance(3 * second);
    expect(await fixture.states(id)).toEqual({ receiver: "sending" });
    failing.clear();
    await clock.advance(10 * second);
    expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
    expect(receiver.texts.map((text) => JSON.parse(text).data)).toMatchObject([
      { repeat: false, alerts: [{ payload: { price: 1 } }] },
    ]);
  },
);

/** Two chats of a bot that bears a call each two seconds; both get two alerts, at that pace. */
async function expectPace(slowDown: (fixture: EngineFixture) => Promise<void> | void): Promise<void> {
  const fixture = await startFixture([telegramTo("desk"), telegramTo("other")], (settings) => {
    settings.telegramBotPace = { perSecond: 0.5 };
  });
  await slowDown(fixture);
  const ids = await fixture.acceptMany(2);
  await fixture.clock.advance(20 * second);
  const calls = [...fixture.desk.calls, ...fixture.other.calls].map(({ at }) => at).sort();
  expect(calls).toHaveLength(4);
  const gaps = calls.slice(1).map((at, index) => at - (calls[index] as number));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(2_000);
  for (const id of ids) expect(await fixture.states(id)).toEqual({ desk: "sent", other: "sent" });
}

it("keeps to the bot's pace when the claim for one chat takes longer than the other's turn", () =>
  expectPace(async (fixture) => {
    const { store, clock } = fixture;
    let isFirst = true;
    fixture.seen = {
      ...store,
      async claimDeliveries(...asked) {
        const claimed = await store.claimDeliveries(...asked);
        const isSlow = isFirst;
        isFirst = false;
        if (isSlow) await clock.sleep(2_500);
        return claimed;
      },
    };
    await fixture.restart();
  }));

it("keeps to the bot's pace when what both chats call with takes long to load", () =>
  expectPace((fixture) => {
    const loaded = fixture.clock.sleep(2_500);
    for (const channel of Object.values(fixture.channels)) {
      const { send } = channel;
      channel.prepare = () => loaded;
      channel.send = async (...message) => {
        await loaded;
        return send(...message);
      };
    }
  }));

it("gives back what routing claims while the lane is stopped, so that it is no possible repeat", async () => {
  const { fixture, store, clock, play } = await startFixture([ntfyTo("hook")]);
  let isSlow = false;
  fixture.seen = {
    ...store,
    async recordRouting(...asked) {
      const recorded = await store.recordRouting(...asked);
      if (isSlow) await clock.sleep(second);
      return recorded;
    },
  };
  fixture.routesByEngine = true;
  await play("restart", minute);
  isSlow = true;
  const accepting = fixture.accept();
  await clock.settle();
  await stopEngine(fixture.engine, clock);
  await clock.advance(3 * second);
  const id = await accepting;
  isSlow = false;
  await play("restart", minute);
  expect(fixture.hook.repeats).toEqual([false]);
  expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
});

it.each([
  ["recordRouting", "at once", ntfyTo("hook")],
  ["recordRouting", "late", ntfyTo("hook")],
  ["claimRun", "at once", ntfyTo("hook")],
  ["claimDeliveries", "at once", telegramTo("hook")],
  ["claimDeliveries", "late", telegramTo("hook")],
] as const)("sends unmarked what %s has claimed %s, without an answer", async (method, when, destination) => {
  const { fixture, store, clock, play } = await startFixture([destination]);
  let isLost = false;
  fixture.seen = {
    ...store,
    async [method](...asked: never[]) {
      const ask = () => (store[method] as (...asked: never[]) => Promise<unknown>)(...asked);
      if (!isLost) return ask();
      isLost = false;
      if (when === "at once") await ask();
      else void clock.sleep(8 * second).then(ask);
      throw new AppError("store_unavailable", "The database was lost while it stored a change.");
    },
  };
  fixture.routesByEngine = method === "recordRouting";
  await play("restart", minute);
  isLost = true;
  await fixture.accept().catch(() => {});
  await clock.advance(when === "late" ? 20 * second : 10 * second);
  expect(channelOf(fixture, "hook").repeats).toEqual([false]);
  await clock.advance(3 * minute);
  expect(channelOf(fixture, "hook").repeats).toEqual([false]);
});
