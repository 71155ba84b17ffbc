import { expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import {
  channelOf,
  type EngineFixture,
  ntfyTo,
  outcomesOf,
  startFixture,
  stopEngine,
  telegramTo,
  webhookTo,
} from "./engine-fixture.ts";
import { minute, second } from "./outcomes.ts";

it.each([
  ["records a message that was sent once the store takes it, and sends it once", 20 * second, [false], ["sent"]],
  ["marks the repeat when it never could record what it sent", 3 * minute, [false, true], ["ambiguous", "sent"]],
])("%s", async (_what, failsForMs, repeats, outcomes) => {
  const fixture = await startFixture([telegramTo("chat")]);
  fixture.failing.add("recordAttempt");
  const [id = ""] = await fixture.play({}, failsForMs);
  fixture.failing.clear();
  await fixture.clock.advance(3 * minute);
  expect(fixture.chat.repeats).toEqual(repeats);
  expect(await outcomesOf(fixture, id)).toEqual(outcomes);
  expect(await fixture.states(id)).toEqual({ chat: "sent" });
});

it.each([[[]], [["releaseClaim"]]] as const)(
  "gives a claim back untried, and calls nothing ambiguous that was never sent (refused besides: %s)",
  async (besides) => {
    const fixture = await startFixture([telegramTo("chat")]);
    for (const name of ["findThread", ...besides] as const) fixture.failing.add(name);
    const [id = ""] = await fixture.play({}, 3 * second);
    fixture.failing.clear();
    await fixture.clock.advance(10 * second);
    expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
    expect(fixture.chat.repeats).toEqual([false]);
  },
);

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

it("goes on indexing and calling fallbacks while another duty fails", async () => {
  const { hook, chat, failing, store, play } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
  failing.add("listAbandoned");
  chat.hang();
  await play([{ title: "searchable" }, { to: ["chat"], fallback: ["hook", 10 * second] }], 20 * second);
  expect(hook.calls).toHaveLength(1);
  expect(await store.listAlerts({ limit: 5, q: "searchable" })).toHaveLength(1);
});

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
