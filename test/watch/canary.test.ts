import { createServer } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { CanaryView } from "../../src/contract/operations.ts";
import type { CanarySchedule } from "../../src/core/canary-schedule.ts";
import { type Log, silentLog } from "../../src/core/log.ts";
import { Secret } from "../../src/core/secret.ts";
import { formatDuration } from "../../src/ground/time/time-format.ts";
import { Canary } from "../../src/watch/canary.ts";
import { newIdAt } from "../conformance/store/scene.ts";
import { findLastingPort } from "../support/lasting-port.ts";
import { listenOnLoopback } from "../support/loopback.ts";
import { writeTime } from "../support/test-clock.ts";
import { type FakeAnswer, startFakeService } from "../upstream/fake-service.ts";
import { tellWatches, type WatchScene, type WatchStep } from "./tell-watch.ts";
import { hour, minute, muting, second, startWatchWorld, type WatchWorld } from "./watch-world.ts";

const secret = "canary-hook-secret-0001";

interface Options {
  url?: string;
  /** What stands in front of the relay; default: nothing. */
  serve?: FakeAnswer;
  /** Default: every hour. */
  schedule?: CanarySchedule;
  startsAt?: number;
}

async function open({ schedule = { kind: "every", everyMs: hour }, startsAt, ...options }: Options = {}) {
  const events: string[] = [];
  const known = new Map<string, { routedAt?: number; request?: { body: Uint8Array } }>();
  const way = {
    serve: options.serve as FakeAnswer | ((body: string) => FakeAnswer) | undefined,
    routes: true,
    /** What is said of a large body on its way. */
    spoiling: undefined as string | undefined,
    /** What is stored of a body that was posted. */
    spoil: (body: string): string => body,
  };
  function accept(body: string): FakeAnswer {
    const id = newIdAt(clock.now());
    const request = { body: Buffer.from(way.spoil(body)) };
    known.set(id, { routedAt: way.routes ? clock.now() : undefined, request });
    return { status: 202, json: { data: { id, duplicate: false } } };
  }
  const { url, seen } = await startFakeService(({ body }) => {
    const serve = way.serve ?? accept;
    return typeof serve === "function" ? serve(body) : serve;
  });
  const note = (event: string, fields?: Record<string, unknown>) => {
    expect(JSON.stringify(fields ?? {})).not.toContain(secret);
    events.push(event);
  };
  const log: Log = { ...silentLog, info: note, warn: note, error: note };
  const world: WatchWorld<Canary> = await startWatchWorld(
    (deps) =>
      new Canary({
        ...deps,
        schedule,
        hookUrl: () => new Secret(`${options.url ?? url}/hooks/${secret}`),
        findSpoiling: async () => way.spoiling,
        findAlert: async (id) => known.get(id),
        newId: () => newIdAt(clock.now()),
      }).open(),
    { startsAt, log },
  );
  const { clock } = world;
  const view = () => world.watch.view();
  return Object.assign(world, {
    ...{ way, seen, events, view },
    /** Moves the clock to the next canary and waits until it is on record what became of it. After how long it was sent. */
    async fly() {
      const { lastAt: before, nextAt } = view();
      const afterMs = nextAt - clock.now();
      await clock.advance(afterMs);
      while (view().lastAt === before) {
        await nextTurn();
        if (!way.routes) await clock.advance(10 * second);
        if (events.at(-1) !== "canary.failed") continue;
        events.push("(waits)");
        await clock.advance(minute);
      }
      await clock.settle();
      return afterMs;
    },
  });
}

type World = Awaited<ReturnType<typeof open>>;
type Step = WatchStep<World>;

const timeZone = "Europe/Zurich";
const ofDay = { weekday: "short", hour: "2-digit", minute: "2-digit", timeZoneName: "shortOffset" } as const;
const wallClock = new Intl.DateTimeFormat("en-GB", { timeZone, ...ofDay });
/** The next one is sent. */
const flies: Step = async (canary) =>
  `sent after ${formatDuration(await canary.fly())}: ${wallClock.format(canary.view().lastAt)}`;
const fly = (count: number): Step[] => Array.from({ length: count }, () => flies);
const becomes =
  (change: Partial<World["way"]>): Step =>
  ({ way }) =>
    void Object.assign(way, change);
const restarts =
  (afterMs = 0): Step =>
  ({ restart }) =>
    restart(afterMs);

const tellCanaries = tellWatches<World, Options>(open, ({ view }, start) => {
  const { state, stage, detail, nextAt, lastOkAt } = view();
  const arrived = lastOkAt && `arrived at ${writeTime(lastOkAt - start)}`;
  return [state, stage, detail, arrived, `next at ${writeTime(nextAt - start)}`].filter(Boolean).join(", ");
});
const at = (...times: string[]) => ({ kind: "at", timeZone, times }) as const;

const answering = (status: number, text = "", headers = {}): FakeAnswer => ({ status, text, headers });
const refuse = answering(502, "<html>Bad gateway</html>");
const refusesOnce: Step = ({ way }) => {
  way.serve = () => {
    way.serve = undefined;
    return refuse;
  };
};

describe("the times of canaries", () => {
  tellCanaries([
    [
      "are those of the wall clock, on the days that are named, behind one at the start",
      fly(4),
      { schedule: { ...at("07:30", "19:30"), days: [1, 2, 3, 4, 5] }, startsAt: Date.UTC(2026, 10, 20, 15) },
    ],
    ["come once on the day of spring", fly(4), { schedule: at("02:30"), startsAt: Date.UTC(2026, 2, 28) }],
    ["come once on the day of autumn", fly(3), { schedule: at("02:30"), startsAt: Date.UTC(2026, 9, 24, 10) }],
    [
      "are kept to over a restart: what was missed is sent at the start, what was not is not",
      [flies, restarts(), flies, restarts(25 * hour), flies],
      { schedule: { ...at("13:00"), timeZone: "UTC" }, startsAt: Date.UTC(2026, 10, 21, 12) },
    ],
  ]);

  it("are counted anew when the clock is set back, and found when it is set forward", async () => {
    const canary = await open();
    await canary.fly();
    await canary.clock.set(-48 * hour);
    await canary.clock.advance(10 * minute);
    expect(canary.view().nextAt - canary.clock.now()).toBeLessThanOrEqual(hour);
    await canary.clock.set(48 * hour);
    await canary.clock.advance(10 * minute);
    while (canary.seen.length < 2) await nextTurn();
  });
});

describe("a canary", () => {
  it("goes the way that senders go, marked as a test, and says nothing while it comes through", async () => {
    const canary = await open();
    await canary.fly();
    await canary.fly();
    expect(canary.seen.map(({ path }) => path)).toEqual([`/hooks/${secret}`, `/hooks/${secret}`]);
    expect(canary.seen[0]?.headers["x-tocsin-test"]).toBe("canary");
    const [first, second] = canary.seen.map(({ body }) => JSON.parse(body) as Record<string, string>);
    expect(first).toMatchObject({ tocsin: "canary", severity: "info" });
    expect(first?.eventId).not.toBe(second?.eventId);
    expect(canary.told).toEqual([]);
    expect(canary.view()).toMatchObject({ state: "works", lastOkAt: canary.clock.now() });
  });

  const spoiling = "arrives cut off: 65,536 bytes sent, 32,768 arrived";
  const unknownId = '{"data":{"id":"019aa5a0-7c3e-7d2a-9b1c-0242ac120002","duplicate":false}}';
  tellCanaries([
    [
      "is told once when two in a row fail, over a restart too, and once when one comes through again",
      [flies, becomes({ serve: refuse }), ...fly(2), restarts(), flies, becomes({ serve: undefined }), ...fly(2)],
    ],
    [
      "that is spoiled on its way is told with what was sent and what arrived, and goes to nobody",
      [
        ...[becomes({ spoiling }), flies, ({ seen }: World) => `${seen.length} sent`],
        ...[becomes({ spoiling: undefined, spoil: (body) => body.slice(0, -1) }), flies],
        ...[becomes({ spoil: (body) => body }), flies],
      ],
    ],
    ["may fail once", [refusesOnce, flies]],
    [
      "is told to nobody while a mute matches its notice, and to all when that has ended",
      [becomes({ serve: refuse }), muting("tocsin:canary"), flies, muting(), flies],
    ],
    ...Object.entries({
      404: answering(404, "{}"),
      503: answering(503),
      "with a redirect": answering(301, "", { location: "http://tocsin.invalid/" }),
      "at length": answering(202, "x".repeat(100_000)),
      "with an unknown id": answering(202, unknownId),
    }).map(([what, serve]): WatchScene<World, Options> => [`that is answered ${what} says so`, [flies], { serve }]),
  ]);

  it("that is stored and not routed is told as that, and when it is routed again", async () => {
    const canary = await open();
    canary.way.routes = false;
    await canary.fly();
    expect(canary.view()).toMatchObject({ stage: "routed", detail: "it was stored, and not routed within 60 s" });
    canary.way.routes = true;
    await canary.fly();
    expect(canary.told.map(({ title }) => title)).toEqual([
      "Alerts may be late: Tocsin stores them and does not send them on",
      expect.stringMatching(/^Tocsin sends alerts on again, after \d+ min$/),
    ]);
  });

  it("that fails is sent again within minutes, also when that could not be put on record", async () => {
    const canary = await open({ schedule: { kind: "every", everyMs: 24 * hour }, serve: refuse });
    const { saveWatchState } = canary.scene.store;
    canary.refusal = new Error("no room");
    canary.scene.store.saveWatchState = () => Promise.reject(canary.refusal);
    await canary.clock.advance(minute);
    while (!canary.events.includes("canary.failed")) await nextTurn();
    await canary.clock.advance(minute);
    while (!canary.events.includes("watch.failed")) await nextTurn();
    canary.refusal = undefined;
    canary.scene.store.saveWatchState = saveWatchState;
    expect(await canary.fly()).toBe(5 * minute);
    expect(canary.told).toHaveLength(1);
    expect(await canary.fly()).toBe(5 * minute);
  });

  it.each<[CanaryView["stage"], () => Options | Promise<Options>]>([
    ["name", () => ({ url: "http://tocsin.invalid" })],
    ["connection", () => ({ serve: "reset" })],
    ["connection", async () => ({ url: `http://127.0.0.1:${await findLastingPort()}` })],
    ["tls", async () => ({ url: (await listenOnLoopback(createServer())).url.replace("http:", "https:") })],
  ])("that fails at %s says so", async (stage, options) => {
    const canary = await open(await options());
    await canary.fly();
    expect(canary.view()).toMatchObject({ stage });
    expect(canary.told).toHaveLength(1);
    expect(JSON.stringify([canary.told, canary.view()])).not.toContain(secret);
  });
});
