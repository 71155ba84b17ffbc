import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DueDelivery } from "../../src/core/delivery-job.ts";
import { type ClaimLimits, isStale, planClaim, planRun } from "../../src/delivery/plan/plan-claim.ts";
import { dueDelivery, now } from "./due-delivery.ts";

const chat: ClaimLimits = {
  digestOver: 10,
  can: { edits: true, joinsByKey: false },
  afterOutage: false,
  sinceResent: 0,
};
const hook: ClaimLimits = { ...chat, can: { edits: false, joinsByKey: false } };

function several(count: number, changes: Partial<DueDelivery> = {}, from = 1): DueDelivery[] {
  return Array.from({ length: count }, (_, index) => dueDelivery(from + index, changes));
}

function plan(due: DueDelivery[], limits = chat) {
  const planned = planClaim(due, limits, now);
  return planned && { ...planned, deliveries: planned.deliveries.map(({ seq }) => seq) };
}

const single = (...deliveries: number[]) => ({ kind: "single", deliveries });

describe("what is sent next", () => {
  it("is nothing when nothing is due", () => {
    expect(plan([])).toBeUndefined();
  });

  it("is one alert, the oldest first", () => {
    expect(plan(several(3))).toEqual(single(1));
  });

  it("is the newest first when all are late", () => {
    expect(plan(several(3, { createdAt: now - 61_000 }))).toEqual(single(3));
  });

  it("is what a person asked for before anything else, alone", () => {
    for (const purpose of ["resend", "test"] as const)
      expect(plan([...several(20), dueDelivery(21, { purpose })])).toEqual(single(21));
  });

  it("is what does not ring alone, a count behind all others, and no part of a message that rings", () => {
    const count = dueDelivery(1, { updates: "count", alertKey: "a" });
    const summary = dueDelivery(2, { updates: "summary", alertKey: "a", state: "held" });
    const other = dueDelivery(3, { alertKey: "a", state: "held" });
    expect(plan([count, dueDelivery(4)])).toEqual(single(4));
    expect(plan([count])).toEqual(single(1));
    expect(plan([summary, other])).toEqual(single(2));
    // In the morning the ring that quiet hours held goes before what did not ring behind it.
    const night = { createdAt: now - 3_600_000, alertKey: "a", state: "held" as const };
    const over = dueDelivery(2, { ...night, updates: "summary", status: "resolved" });
    expect(plan([dueDelivery(1, night), over])).toEqual(single(1));
    const end = dueDelivery(5, { alertKey: "a", status: "resolved" });
    expect(plan([end, count])).toEqual(single(5));
    expect(plan([{ ...end, updates: "count" }, dueDelivery(4, { alertKey: "b" }), other])?.deliveries).toEqual([4]);
    expect(plan([count, ...several(20, {}, 6)])?.deliveries).not.toContain(1);
  });

  it("is many summaries of what did not ring as one, and no part of a burst", () => {
    const summaries = Array.from({ length: 11 }, (_, index) =>
      dueDelivery(index + 1, { updates: "summary", state: "held", alertKey: `key ${index}` }),
    );
    const seqs = summaries.map(({ seq }) => seq).reverse();
    expect(plan([...summaries, dueDelivery(20)])).toEqual({ kind: "digest", reason: "calm", deliveries: seqs });
    expect(plan([...summaries, ...several(11, {}, 30)])).toMatchObject({
      ...{ kind: "digest", reason: "burst" },
      deliveries: several(11, {}, 30)
        .map(({ seq }) => seq)
        .reverse(),
    });
  });

  it("is all of one group that are due, before others, and none of another group", () => {
    const grouped = (seq: number, groupName: string) => dueDelivery(seq, { state: "held", groupName });
    const due = [dueDelivery(1), grouped(2, "a"), grouped(3, "b"), grouped(4, "a")];
    expect(plan(due)).toEqual({ kind: "digest", reason: "group", deliveries: [4, 2] });
    expect(plan([grouped(2, "a"), grouped(3, "b")])).toEqual(single(2));
  });

  it("is a notice before alerts, and many notices together", () => {
    const notices = (count: number) => several(count, { purpose: "notice", updates: "new" }, 21);
    expect(plan([...several(20), ...notices(3)])).toEqual(single(21));
    expect(plan([...several(20), ...notices(4)])).toEqual({
      kind: "digest",
      reason: "burst",
      deliveries: [24, 23, 22, 21],
    });
  });

  it("is one message for repeats of one key where messages can be changed", () => {
    const due = [
      dueDelivery(1, { alertKey: "a" }),
      dueDelivery(2, { alertKey: "b" }),
      dueDelivery(3, { alertKey: "a" }),
      dueDelivery(4, { alertKey: "a", status: "resolved" }),
      dueDelivery(5, { alertKey: "a", updates: "new" }),
    ];
    expect(plan(due)).toEqual(single(3, 1));
    expect(plan(due, hook)).toEqual(single(1));
    expect(plan([dueDelivery(1, { alertKey: "a", updates: "new" }), ...due])).toMatchObject({
      deliveries: [1],
    });
  });

  it("is a digest of more than ten, the newest first", () => {
    expect(plan(several(10))?.kind).toBe("single");
    expect(plan(several(11))).toMatchObject({
      kind: "digest",
      reason: "burst",
      deliveries: { 0: 11, 10: 1 },
    });
    expect(plan(several(11), { ...chat, afterOutage: true })).toMatchObject({ reason: "outage" });
  });

  it("counts the recipients of a mail destination each for itself", () => {
    const due = [...several(8, { recipient: "a@x.io" }), ...several(8, { recipient: "b@x.io" }, 9)];
    expect(plan(due, hook)).toEqual(single(1));
  });

  it("is a digest of what came during quiet hours, also when its first try was refused", () => {
    const held = several(2, { state: "held" });
    expect(plan([...held, dueDelivery(3)])).toEqual({ kind: "digest", reason: "quiet_hours", deliveries: [2, 1] });
    expect(plan(held.slice(0, 1))).toEqual(single(1));
    const refused = several(2, {
      state: "waiting",
      attempts: 1,
      progress: { refs: [], digestReason: "quiet_hours" },
    });
    expect(plan(refused)).toMatchObject({ kind: "digest", reason: "quiet_hours" });
  });

  it("is a digest of what is older than its route allows", () => {
    const behind = { groupName: "g", receivedAt: now - 360_000, createdAt: now - 360_000, freshnessMs: 60_000 };
    expect(isStale(dueDelivery(1, { ...behind, state: "held", dueAt: now - 60_000 }), now)).toBe(false);
    expect(isStale(dueDelivery(1, { ...behind, state: "waiting", heldUntil: now - 60_001 }), now)).toBe(true);
    const stale = several(2, { receivedAt: now - 60_001, freshnessMs: 60_000 });
    expect(plan([dueDelivery(9), ...stale])).toEqual({ kind: "digest", reason: "stale", deliveries: [2, 1] });
    expect(plan(several(2, { receivedAt: now - 60_000, freshnessMs: 60_000 }))?.kind).toBe("single");
  });

  it("is the rest of a message that was begun, with all that it showed", () => {
    const begun = { alertKey: "a", progress: { refs: ["7"] } };
    const due = [dueDelivery(1), dueDelivery(2, begun), dueDelivery(3, begun), dueDelivery(4, { alertKey: "a" })];
    expect(plan(due)).toEqual(single(3, 2));
  });

  it("is a repeat alone: neither a digest nor a newer alert of its key swallows it", () => {
    const repeat = dueDelivery(1, { ambiguous: 1, state: "waiting", alertKey: "a" });
    const newer = dueDelivery(20, { alertKey: "a" });
    expect(plan([...several(11, {}, 2), repeat, newer])).toEqual(single(1));
    expect(plan([repeat, { ...repeat, seq: 5, alertSeq: 5, dueAt: now - 1 }])).toMatchObject({
      deliveries: [1],
    });
  });

  it("repeats a digest with the same alerts under the same id", () => {
    const sent = { digestId: "d", ambiguous: 1, progress: { refs: [], digestReason: "outage" as const } };
    expect(plan([...several(20), ...several(3, sent, 21)])).toEqual({
      kind: "digest",
      reason: "outage",
      digestId: "d",
      deliveries: [23, 22, 21],
    });
  });

  it("plans anew what surely did not arrive", () => {
    expect(plan(several(3, { digestId: "d", state: "waiting", attempts: 1 }))).toEqual(single(1));
  });

  it("does not repeat half a digest under its id when the rest was not listed", () => {
    const sent = { digestId: "d", ambiguous: 1 };
    const limits = { ...chat, cutAt: now };
    expect(plan([...several(2, { dueAt: now - 5 }), ...several(3, sent, 3)], limits)).toEqual(single(1));
    expect(plan(several(3, sent), limits)).toEqual({
      kind: "digest",
      reason: "burst",
      digestId: undefined,
      deliveries: [3, 2, 1],
    });
    expect(plan(several(3, sent), { ...chat, cutAt: now + 1 })).toMatchObject({ digestId: "d" });
  });
});

describe("what is resent together", () => {
  const resent = (count: number, from: number) => several(count, { purpose: "bulk_resend" }, from);

  it("goes behind other alerts, and before them when three messages of others were sent", () => {
    const due = [...several(2), ...resent(2, 3)];
    expect(plan(due, { ...chat, sinceResent: 2 })).toEqual(single(1));
    expect(plan(due, { ...chat, sinceResent: 3 })).toEqual(single(4));
    expect(plan(resent(2, 3), chat)).toEqual(single(4));
  });

  it("goes as one digest when it is much, however many others wait", () => {
    const due = [...several(50), ...resent(42, 51)];
    expect(plan(due, chat)).toMatchObject({ kind: "digest", reason: "burst" });
    const digest = plan(due, { ...chat, sinceResent: 3 });
    expect(digest).toMatchObject({ kind: "digest", reason: "resend" });
    expect(digest?.deliveries).toHaveLength(42);
  });

  it("is behind what a person asked for, notices, and what was begun, also in its turn", () => {
    const limits = { ...chat, sinceResent: 9 };
    const begun = dueDelivery(8, { progress: { refs: ["1"] } });
    expect(plan([...resent(2, 1), dueDelivery(9, { purpose: "test" })], limits)).toMatchObject({ deliveries: [9] });
    expect(plan([...resent(2, 1), dueDelivery(9, { purpose: "notice" })], limits)).toMatchObject({ deliveries: [9] });
    expect(plan([...resent(2, 1), begun], limits)).toMatchObject({ deliveries: [8] });
  });

  it("has its turn at whichever address of a destination it waits for", () => {
    const due = [
      ...several(4, { recipient: "a@x.io" }),
      ...several(1, { recipient: "b@x.io", purpose: "bulk_resend" }, 5),
    ];
    expect(plan(due, { ...hook, sinceResent: 3 })).toEqual(single(5));
    expect(plan(due, hook)).toEqual(single(1));
  });

  it("has every fourth place of a run, and none while others may wait beyond what was listed", () => {
    const run = (due: DueDelivery[], limits: ClaimLimits) =>
      planRun(due, limits, 6, now).map(({ deliveries }) => deliveries[0]?.seq);
    const due = [...resent(3, 1), ...several(9, {}, 4)];
    expect(run(due, { ...hook, sinceResent: 3 })).toEqual([3, 4, 5, 6, 2, 7]);
    expect(run(resent(3, 1), { ...hook, sinceResent: 3 })).toEqual([3, 2, 1]);
    expect(run(resent(3, 1), { ...hook, sinceResent: 3, cutAt: now })).toEqual([3]);
  });

  it("has its turn where each alert goes alone, in the order of the log among itself", () => {
    const limits: ClaimLimits = { ...chat, can: { edits: false, joinsByKey: true } };
    const due = [...resent(2, 1), ...several(2, {}, 3)];
    expect(plan(due, limits)).toEqual(single(3));
    expect(plan(due, { ...limits, sinceResent: 3 })).toEqual(single(1));
  });
});

describe("in any queue", () => {
  const anyDelivery = fc
    .record({
      recipient: fc.constantFrom("a", "b"),
      purpose: fc.constantFrom("alert", "fallback", "resend", "bulk_resend", "test", "notice"),
      state: fc.constantFrom("queued", "waiting", "held"),
      alertKey: fc.constantFrom("x", "y", "z"),
      status: fc.constantFrom("firing", "resolved"),
      updates: fc.constantFrom("auto", "new"),
      ambiguous: fc.integer({ min: 0, max: 2 }),
      digestId: fc.constantFrom(undefined, "d1", "d2"),
      createdAt: fc.constantFrom(now, now - 90_000),
      freshnessMs: fc.constantFrom(undefined, 30_000),
      refs: fc.constantFrom<string[]>([], ["1"]),
    })
    .map(({ refs, ...rest }) => ({ ...rest, receivedAt: rest.createdAt, progress: { refs } }));
  const anyQueue = fc
    .array(anyDelivery as fc.Arbitrary<Partial<DueDelivery>>, { maxLength: 40 })
    .map((all) => all.map((changes, index) => dueDelivery(index + 1, changes)));
  const anyLimits = fc.record({
    digestOver: fc.integer({ min: 1, max: 12 }),
    can: fc.record({ edits: fc.boolean(), joinsByKey: fc.constant(false) }),
    afterOutage: fc.boolean(),
    sinceResent: fc.constantFrom(0, 3),
    cutAt: fc.constantFrom(undefined, now, now + 1),
  });

  it("something is sent, of one recipient, each once, and in the end everything", () => {
    fc.assert(
      fc.property(anyQueue, anyLimits, (queue, limits) => {
        let left = queue;
        while (left.length > 0) {
          const planned = planClaim(left, limits, now);
          const sent = planned?.deliveries ?? [];
          expect(sent.length).toBeGreaterThan(0);
          expect(new Set(sent).size).toBe(sent.length);
          expect(new Set(sent.map(({ recipient }) => recipient)).size).toBe(1);
          expect(sent.every((delivery) => left.includes(delivery))).toBe(true);
          expect(sent.map(({ alertSeq }) => alertSeq)).toEqual(
            sent.map(({ alertSeq }) => alertSeq).sort((a, b) => b - a),
          );
          left = left.filter((delivery) => !sent.includes(delivery));
        }
      }),
    );
  });

  it("what was begun is sent together with what was not in the message of an end alone", () => {
    const isBegun = (delivery: DueDelivery) => delivery.ambiguous > 0 || delivery.progress.refs.length > 0;
    fc.assert(
      fc.property(anyQueue, anyLimits, (queue, limits) => {
        const sent = planClaim(queue, limits, now)?.deliveries ?? [];
        const begun = sent.filter(isBegun).length;
        const isOldDigest = sent.some((delivery) => delivery.digestId !== undefined);
        const isEnd = sent.some(({ status }) => status === "resolved");
        expect(begun === 0 || begun === sent.length || isOldDigest || isEnd).toBe(true);
      }),
    );
  });
});
