import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import type { PaceRecord } from "../../src/core/destination-status.ts";
import type { Destination, Pace } from "../../src/core/rules.ts";
import { Secret } from "../../src/core/secret.ts";
import { PaceMemory } from "../../src/delivery/memory/pace.ts";
import { mailTo, ntfyTo, telegramTo } from "./engine-fixture.ts";
import { flood, lost, refused } from "./outcomes.ts";

const pace: Pace = { perSecond: 1, perMinute: 18 };
const group = telegramTo("group");
const chat = [{ key: "telegram:7:-1", pace }];

/** What is silent afterwards, and until when. */
const parkedBy = (records: PaceRecord[]) =>
  Object.fromEntries(records.map(({ key, parkedUntil }) => [key, parkedUntil]));

/** Sends at the earliest allowed time after each of these pauses; the times of the calls. */
function sendAll(pausesMs: number[], keys = chat, memory = new PaceMemory([])): number[] {
  let now = 1_000_000;
  return pausesMs.map((pauseMs) => {
    now = Math.max(now + pauseMs, memory.nextSlot(keys, now + pauseMs).at);
    memory.take(keys, now);
    return now;
  });
}

function mostWithin(times: number[], windowMs: number): number {
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length));
}

describe("pacing", () => {
  it("exceeds no bound in any window, whatever the pauses, and however it is restarted", () => {
    const pauses = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 90_000 })), {
      maxLength: 120,
    });
    fc.assert(
      fc.property(pauses, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 30 }), (ms, a, b) => {
        const times = sendAll(ms, [{ key: "chat", pace: { perSecond: a, perMinute: b } }]);
        expect(mostWithin(times, 1_000)).toBeLessThanOrEqual(a);
        expect(mostWithin(times, 60_000)).toBeLessThanOrEqual(b);
      }),
    );
  });

  it("goes as fast as the bounds allow", () => {
    const times = sendAll(new Array(18).fill(0));
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(17 * 1_100);
  });

  it("keeps a fraction of a call a second apart", () => {
    const times = sendAll([0, 0], [{ key: "slow", pace: { perSecond: 0.5 } }]);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(2_000);
  });

  it("never gives a slot before the end of a wait that was asked for, and never shortens it", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 1 }),
        fc.integer({ min: 0, max: 1_000_000 }),
        (untils, now) => {
          const memory = new PaceMemory([]);
          for (const until of untils) memory.parkAfter(flood(until), group, "-1", 0);
          expect(memory.nextSlot(chat, now).at).toBe(Math.max(now, ...untils));
        },
      ),
    );
  });

  it("says why a slot is late only when the other side asked for it", () => {
    const memory = new PaceMemory([]);
    memory.take(chat, 1_000);
    expect(memory.nextSlot(chat, 1_000)).toEqual({ at: 2_060 });
    memory.parkAfter(flood(60_000), group, "-1", 0);
    expect(memory.nextSlot(chat, 1_000)).toEqual({ at: 60_000, why: "asked to wait" });
  });

  it("goes on after a restart where it stood", () => {
    const before = new PaceMemory([]);
    const records = before.take(chat, 5_000);
    const parked = before.parkAfter(flood(9_000), group, "-1", 0);
    expect(new PaceMemory(records).nextSlot(chat, 5_001).at).toBe(6_060);
    expect(new PaceMemory(parked).nextSlot(chat, 5_001).at).toBe(9_000);
  });

  it("holds all keys of a call: the slowest decides", () => {
    const memory = new PaceMemory([]);
    memory.take([{ key: "bot", pace: { perSecond: 1 } }], 1_000);
    expect(memory.nextSlot([...chat, { key: "bot", pace: { perSecond: 1 } }], 1_000).at).toBe(2_060);
  });

  it("does not forget calls to a chat when a destination with a smaller bound names it too", () => {
    const memory = new PaceMemory([]);
    for (let call = 0; call < 18; call += 1) memory.take(chat, call * 1_100);
    memory.take([{ key: "telegram:7:-1", pace: { perMinute: 2 } }], 20_000);
    expect(memory.nextSlot(chat, 30_000).at).toBeGreaterThanOrEqual(60_000);
  });

  it("does not stand still when the clock is set back", () => {
    const memory = new PaceMemory([]);
    for (let call = 0; call < 18; call += 1) memory.take(chat, 10_000_000 + call * 1_100);
    expect(memory.nextSlot(chat, 6_400_000).at).toBe(6_400_000);
    memory.take(chat, 6_400_000);
    expect(memory.nextSlot(chat, 6_400_000).at).toBe(6_401_060);
  });

  it("counts from the moment of the call when that came after its slot", () => {
    const memory = new PaceMemory([]);
    memory.take(chat, 1_000_000);
    expect(memory.restamp(chat, 1_000_400)).toMatchObject([{ key: "telegram:7:-1", sentAt: [1_000_400] }]);
    expect(memory.nextSlot(chat, 1_000_400).at).toBeGreaterThanOrEqual(1_001_400);
    expect(memory.restamp(chat, 1_000_300)).toEqual([]);
    expect(memory.restamp([{ key: "another", pace }], 1_000_400)).toEqual([]);
  });

  it("lets a slot be used late only while nobody was counted behind it", () => {
    const memory = new PaceMemory([]);
    const bot = [{ key: "bot", pace: { perSecond: 1 } }];
    memory.take(bot, 1_000_000);
    expect(memory.mayUse(bot, 1_000_000, 1_030_000)).toBe(true);
    memory.take(bot, 1_001_100);
    expect([1_000_050, 1_001_200].map((now) => memory.mayUse(bot, 1_000_000, now))).toEqual([true, false]);
  });

  it("counts a call once that had to take a second slot", () => {
    const memory = new PaceMemory([]);
    const keys = [
      { key: "bot", pace: { perSecond: 1 } },
      { key: "chat", pace: { perMinute: 2 } },
    ];
    for (const at of [1_000_000, 1_001_100]) memory.take(keys, at);
    expect(memory.mayUse(keys, 1_000_000, 1_001_200)).toBe(false);
    memory.giveBack(keys, 1_000_000);
    expect(memory.nextSlot(keys, 1_002_200).at).toBe(1_002_200);
    expect(memory.take(keys, 1_002_200).map(({ sentAt }) => sentAt)).toEqual([[1_002_200], [1_001_100, 1_002_200]]);
    expect(memory.nextSlot(keys, 1_003_300).at).toBe(1_061_160);
  });

  it("forgets no call that another destination counts, when a slot is given back", () => {
    const memory = new PaceMemory([]);
    const [slow, quick] = [{ perMinute: 2 }, { perMinute: 4 }].map((pace) => [{ key: "chat", pace }]);
    for (const at of [1_000_000, 1_000_100, 1_000_200, 1_000_300]) memory.take(quick ?? [], at);
    memory.giveBack(quick ?? [], 1_000_300);
    memory.take(slow ?? [], 1_000_400);
    expect(memory.nextSlot(quick ?? [], 1_000_500).at).toBe(1_060_060);
  });

  it("counts a call that was made just before the clock went back a little", () => {
    const memory = new PaceMemory([]);
    const bot = [{ key: "bot", pace: { perSecond: 0.5 } }];
    memory.take(bot, 1_000_040);
    expect(memory.nextSlot(bot, 1_000_000).at).toBeGreaterThanOrEqual(1_002_040);
    expect(memory.take(bot, 1_000_000)).toEqual([expect.objectContaining({ sentAt: [1_000_040] })]);
  });

  it("keeps nothing for what has no bound", () => {
    expect(new PaceMemory([]).take([{ key: "mail", pace: {} }], 1)).toEqual([]);
  });
});

const hook = ntfyTo("hook");
const mail = mailTo("mail", ["a@x.io"]);
const account = "account:email:alerts@mail.example.com:465";

describe("who waits after an answer", () => {
  it.each<[string, Outcome, Destination, Record<string, number>]>([
    ["nobody after a message that arrived", { kind: "sent" }, group, {}],
    ["nobody after a plain failure", refused, group, {}],
    ["nobody when the chat has moved", { ...refused, movedTo: "-1007", waitMs: 5 }, group, {}],
    ["the chat that is asked to wait", flood(500), group, { "telegram:7:-1": 1_500 }],
    ["the receiver that is busy, with Retry-After", { ...refused, waitMs: 500 }, hook, { "hook:-1": 1_500 }],
    ["the receiver that broke off with Retry-After", { ...lost, waitMs: 500 }, hook, { "hook:-1": 1_500 }],
    ["nobody after a silence that asked for nothing", lost, mail, {}],
    ["the whole account when it is asked", flood(500, "account"), mail, { "mail:-1": 1_500, [account]: 1_500 }],
  ])("%s", (_name, outcome, destination, expected) => {
    expect(parkedBy(new PaceMemory([]).parkAfter(outcome, destination, "-1", 1_000))).toEqual(expected);
  });

  it("is the whole bot when a second chat of it is asked within ten seconds", () => {
    const memory = new PaceMemory([]);
    const asked = (recipient: string, at: number, by: Destination = group) =>
      Object.keys(parkedBy(memory.parkAfter(flood(500), by, recipient, at)));
    const bot = "account:telegram:7";
    expect(asked("-1", 0)).toEqual(["telegram:7:-1"]);
    expect(asked("-1", 1)).toEqual(["telegram:7:-1"]);
    expect(asked("-2", 10_001)).toEqual(["telegram:7:-2", bot]);
    expect(asked("-3", 20_002)).toEqual(["telegram:7:-3"]);
    const bot8 = { id: "8", token: new Secret("8:canary"), apiRoot: "http://127.0.0.1:1" };
    const other = telegramTo("other", { bot: bot8 });
    expect(asked("-4", 20_003, other)).toEqual(["telegram:8:-4"]);
  });
});
