import { expect, it } from "vitest";
import { createLocalReader } from "../support/reader.ts";
import { factsOf, hourMs, startLoop } from "./loop-fixture.ts";

it("counts how late senders are by hook, never by what a body calls itself, once for each alert that says when", async () => {
  const lags: Record<string, number | undefined> = {
    late: 3_000,
    early: -3_000,
    none: undefined,
    ancient: 25 * hourMs,
  };
  let now = () => 0;
  const reader = createLocalReader((body) => {
    const title = Buffer.from(body).toString();
    const lag = lags[title];
    const occurredAt = lag === undefined ? undefined : now() - lag;
    return [{ facts: { ...factsOf(title), source: "what the body says", occurredAt } }];
  });
  const { accept, clock, counters } = await startLoop({ reader });
  now = clock.now;
  for (const title of Object.keys(lags)) {
    await accept(title);
    await clock.advance(0);
  }
  await clock.advance(1_000);
  const [ofHook, ...others] = counters.senderLag.series();
  expect(others).toEqual([]);
  expect(ofHook).toMatchObject({ labels: { source: "hook" }, sum: 3 });
  // What came before it happened counts as no time, what is over a day not at all.
  expect(ofHook?.counts.reduce((sum, count) => sum + count, 0)).toBe(2);
});
