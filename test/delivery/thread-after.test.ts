import { describe, expect, it } from "vitest";
import { threadAfter } from "../../src/delivery/plan/thread-after.ts";
import { claimedDelivery, now, threadOf } from "./due-delivery.ts";

const told = [
  claimedDelivery(9, { severity: "critical", receivedAt: now - 5_000 }),
  claimedDelivery(8, { receivedAt: now - 9_000 }),
];
const thread = threadOf();

describe("what a chat shows of an alert key after a message", () => {
  it("begins a thread with a message of its own", () => {
    expect(threadAfter({ action: "send" }, "20", told, thread, now)).toEqual({
      rootRef: "20",
      rootAlertSeq: 9,
      lastRef: "20",
      lastAlertSeq: 9,
      firstAt: now - 5_000,
      lastNewAt: now,
      lastAt: now,
      count: 2,
      severity: "critical",
      status: "firing",
    });
  });

  it("goes on with an answer: it pinged, and is the one that a quick repeat edits", () => {
    expect(threadAfter({ action: "reply", ref: "11" }, "20", told, thread, now)).toMatchObject({
      rootRef: "11",
      rootAlertSeq: 1,
      lastRef: "20",
      lastNewAt: now,
      lastAt: now,
      count: 4,
      severity: "critical",
    });
  });

  it("knows that an edit pinged nobody", () => {
    const after = threadAfter({ action: "edit", ref: "12", shows: "self" }, undefined, told, thread, now);
    expect(after).toMatchObject({ lastRef: "12", lastNewAt: thread.lastNewAt, lastAt: now, count: 4 });
    expect(after?.rootAlertSeq).toBe(1);
  });

  it("knows that the first message tells another alert after it was edited", () => {
    const after = threadAfter({ action: "edit", ref: "11", shows: "self" }, undefined, told, thread, now);
    expect(after?.rootAlertSeq).toBe(9);
    const closed = threadAfter(
      { action: "edit", ref: "11", shows: "resolution" },
      undefined,
      told,
      thread,
      now,
    );
    expect(closed?.rootAlertSeq).toBe(1);
  });

  it.each([null, undefined])("keeps the history where the vendor gives no id to come back to: %s", (ref) => {
    const first = threadAfter({ action: "send" }, ref, told, undefined, now);
    expect(first).toMatchObject({ rootRef: undefined, lastRef: undefined, firstAt: now - 5_000, count: 2 });
    const withoutRefs = { ...thread, rootRef: undefined, lastRef: undefined };
    const next = threadAfter({ action: "send", place: "continues" }, ref, told, withoutRefs, now);
    expect(next).toMatchObject({ rootRef: undefined, firstAt: thread.firstAt, count: 4, lastAlertSeq: 9 });
  });

  it("stays as it is after a resolution that came later than the next occurrence", () => {
    expect(threadAfter({ action: "send", place: "apart" }, "20", told, thread, now)).toBeUndefined();
  });
});
