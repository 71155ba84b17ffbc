import { createServer } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { CanarySchedule } from "../../src/core/canary-schedule.ts";
import { type Log, silentLog } from "../../src/core/log.ts";
import { Secret } from "../../src/core/secret.ts";
import { Canary } from "../../src/watch/canary.ts";
import { mute } from "../conformance/store/common/mutes.ts";
import { newIdAt } from "../conformance/store/scene.ts";
import { findClosedPort, listenOnLoopback } from "../support/loopback.ts";
import { type FakeAnswer, startFakeService } from "../upstream/fake-service.ts";
import { hour, minute, second, startWatchWorld, type WatchWorld } from "./watch-world.ts";

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
  return {
    ...world,
    world,
    way,
    seen,
    events,
    view,
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
  };
}

const answering = (status: number, text = "", headers = {}): FakeAnswer => ({ status, text, headers });
const refuse = answering(502, "<html>Bad gateway</html>");

describe("the times of canaries", () => {
  const timeZone = "Europe/Zurich";
  const clock = { hour: "2-digit", minute: "2-digit", timeZoneName: "shortOffset" } as const;
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, weekday: "short", ...clock });

  /** Of the next few, on the wall clock of that zone. */
  async function sentAt(at: { times: string[]; days?: number[] }, startsAt: number, count: number): Promise<string[]> {
    const canary = await open({ schedule: { kind: "at", timeZone, ...at }, startsAt });
    const sent: string[] = [];
    while (sent.length < count) {
      await canary.fly();
      sent.push(format.format(canary.view().lastAt));
    }
    return sent;
  }

  it("are those of the wall clock, on the days that are named, behind one at the start", async () => {
    // A Friday afternoon.
    const at = await sentAt({ times: ["07:30", "19:30"], days: [1, 2, 3, 4, 5] }, Date.UTC(2026, 10, 20, 15), 4);
    expect(at).toEqual(["Fri, 16:01 GMT+1", "Fri, 19:30 GMT+1", "Mon, 07:30 GMT+1", "Mon, 19:30 GMT+1"]);
  });

  it("come once on the days on which clocks change", async () => {
    const night = { times: ["02:30"] };
    const spring = ["Sat, 01:01 GMT+1", "Sat, 02:30 GMT+1", "Sun, 03:00 GMT+2", "Mon, 02:30 GMT+2"];
    expect(await sentAt(night, Date.UTC(2026, 2, 28), 4)).toEqual(spring);
    const autumn = ["Sat, 12:01 GMT+2", "Sun, 02:30 GMT+2", "Mon, 02:30 GMT+1"];
    expect(await sentAt(night, Date.UTC(2026, 9, 24, 10), 3)).toEqual(autumn);
  });

  it("are kept to over a restart: what was missed is sent at the start, what was not is not", async () => {
    const schedule = { kind: "at" as const, times: ["13:00"], timeZone: "UTC" };
    const canary = await open({ schedule, startsAt: Date.UTC(2026, 10, 21, 12) });
    await canary.fly();
    await canary.restart();
    expect(await canary.fly()).toBe(59 * minute);
    await canary.restart(25 * hour);
    expect(await canary.fly()).toBe(minute);
  });

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
    expect(canary.view()).toMatchObject({ state: "waiting", nextAt: canary.clock.now() + minute });
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

  it("is told once when two in a row fail, over a restart too, and once when one comes through again", async () => {
    const canary = await open();
    await canary.fly();
    canary.way.serve = refuse;
    await canary.fly();
    await canary.fly();
    await canary.restart();
    await canary.fly();
    expect(canary.told).toMatchObject([
      {
        title: "Alerts may not arrive: Tocsin does not reach itself at its public address",
        text: "A test that it sends there every 1 h failed twice: the answer was 502, not 202. Check the proxy in front of Tocsin, and run tocsin doctor. Alerts of senders probably fail in the same way.",
        ...{ severity: "critical", status: "firing", alertKey: "tocsin:canary" },
        fields: [{ name: "stage", value: "answer" }],
        link: "https://tocsin.example.com/silence",
      },
    ]);
    expect(canary.view()).toMatchObject({ state: "fails", stage: "answer" });
    canary.way.serve = undefined;
    expect(await canary.fly()).toBe(5 * minute);
    expect(await canary.fly()).toBe(hour);
    expect(canary.told.slice(1).map(({ title, status }) => [title, status])).toEqual([
      ["Tocsin reaches itself at its public address again, after 15 min", "resolved"],
    ]);
    expect(canary.view().state).toBe("works");
  });

  it("that is spoiled on its way is told with what was sent and what arrived, and goes to nobody", async () => {
    const canary = await open();
    canary.way.spoiling = "arrives cut off: 65,536 bytes sent, 32,768 arrived";
    await canary.fly();
    const detail = "an alert arrives cut off: 65,536 bytes sent, 32,768 arrived";
    expect(canary.view()).toMatchObject({ state: "fails", stage: "body", detail });
    expect(canary.seen).toEqual([]);
    canary.way.spoiling = undefined;
    canary.way.spoil = (body) => body.slice(0, -1);
    await canary.fly();
    expect(canary.view().detail).toMatch(/^it arrives cut off: \d+ bytes sent, \d+ arrived$/);
    canary.way.spoil = (body) => body;
    await canary.fly();
    expect(canary.told.map(({ title }) => title)).toEqual([
      "Alerts may lose their content on the way to Tocsin",
      expect.stringMatching(/^Alerts arrive whole at the public address again, after \d+ min$/),
    ]);
    expect(canary.told[0]?.text).toContain(`failed twice: ${detail}. Let the proxy`);
  });

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
    canary.world.refusal = new Error("no room");
    canary.scene.store.saveWatchState = () => Promise.reject(canary.world.refusal);
    await canary.clock.advance(minute);
    while (!canary.events.includes("canary.failed")) await nextTurn();
    await canary.clock.advance(minute);
    while (!canary.events.includes("watch.failed")) await nextTurn();
    canary.world.refusal = undefined;
    canary.scene.store.saveWatchState = saveWatchState;
    expect(await canary.fly()).toBe(5 * minute);
    expect(canary.told).toHaveLength(1);
    expect(await canary.fly()).toBe(5 * minute);
  });

  it("may fail once", async () => {
    const canary = await open();
    canary.way.serve = () => {
      canary.way.serve = undefined;
      return refuse;
    };
    await canary.fly();
    expect(canary.events).toContain("canary.failed");
    expect(canary.told).toEqual([]);
    expect(canary.view().state).toBe("works");
  });

  it("is told to nobody while a mute matches its notice, and to all when that has ended", async () => {
    const canary = await open({ serve: refuse });
    canary.mutes.push(mute("m", { matchers: [{ field: "alertKey", condition: { equals: ["tocsin:canary"] } }] }));
    await canary.fly();
    expect([canary.view().state, canary.told]).toEqual(["fails", []]);
    canary.mutes.pop();
    await canary.fly();
    expect(canary.told).toHaveLength(1);
  });

  const redirecting = answering(301, "", { location: "http://tocsin.invalid/" });
  const unknownId = '{"data":{"id":"019aa5a0-7c3e-7d2a-9b1c-0242ac120002","duplicate":false}}';
  it.each<[string, FakeAnswer | "no name", string]>([
    ["name", "no name", "its name is not found"],
    ["answer", answering(404, "{}"), "the answer was 404, not 202"],
    ["answer", answering(503), "says when it cannot store"],
    ["answer", redirecting, "the answer was 301, a redirect that senders do not follow, not 202"],
    ["answer", answering(202, "x".repeat(100_000)), "202 without an alert's id"],
    ["stored", answering(202, unknownId), "is not in this relay's log"],
    ["connection", "reset", "no connection could be made, or it broke"],
  ])("that fails at %s says so", async (stage, serve, detail) => {
    const canary = await open(serve === "no name" ? { url: "http://tocsin.invalid" } : { serve });
    await canary.fly();
    expect(canary.view()).toMatchObject({ stage, detail: expect.stringContaining(detail) });
    expect(canary.told).toHaveLength(1);
    expect(JSON.stringify([canary.told, canary.view()])).not.toContain(secret);
  });

  it("that finds nobody listening, or no TLS, says so", async () => {
    const closed = await open({ url: `http://127.0.0.1:${await findClosedPort()}` });
    await closed.fly();
    expect(closed.view()).toMatchObject({ stage: "connection" });
    const { url } = await listenOnLoopback(createServer());
    const plain = await open({ url: url.replace("http:", "https:") });
    await plain.fly();
    expect(plain.view()).toMatchObject({ stage: "tls" });
  });
});
