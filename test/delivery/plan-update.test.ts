import { describe, expect, it } from "vitest";
import type { ClaimedDelivery, Thread } from "../../src/core/delivery-job.ts";
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

type Row = [what: string, thread: Partial<Thread> | undefined, changes: Partial<UpdateInput>, steps: unknown[]];

const tables: Record<DeliveryUpdates, Row[]> = {
  auto: [
    ["the first of its key", undefined, {}, [send]],
    ["a repeat within a minute", justNow, {}, [edit]],
    ["a repeat after a minute", aWhileAgo, {}, [answer]],
    ["a repeat that is worse", justNow, { severity: "critical" }, [answer]],
    ["a repeat that is less bad", justNow, { severity: "info" }, [edit]],
    ["a repeat after a day", { lastAt: now - 25 * hour }, {}, [send]],
    ["the resolution", aWhileAgo, resolved, [close, answer]],
    ["the resolution at once", justNow, resolved, [close, answer]],
    ["the resolution of nothing known", undefined, resolved, [send]],
    ["the resolution repeated at once", { ...justNow, ...resolved }, resolved, [edit]],
    ["the resolution repeated later", { ...aWhileAgo, ...resolved }, resolved, [answer]],
    ["firing again after the resolution", { ...justNow, ...resolved }, {}, [send]],
    ["a state nobody names", { ...justNow, status: "unknown" }, { status: "unknown" }, [edit]],
    ["a repeat where nothing can be edited", justNow, cannotEdit, [answer]],
    ["the resolution where nothing can be edited", aWhileAgo, { ...resolved, ...cannotEdit }, [answer]],
    ["a repeat where nothing can be answered", aWhileAgo, cannotAnswer, [goOn]],
    ["the resolution where nothing can be answered", aWhileAgo, { ...resolved, ...cannotAnswer }, [close, goOn]],
    ["a repeat where what is edited is shown anew", aWhileAgo, shownAnew, [goOn]],
    [
      "the resolution there, after a repeat that rang",
      aWhileAgo,
      { ...resolved, ...shownAnew },
      [close, { ...edit, standsAlone: true }],
    ],
    [
      "the resolution there of what fired once",
      { ...aWhileAgo, lastRef: "11" },
      { ...resolved, ...shownAnew },
      [{ ...edit, ref: "11", standsAlone: true }],
    ],
    ["no ids: the resolution there", { ...aWhileAgo, ...noRefs }, { ...resolved, ...shownAnew }, [goOn]],
    ["firing again, though its end waits for the end of quiet hours", { ...justNow, overAt: now }, {}, [send]],
    ["the resolution after a day", { lastAt: now - 25 * hour }, resolved, [goOn]],
    ["the resolution of what has fired again since", {}, { ...resolved, ...older }, [apart]],
    ["the same where each alert is a message of its own", {}, { ...resolved, ...older, ...toProgram }, []],
    ["the same where the vendor joins by key", {}, { ...resolved, ...older, ...joined }, []],
    ["a beginning whose end was told", { ...justNow, ...resolved }, older, []],
    ["an older one, though nobody was told that it is over", { ...aWhileAgo, status: "unknown" }, older, [answer]],
    ["an older one of what still fires", aWhileAgo, older, [answer]],
    ["no ids: a repeat", { ...justNow, ...noRefs }, {}, [goOn]],
    ["no ids: the resolution", { ...justNow, ...noRefs }, resolved, [goOn]],
    ["no ids: firing again after the resolution", { ...noRefs, ...resolved }, {}, [send]],
    ["the clock was set back: it is not only edited", { ...justNow, lastNewAt: now + hour }, {}, [answer]],
  ],
  edit: [
    ["a repeat after a minute", aWhileAgo, {}, [edit]],
    ["a repeat that is worse", aWhileAgo, { severity: "critical" }, [answer]],
    ["the resolution", aWhileAgo, resolved, [close, answer]],
    ["the resolution with a later end", { ...aWhileAgo, ...resolved }, resolved, [edit]],
    ["where nothing can be edited", aWhileAgo, cannotEdit, [answer]],
    ["firing again, though its end waits", { ...justNow, overAt: now }, {}, [send]],
    ["no ids: a repeat where messages can be edited", { ...aWhileAgo, ...noRefs }, {}, [goOn]],
  ],
  later_end: [
    ["a later end", { ...aWhileAgo, ...resolved }, resolved, [edit]],
    ["a later end after a day", { lastAt: now - 25 * hour, ...resolved }, resolved, [edit]],
    ["a later end where nothing can be edited", { ...aWhileAgo, ...resolved }, { ...resolved, ...cannotEdit }, []],
    ["a later end where the vendor gave no id", { ...aWhileAgo, ...resolved, ...noRefs }, resolved, []],
    ["a later end of what was told in a digest", undefined, resolved, []],
    ["a later end of what fires again", aWhileAgo, { ...resolved, ...older }, []],
    ["a later end where the first one failed", aWhileAgo, resolved, [close, answer]],
  ],
  count: [
    ["what does not ring", aWhileAgo, {}, [edit]],
    ["what does not ring, though it is worse", aWhileAgo, { severity: "critical" }, [edit]],
    ["an end that does not ring", justNow, resolved, [edit]],
    ["what does not ring where nothing was sent", undefined, {}, []],
    ["what is behind a cause that was told in a digest", undefined, { isOfCause: true }, [send]],
    ["the same where nothing can be edited", undefined, { ...cannotEdit, isOfCause: true }, []],
    ["what does not ring where nothing can be edited", aWhileAgo, cannotEdit, []],
    ["what does not ring where the vendor gave no id", { ...aWhileAgo, ...noRefs }, {}, []],
    ["what does not ring after a day", { lastAt: now - 25 * hour }, {}, []],
    ["what does not ring and is older than what was sent", aWhileAgo, older, []],
  ],
  summary: [
    ["a summary", justNow, {}, [answer]],
    ["a summary that says that it is over", { ...justNow, ...resolved }, resolved, [answer]],
    ["a summary of what went no further than agreed", justNow, { isBound: true }, []],
    ["a summary of that where the last word is wrong", justNow, { ...resolved, isBound: true }, [answer]],
    ["a summary of that where nothing was sent", undefined, { isBound: true }, [send]],
    ["a summary where nothing was sent", undefined, {}, [send]],
    ["a summary where nothing can be answered", justNow, cannotAnswer, [goOn]],
    ["a summary where the vendor joins by key", justNow, joined, [send]],
    ["a summary behind what was told since", justNow, older, []],
  ],
  reply: [
    ["a repeat within a minute", justNow, {}, [answer]],
    ["the resolution", aWhileAgo, resolved, [answer]],
    ["firing again after the resolution", { ...justNow, ...resolved }, {}, [send]],
  ],
  new: [
    ["a repeat", justNow, {}, [send]],
    ["the resolution", aWhileAgo, resolved, [goOn]],
    ["no ids: each for itself", { ...justNow, ...noRefs }, {}, [send]],
  ],
};

describe.each(Object.entries(tables))("how an alert is sent in view of what was sent before: %s", (policy, rows) => {
  it.each(rows)("%s", (_what, thread, changes, expected) => {
    expect(steps(policy as DeliveryUpdates, thread, changes)).toEqual(expected);
  });
});

const first = claimedDelivery(9, { severity: "critical", receivedAt: now - 5_000 });
const sent = [first, claimedDelivery(8, { receivedAt: now - 9_000 })];
const thread = threadOf();
const withoutRefs = { ...thread, ...noRefs };
const [self, root] = [
  { action: "edit", ref: "12", shows: "self" },
  { action: "edit", ref: "11", shows: "self" },
] as const;
const held = [{ ...first, updates: "count" as const, extras: { with: { count: 2, titles: [] } } }];
const anew = [claimedDelivery(9, { status: "firing", receivedAt: now })];
const [over, open] = [
  threadOf({ status: "resolved", count: 14, firstAt: now - hour }),
  threadOf({ count: 14, firstAt: now - hour }),
];
type After = Parameters<typeof threadAfter>;

/** And the history that the message itself tells. */
it.each<[string, After[0], After[1], ClaimedDelivery[], Thread?]>([
  ["its own message, which begins a thread", { action: "send" }, "20", sent, thread],
  [
    "an answer, which pinged, and is the one that a quick repeat edits",
    { action: "reply", ref: "11" },
    "20",
    sent,
    thread,
  ],
  ["an edit, which pinged nobody", self, undefined, sent, thread],
  ["an edit of the first message, which shows another alert", root, undefined, sent, thread],
  ["an edit of it for a resolution, which shows the same", { ...root, shows: "resolution" }, undefined, sent, thread],
  ["an edit for what a cause holds back, which is no firing", root, undefined, held, thread],
  ["its own message for that", { action: "send" }, "20", held, undefined],
  ["its own message without an id", { action: "send" }, null, sent, undefined],
  ["another one without an id", { action: "send", place: "continues" }, undefined, sent, withoutRefs],
  ["an edit that says that it fires after it was over, which begins anew", self, undefined, anew, over],
  ["an edit that says that it fires on", self, undefined, anew, open],
  ["a resolution later than the next occurrence", { action: "send", place: "apart" }, "20", sent, thread],
])("what a chat shows of an alert key after %s", (_what, step, ref, deliveries, before) => {
  const after = threadAfter(step, ref, deliveries as After[2], before, now);
  const history = before && contextOf(step, before, deliveries as [ClaimedDelivery]).history;
  expect({ after, history }).toMatchSnapshot();
});
