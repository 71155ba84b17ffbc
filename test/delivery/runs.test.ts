import { describe, expect, it } from "vitest";
import { firstIdAt } from "../../src/core/id.ts";
import {
  type Call,
  type EngineFixture,
  mailTo,
  type Named,
  outcomesOf,
  type ScriptedChannel,
  type Step,
  startFixture,
  telegramTo,
  webhookTo,
} from "./engine-fixture.ts";
import { flood, minute, refused, second } from "./outcomes.ts";
import { claims, fails, tellScenesOf } from "./tell-scene.ts";

const sent = { kind: "sent", ref: "1" } as const;

/** A chat that bears any pace, and of which every alert is a message of its own. */
const quick = { pace: {}, digestOver: 10_000 };
const unpaced = (settings: object) => void Object.assign(settings, { telegramBotPace: {} });
const start = <N extends string = never>(chat = telegramTo("chat", quick), ...others: Named<N>[]) =>
  startFixture<"chat" | N>([chat, ...others], unpaced);

/** The same, when it has answered a run of alerts already, so that its next runs are longer. */
async function startWarm<N extends string = never>(...others: Named<N>[]) {
  const fixture = await start(undefined, ...others);
  await acceptMany(fixture, 30, ["chat"]);
  await fixture.clock.advance(second);
  fixture.chat.calls.length = 0;
  return fixture;
}

/** What is accepted meanwhile the engine hears of together. */
async function together<T>(fixture: EngineFixture, accepting: () => Promise<T>): Promise<T> {
  fixture.hears = false;
  const accepted = await accepting();
  fixture.hears = true;
  fixture.engine.wake(["chat"]);
  return accepted;
}

const acceptMany = (fixture: EngineFixture, count: number, to?: string[]) =>
  together(fixture, async () => {
    const ids: string[] = [];
    for (const number of upTo(count)) ids.push(await fixture.accept({ title: `Alert number ${number}.` }, { to }));
    return ids;
  });

const numbers = (calls: Call[]) => calls.map(({ text }) => Number(/number (\d+)\./.exec(text)?.[1]));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const inOrder = (calls: Call[]) => numbers(calls).toSorted((a, b) => a - b);
const marked = (calls: Call[]) => numbers(calls.filter(({ text }) => text.includes("possible repeat")));

/** From this call on the channel answers nothing. */
function hangAt(chat: ScriptedChannel, number: number): void {
  chat.always = (call) => (numbers([call])[0] === number ? new Promise(() => {}) : sent);
}

describe("many alerts for a chat without a pace", () => {
  it("sends each once and in its order, with few claims", async () => {
    const fixture = await start();
    const ids = await acceptMany(fixture, 300);
    await fixture.clock.advance(10 * second);
    expect(numbers(fixture.chat.calls)).toEqual(upTo(300));
    for (const id of ids) expect(await outcomesOf(fixture, id)).toEqual(["sent"]);
    expect(fixture.storeCalls.get("claimRun")).toBeLessThan(30);
  });

  it("knows of the message before it in the same run, whose record is not on disk yet", async () => {
    const { fixture, chat, play } = await startWarm();
    await together(fixture, async () => {
      await play({ alertKey: "one" }, { alertKey: "one", status: "resolved" });
    });
    await fixture.clock.advance(second);
    expect(chat.calls.map(({ action }) => action)).toEqual(["send", "edit", "send"]);
    expect(chat.calls[2]?.context.replyTo).toBe(chat.calls[1]?.ref);
  });

  it("stops at a call that goes wrong, and puts the rest back where it was", async () => {
    const { fixture, chat, clock } = await start();
    const answers = [flood(30_000)];
    chat.always = (call) => (numbers([call])[0] === 40 && answers.pop()) || sent;
    await acceptMany(fixture, 100);
    await clock.advance(20 * second);
    expect(numbers(chat.calls)).toEqual(upTo(41));
    await clock.advance(2 * minute);
    const rest = numbers(chat.calls).slice(41);
    expect(rest.filter((number) => number !== 40)).toEqual(upTo(100).slice(41));
    expect(chat.calls).toHaveLength(101);
    expect(marked(chat.calls)).toEqual([]);
  });

  it("goes on at once with what it has put back, however late the store answers", async () => {
    const fixture = await startWarm();
    const { releaseClaim } = fixture.store;
    fixture.store.releaseClaim = async (...args) => {
      const answer = await releaseClaim(...args);
      await fixture.clock.sleep(100);
      return answer;
    };
    fixture.chat.always = (call) => (numbers([call])[0] === 3 ? refused : sent);
    await acceptMany(fixture, 10);
    await fixture.clock.advance(second);
    expect(numbers(fixture.chat.calls).slice(0, 10)).toEqual(upTo(10));
  });

  it("fails no more calls than the breaker allows before it opens", async () => {
    const fixture = await start();
    fixture.chat.always = () => refused;
    await acceptMany(fixture, 100);
    await fixture.clock.advance(20 * second);
    expect(fixture.chat.calls.length).toBeLessThanOrEqual(6);
  });

  it("calls no more than a few while the store takes no record, and records those when it does", async () => {
    const { fixture, chat, clock, failing } = await startWarm();
    failing.add("recordAttempt");
    await acceptMany(fixture, 100);
    await clock.advance(20 * second);
    expect(chat.calls.length).toBeGreaterThan(0);
    expect(chat.calls.length).toBeLessThanOrEqual(16);
    failing.clear();
    await clock.advance(minute);
    expect(numbers(chat.calls)).toEqual(upTo(100));
    expect(marked(chat.calls)).toEqual([]);
  });

  it("goes on in its order when another chat of the bot is asked to wait meanwhile", async () => {
    const { fixture, chat, other, clock } = await startWarm(telegramTo("other", { pace: {} }));
    chat.script.push(sent, sent, sent);
    const answer = chat.hang();
    await acceptMany(fixture, 10, ["chat"]);
    await clock.settle();
    other.script.push(flood(30_000, "account"));
    await fixture.accept({}, { to: ["other"] });
    await clock.settle();
    answer();
    await clock.advance(20 * second);
    expect(numbers(chat.calls)).toEqual(upTo(4));
    await clock.advance(minute);
    expect(numbers(chat.calls)).toEqual(upTo(10));
  });

  it.each(["call that goes wrong", "kill"])(
    "puts alerts of one message where the first of them was, after a %s",
    async (end) => {
      const { fixture, chat, clock } = await startWarm();
      chat.always = (call) => (numbers([call])[0] === 1 ? refused : sent);
      if (end === "kill") hangAt(chat, 1);
      await together(fixture, async () => {
        for (const [number, alertKey] of [[1], [2, "one"], [3], [4, "one"]] as const) {
          await fixture.accept({ title: `Alert number ${number}.`, ...(alertKey && { alertKey }) });
          await clock.advance(1);
        }
      });
      await clock.settle();
      if (end === "kill") await fixture.kill();
      await clock.advance(second);
      expect(numbers(chat.calls).slice(0, 3)).toEqual([1, 4, 3]);
    },
  );

  it("gives back at a stop what it has not begun, and the next start sends it in its order", async () => {
    const { fixture, chat, clock, play } = await start();
    hangAt(chat, 40);
    await acceptMany(fixture, 100);
    await play(0, "restart");
    chat.always = undefined;
    await clock.advance(2 * minute);
    const rest = numbers(chat.calls).slice(41);
    expect(rest.filter((number) => number !== 40)).toEqual(upTo(100).slice(41));
    expect(marked(chat.calls)).toEqual([40]);
  });
});

it("calls a webhook four at a time, and never more", async () => {
  const { acceptMany: many, clock, hook, states } = await startFixture([webhookTo("hook", { digestOver: 1_000 })]);
  let [underWay, most] = [0, 0];
  hook.always = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await clock.sleep(100);
    underWay -= 1;
    return sent;
  };
  const ids = await many(20);
  await clock.advance(20 * second);
  expect(most).toBe(4);
  for (const id of ids) expect(await states(id)).toEqual({ hook: "sent" });
});

describe("a process that is killed in the middle of a run", () => {
  /** Its forty-first call hangs; it is killed so, and the next one works. */
  async function killIn(kill: (fixture: EngineFixture) => Promise<unknown>) {
    const { fixture, chat, clock } = await start();
    hangAt(chat, 40);
    const ids = await acceptMany(fixture, 100);
    await clock.settle();
    expect(numbers(chat.calls)).toEqual(upTo(41));
    await kill(fixture);
    chat.always = undefined;
    await clock.advance(2 * minute);
    expect(inOrder(chat.calls.slice(41))).toEqual(upTo(100).slice(40));
    return { marked: marked(chat.calls), outcomesAt: (index: number) => outcomesOf(fixture, ids[index] as string) };
  }

  it("leaves only calls ambiguous that had begun, and loses and doubles nothing else", async () => {
    const killed = await killIn((fixture) => fixture.kill());
    expect(killed.marked).toEqual([40]);
    expect(await killed.outcomesAt(40)).toEqual(["ambiguous", "sent"]);
    expect(await killed.outcomesAt(41)).toEqual(["sent"]);
  });

  it("takes all that it had claimed for ambiguous when the machine was started anew", async () => {
    const killed = await killIn((fixture) => {
      fixture.bootId = firstIdAt(2);
      return fixture.kill();
    });
    expect(killed.marked.length).toBeGreaterThan(5);
    expect(killed.marked).toContain(41);
  });

  it("is settled once, also when the next one is killed at its start", async () => {
    const killed = await killIn(async (fixture) => {
      fixture.failing.add("releaseClaim");
      await fixture.kill().catch(() => {});
      fixture.failing.clear();
      await fixture.kill();
    });
    expect(killed.marked).toEqual([40]);
  });
});

describe("an alert that comes alone", () => {
  const accepts: Step = ({ accept }) => accept().catch(String);
  const noListing = fails("listDue", "claimRun", "claimDeliveries");
  tellScenesOf(
    [telegramTo("chat", quick)],
    unpaced,
  )([
    ["is claimed with its routing, and called without another commit or listing", [claims, second, noListing, {}, 0]],
    [
      "is sent though it is not routed at first",
      [claims, second, fails("recordRouting"), accepts, fails(), {}, second],
    ],
    [
      "is sent unmarked when the process was killed between its routing and its call",
      [
        claims,
        second,
        ({ unanswered, accept }) => void (unanswered.add("recordRouting") && accept()),
        0,
        "kill",
        second,
      ],
    ],
    ["is ambiguous when the process was killed during its call", [claims, second, "hang", {}, 0, "kill", minute]],
  ]);
  tellScenesOf(
    [telegramTo("chat", { pace: {}, digestOver: 2 })],
    unpaced,
  )([
    ["goes into a digest with others as before", [claims, second, "hang", {}, {}, {}, {}, {}, {}, 0, "answer", second]],
  ]);

  async function startIdle(chat?: Named<"chat">) {
    const fixture = await start(chat);
    fixture.routesByEngine = true;
    await fixture.clock.advance(second);
    return fixture;
  }

  it("is sent as plain text at once, though its lane looked before the refusal was on record", async () => {
    const { fixture, store, clock, chat } = await startIdle(mailTo("chat", undefined, quick));
    const { recordAttempt } = store;
    store.recordAttempt = async (...given) => {
      await clock.sleep(100);
      return await recordAttempt(...given);
    };
    chat.script.push({ kind: "rejected", scope: "message", reason: "message_refused", detail: "550 not so" });
    await fixture.accept();
    await clock.settle();
    fixture.engine.wake(["chat"]);
    await clock.advance(second);
    expect(chat.calls).toHaveLength(2);
  });

  it("does not overtake what waits, nor is there more than one call under way", async () => {
    const { fixture, chat } = await startIdle();
    let [underWay, most] = [0, 0];
    chat.always = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return sent;
    };
    for (const index of upTo(150)) {
      fixture.routesByEngine = index % 7 !== 3;
      fixture.hears = index % 5 !== 2;
      await fixture.accept({ title: `Alert number ${index}.` });
    }
    await fixture.clock.advance(10 * second);
    expect(numbers(chat.calls)).toEqual(upTo(150));
    expect(most).toBe(1);
  });
});
