import { describe, expect, it } from "vitest";
import type { Thread } from "../../src/core/delivery-job.ts";
import type { DeliveryUpdates } from "../../src/core/rules.ts";
import { contextOf, planUpdate, threadAfter, type UpdateInput } from "../../src/delivery/plan/plan-update.ts";
import { claimedDelivery, now, threadOf } from "./due-delivery.ts";

const second = 1_000;
const hour = 3_600_000;
const send = { action: "send" };
const answer = { action: "reply", ref: "11" };
const edit = { action: "edit", ref: "12", shows: "self" };
const close = { action: "edit", ref: "11", shows: "resolution" };

function steps(
  policy: DeliveryUpdates,
  thread: Partial<Thread> | undefined,
  changes: Partial<UpdateInput> = {},
): unknown[] {
  return planUpdate({
    policy,
    can: { edits: true, answers: true, joinsByKey: false },
    isOlder: false,
    status: "firing",
    severity: "warning",
    thread: thread && threadOf(thread),
    now,
    ...changes,
  });
}

const justNow = { lastNewAt: now - 10 * second, lastAt: now - 10 * second };
const aWhileAgo = { lastNewAt: now - 60 * second, lastAt: now - 10 * second };
const resolved = { status: "resolved" as const };
const cannotEdit = { can: { edits: false, answers: true, joinsByKey: false } };
const cannotAnswer = { can: { edits: true, answers: false, joinsByKey: false } };
const older = { isOlder: true };
const toProgram = { can: { edits: false, answers: false, joinsByKey: false, carries: "payload" } } as const;
const joined = { can: { edits: false, answers: false, joinsByKey: true } };
const shownAnew = { can: { edits: true, editsInSight: true, answers: false, joinsByKey: false } };
/** Where the vendor gives no ids. */
const noRefs = { rootRef: undefined, lastRef: undefined };
const goOn = { action: "send", place: "continues" };
const apart = { action: "send", place: "apart" };

const table: [string, DeliveryUpdates, Partial<Thread> | undefined, Partial<UpdateInput>, unknown[]][] = [
  ["auto: the first of its key", "auto", undefined, {}, [send]],
  ["auto: a repeat within a minute", "auto", justNow, {}, [edit]],
  ["auto: a repeat after a minute", "auto", aWhileAgo, {}, [answer]],
  ["auto: a repeat that is worse", "auto", justNow, { severity: "critical" }, [answer]],
  ["auto: a repeat that is less bad", "auto", justNow, { severity: "info" }, [edit]],
  ["auto: a repeat after a day", "auto", { lastAt: now - 25 * hour }, {}, [send]],
  ["auto: the resolution", "auto", aWhileAgo, resolved, [close, answer]],
  ["auto: the resolution at once", "auto", justNow, resolved, [close, answer]],
  ["auto: the resolution of nothing known", "auto", undefined, resolved, [send]],
  ["auto: the resolution repeated at once", "auto", { ...justNow, ...resolved }, resolved, [edit]],
  ["auto: the resolution repeated later", "auto", { ...aWhileAgo, ...resolved }, resolved, [answer]],
  ["auto: firing again after the resolution", "auto", { ...justNow, ...resolved }, {}, [send]],
  ["auto: a state nobody names", "auto", { ...justNow, status: "unknown" }, { status: "unknown" }, [edit]],
  ["auto: a repeat where nothing can be edited", "auto", justNow, cannotEdit, [answer]],
  ["auto: the resolution where nothing can be edited", "auto", aWhileAgo, { ...resolved, ...cannotEdit }, [answer]],

  ["auto: a repeat where nothing can be answered", "auto", aWhileAgo, cannotAnswer, [goOn]],
  [
    "auto: the resolution where nothing can be answered",
    "auto",
    aWhileAgo,
    { ...resolved, ...cannotAnswer },
    [close, goOn],
  ],

  ["auto: a repeat where what is edited is shown anew", "auto", aWhileAgo, shownAnew, [goOn]],
  [
    "auto: the resolution there, after a repeat that rang",
    "auto",
    aWhileAgo,
    { ...resolved, ...shownAnew },
    [close, { ...edit, standsAlone: true }],
  ],
  [
    "auto: the resolution there of what fired once",
    "auto",
    { ...aWhileAgo, lastRef: "11" },
    { ...resolved, ...shownAnew },
    [{ ...edit, ref: "11", standsAlone: true }],
  ],
  ["no ids: the resolution there", "auto", { ...aWhileAgo, ...noRefs }, { ...resolved, ...shownAnew }, [goOn]],

  ["edit: a repeat after a minute", "edit", aWhileAgo, {}, [edit]],
  ["edit: a repeat that is worse", "edit", aWhileAgo, { severity: "critical" }, [answer]],
  ["edit: the resolution", "edit", aWhileAgo, resolved, [close, answer]],
  ["edit: the resolution with a later end", "edit", { ...aWhileAgo, ...resolved }, resolved, [edit]],

  ["a later end", "later_end", { ...aWhileAgo, ...resolved }, resolved, [edit]],
  ["a later end after a day", "later_end", { lastAt: now - 25 * hour, ...resolved }, resolved, [edit]],
  [
    "a later end where nothing can be edited",
    "later_end",
    { ...aWhileAgo, ...resolved },
    { ...resolved, ...cannotEdit },
    [],
  ],
  ["a later end where the vendor gave no id", "later_end", { ...aWhileAgo, ...resolved, ...noRefs }, resolved, []],
  ["a later end of what was told in a digest", "later_end", undefined, resolved, []],
  ["a later end of what fires again", "later_end", aWhileAgo, { ...resolved, ...older }, []],
  ["a later end where the first one failed", "later_end", aWhileAgo, resolved, [close, answer]],
  ["what does not ring", "count", aWhileAgo, {}, [edit]],
  ["what does not ring, though it is worse", "count", aWhileAgo, { severity: "critical" }, [edit]],
  ["an end that does not ring", "count", justNow, resolved, [edit]],
  ["what does not ring where nothing was sent", "count", undefined, {}, []],
  ["what does not ring where nothing can be edited", "count", aWhileAgo, cannotEdit, []],
  ["what does not ring where the vendor gave no id", "count", { ...aWhileAgo, ...noRefs }, {}, []],
  ["what does not ring after a day", "count", { lastAt: now - 25 * hour }, {}, []],
  ["what does not ring and is older than what was sent", "count", aWhileAgo, older, []],
  ["a summary", "summary", justNow, {}, [answer]],
  ["a summary that says that it is over", "summary", { ...justNow, ...resolved }, resolved, [answer]],
  ["a summary of what went no further than agreed", "summary", justNow, { isBound: true }, []],
  ["a summary of that where the last word is wrong", "summary", justNow, { ...resolved, isBound: true }, [answer]],
  ["a summary of that where nothing was sent", "summary", undefined, { isBound: true }, [send]],
  ["a summary where nothing was sent", "summary", undefined, {}, [send]],
  ["a summary where nothing can be answered", "summary", justNow, cannotAnswer, [goOn]],
  ["a summary where the vendor joins by key", "summary", justNow, joined, [send]],
  ["a summary behind what was told since", "summary", justNow, older, []],
  ["edit: where nothing can be edited", "edit", aWhileAgo, cannotEdit, [answer]],

  ["reply: a repeat within a minute", "reply", justNow, {}, [answer]],
  ["reply: the resolution", "reply", aWhileAgo, resolved, [answer]],
  ["reply: firing again after the resolution", "reply", { ...justNow, ...resolved }, {}, [send]],

  ["new: a repeat", "new", justNow, {}, [send]],
  ["new: the resolution", "new", aWhileAgo, resolved, [goOn]],

  ["firing again, though its end waits for the end of quiet hours", "auto", { ...justNow, overAt: now }, {}, [send]],
  ["edit: firing again, though its end waits", "edit", { ...justNow, overAt: now }, {}, [send]],
  ["the resolution after a day", "auto", { lastAt: now - 25 * hour }, resolved, [goOn]],
  ["the resolution of what has fired again since", "auto", {}, { ...resolved, ...older }, [apart]],
  ["the same where each alert is a message of its own", "auto", {}, { ...resolved, ...older, ...toProgram }, []],
  ["the same where the vendor joins by key", "auto", {}, { ...resolved, ...older, ...joined }, []],
  ["a beginning whose end was told", "auto", { ...justNow, ...resolved }, older, []],
  [
    "an older one, though nobody was told that it is over",
    "auto",
    { ...aWhileAgo, status: "unknown" },
    older,
    [answer],
  ],
  ["an older one of what still fires", "auto", aWhileAgo, older, [answer]],
  ["no ids: a repeat", "auto", { ...justNow, ...noRefs }, {}, [goOn]],
  ["no ids: a repeat where messages can be edited", "edit", { ...aWhileAgo, ...noRefs }, {}, [goOn]],
  ["no ids: the resolution", "auto", { ...justNow, ...noRefs }, resolved, [goOn]],
  ["no ids: firing again after the resolution", "auto", { ...noRefs, ...resolved }, {}, [send]],
  ["no ids: each for itself", "new", { ...justNow, ...noRefs }, {}, [send]],

  ["the clock was set back: it is not only edited", "auto", { ...justNow, lastNewAt: now + hour }, {}, [answer]],
];

describe("how an alert is sent in view of what was sent before", () => {
  it.each(table)("%s", (_name, policy, thread, changes, expected) => {
    expect(steps(policy, thread, changes)).toEqual(expected);
  });
});

const sent = [
  claimedDelivery(9, { severity: "critical", receivedAt: now - 5_000 }),
  claimedDelivery(8, { receivedAt: now - 9_000 }),
];
const thread = threadOf();

describe("what a chat shows of an alert key after a message", () => {
  it("begins a thread with a message of its own", () => {
    expect(threadAfter({ action: "send" }, "20", sent, thread, now)).toEqual({
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
    expect(threadAfter({ action: "reply", ref: "11" }, "20", sent, thread, now)).toMatchObject({
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
    const after = threadAfter({ action: "edit", ref: "12", shows: "self" }, undefined, sent, thread, now);
    expect(after).toMatchObject({ lastRef: "12", lastNewAt: thread.lastNewAt, lastAt: now, count: 4 });
    expect(after?.rootAlertSeq).toBe(1);
  });

  it("knows that the first message shows another alert after it was edited", () => {
    const after = threadAfter({ action: "edit", ref: "11", shows: "self" }, undefined, sent, thread, now);
    expect(after?.rootAlertSeq).toBe(9);
    const closed = threadAfter({ action: "edit", ref: "11", shows: "resolution" }, undefined, sent, thread, now);
    expect(closed?.rootAlertSeq).toBe(1);
  });

  it("does not count what a cause holds back as a firing of the cause", () => {
    const [first] = sent;
    const held = {
      ...(first as (typeof sent)[number]),
      updates: "count" as const,
      extras: { with: { count: 2, titles: [] } },
    };
    const edit = { action: "edit", ref: "11", shows: "self" } as const;
    expect(threadAfter(edit, undefined, [held], thread, now)?.count).toBe(thread.count);
    expect(contextOf(edit, thread, [held]).history?.count).toBe(thread.count);
    expect(threadAfter({ action: "send" }, "20", [held], undefined, now)?.count).toBe(1);
  });

  it.each([null, undefined])("keeps the history where the vendor gives no id to come back to: %s", (ref) => {
    const first = threadAfter({ action: "send" }, ref, sent, undefined, now);
    expect(first).toMatchObject({ rootRef: undefined, lastRef: undefined, firstAt: now - 5_000, count: 2 });
    const withoutRefs = { ...thread, rootRef: undefined, lastRef: undefined };
    const next = threadAfter({ action: "send", place: "continues" }, ref, sent, withoutRefs, now);
    expect(next).toMatchObject({ rootRef: undefined, firstAt: thread.firstAt, count: 4, lastAlertSeq: 9 });
  });

  it("begins anew where a message that was only changed says that it fires after it was over", () => {
    const step = { action: "edit", ref: "12", shows: "self" } as const;
    const sent = [claimedDelivery(9, { status: "firing", receivedAt: now })] as const;
    const over = threadOf({ status: "resolved", count: 14, firstAt: now - hour });
    expect(threadAfter(step, undefined, [...sent], over, now)).toMatchObject({ count: 1, firstAt: now });
    expect(contextOf(step, over, sent).history).toMatchObject({ count: 1, firstAt: now });
    const open = threadOf({ count: 14, firstAt: now - hour });
    expect(threadAfter(step, undefined, [...sent], open, now)).toMatchObject({ count: 15, firstAt: now - hour });
  });

  it("stays as it is after a resolution that came later than the next occurrence", () => {
    expect(threadAfter({ action: "send", place: "apart" }, "20", sent, thread, now)).toBeUndefined();
  });
});
