import { expect, it } from "vitest";
import type { OverTime } from "../../src/core/ports/alert-log.ts";
import { createOverTime } from "../../src/store/listing/over-time.ts";
import { createStepCounter } from "../../src/store/sqlite/transactions/over-time.ts";
import { createSqliteDialect } from "../../src/store/sqlite/tx.ts";
import { newIdAt, noon, request, routed } from "../conformance/store/scene-samples.ts";
import { openLog as openStored } from "./open-log.ts";

const minute = 60_000;
const steps = { fromAt: noon, stepMs: minute, steps: 30 };

const everyMinute = Array.from({ length: 30 }, (_, index) => noon + index * minute);

/** A warning that no route wanted at each of these times, at a clock of which each look takes a millisecond. */
async function openLog(times = everyMinute) {
  const { db, transactions } = openStored();
  for (const at of times) {
    await transactions.acceptRequest(request({ ids: [newIdAt(at)], receivedAt: at }));
    const alertSeq = db.prepare<[], number>("SELECT max(seq) FROM alerts").pluck().get() ?? 0;
    await transactions.recordRouting([routed(alertSeq, { routedAt: at, repeatWindowMs: 0 })]);
  }
  let ms = 0;
  return createOverTime(createStepCounter({ db }, createSqliteDialect({ db, now: Date.now })), () => ++ms);
}

it("counts each step, the newest first, when it is given the time", async () => {
  const counted = await (await openLog())(steps, Number.POSITIVE_INFINITY);
  expect(counted.isMore).toBe(false);
  expect(counted.steps.map(({ at, warning, problems }) => [(at - noon) / minute, warning, problems])).toEqual(
    Array.from({ length: 30 }, (_, index) => [29 - index, 1, 1]),
  );
});

it("ends when its time is over with the newest steps, at least one, and says that there are more", async () => {
  const countOverTime = await openLog();
  const some = await countOverTime(steps, 10);
  expect([some.steps.length, some.steps[0]?.at, some.isMore]).toEqual([11, noon + 29 * minute, true]);
  expect(await countOverTime(steps, -1)).toMatchObject({ steps: [{ at: noon + 29 * minute }], isMore: true });
});

it("counts of the steps at both ends only what came between the times that were asked for", async () => {
  const countOverTime = await openLog();
  const asked = { ...steps, receivedFrom: noon + 5 * minute + 1, receivedTo: noon + 10 * minute };
  const minutesOf = ({ steps: counted }: OverTime) =>
    counted.filter(({ warning, problems }) => warning + problems > 0).map(({ at }) => (at - noon) / minute);
  expect(minutesOf(await countOverTime(asked, Number.POSITIVE_INFINITY))).toEqual([10, 9, 8, 7, 6]);
  const whole = await countOverTime({ ...steps, receivedTo: noon + 10 * minute - 1 }, Number.POSITIVE_INFINITY);
  expect(minutesOf(whole)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  expect(minutesOf(await countOverTime(steps, Number.POSITIVE_INFINITY))).toHaveLength(30);
});

it("counts the problems of one severity alone where that is asked for", async () => {
  const countOverTime = await openLog();
  const problemsOf = async (severity: "warning" | "critical") => {
    const counted = await countOverTime({ ...steps, problemsOf: severity }, Number.POSITIVE_INFINITY);
    return counted.steps.map(({ problems }) => problems);
  };
  expect(await problemsOf("warning")).toEqual(new Array(30).fill(1));
  expect(await problemsOf("critical")).toEqual(new Array(30).fill(0));
});

it("counts each alert once, also where a clock was set back and ids are in another order than positions", async () => {
  const forward = everyMinute.map((at) => at + 1_000);
  const back = forward.slice(3, 6).map((at) => at - 500);
  const countOverTime = await openLog([...forward, ...back]);
  const sums = [1, 2].map(async () => {
    const { steps: counted } = await countOverTime(steps, Number.POSITIVE_INFINITY);
    return counted.reduce((sum, { warning }) => sum + warning, 0);
  });
  expect(await Promise.all(sums)).toEqual([33, 33]);
});
