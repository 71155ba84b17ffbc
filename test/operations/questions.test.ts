import { expect, it } from "vitest";
import { AppError, type ErrorCode } from "../../src/core/errors.ts";
import { silentLog } from "../../src/core/log.ts";
import { Breaker, createQuestions } from "../../src/operations/questions.ts";
import { createTestClock, minute } from "../support/test-clock.ts";

/** A service that answers what `answer` gives or throws at the time. */
function open(timeLimitMs = 300_000) {
  const clock = createTestClock();
  const breaker = new Breaker(clock);
  const asked: string[] = [];
  const service: { answer(key: string): Promise<string> | string } = { answer: (key) => `of ${key}` };
  const ask = async (key: string) => {
    asked.push(key);
    return service.answer(key);
  };
  const deps = { clock, log: silentLog, breaker, timeLimitMs };
  const questions = createQuestions(deps, { event: "test.failed", ask });
  const others = createQuestions(deps, { event: "test.failed", ask });
  const fail = (code: ErrorCode, retryAfterMs?: number) => {
    service.answer = () => {
      throw new AppError(code, "no", { retryAfterMs });
    };
  };
  const answer = () => {
    service.answer = (key) => `of ${key}`;
  };
  return { clock, breaker, asked, service, questions, others, fail, answer };
}

it.each([
  ["upstream_unauthorized", 15, "it takes no key of ours (401)"],
  ["upstream_forbidden", 15, "it refuses the key (403)"],
  ["upstream_rate_limited", 5, "it asks for fewer calls (429)"],
] as const)(
  "a service that is asked for decoration is left alone by all for minutes after %s",
  async (code, minutes, because) => {
    const { clock, breaker, asked, questions, others, fail, answer } = open();
    fail(code);
    expect(await questions.read("a")).toBeUndefined();
    answer();
    expect(breaker.view()).toEqual({ pausedUntil: clock.now() + minutes * minute, pausedBecause: because });
    expect(await questions.read("b")).toBeUndefined();
    expect(await others.read("b")).toBeUndefined();
    expect(asked).toEqual(["a"]);
    await clock.advance(minutes * minute);
    expect(breaker.view()).toEqual({});
    expect(await others.read("b")).toBe("of b");
  },
);

it("a service that is asked for decoration is left alone for as long as it asks for", async () => {
  const { clock, questions, fail, answer } = open();
  fail("upstream_rate_limited", 40 * minute);
  await questions.read("a");
  answer();
  await clock.advance(39 * minute);
  expect(await questions.read("a")).toBeUndefined();
  await clock.advance(minute);
  expect(await questions.read("a")).toBe("of a");
});

it.each(["upstream_failed", "upstream_unreachable", "upstream_bad_answer"] as const)(
  "a service that is asked for decoration is left alone after %s twice in a row, and once says little",
  async (code) => {
    const { clock, breaker, asked, questions, fail, answer } = open();
    fail(code);
    await questions.read("a");
    answer();
    expect(await questions.read("b")).toBe("of b");
    fail(code);
    await questions.read("c");
    expect(breaker.isOpen()).toBe(false);
    await questions.read("d");
    expect(breaker.isOpen()).toBe(true);
    expect(await questions.read("e")).toBeUndefined();
    expect(asked).toEqual(["a", "b", "c", "d"]);
    await clock.advance(5 * minute);
    expect(breaker.isOpen()).toBe(false);
  },
);

it("a service that is asked for decoration is not asked for an hour for what it does not know, and asked on for the rest", async () => {
  const { clock, breaker, asked, questions, fail, answer } = open();
  fail("upstream_not_found");
  for (const key of ["a", "b", "c"]) expect(await questions.read(key)).toBeUndefined();
  expect(breaker.isOpen()).toBe(false);
  answer();
  await clock.advance(59 * minute);
  expect(await questions.read("a")).toBeUndefined();
  expect(asked).toEqual(["a", "b", "c"]);
  await clock.advance(minute);
  expect(await questions.read("a")).toBe("of a");
});

it("a service that is asked for decoration that hangs is waited for no longer than said, and what waited behind it may be asked again", async () => {
  const { asked, service, questions } = open(30);
  service.answer = () => new Promise(() => {});
  const [first, second] = [questions.read("a"), questions.read("b")];
  expect(await Promise.all([first, second])).toEqual([undefined, undefined]);
  expect(asked).toEqual(["a"]);
  service.answer = (key) => `of ${key}`;
  expect(await questions.read("b")).toBe("of b");
  expect(await questions.read("a")).toBeUndefined();
});

it("a service that is asked for decoration says what is known without being asked, until it is too old", async () => {
  const { clock, asked, questions } = open();
  expect(questions.known("a")).toBeUndefined();
  await questions.read("a");
  expect(questions.known("a")).toBe("of a");
  await clock.advance(5 * minute);
  expect(questions.known("a")).toBeUndefined();
  expect(asked).toEqual(["a"]);
});

it("a service that is asked for decoration counts the calls of the last hour, and is asked anew by a clock that was set back", async () => {
  const { clock, questions } = open();
  await questions.read("a");
  await clock.advance(30 * minute);
  await questions.read("b");
  expect(questions.calls()).toEqual({ made: 2, most: 120 });
  await clock.advance(31 * minute);
  expect(questions.calls()).toEqual({ made: 1, most: 120 });
  await clock.set(-3 * 60 * minute);
  expect(questions.known("b")).toBeUndefined();
  expect(await questions.read("b")).toBe("of b");
});
