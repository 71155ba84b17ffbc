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

  it("holds what did not ring until quiet hours are over, and nothing else", async () => {
    const summary = { state: "held" as const, updates: "summary" as const, reason: "does not ring" };
    const listed = [
      dueDelivery(1, summary),
      dueDelivery(2, { ...summary, severity: "critical" }),
      dueDelivery(3, { state: "held" }),
      dueDelivery(4),
    ];
    const { queue, ended } = queueOf(listed);
    expect((await queue.list(open, now)).due.map(({ seq }) => seq)).toEqual([2, 3, 4]);
    const reason = "does not ring; held by quiet hours";
    expect(ended).toEqual([{ seqs: [1], state: "held", reason, dueAt: now + hour }]);
  });

  it("does not tell what did not ring while a mute holds it back, and says which", async () => {
    const summary = { state: "held" as const, updates: "summary" as const, reason: "does not ring" };
    const { queue, ended } = queueOf([
      dueDelivery(1, { ...summary, severity: "critical", alertId: mutedAlert }),
      dueDelivery(2, { ...summary, severity: "critical" }),
      dueDelivery(3, { alertId: mutedAlert }),
    ]);
    expect((await queue.list(open, now)).due.map(({ seq }) => seq)).toEqual([2, 3]);
    expect(ended).toHaveLength(1);
    expect(ended).toEqual([{ seqs: [1], state: "muted", reason: "does not ring; muted until noon", mutedBy: "m1" }]);
  });

  it("does not tell what waited in a group, behind a cause or in quiet hours while a mute holds it back", async () => {
    const held = { state: "held" as const, severity: "critical" as const, alertId: mutedAlert, reason: "waits" };
    const { queue, ended } = queueOf([
      dueDelivery(1, { ...held, groupName: "g" }),
      dueDelivery(2, { ...held, groupName: "g", alertId: "other" }),
      dueDelivery(3, held),
      dueDelivery(4, { ...held, purpose: "bulk_resend" }),
    ]);
    expect((await queue.list(open, now)).due.map(({ seq }) => seq)).toEqual([2, 4]);
    expect(ended).toEqual([{ seqs: [1, 3], state: "muted", reason: "waits; muted until noon", mutedBy: "m1" }]);
  });

  it("looks ahead after an outage, but keeps the time of repeats and of quiet hours", async () => {
    const later = { state: "waiting" as const, dueAt: now + 10 * minute };
    const { queue } = queueOf([
      dueDelivery(1),
      dueDelivery(2, later),
      dueDelivery(3, { ...later, ambiguous: 1 }),
      dueDelivery(4, { ...later, state: "held" }),
      dueDelivery(5, { ...later, dueAt: now + hour }),
    ]);
    const listed = await queue.list({ isRecovering: true, isOpen: true }, now);
    expect(listed.due.map(({ seq }) => seq)).toEqual([1, 2]);
    expect((await queue.list(open, now)).due.map(({ seq }) => seq)).toEqual([1]);
  });

  it("ends what is too old, says why, and leaves what was held by quiet hours", async () => {
    const old = { createdAt: now - 25 * hour };
    const { queue, ended } = queueOf([
      dueDelivery(1, { ...old, attempts: 9, lastDetail: "nobody listens" }),
      dueDelivery(2, { ...old, attempts: 9, lastDetail: "nobody listens" }),
      dueDelivery(3, { ...old, attempts: 1 }),
      dueDelivery(4, { ...old, state: "held", attempts: 1 }),
      dueDelivery(5, { attempts: 1 }),
    ]);
    expect((await queue.list(open, now)).due.map(({ seq }) => seq)).toEqual([4, 5]);
    expect(ended).toEqual([
      { seqs: [1, 2], state: "expired", reason: "could not be delivered within 24 h: nobody listens" },
      { seqs: [3], state: "expired", reason: "could not be delivered within 24 h" },
    ]);
  });

  it("gives up and puts off what was held so long after the end of the hold", async () => {
    const old = { createdAt: now - 25 * hour, state: "waiting" as const, attempts: 1 };
    const late = dueDelivery(1, { ...old, heldUntil: now - 25 * hour });
    const held = dueDelivery(2, { ...old, heldUntil: now - 5 * minute });
    const { queue, ended } = queueOf([late, held]);
    expect((await queue.list(open, now)).due).toEqual([held]);
    expect(ended).toMatchObject([{ seqs: [1], state: "expired" }]);
    const unsent = dueDelivery(3, { createdAt: now - 25 * hour, state: "held", dueAt: now - 5 * minute });
    await queue.putOff([held, unsent], { reason: "gone", because: "it is gone", probeAt: now + minute }, now);
    expect(ended[1]).toEqual({ seqs: [2, 3], state: "waiting", reason: "gone", dueAt: now + minute });
  });

  it("gives what was never tried one try, unless the destination takes nothing", async () => {
    const { queue, ended } = queueOf([dueDelivery(1, { createdAt: now - 25 * hour })]);
    expect((await queue.list(open, now)).due).toHaveLength(1);
    expect((await queue.list({ ...open, isOpen: false }, now)).due).toHaveLength(0);
    expect(ended).toHaveLength(1);
  });
});
