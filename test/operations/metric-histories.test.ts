import { expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { silentLog } from "../../src/core/log.ts";
import type { HistoryPoint } from "../../src/core/ports/metric-history.ts";
import { Breaker } from "../../src/operations/questions.ts";
import { askForHistories } from "../../src/start/open-market.ts";
import { createTestClock, minute } from "../support/test-clock.ts";

const week = 7 * 24 * 60 * minute;

interface Call {
  key: string;
  fromAt?: number;
  toAt?: number;
  answer(points: HistoryPoint[]): void;
  fail(): void;
}

/** A service whose answers the test gives. */
function open(timeLimitMs = 300_000) {
  const clock = createTestClock();
  const calls: Call[] = [];
  const service = {
    lookAtRecords: (query: { key: string; fromAt?: number; toAt?: number }) =>
      new Promise<{ points: HistoryPoint[]; unread: number }>((resolve, reject) =>
        calls.push({
          ...query,
          answer: (points) => resolve({ points, unread: 0 }),
          fail: () => reject(new AppError("upstream_failed", "500")),
        }),
      ),
  };
  const breaker = new Breaker(clock);
  const { read } = askForHistories(service, { clock, log: silentLog, breaker, timeLimitMs });
  /** The call of this number, as soon as it is made. */
  const callOf = async (index: number): Promise<Call> => {
    for (;;) {
      const call = calls[index];
      if (call !== undefined) return call;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { clock, calls, callOf, read };
}

const points = [{ at: 1, value: 2 }];

it("histories of metrics are of the last seven days, and kept for some minutes", async () => {
  const { clock, calls, callOf, read } = open();
  const first = read("k");
  const again = read("k");
  const call = await callOf(0);
  expect(call).toMatchObject({ key: "k", fromAt: clock.now() - week, toAt: clock.now() });
  call.answer(points);
  expect(await Promise.all([first, again, read("k")])).toEqual([points, points, points]);
  expect(calls).toHaveLength(1);
  await clock.advance(6 * minute);
  const later = read("k");
  (await callOf(1)).answer([]);
  expect(await later).toEqual([]);
});

it("histories of metrics are asked for one by one, and no more than a few wait", async () => {
  const { calls, callOf, read } = open();
  const waiting = ["a", "b", "c", "d"].map((key) => read(key));
  await callOf(0);
  expect(await read("e")).toBeUndefined();
  expect(calls.map(({ key }) => key)).toEqual(["a"]);
  for (const index of waiting.keys()) (await callOf(index)).answer(points);
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => points));
});

it("histories of metrics are asked for no more than so often in an hour", async () => {
  const { clock, calls, callOf, read } = open();
  for (let index = 0; index < 120; index += 1) {
    const one = read(`k${index}`);
    (await callOf(index)).answer(points);
    await one;
  }
  expect(await read("more")).toBeUndefined();
  expect(calls).toHaveLength(120);
  await clock.advance(61 * minute);
  const later = read("more");
  (await callOf(120)).answer(points);
  expect(await later).toEqual(points);
});
