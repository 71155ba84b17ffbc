import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { AlertStatus, Severity } from "../../src/core/alert.ts";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Mute } from "../../src/core/rules.ts";
import { keptNameOf } from "../../src/core/rules.ts";
import { createNotifier } from "../../src/delivery/duties/notices.ts";
import { listMutes } from "../../src/operations/mute-book.ts";
import { mostReceiptKeys, writeMuteReceipt } from "../../src/rendering/mute-receipt.ts";
import { createRouter } from "../../src/routing/router.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { openMuteReceipts } from "../../src/watch/mute-receipts.ts";
import { factsOf, findUnrouted, planned, request, routed } from "../conformance/store/scene-samples.ts";
import { chat } from "../routing/sample.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock, minute } from "../support/test-clock.ts";

/** A store and a notifier that are real, and a clock that the test moves. A relay may be killed behind a write. */
async function openWorld({ at, configured = [] }: { at?: number; configured?: Mute[] } = {}) {
  const clock = createTestClock(at);
  const store = openLocalStore({ path: join(makeTempFolder(), "tocsin.db"), ballastBytes: 0, now: clock.now });
  const newId = createIdSource(clock.now);
  const night = { from: "22:00", to: "07:00", except: ["critical"] };
  const destinations = [chat("desk"), chat("ops"), { ...chat("asleep"), timeZone: "Europe/Zurich", quietHours: night }];
  const { findHold } = createRouter({ destinations, routes: [], mutes: [] });
  const notifier = createNotifier({ store, destinations, isWell: () => true, findHold, clock, newId, log: silentLog });
  onTestFinished(() => store.close());
  const world = {
    /** The mutes of the file; the next run has read it anew. */
    configured,
    clock,
    store,
    /** How many notices are still written before the relay is killed. */
    untilKill: Number.POSITIVE_INFINITY,
    mute: async (changes: Partial<Mute> = {}): Promise<Mute> => {
      const now = clock.now();
      const times = { startsAt: now, endsAt: now + 60 * minute, createdAt: now };
      const mute = { id: newId(), matchers: [], reason: "pool migration", createdBy: "page", ...times, ...changes };
      if (mute.createdBy !== "configuration") await store.addMute(mute);
      return mute;
    },
    async silence(
      mute: Mute,
      key: string,
      to: string[],
      severity: Severity = "warning",
      status: AlertStatus = "firing",
    ) {
      const id = newId();
      await store.acceptRequest(request({ ids: [id], receivedAt: clock.now() }));
      const { seq } = await findUnrouted(store, id);
      const facts = factsOf({ alertKey: key, title: key, severity, status });
      const deliveries = to.map((name) => planned(name, { state: "muted", mutedBy: keptNameOf(mute) }));
      await store.recordRouting([routed(seq, { facts, deliveries, routedAt: clock.now() })]);
    },
    /** Runs it on what is stored, for so long. */
    async run(ms: number) {
      const stop = new AbortController();
      const receipts = await openMuteReceipts({
        store,
        configured: world.configured,
        destinations: new Set(destinations.map(({ name }) => name)),
        mostKeys: mostReceiptKeys,
        write: (mute, silenced) => writeMuteReceipt(mute, silenced, "https://tocsin.example"),
        async notify(facts, watch, to) {
          await notifier.send(facts, { watch, to });
          world.untilKill -= 1;
          if (world.untilKill === 0) {
            stop.abort();
            throw new Error("killed");
          }
        },
        clock,
        log: silentLog,
      });
      const running = receipts.run(stop.signal);
      await clock.advance(ms);
      stop.abort();
      await Promise.race([running, clock.advance(minute)]);
    },
    told: async () =>
      (await store.listAlerts({ limit: 100 }))
        .filter(({ origin }) => origin === "notice")
        .map(({ facts, deliveries }) => {
          const [{ state, dueAt } = {}] = deliveries;
          const to = deliveries.map(({ destination }) => destination).join();
          return { to, state, dueAt, title: facts?.title, text: facts?.text ?? "", severity: facts?.severity };
        })
        .reverse(),
  };
  return world;
}

it("tells each destination once, also where a relay is killed behind each of the notices", async () => {
  const world = await openWorld();
  const mute = await world.mute();
  await world.silence(mute, "a", ["desk", "ops"]);
  await world.run(60 * minute);
  for (let kill = 0; kill < 3; kill += 1) {
    world.untilKill = 1;
    await world.run(10_000);
  }
  await world.run(minute);
  expect((await world.told()).map(({ to, title }) => [to, title])).toEqual([
    ["desk", "While muted: 1 alert, 1 still firing (1 warning)"],
    ["ops", "While muted: 1 alert, 1 still firing (1 warning)"],
  ]);
});

it("tells nothing of a mute that held nothing back, one that goes on, or one that was released before", async () => {
  const world = await openWorld();
  await world.mute({ endsAt: world.clock.now() + minute });
  await world.silence(await world.mute({ endsAt: world.clock.now() + 600 * minute }), "a", ["desk"]);
  await world.run(30 * minute);
  expect(await world.told()).toEqual([]);
});

it("comes when a person ends the mute, and some seconds behind what another relay may still mute", async () => {
  const world = await openWorld();
  const mute = await world.mute();
  await world.silence(mute, "a", ["desk"]);
  await world.store.endMute(mute.id, world.clock.now());
  await world.run(4_000);
  expect(await world.told()).toEqual([]);
  await world.silence(mute, "b", ["desk"]);
  await world.run(4_000);
  expect((await world.told()).map(({ title }) => title)).toEqual([
    "While muted: 2 alerts, 2 still firing (2 warnings)",
  ]);
});

it("wakes people only where something critical still fires, and waits for the end of a night with a change of clocks", async () => {
  // Clocks go back at 03:00 in Zurich.
  const world = await openWorld({ at: Date.parse("2026-10-24T21:00:00Z") });
  const mute = await world.mute();
  await world.silence(mute, "a", ["asleep"]);
  await world.silence(mute, "b", ["asleep"], "critical");
  await world.silence(mute, "b", ["asleep"], "critical", "resolved");
  const other = await world.mute({ reason: "another" });
  await world.silence(other, "c", ["asleep"], "critical");
  await world.run(62 * minute);
  const told = (await world.told()).sort((one, other) => String(one.severity).localeCompare(String(other.severity)));
  expect(told).toMatchObject([
    { severity: "critical", state: "queued" },
    { severity: "info", state: "held", dueAt: Date.parse("2026-10-25T06:00:00Z") },
  ]);
});

it("is one bounded message of 5,000 alerts, the worst by name", async () => {
  const world = await openWorld();
  const mute = await world.mute({ reason: `a\n${"long ".repeat(500)}` });
  for (let index = 0; index < 5_000; index += 1)
    await world.silence(mute, `key ${index % 500} ${"x".repeat(200)}`, ["desk"], index === 77 ? "critical" : "warning");
  await world.run(62 * minute);
  const [receipt, ...others] = await world.told();
  expect(others).toEqual([]);
  expect(receipt?.title).toBe("While muted: 5,000 alerts, 500 still firing (1 critical, 499 warnings)");
  const lines = receipt?.text.split("\n") ?? [];
  expect(lines[1]).toMatch(/^🚨 .?key 77 /u);
  expect(lines).toHaveLength(mostReceiptKeys + 3);
  expect(lines.at(-2)).toBe("and 492 more alert keys");
  expect(receipt?.text.length).toBeLessThan(1_600);
});

const now = Date.parse("2026-11-21T12:00:00Z");
const first = { id: "configuration:1", matchers: [], reason: "then", createdBy: "configuration", createdAt: 0 };

it("knows a mute of the configuration by what it is, not by its place in the file", async () => {
  const ended = { ...first, startsAt: now - 120 * minute, endsAt: now - 60 * minute };
  const next = { ...first, reason: "now", startsAt: now, endsAt: now + minute };
  const world = await openWorld({ at: now, configured: [next] });
  await world.silence(ended, "a", ["desk"]);
  await world.silence(next, "b", ["desk"]);
  await world.run(2 * minute);
  expect((await world.told()).map(({ title }) => title)).toEqual(["While muted: 1 alert, 1 still firing (1 warning)"]);
});

it.each(["removed", "shorter", "longer"])(
  "tells of a mute of the file that is %s before its end, and can release it",
  async (change) => {
    const mute = { ...first, startsAt: 0 };
    const former = { ...mute, endsAt: now + 600 * minute };
    const world = await openWorld({ at: now, configured: [former] });
    await world.run(minute);
    await world.silence(former, "a", ["desk"], "critical");
    await world.run(minute);
    expect(await world.told()).toEqual([]);
    const ends = { removed: undefined, shorter: now + 30 * minute, longer: now + 70 * minute }[change];
    world.configured = ends === undefined ? [] : [{ ...mute, endsAt: ends }];
    for (const ms of [minute, 80 * minute, minute]) await world.run(ms);
    expect(await world.told()).toMatchObject([
      {
        title: "While muted: 1 alert, 1 still firing (1 critical)",
        text: expect.stringMatching(/^Muted until 21 Nov 2026/),
      },
    ]);
    const listed = await listMutes(world.store, world.configured, world.clock.now(), true);
    expect(listed.filter(({ silenced }) => silenced === 1)).toMatchObject([{ id: keptNameOf(former), reason: "then" }]);
    expect(await listMutes(world.store, world.configured, world.clock.now())).toEqual([]);
  },
);

it("waits while everything, or the same, is muted longer", async () => {
  const world = await openWorld();
  const matchers: Mute["matchers"] = [{ field: "title", condition: { glob: ["Pool*"] } }];
  const end = world.clock.now() + 10 * minute;
  const pool = await world.mute({ matchers, endsAt: end });
  await world.silence(pool, "a", ["desk"], "critical");
  await world.mute({ matchers, endsAt: end + 20 * minute });
  await world.run(20 * minute);
  await world.mute({ endsAt: end + 60 * minute });
  await world.run(45 * minute);
  expect(await world.told()).toEqual([]);
  await world.run(10 * minute);
  expect(await world.told()).toMatchObject([{ to: "desk", severity: "critical", state: "queued" }]);
});

it("makes no notice for a destination that is no longer configured", async () => {
  const world = await openWorld();
  await world.silence(await world.mute({ endsAt: world.clock.now() + minute }), "a", ["gone", "ops"]);
  await world.run(2 * minute);
  expect((await world.told()).map(({ to }) => to)).toEqual(["ops"]);
});

it("names the worst where only its end would be a line, and not where something as bad still fires", async () => {
  const world = await openWorld();
  const mute = await world.mute({ endsAt: world.clock.now() + minute });
  await world.silence(mute, "USDC", ["desk", "ops"], "critical");
  await world.silence(mute, "USDC", ["desk", "ops"], "warning", "resolved");
  for (let index = 0; index <= mostReceiptKeys; index += 1) await world.silence(mute, `key ${index}`, ["desk"]);
  await world.silence(mute, "EURC", ["ops"], "critical");
  await world.run(2 * minute);
  const [desk, ops] = await world.told();
  expect(desk?.text.split("\n")[1]).toMatch(/^Worst: 🚨 .?USDC.* UTC; over$/u);
  expect(desk?.severity).toBe("info");
  expect(ops?.text).not.toContain("Worst");
  expect(ops?.text).toMatch(/🚨 .?EURC.*\n✅ .?USDC/u);
});
