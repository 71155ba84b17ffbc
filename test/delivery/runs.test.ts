import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { firstIdAt } from "../../src/core/id.ts";
import {
  type Call,
  channelOf,
  type EngineFixture,
  mailTo,
  outcomesOf,
  type ScriptedChannel,
  startFixture,
  telegramTo,
} from "./engine-fixture.ts";
import { minute, refused, second } from "./outcomes.ts";

/** A chat that bears any pace, and of which every alert is a message of its own. */
const quickChat = () => telegramTo("chat", { pace: {}, digestOver: 10_000 });
const unpaced = { telegramBotPace: {} };

async function startQuick(): Promise<{ fixture: EngineFixture; chat: ScriptedChannel }> {
  const fixture = await startFixture([quickChat()], (settings) => Object.assign(settings, unpaced));
  return { fixture, chat: channelOf(fixture, "chat") };
}

/** Stores alerts that the engine hears of together. */
async function acceptMany(fixture: EngineFixture, count: number, to?: string[]): Promise<string[]> {
  fixture.hears = false;
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1)
    ids.push(await fixture.accept({ title: `Alert number ${index}.` }, { to }));
  fixture.hears = true;
  fixture.engine.wake(["chat", "other"]);
  return ids;
}

const numbers = (calls: Call[]) => calls.map(({ text }) => Number(/number (\d+)\./.exec(text)?.[1]));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const marked = (calls: Call[]) => numbers(calls.filter(({ text }) => text.includes("possible repeat")));

/** From this call on the channel answers nothing. */
function hangAt(chat: ScriptedChannel, number: number): void {
  chat.always = (call) =>
    numbers([call])[0] === number ? new Promise<Outcome>(() => {}) : { kind: "sent", ref: String(chat.calls.length) };
}

/** Lets calls take a while; tells how many were under way at once at most. */
function watchCalls(chat: ScriptedChannel, lasts: () => Promise<void>): () => number {
  let underWay = 0;
  let most = 0;
  chat.always = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await lasts();
    underWay -= 1;
    return { kind: "sent", ref: "1" };
  };
  return () => most;
}

describe("many alerts for a chat without a pace", () => {
  it("sends each once and in its order, with few claims and short lists", async () => {
    const { fixture, chat } = await startQuick();
    const ids = await acceptMany(fixture, 300);
    await fixture.clock.advance(10 * second);
    expect(numbers(chat.calls)).toEqual(upTo(300));
    for (const id of ids) expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
    expect(fixture.storeCalls.get("claimRun")).toBeLessThan(30);
    expect(fixture.storeCalls.get("claimDeliveries")).toBeUndefined();
  });

  it("has one call under way at a time", async () => {
    const { fixture, chat } = await startQuick();
    const mostUnderWay = watchCalls(chat, () => Promise.resolve());
    await acceptMany(fixture, 100);
    await fixture.clock.advance(10 * second);
    expect(chat.calls).toHaveLength(100);
    expect(mostUnderWay()).toBe(1);
  });

  it("knows of the message before it in the same run, whose record is not on disk yet", async () => {
    const { fixture, chat } = await startQuick();
    await acceptMany(fixture, 3);
    await fixture.clock.advance(second);
    fixture.hears = false;
    await fixture.accept({ title: "Alert number 10.", alertKey: "one" });
    await fixture.accept({ title: "Alert number 11.", alertKey: "one", status: "resolved" });
    fixture.hears = true;
    fixture.engine.wake(["chat"]);
    await fixture.clock.advance(second);
    const ofKey = chat.calls.slice(3);
    expect(ofKey.map(({ action }) => action)).toEqual(["send", "edit", "send"]);
    expect(ofKey[2]?.context.replyTo).toBe(ofKey[1]?.ref);
  });

  it("stops at a call that goes wrong, and puts the rest back where it was", async () => {
    const { fixture, chat } = await startQuick();
    let hasFailed = false;
    chat.always = (call) => {
      if (numbers([call])[0] !== 40 || hasFailed) return { kind: "sent", ref: "1" };
      hasFailed = true;
      return { kind: "retry", reason: "rate_limited", detail: "slow down", waitMs: 30_000, countsAsAttempt: false };
    };
    await acceptMany(fixture, 100);
    await fixture.clock.advance(20 * second);
    expect(numbers(chat.calls)).toEqual(upTo(41));
    await fixture.clock.advance(2 * minute);
    const rest = numbers(chat.calls).slice(41);
    expect(rest.filter((number) => number !== 40)).toEqual(upTo(100).slice(41));
    expect(chat.calls).toHaveLength(101);
    expect(marked(chat.calls)).toEqual([]);
  });

  it("goes on at once with what it has put back, however late the store answers", async () => {
    const { fixture, chat } = await startQuick();
    await acceptMany(fixture, 30);
    await fixture.clock.advance(second);
    const { releaseClaim } = fixture.store;
    fixture.store.releaseClaim = async (...args) => {
      const answer = await releaseClaim(...args);
      await fixture.clock.sleep(100);
      return answer;
    };
    chat.always = (call) => (numbers([call])[0] === 3 ? refused : { kind: "sent", ref: "1" });
    await acceptMany(fixture, 10);
    await fixture.clock.advance(second);
    expect(numbers(chat.calls).slice(30, 40)).toEqual(upTo(10));
  });

  it("fails no more calls than the breaker allows before it opens", async () => {
    const { fixture, chat } = await startQuick();
    chat.always = () => refused;
    await acceptMany(fixture, 100);
    await fixture.clock.advance(20 * second);
    expect(chat.calls.length).toBeLessThanOrEqual(6);
  });

  it("calls no more than a few while the store takes no record, and records those when it does", async () => {
    const { fixture, chat } = await startQuick();
    await acceptMany(fixture, 50);
    await fixture.clock.advance(second);
    fixture.failing.add("recordAttempt").add("recordAttempts");
    await acceptMany(fixture, 100);
    await fixture.clock.advance(20 * second);
    const during = chat.calls.length - 50;
    expect(during).toBeGreaterThan(0);
    expect(during).toBeLessThanOrEqual(16);
    fixture.failing.clear();
    await fixture.clock.advance(minute);
    expect(numbers(chat.calls).slice(50)).toEqual(upTo(100));
    expect(marked(chat.calls)).toEqual([]);
  });

  it("goes on in its order when another chat of the bot is asked to wait meanwhile", async () => {
    const fixture = await startFixture([quickChat(), telegramTo("other", { pace: {} })], (settings) =>
      Object.assign(settings, unpaced),
    );
    const chat = channelOf(fixture, "chat");
    await acceptMany(fixture, 30);
    await fixture.clock.advance(second);
    let answer = (_outcome: Outcome) => {};
    chat.always = (call) =>
      numbers([call])[0] === 3
        ? new Promise<Outcome>((resolve) => (answer = resolve))
        : { kind: "sent", ref: String(chat.calls.length) };
    await acceptMany(fixture, 10, ["chat"]);
    await fixture.clock.settle();
    channelOf(fixture, "other").script.push({
      kind: "retry",
      reason: "rate_limited",
      detail: "slow down",
      waitMs: 30_000,
      scope: "account",
      countsAsAttempt: false,
    });
    await fixture.accept({ title: "Alert number 50." }, { to: ["other"] });
    await fixture.clock.settle();
    answer({ kind: "sent", ref: "3" });
    await fixture.clock.advance(20 * second);
    expect(numbers(chat.calls).slice(30)).toEqual(upTo(4));
    chat.always = undefined;
    await fixture.clock.advance(minute);
    expect(numbers(chat.calls).slice(30)).toEqual(upTo(10));
  });

  for (const end of ["call that goes wrong", "kill"])
    it(`puts alerts of one message where the first of them was, after a ${end}`, async () => {
      const { fixture, chat } = await startQuick();
      await acceptMany(fixture, 30);
      await fixture.clock.advance(second);
      chat.always = (call) => (numbers([call])[0] === 1 ? refused : { kind: "sent", ref: "1" });
      if (end === "kill") hangAt(chat, 1);
      fixture.hears = false;
      for (const [number, alertKey] of [[1], [2, "one"], [3], [4, "one"]] as const) {
        await fixture.accept({ title: `Alert number ${number}.`, ...(alertKey && { alertKey }) });
        await fixture.clock.advance(1);
      }
      fixture.hears = true;
      fixture.engine.wake(["chat"]);
      await fixture.clock.settle();
      if (end === "kill") await fixture.kill();
      await fixture.clock.advance(second);
      expect(numbers(chat.calls).slice(30, 33)).toEqual([1, 4, 3]);
    });

  it("gives back at a stop what it has not begun, and the next start sends it in its order", async () => {
    const { fixture, chat } = await startQuick();
    hangAt(chat, 40);
    await acceptMany(fixture, 100);
    await fixture.clock.settle();
    await fixture.restart();
    chat.always = undefined;
    await fixture.clock.advance(2 * minute);
    const rest = numbers(chat.calls).slice(41);
    expect(rest.filter((number) => number !== 40)).toEqual(upTo(100).slice(41));
    expect(marked(chat.calls)).toEqual([40]);
  });
});

describe("a process that is killed in the middle of a run", () => {
  it("leaves only calls ambiguous that had begun, and loses and doubles nothing else", async () => {
    const { fixture, chat } = await startQuick();
    hangAt(chat, 40);
    const ids = await acceptMany(fixture, 100);
    await fixture.clock.settle();
    expect(numbers(chat.calls)).toEqual(upTo(41));
    await fixture.kill();
    chat.always = undefined;
    await fixture.clock.advance(2 * minute);
    const after = numbers(chat.calls).slice(41);
    expect(after.toSorted((a, b) => a - b)).toEqual(upTo(100).slice(40));
    expect(marked(chat.calls)).toEqual([40]);
    expect(await outcomesOf(fixture, ids[40] as string)).toEqual(["ambiguous", "sent"]);
    expect(await outcomesOf(fixture, ids[41] as string)).toEqual(["sent"]);
  });

  it("takes all that it had claimed for ambiguous when the machine was started anew", async () => {
    const { fixture, chat } = await startQuick();
    hangAt(chat, 40);
    await acceptMany(fixture, 100);
    await fixture.clock.settle();
    fixture.bootId = firstIdAt(2);
    await fixture.kill();
    chat.always = undefined;
    await fixture.clock.advance(2 * minute);
    expect(
      numbers(chat.calls)
        .slice(41)
        .toSorted((a, b) => a - b),
    ).toEqual(upTo(100).slice(40));
    expect(marked(chat.calls).length).toBeGreaterThan(5);
    expect(marked(chat.calls)).toContain(41);
  });

  it("is settled once, also when the next one is killed at its start", async () => {
    const { fixture, chat } = await startQuick();
    hangAt(chat, 40);
    await acceptMany(fixture, 100);
    await fixture.clock.settle();
    fixture.failing.add("releaseClaim");
    await fixture.kill().catch(() => {});
    fixture.failing.clear();
    await fixture.kill();
    chat.always = undefined;
    await fixture.clock.advance(2 * minute);
    expect(
      numbers(chat.calls)
        .slice(41)
        .toSorted((a, b) => a - b),
    ).toEqual(upTo(100).slice(40));
    expect(marked(chat.calls)).toEqual([40]);
  });
});

describe("an alert that comes alone", () => {
  async function startIdle(): Promise<{ fixture: EngineFixture; chat: ScriptedChannel }> {
    const started = await startQuick();
    started.fixture.routesByEngine = true;
    await started.fixture.clock.advance(second);
    started.fixture.storeCalls.clear();
    return started;
  }

  it("is claimed with its routing, and called without another commit or listing before it", async () => {
    const { fixture, chat } = await startIdle();
    fixture.failing.add("listDue").add("claimRun").add("claimDeliveries");
    const id = await fixture.accept();
    await fixture.clock.settle();
    expect(chat.calls).toHaveLength(1);
    expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
    expect(fixture.storeCalls.get("claimRun")).toBeUndefined();
  });

  it("costs no listing while nothing else becomes due, but for a look every few seconds", async () => {
    const { fixture, chat } = await startIdle();
    for (let count = 1; count <= 20; count += 1) {
      await fixture.accept();
      await fixture.clock.advance(second / 10);
      expect(chat.calls).toHaveLength(count);
    }
    expect(fixture.storeCalls.get("listDue")).toBeUndefined();
    await fixture.clock.advance(6 * second);
    expect(fixture.storeCalls.get("listDue")).toBe(1);
  });

  it("is sent as plain text at once, though its lane looked before the refusal was on record", async () => {
    const mail = { ...mailTo("mail", ["desk@example.com"]), pace: {}, digestOver: 10_000 };
    const fixture = await startFixture([mail], (settings) => Object.assign(settings, unpaced));
    fixture.routesByEngine = true;
    await fixture.clock.advance(second);
    for (const name of ["recordAttempt", "recordAttempts"] as const) {
      const record = fixture.store[name] as (...args: unknown[]) => Promise<never>;
      fixture.store[name] = async (...args: unknown[]) => {
        await fixture.clock.sleep(100);
        return await record(...args);
      };
    }
    const { calls, script } = channelOf(fixture, "mail");
    script.push({ kind: "rejected", scope: "message", reason: "message_refused", detail: "550 not so" });
    await fixture.accept();
    await fixture.clock.settle();
    fixture.engine.wake(["mail"]);
    await fixture.clock.advance(second);
    expect(calls).toHaveLength(2);
  });

  it("does not overtake what waits, nor more than may be under way", async () => {
    const { fixture, chat } = await startIdle();
    const mostUnderWay = watchCalls(chat, () => new Promise((resolve) => setImmediate(resolve)));
    for (let index = 0; index < 150; index += 1) {
      fixture.routesByEngine = index % 7 !== 3;
      fixture.hears = index % 5 !== 2;
      await fixture.accept({ title: `Alert number ${index}.` });
    }
    await fixture.clock.advance(10 * second);
    expect(numbers(chat.calls)).toEqual(upTo(150));
    expect(mostUnderWay()).toBe(1);
  });

  it("is claimed with its routing also while many such wait for a call to end", async () => {
    const { fixture, chat } = await startIdle();
    let answer = (_: Outcome) => {};
    for (let index = 0; index < 80; index += 1) {
      if (index === 30)
        chat.always = () =>
          new Promise((resolve) => {
            chat.always = () => ({ kind: "sent", ref: "1" });
            answer = resolve;
          });
      await fixture.accept({ title: `Alert number ${index}.` });
      await fixture.clock.settle();
    }
    expect(numbers(chat.calls)).toEqual(upTo(31));
    answer({ kind: "sent", ref: "1" });
    await fixture.clock.settle();
    expect(numbers(chat.calls)).toEqual(upTo(80));
    expect([fixture.storeCalls.get("listDue"), fixture.storeCalls.get("claimRun")]).toEqual([undefined, undefined]);
  });

  it("is sent when its routing cannot be written at first", async () => {
    const { fixture, chat } = await startIdle();
    fixture.failing.add("recordRouting");
    await expect(fixture.accept()).rejects.toThrow();
    fixture.failing.clear();
    // Routes the one that was accepted before.
    await fixture.accept();
    await fixture.clock.advance(second);
    expect(chat.calls).toHaveLength(1);
  });

  it("goes into a digest with others as before", async () => {
    const fixture = await startFixture([telegramTo("chat", { pace: {}, digestOver: 2 })], (settings) =>
      Object.assign(settings, unpaced),
    );
    fixture.routesByEngine = true;
    await fixture.clock.advance(second);
    const chat = channelOf(fixture, "chat");
    let answer = (_outcome: Outcome) => {};
    chat.script.push(new Promise<Outcome>((resolve) => (answer = resolve)));
    for (let index = 0; index < 6; index += 1) await fixture.accept();
    await fixture.clock.settle();
    expect(chat.calls).toHaveLength(1);
    answer({ kind: "sent", ref: "1" });
    await fixture.clock.advance(second);
    expect(chat.calls.map(({ text }) => /5 warnings in/.test(text))).toEqual([false, true]);
  });

  it("is sent unmarked when the process was killed between its routing and its call", async () => {
    const { fixture, chat } = await startIdle();
    fixture.unanswered.add("recordRouting");
    const accepting = fixture.accept({ title: "Alert number 1." });
    await fixture.clock.settle();
    expect(chat.calls).toHaveLength(0);
    await fixture.kill();
    expect(accepting).toBeInstanceOf(Promise);
    await fixture.clock.advance(second);
    expect(numbers(chat.calls)).toEqual([1]);
    expect(marked(chat.calls)).toEqual([]);
  });

  it("is ambiguous when the process was killed during its call", async () => {
    const { fixture, chat } = await startIdle();
    hangAt(chat, 1);
    await fixture.accept({ title: "Alert number 1." });
    await fixture.clock.settle();
    expect(chat.calls).toHaveLength(1);
    await fixture.kill();
    chat.always = undefined;
    await fixture.clock.advance(minute);
    expect(marked(chat.calls)).toEqual([1]);
  });
});
