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

/** In words: its kind, its reason, its digest's id, and the alerts from the newest. */
function plan(due: DueDelivery[], limits = chat): string {
  const planned = planClaim(due, limits, now);
  if (planned === undefined) return "nothing";
  const { kind, deliveries, ...digest } = planned;
  const { reason, digestId } = digest as { reason?: string; digestId?: string };
  return [kind, reason, digestId && `as ${digestId}`, ...deliveries.map(({ seq }) => seq)].filter(Boolean).join(" ");
}

const down = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, index) => from - index).join(" ");

const count = dueDelivery(1, { updates: "count", alertKey: "a" });
const summary = dueDelivery(2, { updates: "summary", alertKey: "a", state: "held" });
const heldOther = dueDelivery(3, { alertKey: "a", state: "held" });
const end = dueDelivery(5, { alertKey: "a", status: "resolved" });
const night = { createdAt: now - 3_600_000, alertKey: "a", state: "held" as const };
const over = dueDelivery(2, { ...night, updates: "summary", status: "resolved" });
const summaries = Array.from({ length: 11 }, (_, index) =>
  dueDelivery(index + 1, { updates: "summary", state: "held", alertKey: `key ${index}` }),
);
const grouped = (seq: number, groupName: string) => dueDelivery(seq, { state: "held", groupName });
const notices = (count: number) => several(count, { purpose: "notice", updates: "new" }, 21);
const ofKey = (seq: number, alertKey: string, changes: Partial<DueDelivery> = {}) =>
  dueDelivery(seq, { alertKey, ...changes });
const ofKeys = [ofKey(1, "a"), ofKey(2, "b"), ofKey(3, "a"), ofKey(4, "a", { status: "resolved" })];
const repeats = [...ofKeys, ofKey(5, "a", { updates: "new" })];
const refusedAtNight = { refs: [], digestReason: "quiet_hours" as const };
const olderBy = (ms: number) => several(2, { receivedAt: now - ms, freshnessMs: 60_000 });
const begun = { alertKey: "a", progress: { refs: ["7"] } };
const repeat = dueDelivery(1, { ambiguous: 1, state: "waiting", alertKey: "a" });
const inDigest = { digestId: "d", ambiguous: 1 };
const outage = { ...inDigest, progress: { refs: [], digestReason: "outage" as const } };
const cut: ClaimLimits = { ...chat, cutAt: now };
const resent = (count: number, from: number) => several(count, { purpose: "bulk_resend" }, from);
const asResent = (delivery: DueDelivery) => ({
  ...delivery,
  purpose: "bulk_resend" as const,
  receivedAt: now - 60_000,
});
const asked = (purpose: DueDelivery["purpose"]) => [...several(20), dueDelivery(21, { purpose })];
const mailTo = (recipient: string, count: number, from = 1) => several(count, { recipient }, from);
const mails = [...mailTo("a@x.io", 4), ...several(1, { recipient: "b@x.io", purpose: "bulk_resend" }, 5)];
const turn = (sinceResent: number, limits = chat): ClaimLimits => ({ ...limits, sinceResent });
const joining: ClaimLimits = { ...chat, can: { edits: false, joinsByKey: true } };

it.each<[string, DueDelivery[], string, ClaimLimits?]>([
  ["nothing when nothing is due", [], "nothing"],
  ["one alert, the oldest first", several(3), "single 1"],
  ["the newest first when all are late", several(3, { createdAt: now - 61_000 }), "single 3"],
  ["what a person resends before anything else, alone", asked("resend"), "single 21"],
  ["what a person tests before anything else, alone", asked("test"), "single 21"],
  ["a count behind all others", [count, dueDelivery(4)], "single 4"],
  ["a count alone", [count], "single 1"],
  ["what does not ring alone", [summary, heldOther], "single 2"],
  ["in the morning the held ring before what did not ring behind it", [dueDelivery(1, night), over], "single 1"],
  ["an end before a count of its key", [end, count], "single 5"],
  [
    "what does not ring in no message that rings",
    [{ ...end, updates: "count" }, dueDelivery(4, { alertKey: "b" }), heldOther],
    "single 4",
  ],
  ["a count in no burst", [count, ...several(20, {}, 6)], `digest burst ${down(25, 6)}`],
  ["many summaries as one", [...summaries, dueDelivery(20)], `digest calm ${down(11, 1)}`],
  ["summaries in no burst", [...summaries, ...several(11, {}, 30)], `digest burst ${down(40, 30)}`],
  [
    "all of a group before others",
    [dueDelivery(1), grouped(2, "a"), grouped(3, "b"), grouped(4, "a")],
    "digest group 4 2",
  ],
  ["one of a group alone", [grouped(2, "a"), grouped(3, "b")], "single 2"],
  ["a notice before alerts", [...several(20), ...notices(3)], "single 21"],
  ["many notices together", [...several(20), ...notices(4)], "digest burst 24 23 22 21"],
  ["repeats of one key as one message where messages can be changed", repeats, "single 3 1"],
  ["repeats of one key each where none can be changed", repeats, "single 1", hook],
  ["what is always new alone", [ofKey(1, "a", { updates: "new" }), ...repeats], "single 1"],
  ["ten alerts each", several(10), "single 1"],
  ["more than ten as a digest, the newest first", several(11), `digest burst ${down(11, 1)}`],
  ["more than ten after an outage", several(11), `digest outage ${down(11, 1)}`, { ...chat, afterOutage: true }],
  ["each mail address for itself", [...mailTo("a@x.io", 8), ...mailTo("b@x.io", 8, 9)], "single 1", hook],
  ["what quiet hours held as a digest", [...several(2, { state: "held" }), dueDelivery(3)], "digest quiet_hours 2 1"],
  ["one of quiet hours alone", several(1, { state: "held" }), "single 1"],
  [
    "what came during quiet hours, also when its first try was refused",
    several(2, { state: "waiting", attempts: 1, progress: refusedAtNight }),
    "digest quiet_hours 2 1",
  ],
  ["what is older than its route allows", [dueDelivery(9), ...olderBy(60_001)], "digest stale 2 1"],
  ["what is as old as its route allows", olderBy(60_000), "single 1"],
  [
    "the rest of a message that was begun, with all that it showed",
    [dueDelivery(1), dueDelivery(2, begun), dueDelivery(3, begun), ofKey(4, "a")],
    "single 3 2",
  ],
  ["a repeat in no digest and no newer alert of its key", [...several(11, {}, 2), repeat, ofKey(20, "a")], "single 1"],
  ["one of two repeats", [repeat, { ...repeat, seq: 5, alertSeq: 5, dueAt: now - 1 }], "single 1"],
  ["a digest again with the same alerts", [...several(20), ...several(3, outage, 21)], "digest outage as d 23 22 21"],
  ["anew what surely did not arrive", several(3, { digestId: "d", state: "waiting", attempts: 1 }), "single 1"],
  ["no half of a digest", [...several(2, { dueAt: now - 5 }), ...several(3, inDigest, 3)], "single 1", cut],
  ["a digest whose rest was not listed as another", several(3, inDigest), "digest burst 3 2 1", cut],
  [
    "a digest that was listed whole as itself",
    several(3, inDigest),
    "digest burst as d 3 2 1",
    { ...chat, cutAt: now + 1 },
  ],
  ["what is resent behind others", [...several(2), ...resent(2, 3)], "single 1", turn(2)],
  ["what is resent when three of others were sent", [...several(2), ...resent(2, 3)], "single 4", turn(3)],
  ["what is resent where nothing else waits", resent(2, 3), "single 4"],
  ["what is resent, of one key the oldest first", ofKeys.slice(0, 3).map(asResent), "single 1"],
  ["what is resent with its resolution", ofKeys.slice(2).map(asResent), "single 4 3"],
  ["others as a digest before much that is resent", [...several(50), ...resent(42, 51)], `digest burst ${down(50, 1)}`],
  ["much that is resent as one digest", [...several(50), ...resent(42, 51)], `digest resend ${down(92, 51)}`, turn(3)],
  [
    "a test before what is resent in its turn",
    [...resent(2, 1), dueDelivery(9, { purpose: "test" })],
    "single 9",
    turn(9),
  ],
  [
    "a notice before what is resent in its turn",
    [...resent(2, 1), dueDelivery(9, { purpose: "notice" })],
    "single 9",
    turn(9),
  ],
  ["what was begun before what is resent in its turn", [...resent(2, 1), dueDelivery(8, begun)], "single 8", turn(9)],
  ["what is resent at whichever address it waits for", mails, "single 5", turn(3, hook)],
  ["what is resent at no address before its turn", mails, "single 1", hook],
  ["others where each goes alone", [...resent(2, 1), ...several(2, {}, 3)], "single 3", joining],
  [
    "what is resent in the order of the log where each goes alone",
    [...resent(2, 1), ...several(2, {}, 3)],
    "single 1",
    turn(3, joining),
  ],
])("sends next %s", (_, due, expected, limits) => {
  expect(plan(due, limits)).toBe(expected);
});

it("counts the age of what was held from the end of its hold", () => {
  const behind = { groupName: "g", receivedAt: now - 360_000, createdAt: now - 360_000, freshnessMs: 60_000 };
  expect(isStale(dueDelivery(1, { ...behind, state: "held", dueAt: now - 60_000 }), now)).toBe(false);
  expect(isStale(dueDelivery(1, { ...behind, state: "waiting", heldUntil: now - 60_001 }), now)).toBe(true);
});

it("gives what is resent every fourth place of a run, and none while others may wait beyond what was listed", () => {
  const run = (due: DueDelivery[], limits: ClaimLimits) =>
    planRun(due, limits, 6, now).map(({ deliveries }) => deliveries[0]?.seq);
  expect(run([...resent(3, 1), ...several(9, {}, 4)], turn(3, hook))).toEqual([3, 4, 5, 6, 2, 7]);
  expect(run(resent(3, 1), turn(3, hook))).toEqual([3, 2, 1]);
  expect(run(resent(3, 1), { ...turn(3, hook), cutAt: now })).toEqual([3]);
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
