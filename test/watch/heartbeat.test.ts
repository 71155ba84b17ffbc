import { describe, expect, it, onTestFinished } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { readinessOf } from "../../src/operations/readiness.ts";
import type { HeartbeatLine, Sign } from "../../src/vendors/heartbeat.ts";
import { createHeartbeat } from "../../src/watch/heartbeat.ts";
import { later, ntfyTo, startFixture, telegramTo } from "../delivery/engine-fixture.ts";
import { hour, minute, second } from "../delivery/outcomes.ts";
import { runDuty } from "../support/run-duty.ts";
import { writeTime } from "../support/test-clock.ts";
import { tellWatches, type WatchStep, writeView } from "./tell-watch.ts";

/** The heartbeat of an engine over a real store, with what the service outside hears of it. */
async function beat({ everyMs = minute, knowsFailure = true } = {}) {
  const fixture = await startFixture([ntfyTo("hook"), telegramTo("chat")]);
  const { clock, store } = fixture;
  const heard = { alive: 0, failing: 0, lastAt: 0 };
  const service = {
    refusal: undefined as string | undefined,
    isClosed: false,
    during: undefined as (() => Promise<void>) | undefined,
  };
  const line: HeartbeatLine = {
    ...{ host: "hc-ping.com", knowsFailure },
    async send(sign: Sign) {
      heard[sign] += 1;
      if (sign === "alive") heard.lastAt = clock.now();
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
  return Object.assign(fixture, { heartbeat, heard, service, end, goOn: () => {} });
}

type Beat = Awaited<ReturnType<typeof beat>>;
type Step = WatchStep<Beat>;

/** What is called from now on has no answer until the step `goesOn`. */
const hangs =
  (method: "health" | "listDue" | "listFallbacksDue"): Step =>
  (world) => {
    const { store } = world;
    const original = store[method] as (...args: unknown[]) => Promise<unknown>;
    const { promise, settle } = later<void>();
    world.goOn = () => {
      Object.assign(store, { [method]: original });
      settle();
    };
    Object.assign(store, { [method]: (...args: unknown[]) => promise.then(() => original(...args)) } as Partial<Store>);
    // An engine that hangs cannot be stopped.
    onTestFinished(world.goOn);
  };
const goesOn: Step = ({ goOn }) => goOn();
const answers =
  (refusal?: string): Step =>
  ({ service }) => {
    service.refusal = refusal;
  };
const chatHangs: Step = async ({ chat, accept, clock }) => {
  chat.hang();
  await accept({}, { to: ["chat"] });
  await clock.settle();
  return `calls: ${chat.calls.length}`;
};
const ends: Step = async ({ clock, end, service }) => {
  const ending = end();
  await clock.settle();
  await ending;
  return service.isClosed && "closed";
};
const often = { everyMs: 10 * second };

describe("the heartbeat", () => {
  tellWatches<Beat, Parameters<typeof beat>[0]>(beat, ({ heartbeat, heard: { alive, failing, lastAt } }, start) => {
    const view = heartbeat.view();
    const looked = view.lookedAt === undefined ? "not looked" : `looked at ${writeTime(view.lookedAt - start)}`;
    return `${alive} alive until ${writeTime(lastAt - start)}, ${failing} failing, ${looked}: ${writeView(view, start)}`;
  })([
    ["is sent at the start and then as often as it is configured", [5.5 * minute]],
    [
      "says within a minute and a half that it fails, however seldom it is sent, and is sent at once when it is well",
      [10 * minute, hangs("health"), 1.5 * minute, goesOn, 25 * second, hour],
      { everyMs: hour },
    ],
    ...(["health", "listDue", "listFallbacksDue"] as const).map((method): [string, Step[], typeof often] => [
      `stops within a minute when ${method} hangs, says that it fails, and comes again after`,
      [35 * second, hangs(method), 5 * minute, goesOn, 25 * second, minute],
      often,
    ]),
    ["does not take a call that lasts for a lane that hangs", [35 * second, chatHangs, 34 * second], often],
    ["says nothing of a moment of trouble", [hangs("health"), 30 * second, goesOn, minute], often],
    ["says nothing to a service that knows no failure", [hangs("health"), 10 * minute], { knowsFailure: false }],
    [
      "that is not taken is sent again within seconds, and shown with its reason and since when",
      [30 * second, answers("hc-ping.com answered 404: not found"), minute, answers(), 10 * second],
    ],
    ["says nothing at a stop in order, even in the middle of trouble", [hangs("health"), minute + 15 * second, ends]],
  ]);

  it.each([
    ["forward", hour],
    ["back", -hour],
  ])("goes on when the clock is set %s by an hour, also in the middle of a call", async (_way, ms) => {
    const { clock, heard, service } = await beat();
    await clock.advance(1.5 * minute);
    await clock.set(ms);
    const before = heard.alive;
    await clock.advance(3 * minute);
    expect(heard.alive - before).toBeGreaterThanOrEqual(3);
    const answer = later<void>();
    service.during = () => answer.promise;
    await clock.advance(minute);
    service.during = undefined;
    await clock.set(ms);
    answer.settle();
    await clock.settle();
    const after = heard.alive;
    await clock.advance(3 * minute);
    expect(heard.alive - after).toBeGreaterThanOrEqual(3);
  });
});
