import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Pace } from "../../src/core/rules.ts";
import { createPacer } from "../../src/delivery/memory/pacing.ts";

const pace: Pace = { perSecond: 1, perMinute: 18 };
const chat = [{ key: "chat", pace }];

/** Sends at the earliest allowed time after each of these pauses; the times of the calls. */
function sendAll(pausesMs: number[], keys = chat, pacer = createPacer([])): number[] {
  let now = 1_000_000;
  return pausesMs.map((pauseMs) => {
    now = Math.max(now + pauseMs, pacer.nextSlot(keys, now + pauseMs).at);
    pacer.take(keys, now);
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
          const pacer = createPacer([]);
          for (const until of untils) pacer.park("chat", until, "asked");
          expect(pacer.nextSlot(chat, now).at).toBe(Math.max(now, ...untils));
        },
      ),
    );
  });

  it("says why a slot is late only when the other side asked for it", () => {
    const pacer = createPacer([]);
    pacer.take(chat, 1_000);
    expect(pacer.nextSlot(chat, 1_000)).toEqual({ at: 2_060 });
    pacer.park("chat", 60_000, "asked to wait");
    expect(pacer.nextSlot(chat, 1_000)).toEqual({ at: 60_000, why: "asked to wait" });
  });

  it("goes on after a restart where it stood", () => {
    const before = createPacer([]);
    const records = before.take(chat, 5_000);
    const parked = before.park("chat", 9_000, "asked");
    expect(createPacer(records).nextSlot(chat, 5_001).at).toBe(6_060);
    expect(createPacer([parked]).nextSlot(chat, 5_001).at).toBe(9_000);
  });

  it("holds all keys of a call: the slowest decides", () => {
    const pacer = createPacer([]);
    pacer.take([{ key: "bot", pace: { perSecond: 1 } }], 1_000);
    expect(pacer.nextSlot([...chat, { key: "bot", pace: { perSecond: 1 } }], 1_000).at).toBe(2_060);
  });

  it("does not forget calls to a chat when a destination with a smaller bound names it too", () => {
    const pacer = createPacer([]);
    for (let call = 0; call < 18; call += 1) pacer.take(chat, call * 1_100);
    pacer.take([{ key: "chat", pace: { perMinute: 2 } }], 20_000);
    expect(pacer.nextSlot(chat, 30_000).at).toBeGreaterThanOrEqual(60_000);
  });

  it("does not stand still when the clock is set back", () => {
    const pacer = createPacer([]);
    for (let call = 0; call < 18; call += 1) pacer.take(chat, 10_000_000 + call * 1_100);
    expect(pacer.nextSlot(chat, 6_400_000).at).toBe(6_400_000);
    pacer.take(chat, 6_400_000);
    expect(pacer.nextSlot(chat, 6_400_000).at).toBe(6_401_060);
  });

  it("counts from the moment of the call when that came after its slot", () => {
    const pacer = createPacer([]);
    pacer.take(chat, 1_000_000);
    expect(pacer.restamp(chat, 1_000_400)).toMatchObject([{ key: "chat", sentAt: [1_000_400] }]);
    expect(pacer.nextSlot(chat, 1_000_400).at).toBeGreaterThanOrEqual(1_001_400);
    expect(pacer.restamp(chat, 1_000_300)).toEqual([]);
    expect(pacer.restamp([{ key: "another", pace }], 1_000_400)).toEqual([]);
  });

  it("keeps nothing for what has no bound", () => {
    expect(createPacer([]).take([{ key: "mail", pace: {} }], 1)).toEqual([]);
  });
});
