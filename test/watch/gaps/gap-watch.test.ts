import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { MetricHistoryService } from "../../../src/core/ports/metric-history.ts";
import { type GapWatchDeps, openGapWatch } from "../../../src/watch/gaps/gap-watch.ts";
import { openRunningTimes } from "../../../src/watch/running-times.ts";
import { mute } from "../../conformance/store/common/mutes.ts";
import { createWatchWorld, hour, minute } from "../watch-world.ts";

const key = "eth_token_price_0x00aa11bb22cc33dd44ee55ff66aa77bb88cc99dd";
const recordEvery = 5 * minute;

/** A price that stands at 90 and goes to 110 for half an hour, every two hours; a rule at 100 tells of both turns. */
const priceAt = (at: number): number => (at % (2 * hour) < 30 * minute ? 110 : 90);

interface Options {
  subscriptions?: () => unknown[];
  /** What a call throws instead of an answer. */
  fails?: (call: "subscriptions" | "records") => Error | undefined;
  /** What alerts call the metric. Default: its key. */
  word?: string;
  /** Whose account it is. Default: that of the environment. */
  source?: string;
}

async function open({ subscriptions, fails, word = key, source: of }: Options = {}) {
  const calls = { subscriptions: 0, records: [] as { fromAt?: number; toAt?: number }[] };
  const service: MetricHistoryService = {
    async lookAtSubscriptions() {
      calls.subscriptions += 1;
      const failure = fails?.("subscriptions");
      if (failure !== undefined) throw failure;
      const listed = subscriptions?.() ?? [
        { subscription: { id: "sub_1", condition: { kind: "above", threshold: 100 } }, metric: { key } },
      ];
      return { entries: listed };
    },
    async lookAtRecords({ fromAt = 0, toAt = clock.now() }) {
      calls.records.push({ fromAt, toAt });
      const failure = fails?.("records");
      if (failure !== undefined) throw failure;
      const points = [];
      const from = Math.max(fromAt, clock.now() - 7 * 24 * hour);
      for (let at = Math.ceil(from / recordEvery) * recordEvery; at <= toAt; at += recordEvery)
        points.push({ at, value: priceAt(at) });
      return { points, unread: 0 };
    },
  };
  let off: Awaited<ReturnType<GapWatchDeps["readOff"]>> = { isOff: false, at: 0 };
  const runner = await createWatchWorld(async (deps) => {
    const ran = await openRunningTimes({ store: deps.store, clock, log: silentLog });
    const { downtimes } = ran;
    const given = { ...deps, service, downtimes, readOff: async () => off, random: () => 0.5, source: of };
    const watch = await openGapWatch(given, { everyMs: 15 * minute });
    const run = watch.run.bind(watch);
    return Object.assign(watch, {
      run: async (stop: AbortSignal) => void (await Promise.all([ran.run(stop), run(stop)])),
    });
  });
  const { clock, scene, told } = runner;
  const world = {
    ...runner,
    /** Of the present run. */
    now: () => runner.watch,
    runner,
    told,
    calls,
    turnOff(isOff: boolean) {
      off = { isOff, at: clock.now() };
    },
    /** No relay runs for so long; `meanwhile` is what comes then. */
    async sleeps(ms: number, meanwhile?: (fromAt: number, toAt: number) => Promise<void>) {
      await runner.stop();
      const from = clock.now();
      await clock.jump(ms);
      await meanwhile?.(from, clock.now());
      await runner.start();
    },
    verdicts: () => new Set(runner.watch.report()?.missing.map(({ verdict }) => verdict)),
    titles: () => told.map(({ title }) => title),
    /** The alert of the turn at this time, as it was received. */
    async comes(at: number, source?: string) {
      const holds = priceAt(at) > 100;
      await scene.route({
        to: [],
        source,
        receivedAt: at + 900,
        facts: {
          metric: word,
          threshold: "100",
          value: String(priceAt(at)),
          status: holds ? "firing" : "resolved",
          fields: [{ name: "condition", value: "above" }],
          occurredAt: at + 500,
        },
      });
    },
    /** Time passes, and what is due comes when it is. */
    async live(ms: number) {
      for (const end = clock.now() + ms; clock.now() < end; ) {
        await clock.advance(5 * minute);
        if (priceAt(clock.now()) !== priceAt(clock.now() - 1)) await world.comes(clock.now());
      }
    },
    /** All turns of a time come. */
    async turnsCome(fromAt: number, toAt: number, source?: string) {
      for (let at = Math.ceil(fromAt / (30 * minute)) * 30 * minute; at < toAt; at += 30 * minute) {
        if (priceAt(at) !== priceAt(at - 1)) await world.comes(at, source);
      }
    },
  };
  return world;
}

/** A relay that has just started, behind a day of which every alert has come; for so long all come. */
async function openLived(options: Options = {}, forMs = 0) {
  const world = await open(options);
  const begin = world.clock.now();
  await world.turnsCome(begin - 24 * hour, begin + Math.min(forMs, 1), options.source);
  await world.start();
  await world.clock.advance(forMs);
  await world.turnsCome(begin + 1, world.clock.now(), options.source);
  return { ...world, begin };
}

/**
 * The look behind three hours in which no relay ran.
 * @param isRepeated the service has sent what it could not meanwhile before the relay looks. Default false.
 */
async function lookBehindDowntime(options: Options = {}, { isRepeated = false, isMuted = false } = {}) {
  const world = await openLived(options);
  if (isMuted) world.mutes.push(mute("m", { matchers: [{ field: "source", condition: { equals: ["Tocsin"] } }] }));
  await world.sleeps(3 * hour, isRepeated ? world.turnsCome : undefined);
  await world.clock.advance(6 * minute);
  return world;
}

describe("a relay that was down", () => {
  it("looks for those of a source's account by that source's hook alone, and says whose they are", async () => {
    const world = await openLived({ source: "rules" }, 10 * minute);
    await world.sleeps(3 * hour, world.turnsCome);
    await world.clock.advance(20 * minute);
    expect(world.told.map(({ title, link }) => [title, link])).toEqual([
      ["rules: 3 alerts probably did not arrive while Tocsin was down", "https://tocsin.example.com/gaps?source=rules"],
    ]);
    expect(world.now().view()).toMatchObject({
      name: "gaps:rules",
      verdict: "trouble",
      troubles: [expect.stringContaining("tocsin gaps --source rules")],
    });
    expect(await world.scene.store.loadWatchState("gaps:rules")).toBeUndefined();
    await world.restart();
    await world.clock.advance(20 * minute);
    expect(world.told).toHaveLength(1);
  });

  it("takes the same turns by another source's hook for none of the account's", async () => {
    const world = await openLived({}, 10 * minute);
    await world.sleeps(3 * hour, (from, to) => world.turnsCome(from, to, "second"));
    await world.clock.advance(6 * minute);
    expect(world.titles()).toEqual(["3 alerts probably did not arrive while Tocsin was down"]);
  });

  it("tells once of what did not come meanwhile, and over restarts not again", async () => {
    const world = await openLived({}, 10 * minute);
    const { begin } = world;
    expect(world.now().view()).toMatchObject({ name: "gaps", verdict: "well" });
    expect(world.told).toEqual([]);
    await world.sleeps(3 * hour);
    const back = world.clock.now();
    await world.clock.advance(6 * minute);
    expect(world.titles()).toEqual(["3 alerts probably did not arrive while Tocsin was down"]);
    expect(world.told[0]?.text).toMatch(/^Likely \(1 to \d+ that it is chance\): /);
    expect(world.told[0]?.text).toContain(
      `${key} above 100: 21 Nov 2026, 13:55:00 UTC to 21 Nov 2026, 14:00:00 UTC, 90 → 110`,
    );
    expect(world.told[0]).toMatchObject({ severity: "warning", link: "https://tocsin.example.com/gaps" });
    expect(world.now().view()).toMatchObject({ verdict: "trouble", troubles: [expect.stringContaining("3 likely")] });
    const { missing, downtimes } = world.now().report() ?? { missing: [], downtimes: [] };
    expect(missing.map(({ verdict, status, whileDown }) => `${verdict} ${status} ${whileDown}`).sort()).toEqual([
      "likely firing true",
      "likely resolved true",
      "likely resolved true",
    ]);
    expect(downtimes).toEqual([{ fromAt: begin + 10 * minute, toAt: back, asleep: false, restored: false }]);

    for (let restart = 0; restart < 3; restart += 1) {
      await world.restart();
      await world.clock.advance(6 * minute);
      await world.turnsCome(back + 1, world.clock.now());
    }
    // Later alerts have come: these are not on their way any more.
    await world.clock.advance(60 * minute);
    await world.turnsCome(back + 20 * minute, world.clock.now());
    await world.clock.advance(20 * minute);
    expect(world.verdicts()).toEqual(new Set(["sure"]));
    expect(world.told).toHaveLength(1);
    await world.stop();
    const notices = (await world.scene.store.listAlerts({ limit: 200 })).filter(({ origin }) => origin === "notice");
    expect(notices).toHaveLength(1);
    // It is a notice and no alert: it is not among what the check itself looks at.
    const facts = await world.scene.store.listFacts({ fromAt: 0, limit: 500 });
    expect(facts.every(({ origin }) => origin === "hook")).toBe(true);
  });

  it("asks the service for what is new, once a quarter of an hour", async () => {
    const world = await openLived();
    await world.clock.advance(65 * minute);
    expect(world.calls.subscriptions).toBeLessThanOrEqual(6);
    const [first, ...later] = world.calls.records.map(({ fromAt = 0, toAt = 0 }) => toAt - fromAt);
    expect(first).toBe(7 * 24 * hour);
    expect(later.length).toBeGreaterThan(2);
    expect(Math.max(...later)).toBeLessThan(90 * minute);
  });

  it("a mute that holds for the notice keeps it back for good", async () => {
    const world = await lookBehindDowntime({}, { isMuted: true });
    expect(world.now().report()?.missing.length).toBeGreaterThan(0);
    expect(world.told).toEqual([]);
    world.mutes.pop();
    await world.clock.advance(hour);
    expect(world.told).toEqual([]);
  });

  it("what a sender that repeats brings later is missing no more", async () => {
    const world = await lookBehindDowntime({}, { isRepeated: true });
    expect(world.now().report()?.missing).toEqual([]);
    expect(world.told).toEqual([]);
  });
});

describe("what somebody did on purpose", () => {
  it("expects nothing while setup has the webhook turned off, then or later", async () => {
    const world = await openLived();
    world.turnOff(true);
    await world.clock.advance(5 * hour);
    expect(world.now().view()).toMatchObject({ verdict: "idle", summary: expect.stringContaining("webhook off") });
    world.turnOff(false);
    await world.live(4 * hour);
    expect(world.now().report()).toMatchObject({ missing: [] });
    expect(world.now().view()).toMatchObject({ verdict: "well" });
    expect(world.told).toEqual([]);
  });

  it.each([
    ["is paused for a night", { enabled: false, op: ">", value: 100 }],
    ["has another threshold for a night", { op: ">", value: 500 }],
  ])("a subscription that %s owes nothing of that time, over a restart too", async (_what, meanwhile) => {
    let now: object = { op: ">", value: 100 };
    const world = await openLived({
      subscriptions: () => [{ subscription: { id: "sub_1", ...now }, metric: { key } }],
    });
    await world.clock.advance(10 * minute);
    now = meanwhile;
    await world.clock.advance(8 * hour);
    now = { op: ">", value: 100 };
    await world.live(20 * minute);
    await world.restart();
    await world.live(6 * hour);
    expect(world.now().report()).toBeDefined();
    expect(world.verdicts()).not.toContain("sure");
    expect(world.told).toEqual([]);
  });

  it("a list that is empty for once makes no subscription new", async () => {
    let isEmpty = false;
    const listed = [{ subscription: { id: "sub_1", op: ">", value: 100 }, metric: { key } }];
    const world = await openLived({ subscriptions: () => (isEmpty ? [] : listed) }, 10 * minute);
    isEmpty = true;
    await world.live(15 * minute);
    isEmpty = false;
    await world.sleeps(3 * hour);
    await world.live(70 * minute);
    expect(world.verdicts()).toEqual(new Set(["sure"]));
    expect(world.told).toHaveLength(1);
  });

  it("is told once where the list's order changes and no subscription has a name", async () => {
    let isTurned = false;
    const world = await lookBehindDowntime({
      subscriptions: () => {
        const listed = [{ op: ">", value: 100, metric: { key } }, { enabled: false }, { enabled: false }];
        return isTurned ? listed.reverse() : listed;
      },
    });
    expect(world.told).toHaveLength(1);
    isTurned = true;
    await world.clock.advance(hour);
    expect(world.told).toHaveLength(1);
  });
});

describe("answers that say nothing", () => {
  const refused = new AppError(
    "upstream_bad_answer",
    "alerting: GET /subscriptions answered an HTML page, where JSON was expected",
  );

  it.each<[string, Options, string]>([
    ["an HTML page for records", { fails: (call) => (call === "records" ? refused : undefined) }, "HTML"],
    [
      "subscriptions of unknown members",
      { subscriptions: () => [{ a: 1 }, "x", null], word: "price" },
      "the key of its metric",
    ],
    [
      "no service",
      { fails: () => new AppError("upstream_unreachable", "alerting: no answer within 15 s") },
      "no answer",
    ],
  ])("%s: it cannot tell, and alarms nobody", async (_what, options, why) => {
    const { now, told } = await lookBehindDowntime(options);
    expect(told).toEqual([]);
    expect(now().report()?.missing).toEqual([]);
    expect(now().view()).toMatchObject({ verdict: "unknown", troubles: [] });
    expect(JSON.stringify([now().view(), now().report()?.unknown])).toContain(why);
  });

  it("a log without an alert says nothing of what is missing", async () => {
    const world = await open();
    await world.start();
    await world.clock.advance(6 * minute);
    expect(world.now().view()).toMatchObject({ verdict: "unknown", troubles: [] });
    expect(world.now().view().summary).toContain("it has no alert of that time");
  });

  it("no subscription at all: nothing is expected", async () => {
    const { now, told } = await lookBehindDowntime({ subscriptions: () => [] });
    expect(told).toEqual([]);
    expect(now().view()).toMatchObject({ verdict: "idle", troubles: [] });
  });

  it.each<[string, Options]>([
    ["are refused", { fails: (call) => (call === "subscriptions" ? refused : undefined) }],
    ["have unknown members", { subscriptions: () => [{ a: 1 }, "x", null] }],
  ])("goes by the rules that alerts reveal where subscriptions %s", async (_what, options) => {
    const { verdicts, told } = await lookBehindDowntime(options);
    // Nobody has said that the rule is still there.
    expect(verdicts()).toEqual(new Set(["likely"]));
    expect(told).toHaveLength(1);
  });
});
