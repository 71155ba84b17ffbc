import { describe, expect, it } from "vitest";
import type { SilenceRule } from "../../src/core/rules.ts";
import type { SqliteStore } from "../../src/store/sqlite/store.ts";
import { type SilenceDeps, SilenceWatch } from "../../src/watch/silence.ts";
import { mute } from "../conformance/store/common/mutes.ts";
import { newIdAt, type Scene } from "../conformance/store/scene.ts";
import { createWatchWorld, day, hour, minute } from "./watch-world.ts";

const hook: SilenceRule = { of: "hook", after: 6 * hour };

interface Options extends Partial<Pick<SilenceDeps, "describeAccount" | "sources">> {
  rules?: SilenceRule[];
  prepare?(scene: Scene<SqliteStore>, now: number): Promise<void>;
}

async function open({ rules = [hook], prepare, ...options }: Options = {}) {
  let present = rules;
  const world = await createWatchWorld((deps) => new SilenceWatch({ ...deps, ...options, rules: present }).open());
  const { clock, scene } = world;
  await prepare?.(scene, clock.now());
  await world.start();
  return {
    ...world,
    world,
    titles: () => world.told.map(({ title }) => title),
    async comes(changes: Partial<Parameters<SilenceWatch["note"]>[0]> = {}) {
      const receivedAt = clock.now();
      world.watch.note({ id: newIdAt(receivedAt), origin: "hook", receivedAt, decisions: [], ...changes });
      await clock.settle();
    },
    async restart(afterMs: number, how?: "killed" | "stopped", withRules = rules) {
      present = withRules;
      await world.restart(afterMs, how);
    },
    views: () => world.watch.view(),
    state: () => world.watch.view().map(({ state }) => state),
  };
}

describe("a silence of the hook", () => {
  it("is told once, with when the last alert came and what is known of the account, and once when it is over", async () => {
    const world = await open({ describeAccount: () => "The account still sends here; asked 3 min ago." });
    await world.comes();
    await world.clock.advance(6 * hour - minute);
    expect(world.told).toEqual([]);
    await world.clock.advance(10 * hour);
    const own = { alertKey: "tocsin:silence:hook", link: "https://tocsin.example.com/silence" };
    expect(world.told).toMatchObject([
      {
        ...{ ...own, severity: "critical", status: "firing", title: "No alert has come for 6 h" },
        text: "The last one arrived at 21 Nov 2026, 12:00:00 UTC. The limit is 6 h. See whether the sender still sends to this address. If the silence is expected, mute it at Silence on the page.",
        fields: [{ name: "account", value: "The account still sends here; asked 3 min ago." }],
      },
    ]);
    await world.comes();
    await world.clock.advance(hour);
    expect(world.told[1]).toMatchObject({
      ...{ ...own, severity: "info", status: "resolved", title: "Alerts arrive again, after 15 h 59 min", fields: [] },
      text: "Nothing had arrived for that long. The latest arrived at 22 Nov 2026, 03:59:00 UTC. What was not sent meanwhile is not in the log.",
    });
    expect(world.told).toHaveLength(2);
    expect(world.state()).toEqual(["watching"]);
  });

  const silent = "No alert has come for 6 h";
  const stories = { none: [], silent: [silent], over: [silent, expect.stringContaining("Alerts arrive again")] };
  const never = "None has arrived since this is watched";
  const paused = "While Tocsin itself did not run, 20 h, is not counted.";

  // An alert or a test comes, `5h` pass, the relay is down for so long, its clock is set; and what people were told by then.
  it.each<[string, story: string, text?: string]>([
    ["is told of a relay that has never had an alert", "7h silent", never],
    ["is not ended by tests", "alert 5h test 2h silent test 1m silent"],
    ["is told twice to nobody when the relay is stopped", "alert 7h stopped10s 9h silent alert stopped10s 1h over"],
    ["is told twice to nobody when the relay is killed", "alert 7h killed10s 9h silent alert killed10s 1h over"],
    ["does not count the time in which the relay was stopped", "alert 4h stopped20h 110m none 20m silent", paused],
    ["does not count the time in which the relay was killed", "alert 4h killed20h 110m none 20m silent", paused],
    ["is noticed over restarts that come more often than its time", `alert${" 1h killed10s".repeat(8)} silent`],
    ["is as long by a clock that is set back", "2h alert clock-1h 359m none 2m silent clock-7h 1m alert 1m over"],
    ["counts no hour of a clock that was wrong", "alert clock+7h 1h none clock-7h 299m none 62m silent"],
  ])("%s", async (_what, story, text = "") => {
    const world = await open();
    for (const word of story.split(" ")) {
      const [, what = "", amount = "0", unit = "s"] = /^([a-z]*)([+-]?\d+)?([hms])?$/.exec(word) ?? [];
      const ms = Number(amount) * { h: hour, m: minute, s: 1_000 }[unit as "h" | "m" | "s"];
      if (what === "") await world.clock.advance(ms);
      else if (what === "clock") await world.clock.set(ms);
      else if (what === "killed" || what === "stopped") await world.restart(ms, what);
      else if (what === "alert" || what === "test") await world.comes({ origin: what === "test" ? "test" : "hook" });
      else expect(world.titles(), word).toEqual(stories[what as keyof typeof stories]);
    }
    expect(world.told[0]?.text).toContain(text);
  });

  it("is none of the sender while the disk is full", async () => {
    const world = await open();
    await world.comes();
    const { health } = world.scene.store;
    world.scene.store.health = async () => ({ ...(await health()), full: true });
    await world.clock.advance(8 * hour);
    world.scene.store.health = health;
    await world.clock.advance(5 * hour);
    expect(world.told).toEqual([]);
  });

  it("is told to nobody while it is muted, and the page says so", async () => {
    const world = await open();
    world.mutes.push(mute("m", { matchers: [{ field: "alertKey", condition: { equals: ["tocsin:silence:hook"] } }] }));
    await world.comes();
    await world.clock.advance(8 * hour);
    expect(world.told).toEqual([]);
    expect(world.state()).toEqual(["muted"]);
    world.mutes.pop();
    await world.clock.advance(minute);
    expect(world.told).toHaveLength(1);
    world.mutes.push(mute("m", { matchers: [{ field: "title", condition: { equals: ["something else"] } }] }));
    expect(world.state()).toEqual(["silent"]);
  });

  it("is over when it is switched off, and begins anew when it is switched on", async () => {
    const world = await open();
    await world.clock.advance(7 * hour);
    await world.restart(10_000, "stopped", [{ of: "route", name: "other", after: 90 * day }]);
    await world.clock.advance(7 * hour);
    await world.restart(10_000, "stopped", [hook]);
    await world.clock.advance(5 * hour);
    expect(world.told).toHaveLength(1);
  });
});

describe("alerts that have come and are not routed yet", () => {
  /** What a flood leaves behind: stored, and routed when it is over. */
  async function store(world: Awaited<ReturnType<typeof open>>): Promise<string> {
    const id = newIdAt(world.clock.now());
    const request = { receivedAt: world.clock.now(), headers: "[]", origin: "hook" as const, dedupeWindowMs: 1 };
    await world.scene.store.acceptRequest({ ...request, ids: [id], body: Buffer.from("{}") });
    return id;
  }

  it("are no silence", async () => {
    const world = await open({ rules: [{ of: "hook", after: 30 * minute }] });
    await world.comes();
    await world.clock.advance(25 * minute);
    await store(world);
    await world.clock.advance(20 * minute);
    expect([world.titles(), world.state()]).toEqual([[], ["watching"]]);
  });

  it("keep no silence from being told when they cannot be routed at all", async () => {
    const world = await open({ rules: [{ of: "hook", after: 30 * minute }] });
    await store(world);
    await world.clock.advance(2 * hour);
    expect(world.told).toHaveLength(1);
  });
});

it("a silence of the account's hook is told whatever comes by the hooks of others", async () => {
  const world = await open({
    sources: ["github"],
    rules: [
      { of: "hook", after: hour },
      { of: "source", name: "github", after: hour },
    ],
  });
  await world.comes({ source: "Pyth" });
  for (let count = 0; count < 7; count += 1) {
    await world.clock.advance(10 * minute);
    await world.comes({ source: "github" });
  }
  expect(world.titles()).toEqual(["No alert has come by the account's hook for 1 h"]);
  await world.comes();
  expect(world.titles()[1]).toBe("Alerts arrive again by the account's hook, after 1 h 10 min");
});

describe("a silence of a route or a source", () => {
  const rules: SilenceRule[] = [
    { of: "route", name: "critical", after: 2 * hour },
    { of: "source", name: "Pyth", after: 3 * hour },
    { of: "source", name: "Other", after: 3 * hour },
  ];

  it("is told by its name, whatever else comes", async () => {
    const world = await open({ rules });
    world.mutes.push(mute("m", { matchers: [{ field: "source", condition: { equals: ["Other"] } }] }));
    const decisions = [
      { route: "critical", result: "not_matched", reason: "" } as const,
      { route: "rest", destination: "desk", result: "deliver", reason: "" } as const,
    ];
    for (let count = 0; count < 24; count += 1) {
      await world.comes({ source: "Someone", decisions });
      await world.clock.advance(10 * minute);
    }
    expect(world.titles()).toEqual([
      "No alert has come on route critical for 2 h",
      "No alert has come from Pyth for 3 h",
    ]);
    expect(world.told.map(({ severity }) => severity)).toEqual(["warning", "warning"]);
    await world.comes({
      source: "Pyth",
      decisions: [{ route: "critical", destination: "desk", result: "skipped", reason: "" }],
    });
    expect(world.titles().slice(2)).toEqual([
      expect.stringMatching(/^Alerts arrive again on route critical, after 4 h/),
      expect.stringMatching(/^Alerts arrive again from Pyth, after 4 h/),
    ]);
  });
});

describe("auto", () => {
  const rules: SilenceRule[] = [
    { of: "hook", after: "auto" },
    { of: "source", name: "Pyth", after: "auto" },
  ];

  /** Every half hour for so many days before now, by turns from two sources. */
  async function fill(scene: Scene<SqliteStore>, now: number, days: number): Promise<void> {
    for (let at = now - days * day; at < now; at += 30 * minute)
      await scene.route({ receivedAt: at, facts: { source: (at / minute) % 60 < 30 ? "Pyth" : "Other" }, to: [] });
  }

  it("learns from the log at once what is usual, shows it, and tells of what is longer", async () => {
    const world = await open({ rules, prepare: (scene, now) => fill(scene, now, 20) });
    await world.clock.advance(minute);
    const [all, pyth] = world.views();
    expect([all?.state, pyth?.state]).toEqual(["watching", "watching"]);
    expect((all?.usualMs ?? 0) / minute).toBeCloseTo(30, -1);
    expect((pyth?.usualMs ?? 0) / minute).toBeCloseTo(60, -1);
    const tellsAt = all?.tellsAt ?? 0;
    await world.clock.advance(tellsAt - world.clock.now() - minute);
    expect(world.told).toEqual([]);
    await world.clock.advance(2 * minute);
    expect(world.titles()).toEqual([expect.stringMatching(/^No alert has come for \d+ min$/)]);
    expect(world.told[0]?.text).toMatch(/At these hours the quiet usually lasts \d+ min at most\./);
    await world.clock.advance(3 * hour);
    expect(world.titles()).toHaveLength(2);
    await world.restart(10_000, "killed");
    await world.clock.advance(hour);
    expect(world.titles()).toHaveLength(2);
  });

  it.each(["stopped", "killed"] as const)(
    "learns from the log where it was a time before, also when it is %s",
    async (how) => {
      const times = rules.map((rule) => ({ ...rule, after: 90 * day }));
      const world = await open({ rules: times, prepare: (scene, now) => fill(scene, now, 20) });
      await world.clock.advance(5 * minute);
      await world.restart(10_000, how, rules);
      await world.clock.advance(minute);
      await world.restart(10_000, how, rules);
      await world.clock.advance(minute);
      expect(world.state()).toEqual(["watching", "watching"]);
      expect((world.views()[1]?.usualMs ?? 0) / minute).toBeCloseTo(60, -1);
    },
  );

  it("reads the log at the next start when it could not be read", async () => {
    const world = await open({
      rules,
      async prepare(scene, now) {
        await fill(scene, now, 20);
        const { listArrivals } = scene.store;
        scene.store.listArrivals = async () => {
          scene.store.listArrivals = listArrivals;
          throw new Error("no room");
        };
      },
    });
    await world.clock.advance(12 * minute);
    expect(world.state()).toEqual(["learning", "learning"]);
    await world.restart(10_000);
    await world.clock.advance(minute);
    expect(world.state()).toEqual(["watching", "watching"]);
  });

  it("knows what it has learned after a start with the clock of a year ago", async () => {
    const world = await open({ rules, prepare: (scene, now) => fill(scene, now, 20) });
    await world.clock.advance(minute);
    const year = 365 * day;
    await world.restart(-year);
    await world.clock.advance(5 * minute);
    await world.clock.set(year);
    await world.clock.advance(minute);
    expect([world.state(), world.told]).toEqual([["watching", "watching"], []]);
  });

  it("alarms nobody and says what it needs while it knows too little", async () => {
    const world = await open({ rules, prepare: (scene, now) => fill(scene, now, 3) });
    await world.clock.advance(3 * day);
    expect(world.told).toEqual([]);
    const [all] = world.views();
    expect(all).toMatchObject({
      state: "learning",
      learning: { days: 2, daysNeeded: 14, arrivalsNeeded: 30, isReading: false },
    });
    expect((all?.since ?? 0) / day).toBeCloseTo((world.clock.now() - 6 * day) / day, 1);
  });

  it("keeps what it has learned over a restart, and reads the log once", async () => {
    const world = await open({ rules, prepare: (scene, now) => fill(scene, now, 20) });
    await world.clock.advance(11 * minute);
    world.scene.store.listArrivals = () => Promise.reject(new Error("read again"));
    await world.restart(10_000);
    await world.clock.advance(minute);
    expect(world.state()).toEqual(["watching", "watching"]);
  });
});
