import { describe, expect, it } from "vitest";
import type { DueDelivery } from "../../src/core/delivery-job.ts";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import { silentLog } from "../../src/core/log.ts";
import { LaneQueue } from "../../src/delivery/lane/lane-queue.ts";
import { dueDelivery, now } from "./due-delivery.ts";
import { telegramTo } from "./engine-fixture.ts";
import { hour, minute } from "./outcomes.ts";

const mutedAlert = "muted";
const open = { isRecovering: false, isOpen: true };

function queueOf(due: DueDelivery[]) {
  const ended: { seqs: number[]; state: string; reason: string }[] = [];
  const asked: { until: number; limit: number }[] = [];
  const queue = new LaneQueue({
    store: {
      async listDue(_destination, until, limit) {
        asked.push({ until, limit });
        return due.filter(({ dueAt }) => dueAt <= until).slice(0, limit);
      },
      listByKeys: async () => [],
      async finishDeliveries(seqs, next) {
        ended.push({ seqs, ...next });
        return "done";
      },
    },
    destination: telegramTo("chat"),
    planFallbacks: () => [],
    findMute: async (alertId) => (alertId === mutedAlert ? { keptName: "m1", reason: "muted until noon" } : undefined),
    findHold: (_name, { severity }) =>
      severity === "critical" ? undefined : { until: now + hour, words: "held by quiet hours" },
    settings: defaultDeliverySettings(),
    log: silentLog,
  });
  return { queue, ended, asked };
}

describe("the queue of a destination", () => {
  it("gives no more than one message can account for, and says from where on some are missing", async () => {
    const many = Array.from({ length: 500 }, (_, index) => dueDelivery(index + 1, { dueAt: now - 500 + index }));
    const { due, cutAt } = await queueOf(many).queue.list(open, now);
    expect(due).toHaveLength(400);
    expect(cutAt).toBe(now - 100);
    const whole = await queueOf(many.slice(0, 400)).queue.list(open, now);
    expect(whole.due).toHaveLength(400);
    expect(whole.cutAt).toBeUndefined();
  });

  const summary = { state: "held", updates: "summary", reason: "does not ring" } as const;
  const loud = { ...summary, severity: "critical" } as const;
  const waits = { state: "held", severity: "critical", alertId: mutedAlert, reason: "waits" } as const;
  const later = { state: "waiting", dueAt: now + 10 * minute } as const;
  const old = { createdAt: now - 25 * hour };
  const refused = { ...old, attempts: 9, lastDetail: "nobody listens" };
  const muted = (seqs: number[], why: string) => ({ seqs, state: "muted", reason: why, mutedBy: "m1" });
  const expired = (seqs: number[], why = "") => {
    return { seqs, state: "expired", reason: `could not be delivered within 24 h${why}` };
  };

  it.each<[string, Partial<DueDelivery>[], number[], object[], Partial<typeof open>?]>([
    [
      "holds what did not ring until quiet hours are over, and nothing else",
      [summary, loud, { state: "held" }, {}],
      [2, 3, 4],
      [{ seqs: [1], state: "held", reason: "does not ring; held by quiet hours", dueAt: now + hour }],
    ],
    [
      "does not tell what did not ring while a mute holds it back, and says which",
      [{ ...loud, alertId: mutedAlert }, loud, { alertId: mutedAlert }],
      [2, 3],
      [muted([1], "does not ring; muted until noon")],
    ],
    [
      "does not tell what waited in a group, behind a cause or in quiet hours while a mute holds it back",
      [
        { ...waits, groupName: "g" },
        { ...waits, groupName: "g", alertId: "other" },
        waits,
        { ...waits, purpose: "bulk_resend" },
      ],
      [2, 4],
      [muted([1, 3], "waits; muted until noon")],
    ],
    [
      "looks ahead after an outage, but keeps the time of repeats and of quiet hours",
      [{}, later, { ...later, ambiguous: 1 }, { ...later, state: "held" }, { ...later, dueAt: now + hour }],
      [1, 2],
      [],
      { isRecovering: true },
    ],
    ["looks ahead at no other time", [{}, later], [1], []],
    [
      "ends what is too old, says why, and leaves what was held by quiet hours",
      [refused, refused, { ...old, attempts: 1 }, { ...old, state: "held", attempts: 1 }, { attempts: 1 }],
      [4, 5],
      [expired([1, 2], ": nobody listens"), expired([3])],
    ],
    ["gives what was never tried one try", [old], [1], []],
    ["gives it none where the destination takes nothing", [old], [], [expired([1])], { isOpen: false }],
  ])("%s", async (_what, waiting, listed, endings, how = {}) => {
    const { queue, ended } = queueOf(waiting.map((changes, index) => dueDelivery(index + 1, changes)));
    expect((await queue.list({ ...open, ...how }, now)).due.map(({ seq }) => seq)).toEqual(listed);
    expect(ended).toEqual(endings);
  });

  it("gives up and puts off what was held so long after the end of the hold", async () => {
    const tried = { ...old, state: "waiting", attempts: 1 } as const;
    const late = dueDelivery(1, { ...tried, heldUntil: now - 25 * hour });
    const held = dueDelivery(2, { ...tried, heldUntil: now - 5 * minute });
    const { queue, ended } = queueOf([late, held]);
    expect((await queue.list(open, now)).due).toEqual([held]);
    expect(ended).toMatchObject([{ seqs: [1], state: "expired" }]);
    const unsent = dueDelivery(3, { createdAt: now - 25 * hour, state: "held", dueAt: now - 5 * minute });
    await queue.putOff([held, unsent], { reason: "gone", because: "it is gone", probeAt: now + minute }, now);
    expect(ended[1]).toEqual({ seqs: [2, 3], state: "waiting", reason: "gone", dueAt: now + minute });
  });
});
