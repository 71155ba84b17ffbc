import { describe, expect, it } from "vitest";
import type { AlertStatus } from "../../src/core/alert.ts";
import { describeKey } from "../../src/core/key-history.ts";
import type { KeyEvent, KeyHistory } from "../../src/core/ports/alert-log.ts";

const minute = 60_000;
const day = 24 * 60 * minute;
const statuses: Record<string, AlertStatus> = { f: "firing", r: "resolved", u: "unknown" };

/** `f0 f1 r8`: fired at minute 0 and 1, over at minute 8; `=f1` a repeat. An alert's id is its text. */
function historyOf(text: string, rest: Partial<KeyHistory> = {}): KeyHistory {
  const events = text.split(" ").map((id): KeyEvent => {
    const [, repeat, letter = "", at] = /^(=?)([fru])(\d+)$/.exec(id) ?? [];
    const status = statuses[letter] ?? "unknown";
    return { id, receivedAt: Number(at) * minute, severity: "critical", status, isRepeat: repeat === "=" };
  });
  return { events: events.reverse(), hasOlder: false, hasGap: false, ...rest };
}

describe("where an alert key stands", () => {
  it.each([
    ["f0", "f0", { now: "firing", since: 0, isCurrent: true, episode: { from: 0 } }],
    ["f0 f3 f5", "f3", { now: "firing", since: 0, isCurrent: true, episode: { from: 0 } }],
    ["f0 r8", "f0", { now: "over", since: 8, isCurrent: true, episode: { from: 0, to: 8 } }],
    ["f0 f2 r8", "r8", { now: "over", since: 8, isCurrent: true, episode: { from: 0, to: 8 } }],
    ["f0 r8 r9", "r9", { now: "over", since: 8, isCurrent: true, episode: { from: 0, to: 8 } }],
    ["f0 r8 f20", "f0", { now: "firing", since: 20, isCurrent: false, episode: { from: 0, to: 8 } }],
    ["f0 r8 f20 r25", "f0", { now: "over", since: 25, isCurrent: false, episode: { from: 0, to: 8 } }],
    ["f0 r8 f20 r25", "r8", { now: "over", since: 25, isCurrent: false, episode: { from: 0, to: 8 } }],
    ["f0 r8 f20 r25", "f20", { now: "over", since: 25, isCurrent: true, episode: { from: 20, to: 25 } }],
    ["r8", "r8", { now: "over", since: 8, isCurrent: true }],
    ["u0 u7", "u0", { now: "unknown", since: 7, isCurrent: true }],
    ["f0 =f0 r8 =r8", "r8", { now: "over", since: 8, isCurrent: true, episode: { from: 0, to: 8 } }],
    ["f0 r8 =f9", "=f9", { now: "over", since: 8, isCurrent: true, episode: { from: 0, to: 8 } }],
    ["f0 =f1", "=f1", { now: "firing", since: 0, isCurrent: true, episode: { from: 0 } }],
    ["=f1 =f2", "=f2", { now: "firing", since: 2, isCurrent: true, episode: { from: 2 } }],
  ])("%s, of %s", (text, id, expected) => {
    const { now, since = 0, isCurrent, episode } = describeKey(historyOf(text), id) ?? {};
    const inMinutes = episode && {
      from: episode.from / minute,
      ...(episode.to !== undefined && { to: episode.to / minute }),
    };
    expect({ now, since: since / minute, isCurrent, ...(inMinutes && { episode: inMinutes }) }).toEqual(expected);
  });

  it("is not known of an alert that is not among them", () => {
    expect(describeKey(historyOf("f0"), "f1")).toBeUndefined();
    expect(describeKey({ events: [], hasOlder: false, hasGap: false }, "f1")).toBeUndefined();
  });

  it("may be so for longer where older alerts were not looked at", () => {
    expect(describeKey(historyOf("f0 f1"), "f1")?.isSinceLeast).toBe(false);
    expect(describeKey(historyOf("f0 f1", { hasOlder: true }), "f1")?.isSinceLeast).toBe(true);
    expect(describeKey(historyOf("f0 r1", { hasOlder: true }), "f0")?.isSinceLeast).toBe(false);
    expect(describeKey(historyOf("f0 f1", { hasGap: true }), "f0")?.isSinceLeast).toBe(true);
  });
});

describe("the which time it is", () => {
  const timeOf = (text: string, id: string, rest: Partial<KeyHistory> = {}) =>
    describeKey(historyOf(text, rest), id)?.time;

  it("counts what fired up to the alert, and neither what is over nor repeats", () => {
    expect(timeOf("f0 r1 f2 =f2 f3 f9", "f3")).toEqual({ number: 3, isLeast: false, since: 0 });
    expect(timeOf("f0 r1", "r1")).toEqual({ number: 1, isLeast: false, since: 0 });
    expect(timeOf("r1", "r1")).toBeUndefined();
  });

  it("begins anew after a day without any", () => {
    const [first, second, third] = [1, 1 + day / minute, 3 + (2 * day) / minute];
    expect(timeOf(`f${first} f${second} f${third}`, `f${second}`)?.number).toBe(2);
    expect(timeOf(`f${first} f${second} f${third}`, `f${third}`)).toMatchObject({ number: 1, isLeast: false });
  });

  it("is at least so many where older ones were not looked at", () => {
    expect(timeOf("f0 f1", "f1", { hasOlder: true })).toEqual({ number: 2, isLeast: true, since: 0 });
  });
});
