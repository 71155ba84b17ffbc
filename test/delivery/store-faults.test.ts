import { describe, expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { destinationBase } from "../support/destinations.ts";
import type { KnownDestination as Destination } from "../support/known-vendors.ts";
import { channelOf, ntfyTo, outcomesOf, startFixture, stopEngine, telegramTo } from "./engine-fixture.ts";
import { flood, kicked, minute, refused, second } from "./outcomes.ts";

const webhook: Destination = {
  ...destinationBase("receiver"),
  type: "webhook",
  url: "http://127.0.0.1:1/alerts",
  headers: {},
  allowInternal: [],
};

describe("a store that refuses in the middle", () => {
  it("records a message that was sent once the store takes it, and sends it once", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    fixture.failing.add("recordAttempt");
    const id = await fixture.accept();
    await fixture.clock.advance(20 * second);
    fixture.failing.clear();
    await fixture.clock.advance(5 * minute);
    expect(channelOf(fixture, "chat").calls).toHaveLength(1);
    expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });

  it("marks the repeat when it never could record what it sent", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    fixture.failing.add("recordAttempt");
    const id = await fixture.accept();
    await fixture.clock.advance(3 * minute);
    fixture.failing.clear();
    await fixture.clock.advance(3 * minute);
    const texts = channelOf(fixture, "chat").calls.map((call) => call.text);
    expect(texts.map((text) => text.includes("possible repeat"))).toEqual([false, true]);
    expect(await outcomesOf(fixture, id)).toEqual(["ambiguous", "sent"]);
  });

  it("records the outcome although the destination's health cannot be saved, and sends the notice later", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    channelOf(fixture, "chat").script.push(kicked);
    fixture.failing.add("saveStatus").add("recordNotice");
    const id = await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(10 * second);
    expect(await fixture.states(id)).toEqual({ chat: "waiting" });
    expect(channelOf(fixture, "hook").calls).toHaveLength(0);
    fixture.failing.clear();
    await fixture.clock.advance(2 * second);
    expect(channelOf(fixture, "hook").calls).toHaveLength(1);
    await fixture.restart();
    await fixture.clock.advance(minute);
    expect(channelOf(fixture, "hook").calls).toHaveLength(1);
  });

  it.each([[[]], [["releaseClaim"]]] as const)(
    "gives a claim back untried, and calls nothing ambiguous that was never sent (refused besides: %s)",
    async (besides) => {
      const fixture = await startFixture([telegramTo("chat")]);
      for (const name of ["findThread", ...besides] as const) fixture.failing.add(name);
      const id = await fixture.accept();
      await fixture.clock.advance(3 * second);
      fixture.failing.clear();
      await fixture.clock.advance(10 * second);
      expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
      expect(channelOf(fixture, "chat").calls[0]?.text).not.toContain("possible repeat");
    },
  );

  it.each([true, false])(
    "gives back seconds later what it could neither send nor give back (claimed with its routing: %s)",
    async (isClaimed) => {
      const fixture = await startFixture([webhook]);
      await fixture.clock.advance(10 * second);
      fixture.routesByEngine = isClaimed;
      fixture.failing.add("findRequests").add("releaseClaim");
      const id = await fixture.accept({}, { body: '{"price":1}' });
      await fixture.clock.advance(3 * second);
      expect(await fixture.states(id)).toEqual({ receiver: "sending" });
      fixture.failing.clear();
      await fixture.clock.advance(10 * second);
      expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
      const [call, ...others] = channelOf(fixture, "receiver").calls;
      expect(JSON.parse(call?.text ?? "").data).toMatchObject({ repeat: false, alerts: [{ payload: { price: 1 } }] });
      expect(others).toEqual([]);
    },
  );

  it("sends the rest of a message once, which it could not give back between two parts", async () => {
    const fixture = await startFixture([telegramTo("chat", { detail: "full" }), telegramTo("other")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(async () => {
      // The whole bot is asked to wait, for longer than a claim is held.
      channelOf(fixture, "other").script.push(flood(30 * second, "account"));
      await fixture.accept({}, { to: ["other"] });
      await fixture.clock.sleep(100);
      fixture.failing.add("releaseClaim");
      return { kind: "sent", ref: "1" };
    });
    const id = await fixture.accept({ text: "word ".repeat(1_800) }, { to: ["chat"] });
    await fixture.clock.advance(3 * second);
    fixture.failing.clear();
    await fixture.clock.advance(minute);
    expect(chat.calls.map((call) => /\[(\d)\/3\]/.exec(call.text)?.[1])).toEqual(["1", "2", "3"]);
    expect(await outcomesOf(fixture, id)).toEqual(["sent", "sent", "sent"]);
  });

  it("goes on indexing and calling fallbacks while another duty fails", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    fixture.failing.add("listAbandoned");
    channelOf(fixture, "chat").always = () => refused;
    const fallback = { to: "hook", at: fixture.clock.now() + 10 * second };
    await fixture.accept({ title: "searchable" }, { to: ["chat"], planned: { fallback } });
    await fixture.clock.advance(20 * second);
    expect(channelOf(fixture, "hook").calls).toHaveLength(1);
    expect(await fixture.store.listAlerts({ limit: 5, q: "searchable" })).toHaveLength(1);
  });

  it("keeps to the bot's pace when the claim for one chat takes longer than the other's turn", async () => {
    const fixture = await startFixture([telegramTo("desk"), telegramTo("other")], (settings) => {
      settings.telegramBotPace = { perSecond: 0.5 };
    });
    const { store, clock } = fixture;
    let isFirst = true;
    fixture.seen = {
      ...store,
      async claimDeliveries(...asked) {
        const claimed = await store.claimDeliveries(...asked);
        if (isFirst) {
          isFirst = false;
          await clock.sleep(2_500);
        }
        return claimed;
      },
    };
    await fixture.restart();
    const ids = [await fixture.accept(), await fixture.accept()];
    await clock.advance(20 * second);
    const calls = ["desk", "other"].flatMap((name) => channelOf(fixture, name).calls.map(({ at }) => at)).sort();
    const gaps = calls.slice(1).map((at, index) => at - (calls[index] as number));
    expect(gaps.every((gap) => gap >= 2_000)).toBe(true);
    for (const id of ids) expect(await fixture.states(id)).toEqual({ desk: "sent", other: "sent" });
  });

  it("gives back what routing claims while the lane is stopped, so that it is no possible repeat", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    const { store, clock } = fixture;
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
    await fixture.restart();
    await clock.advance(minute);
    isSlow = true;
    const accepting = fixture.accept();
    await clock.settle();
    await stopEngine(fixture.engine, clock);
    await clock.advance(3 * second);
    const id = await accepting;
    isSlow = false;
    await fixture.restart();
    await clock.advance(minute);
    expect(channelOf(fixture, "hook").calls.map(({ text }) => text.includes("possible repeat"))).toEqual([false]);
    expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
  });

  it.each([
    ["recordRouting", "at once", ntfyTo("hook")],
    ["recordRouting", "late", ntfyTo("hook")],
    ["claimRun", "at once", ntfyTo("hook")],
    ["claimDeliveries", "at once", telegramTo("chat")],
    ["claimDeliveries", "late", telegramTo("chat")],
  ] as const)("sends unmarked what %s has claimed %s, without an answer", async (method, when, destination) => {
    const fixture = await startFixture([destination]);
    const { store, clock } = fixture;
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
    await fixture.restart();
    await clock.advance(minute);
    isLost = true;
    await fixture.accept().catch(() => {});
    const calls = () => channelOf(fixture, destination.name).calls.map(({ text }) => text.includes("possible repeat"));
    await clock.advance(when === "late" ? 20 * second : 10 * second);
    expect(calls()).toEqual([false]);
    await clock.advance(5 * minute);
    expect(calls()).toEqual([false]);
  });

  it("keeps to the bot's pace when what both chats call with takes long to load", async () => {
    const fixture = await startFixture([telegramTo("desk"), telegramTo("other")], (settings) => {
      settings.telegramBotPace = { perSecond: 0.5 };
    });
    const loaded = fixture.clock.sleep(2_500);
    for (const channel of ["desk", "other"].map((name) => channelOf(fixture, name))) {
      const { send } = channel;
      channel.prepare = () => loaded;
      channel.send = async (...message) => {
        await loaded;
        return send(...message);
      };
    }
    const ids = [await fixture.accept(), await fixture.accept()];
    await fixture.clock.advance(20 * second);
    const calls = ["desk", "other"].flatMap((name) => channelOf(fixture, name).calls.map(({ at }) => at)).sort();
    expect(calls).toHaveLength(4);
    const gaps = calls.slice(1).map((at, index) => at - (calls[index] as number));
    expect(gaps.every((gap) => gap >= 2_000)).toBe(true);
    for (const id of ids) expect(await fixture.states(id)).toEqual({ desk: "sent", other: "sent" });
  });
});
