import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isTimeout, startTimeLimit, withTimeLimit } from "../../../src/ground/net/time-limit.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("ends after the time with a TimeoutError", () => {
  const limit = startTimeLimit(1_000, new AbortController().signal);
  vi.advanceTimersByTime(999);
  expect([limit.signal.aborted, limit.timedOut()]).toEqual([false, false]);
  vi.advanceTimersByTime(1);
  expect(limit.timedOut()).toBe(true);
  expect(isTimeout(limit.signal.reason)).toBe(true);
});

test.each(["before", "meanwhile"])("ends with what is above it and for its reason (%s)", (when) => {
  const outer = new AbortController();
  const reason = new Error("stopped");
  if (when === "before") outer.abort(reason);
  const limit = startTimeLimit(1_000, outer.signal);
  outer.abort(reason);
  expect(limit.signal.reason).toBe(reason);
  vi.advanceTimersByTime(2_000);
  expect([limit.timedOut(), isTimeout(limit.signal.reason)]).toEqual([false, false]);
});

test("begins anew when it is restarted, and stays ended once it has ended", () => {
  const limit = startTimeLimit(1_000);
  vi.advanceTimersByTime(900);
  limit.restart();
  vi.advanceTimersByTime(900);
  expect(limit.signal.aborted).toBe(false);
  vi.advanceTimersByTime(100);
  limit.restart();
  vi.advanceTimersByTime(1_000);
  expect(limit.timedOut()).toBe(true);
});

test.each(["resolves", "throws"])("leaves no timer and no listener when what it runs %s", async (how) => {
  const outer = new AbortController();
  const remove = vi.spyOn(outer.signal, "removeEventListener");
  const run = withTimeLimit(1_000, outer.signal, async () => {
    if (how === "throws") throw new Error("refused");
  });
  await run.catch(() => {});
  expect(vi.getTimerCount()).toBe(0);
  expect(remove).toHaveBeenCalledTimes(1);
});
