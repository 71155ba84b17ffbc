import { expect, it } from "vitest";
import type { AlertFacts } from "../../../../src/core/alert.ts";
import { type GroupRule, nameGroup } from "../../../../src/core/group.ts";
import type { PlannedDelivery } from "../../../../src/core/rules.ts";
import { aboutScenes, deciding, factsOf, noon, type OpenStore, openScene, planned, routeDrafts } from "../scene.ts";

const name = nameGroup("group", "all", [["chain", "eth"]]);
const cause = nameGroup("cause", "bridge down", [["chain", "eth"]]);
const second = 1000;
const inGroup: GroupRule = { group: { name, waitMs: 20_000, againMs: 300_000, waitCriticalMs: 0 } };
const ends: GroupRule = { holds: [], heldBy: [] };
const fallback = { to: "mail", at: noon + 600 * second };

interface Step {
  /** Seconds from noon. */
  at: number;
  group?: GroupRule;
  facts?: Partial<AlertFacts>;
  delivery?: Partial<PlannedDelivery>;
}

const bridge = { severity: "critical" as const, alertKey: "bridge", title: "Bridge halted" };
const begins = (at: number, more: Partial<Step> = {}): Step => {
  return { at, group: { holds: [{ name: cause, atMostMs: 3_600_000 }] }, facts: bridge, ...more };
};
const isOver = (at: number, facts: Partial<AlertFacts> = bridge, group = ends): Step => {
  return { at, group, facts: { ...facts, status: "resolved" } };
};
const behind = (at: number, alertKey = `key ${at}`, delivery = {}, group: GroupRule = { heldBy: [cause] }): Step => {
  return { at, group, facts: { alertKey }, delivery };
};

const places = new Map(Object.entries({ [name]: "in the group", [cause]: "behind the cause" }));

async function openGroups(open: OpenStore) {
  const scene = await openScene(open);

  function toDraft({ at, group = inGroup, facts, delivery }: Step) {
    const due = { dueAt: noon + at * second, group, ...delivery };
    const deliveries = [
      planned("chat", due),
      planned("mail", { channel: "email", recipient: "a@example.com", ...due }),
    ];
    const said = factsOf({ alertKey: `key ${at}`, title: `Pool ${at}`, ...facts });
    return deciding(deliveries, { facts: said, routedAt: noon + at * second });
  }

  const due = (destination: string) => scene.due(destination, Number.MAX_SAFE_INTEGER);
  return {
    ...scene,
    scene,
    /** The long way: stored one by one, and routed in one step. */
    route: (steps: readonly Step[]) => routeDrafts(scene, steps.map(toDraft), "one"),
    /** One by one, in other turns than they came. */
    routeInTurns: (turns: readonly number[], steps: readonly Step[]) =>
      routeDrafts(scene, steps.map(toDraft), "many", turns),
    /** On arrival: stored and routed in one step. */
    arrive: (steps: readonly Step[]) => routeDrafts(scene, steps.map(toDraft), "arriving"),
    /** What is due at a destination, as its lane finds it: when, of which key, in which state and of which name. */
    waiting: async (destination: string) =>
      (await due(destination)).map(({ dueAt, alertKey, state, groupName = "" }) =>
        [(dueAt - noon) / second, alertKey, state, places.get(groupName) ?? groupName].join(" ").trim(),
      ),
    told: async (destination: string) =>
      (await due(destination)).map(({ dueAt, alertKey, status }) => `${(dueAt - noon) / second} ${alertKey} ${status}`),
  };
}

export const describeGroups = aboutScenes("alerts that go out together", openGroups, (test, open) => {
  it.each(["route", "arrive"] as const)(
    "wait for each other, those behind their message for the next, and are brought forward by a critical one: %s",
    async (way) => {
      const scene = await openGroups(open);
      const ids = await scene[way]([
        ...[{ at: 0, delivery: { fallback } }, { at: 8 }, { at: 100 }, { at: 110 }],
        ...[{ at: 115, facts: { severity: "critical" as const } }, { at: 116 }],
      ]);
      const held = ["20 key 0", "20 key 8", "115 key 100", "115 key 110", "115 key 115", "415 key 116"];
      for (const destination of ["chat", "mail"])
        expect(await scene.waiting(destination)).toEqual(held.map((one) => `${one} held in the group`));
      const [decision] = (await scene.store.getAlert(ids[1] ?? ""))?.decisions ?? [];
      const reason = "it takes every alert; told with the group chain eth in 12 s";
      expect(decision).toMatchObject({ result: "held", reason });
    },
  );

  test("are brought forward with their fallbacks, to the time that a critical one waits at most", async (scene) => {
    const group = { group: { name, waitMs: 60_000, againMs: 300_000, waitCriticalMs: 20_000 } };
    await scene.route([
      { at: 0, group, delivery: { fallback } },
      { at: 5, group, facts: { severity: "critical" } },
    ]);
    expect(await scene.waiting("chat")).toEqual([0, 5].map((key) => `25 key ${key} held in the group`));
    expect(await scene.store.listFallbacksDue(fallback.at + 24 * second)).toEqual([]);
    expect(await scene.store.listFallbacksDue(fallback.at + 26 * second)).toMatchObject([{ alertKey: "key 0" }, {}]);
  });

  test("join nothing when they are muted, held by quiet hours or come alone and critical", async (scene) => {
    await scene.route([
      { at: 0, delivery: { state: "muted" } },
      { at: 1, delivery: { state: "held", dueAt: noon + 900 * second } },
      { at: 2, facts: { severity: "critical" } },
    ]);
    expect(await scene.waiting("chat")).toEqual(["2 key 2 queued", "900 key 1 held"]);
    expect(await scene.store.listHeld("chat", { dueAt: 0, seq: 0 }, 99)).toHaveLength(1);
  });

  test("do not wait when they do not ring: they are counted", async (scene) => {
    const delivery = { ring: { flapping: false, cooldownMs: 600 * second } };
    const same = { alertKey: "key", value: "99", threshold: "100" };
    await scene.route([0, 5, 400].map((at) => ({ at, delivery, facts: same })));
    const counted = expect.stringMatching(/^\d+ key held$/);
    expect(await scene.waiting("mail")).toEqual(["20 key held in the group", counted]);
  });

  test("are as before after a restart, and forgotten after weeks", async (scene) => {
    await scene.route([{ at: 0 }]);
    await scene.scene.restart();
    await scene.route([{ at: 5 }]);
    const times = async () => (await scene.waiting("chat")).map((one) => Number.parseInt(one, 10));
    expect(await times()).toEqual([20, 20]);
    if (scene.scene.store.maintain === undefined) return;
    await scene.scene.maintain(noon);
    await scene.scene.maintain(noon + 15 * 24 * 3600 * second);
    await scene.route([{ at: 6 }]);
    expect(await times()).toEqual([20, 20, 26]);
  });
});

export const describeCauses = aboutScenes("what follows a cause", openGroups, (test, open) => {
  test("waits until the cause is over; what was over before is not sent, and the cause counts it in place", async (scene) => {
    const [causeId, , , endId] = await scene.arrive([
      ...[begins(0), behind(1), behind(2)],
      isOver(3, { alertKey: "key 1" }, { heldBy: [cause] }),
    ]);
    const held = [1, 2, 1].map((key) => `3600 key ${key} held behind the cause`);
    expect(await scene.waiting("mail")).toEqual(["0 bridge queued", ...held]);
    const told = await scene.store.getAlert(causeId ?? "");
    expect(told?.deliveries.map(({ destination, state, extras }) => [destination, state, extras?.with])).toEqual([
      ...["chat", "mail"].map((destination) => [destination, "queued", undefined]),
      ["chat", "queued", { count: 2, titles: ["Pool 1", "Pool 2"] }],
    ]);
    const [overId] = await scene.route([isOver(60, bridge, begins(0).group)]);
    const released = ["0 bridge queued", "60 key 2 held behind the cause", "60 bridge queued"];
    expect(await scene.waiting("mail")).toEqual(released);
    expect(await scene.states(endId ?? "")).toEqual(["digested", "digested"]);
    expect((await scene.store.getAlert(overId ?? ""))?.deliveries[0]?.extras?.with?.count).toBe(2);
    await scene.route([behind(61)]);
    expect(await scene.waiting("mail")).toContain("61 key 61 queued");
  });

  test("is counted in place by one change that waits, and seldom where the message cannot name all", async (scene) => {
    const all = Array.from({ length: 51 }, (_, index) => behind(index + 1));
    const [causeId = ""] = await scene.route([begins(0), ...all.slice(0, 50)]);
    await scene.route(all.slice(50));
    const counts = async () =>
      (await scene.store.getAlert(causeId))?.deliveries.flatMap(({ dueAt, extras }) =>
        extras?.with ? [[((dueAt ?? 0) - noon) / second, extras.with.count]] : [],
      );
    expect(await counts()).toEqual([[0, 51]]);
    const change = (await scene.store.listDue("chat", noon, 9)).find(({ updates }) => updates === "count");
    const claim = { token: "t", deliverySeqs: [change?.seq ?? 0], leaseMs: 60_000 };
    await scene.store.claimDeliveries(scene.lane, claim, []);
    await scene.route([behind(60)]);
    expect((await counts())?.at(-1)).toEqual([70, 52]);
  });

  test("is released in steps where it is much, the oldest first, over a restart", async ({ scene, route }) => {
    const fires = Array.from({ length: 500 }, (_, index) => behind(0, `pool ${index}`));
    await route([begins(0), ...fires, isOver(1, { alertKey: "pool 1" }, { heldBy: [cause] })]);
    await route([isOver(2)]);
    const dueAt = async (at: number) => {
      const due = await scene.store.listDue("mail", noon + at * second, 999);
      return due.flatMap(({ alertKey, groupName }) => (groupName === cause ? [alertKey] : []));
    };
    // Two destinations share what one step may change; what is much is due some seconds later.
    expect(await dueAt(5)).toEqual([]);
    const step = () => scene.store.releaseRest(["chat", "mail"], noon + 3 * second);
    await scene.restart();
    expect(await step()).toBe(true);
    await scene.restart();
    while (await step());
    expect(await dueAt(4)).toEqual([]);
    const keys = fires.map(({ facts }) => facts?.alertKey);
    expect(await dueAt(5)).toEqual(keys.filter((key) => key !== "pool 1"));
  });

  it.each<[string, Step[][], string[]]>([
    [
      "waits as well where all come in one step",
      [[begins(0), behind(1, "one"), isOver(2, { alertKey: "one" }, { heldBy: [cause] }), behind(3, "two"), isOver(4)]],
      ["0 bridge firing", "4 two firing", "4 bridge resolved"],
    ],
    [
      "tells the end of what was told before its cause",
      [[behind(0, "pool")], [begins(1), behind(2, "pool"), isOver(3, { alertKey: "pool" }), isOver(4)]],
      ["0 pool firing", "1 bridge firing", "4 pool resolved", "4 bridge resolved"],
    ],
    [
      "does not tell as firing what was over elsewhere meanwhile",
      [
        [begins(0), behind(1, "pool")],
        [{ at: 2, delivery: { state: "muted" }, facts: { alertKey: "pool", status: "resolved" } }, isOver(3)],
      ],
      ["0 bridge firing", "3 bridge resolved"],
    ],
  ])("%s", async (_behaviour, turns, told) => {
    const scene = await openGroups(open);
    for (const steps of turns) await scene.route(steps);
    expect(await scene.told("mail")).toEqual(told);
  });

  it.each(["failed", "expired", "fallback"] as const)(
    "does not wait where nobody was told of the cause in time: %s",
    async (way) => {
      const scene = await openGroups(open);
      await scene.route([begins(0, { delivery: { fallback } }), behind(1, "pool", { fallback })]);
      const deliverySeq = (await scene.store.listDue("chat", noon, 1))[0]?.seq ?? 0;
      const at = noon + 60 * second;
      if (way === "fallback") await scene.store.callFallbacks([{ deliverySeq, planned: [] }], at);
      else await scene.finish([deliverySeq], { state: way, reason: "gone" }, at);
      expect(await scene.told("chat")).toContain("60 pool firing");
      expect(await scene.told("mail")).toContain("3600 pool firing");
      // The fallback of what waited is called as if it had come then.
      expect((await scene.store.listFallbacksDue(at + 600 * second)).map(({ alertKey }) => alertKey)).toContain("pool");
      await scene.route([behind(61)]);
      expect((await scene.waiting("chat")).at(-1)).toBe("61 key 61 queued");
    },
  );

  test("does not wait for a cause that nobody was told of, also where it was counted there and fired without a ring", async (scene) => {
    const again = (at: number) => begins(at, { delivery: { ring: { flapping: false, cooldownMs: 600 * second } } });
    for (const step of [again(0), behind(1), again(2), behind(3), behind(4)]) await scene.route([step]);
    const due = await scene.store.listDue("chat", noon, 9);
    const seqs = due.flatMap(({ alertKey, seq }) => (alertKey === "bridge" ? seq : []));
    const gone = { state: "failed" as const, reason: "gone" };
    await scene.finish(seqs, gone, noon + 60 * second);
    const left = (await scene.told("chat")).filter((one) => !one.includes("bridge"));
    expect(left).toEqual([1, 3, 4].map((key) => `60 key ${key} firing`));
    const [id] = await scene.route([again(61)]);
    expect((await scene.store.getAlert(id ?? ""))?.decisions[0]?.reason).not.toContain("does not ring");
  });

  test("does not wait for a cause that is routed behind its own end", async (scene) => {
    const rings = { delivery: { ring: { flapping: true } } };
    await scene.routeInTurns([1, 0, 2], [begins(0, rings), { ...isOver(1), ...rings }, behind(2)]);
    expect(await scene.waiting("chat")).toEqual(["0 bridge queued", "1 bridge queued", "2 key 2 queued"]);
  });

  test("calls no fallback for what was over before its cause", async (scene) => {
    await scene.route([begins(0), behind(1, "pool", { fallback }), isOver(2, { alertKey: "pool" }), isOver(3)]);
    expect(await scene.store.listFallbacksDue(noon + 7 * 24 * 3_600_000)).toEqual([]);
  });

  test("waits until all that hold it back are over", async (scene) => {
    const rpc = nameGroup("cause", "rpc down", [["chain", "eth"]]);
    const byBoth = (at: number, key: string, delivery = {}) => behind(at, key, delivery, { heldBy: [cause, rpc] });
    const ofRpc = { ...bridge, alertKey: "rpc" };
    await scene.route([
      { at: 0, group: { holds: [{ name: rpc, atMostMs: 600_000 }] }, facts: ofRpc },
      ...[byBoth(1, "one", { fallback }), byBoth(2, "two"), begins(3)],
    ]);
    await scene.route([byBoth(4, "one")]);
    await scene.route([isOver(5, ofRpc)]);
    const waits = (await scene.waiting("mail")).filter((one) => one.includes(" held "));
    expect(waits).toEqual(["one", "two", "one"].map((key) => `3603 ${key} held behind the cause`));
    await scene.route([isOver(6, { alertKey: "one" }), isOver(7)]);
    expect((await scene.told("mail")).filter((one) => /one|two/.test(one))).toEqual(["7 two firing"]);
  });
});
