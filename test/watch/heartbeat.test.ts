import { expect, it, onTestFinished } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { readinessOf } from "../../src/operations/readiness.ts";
import type { HeartbeatLine, Sign } from "../../src/vendors/heartbeat.ts";
import { createHeartbeat } from "../../src/watch/heartbeat.ts";
import { ntfyTo, type ScriptedChannel, startFixture, telegramTo } from "../delivery/engine-fixture.ts";
import { hour, minute, second } from "../delivery/outcomes.ts";
import { runDuty } from "../support/run-duty.ts";

/** The heartbeat of an engine over a real store, with what the service outside hears of it. */
async function beat({ everyMs = minute, knowsFailure = true } = {}) {
  const fixture = await startFixture([ntfyTo("hook"), telegramTo("chat")]);
  const { clock, store } = fixture;
  const heard: { at: number; sign: Sign }[] = [];
  const service = {
    refusal: undefined as string | undefined,
    isClosed: false,
    during: undefined as (() => Promise<void>) | undefined,
  };
  const line: HeartbeatLine = {
    ...{ host: "hc-ping.com", knowsFailure },
    async send(sign) {
      heard.push({ at: clock.now(), sign });
      await service.during?.();
      return service.refusal;
    },
    async close() {
      service.isClosed = true;
    },
  };
  const stop = new AbortController();
  const ready = { store, engine: fixture.engine, reader: { problem: () => undefined }, clock, stopping: stop.signal };
  const readiness = () => readinessOf(ready);
  const heartbeat = createHeartbeat({ settings: { everyMs }, line, readiness, clock, log: silentLog });
  const endDuty = runDuty(heartbeat);
  const end = () => {
    stop.abort();
    return endDuty();
  };
  const count = (sign: Sign) => heard.filter((one) => one.sign === sign).length;
  return { ...fixture, heartbeat, heard, service, count, end };
}

/** What is called from now on has no answer until the function that is returned is called. */
function hang(store: Store, method: "health" | "listDue" | "listFallbacksDue"): () => void {
  const original = store[method] as (...args: unknown[]) => Promise<unknown>;
  let goOn = () => {};
  const isOver = new Promise<void>((resolve) => {
    goOn = () => {
      Object.assign(store, { [method]: original });
      resolve();
    };
  });
  Object.assign(store, { [method]: (...args: unknown[]) => isOver.then(() => original(...args)) });
  // An engine that hangs cannot be stopped.
  onTestFinished(goOn);
  return goOn;
}

it("the heartbeat is sent at the start and then as often as it is configured", async () => {
  const { clock, count, heartbeat } = await beat();
  await clock.advance(5.5 * minute);
  expect(count("alive")).toBe(6);
  expect(heartbeat.view()).toMatchObject({ verdict: "well", lookedAt: clock.now() });
});

it("the heartbeat says within a minute and a half that it fails, however seldom it is sent, and is sent at once when it is well", async () => {
  const { clock, count, store } = await beat({ everyMs: hour });
  await clock.advance(10 * minute);
  const goOn = hang(store, "health");
  await clock.advance(1.5 * minute);
  expect([count("alive"), count("failing")]).toEqual([1, 1]);
  goOn();
  await clock.advance(25 * second);
  expect(count("alive")).toBe(2);
  await clock.advance(hour);
  expect(count("alive")).toBe(3);
});

it.each([
  ["forward", hour],
  ["back", -hour],
])("the heartbeat goes on when the clock is set %s by an hour, also in the middle of a call", async (_way, ms) => {
  const { clock, count, service } = await beat();
  await clock.advance(1.5 * minute);
  await clock.set(ms);
  const before = count("alive");
  await clock.advance(3 * minute);
  expect(count("alive") - before).toBeGreaterThanOrEqual(3);
  let answer = () => {};
  service.during = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  await clock.advance(minute);
  service.during = undefined;
  await clock.set(ms);
  answer();
  await clock.settle();
  const after = count("alive");
  await clock.advance(3 * minute);
  expect(count("alive") - after).toBeGreaterThanOrEqual(3);
});

it.each([
  ["the store hangs", "health", "the store does not answer"],
  ["a lane hangs", "listDue", "the lane of "],
  ["the dispatcher hangs", "listFallbacksDue", "the dispatcher has not turned"],
] as const)(
  "the heartbeat stops within a minute when %s, says that it fails, and comes again after",
  async (_what, method, why) => {
    const { clock, count, heard, heartbeat, store } = await beat({ everyMs: 10 * second });
    await clock.advance(35 * second);
    const goOn = hang(store, method);
    const hungAt = clock.now();
    await clock.advance(5 * minute);
    const last = heard.findLast(({ sign }) => sign === "alive");
    expect((last?.at ?? 0) - hungAt).toBeLessThan(60 * second);
    expect(count("failing")).toBe(1);
    expect(heartbeat.view()).toMatchObject({ verdict: "trouble", troubles: [expect.stringContaining(why)] });
    const before = count("alive");
    goOn();
    await clock.advance(25 * second);
    expect(count("alive")).toBeGreaterThan(before);
    expect(heartbeat.view().verdict).toBe("well");
    await clock.advance(minute);
    expect(count("failing")).toBe(1);
  },
);

it("the heartbeat does not take a call that lasts for a lane that hangs", async () => {
  const { accept, clock, channels, count, heartbeat } = await beat({ everyMs: 10 * second });
  await clock.advance(35 * second);
  const chat = channels.chat as ScriptedChannel;
  chat.script.push(() => new Promise(() => {}));
  await accept({}, { to: ["chat"] });
  const before = count("alive");
  await clock.advance(34 * second);
  expect(chat.calls).toHaveLength(1);
  expect(count("alive") - before).toBe(3);
  expect(heartbeat.view().verdict).toBe("well");
});

it("the heartbeat says nothing of a moment of trouble, nor to a service that knows no failure", async () => {
  const short = await beat({ everyMs: 10 * second });
  const goOn = hang(short.store, "health");
  await short.clock.advance(30 * second);
  goOn();
  await short.clock.advance(minute);
  expect(short.count("failing")).toBe(0);
  const plain = await beat({ knowsFailure: false });
  hang(plain.store, "health");
  await plain.clock.advance(10 * minute);
  expect(plain.count("failing")).toBe(0);
});

it("the heartbeat that is not taken is sent again within seconds, and shown with its reason and since when", async () => {
  const { clock, count, heartbeat, service } = await beat();
  await clock.advance(30 * second);
  service.refusal = "hc-ping.com answered 404: not found";
  await clock.advance(minute);
  expect(count("alive")).toBe(5);
  expect(heartbeat.view()).toMatchObject({
    verdict: "trouble",
    summary: `hc-ping.com does not take it since 2026-11-21 12:01 UTC: ${service.refusal}`,
  });
  service.refusal = undefined;
  await clock.advance(10 * second);
  expect(heartbeat.view()).toMatchObject({ verdict: "well", troubles: [] });
});

it("the heartbeat says nothing at a stop in order, even in the middle of trouble", async () => {
  const { clock, heard, store, service, end } = await beat();
  hang(store, "health");
  await clock.advance(minute + 15 * second);
  const before = heard.length;
  const ending = end();
  await clock.settle();
  await ending;
  expect(heard.length).toBe(before);
  expect(service.isClosed).toBe(true);
});
