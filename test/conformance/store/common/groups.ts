import { expect, it } from "vitest";
import type { AlertFacts } from "../../../../src/core/alert.ts";
import { type GroupRule, nameGroup } from "../../../../src/core/group.ts";
import type { RoutingDraft } from "../../../../src/core/ports/routing-desk.ts";
import type { PlannedDelivery } from "../../../../src/core/rules.ts";
import { aboutScenes, factsOf, noon, type OpenStore, openScene, planned, routeDrafts } from "../scene.ts";

const name = nameGroup("group", "all", [["chain", "eth"]]);
const cause = nameGroup("cause", "bridge down", [["chain", "eth"]]);
const second = 1000;
const inGroup: GroupRule = { group: { name, waitMs: 20_000, againMs: 300_000, waitCriticalMs: 0 } };
const holds: GroupRule = { holds: [{ name: cause, atMostMs: 3_600_000 }] };
const heldBy: GroupRule = { heldBy: [cause] };
const ends: GroupRule = { holds: [], heldBy: [] };

interface Step {
  at: number;
  group?: GroupRule;
  facts?: Partial<AlertFacts>;
  delivery?: Partial<PlannedDelivery>;
}

async function openGroups(open: OpenStore) {
  const scene = await openScene(open);

  function toDraft({ at, group = inGroup, facts, delivery }: Step): RoutingDraft {
    const due = { dueAt: noon + at, group, ...delivery };
    const deliveries = [
      planned("chat", due),
      planned("mail", { channel: "email", recipient: "anna@example.com", ...due }),
    ];
    return {
      facts: factsOf({ severity: "warning", alertKey: `key ${at}`, title: `Pool ${at}`, ...facts }),
      decisions: deliveries.map(({ destination }) => ({
        ...{ route: "all", destination, result: "deliver" as const, reason: "it takes every alert" },
      })),
      ...{ deliveries, countsIn: ["chat"], routedAt: noon + at, purpose: "alert" as const },
    };
  }

  /** The long way: stored one by one, and routed in one step. */
  const route = (steps: readonly Step[]) => routeDrafts(scene, steps.map(toDraft), "one");
  /** On arrival: stored and routed in one step. */
  const arrive = (steps: readonly Step[]) => routeDrafts(scene, steps.map(toDraft), "arriving");

  /** What is due at a destination, as its lane finds it: when, of which name, of which key. */
  async function waiting(destination: string) {
    const due = await scene.store.listDue(destination, Number.MAX_SAFE_INTEGER, 99);
    return due.map(({ dueAt, groupName, alertKey, state }) => [(dueAt - noon) / second, groupName, alertKey, state]);
  }

  async function told(destination: string) {
    const due = await scene.store.listDue(destination, Number.MAX_SAFE_INTEGER, 99);
    return due.map(({ dueAt, alertKey, status }) => [(dueAt - noon) / second, alertKey, status]);
  }

  return { ...scene, scene, route, arrive, waiting, told };
}

export const describeGroups = aboutScenes("alerts that go out together", openGroups, (test, open) => {
  it.each(["route", "arrive"] as const)(
    "wait for each other, and those behind their message for the next: %s",
    async (way) => {
      const scene = await openGroups(open);
      const ids = await scene[way]([{ at: 0 }, { at: 8 * second }, { at: 100 * second }, { at: 110 * second }]);
      for (const destination of ["chat", "mail"])
        expect(await scene.waiting(destination)).toEqual([
          [20, name, "key 0", "held"],
          [20, name, "key 8000", "held"],
          [320, name, "key 100000", "held"],
          [320, name, "key 110000", "held"],
        ]);
      const [decision] = (await scene.store.getAlert(ids[1] ?? ""))?.decisions ?? [];
      expect(decision).toMatchObject({
        result: "held",
        reason: "it takes every alert; told with the group chain eth in 12 s",
      });
    },
  );

  it.each(["route", "arrive"] as const)(
    "are brought forward by a critical one, with their fallbacks: %s",
    async (way) => {
      const scene = await openGroups(open);
      const fallback = { to: "mail", at: noon + 600 * second };
      await scene[way]([
        { at: 0, delivery: { fallback } },
        { at: 5 * second, facts: { severity: "critical" } },
        { at: 6 * second },
      ]);
      expect(await scene.waiting("chat")).toEqual([
        [5, name, "key 0", "held"],
        [5, name, "key 5000", "held"],
        [305, name, "key 6000", "held"],
      ]);
      const [first] = await scene.store.listFallbacksDue(noon + 606 * second);
      expect(first).toMatchObject({ alertKey: "key 0" });
      expect(await scene.store.listFallbacksDue(noon + 604 * second)).toEqual([]);
    },
  );

  test("are brought forward to the time that a critical one waits at most", async (scene) => {
    const group = { group: { name, waitMs: 60_000, againMs: 300_000, waitCriticalMs: 20_000 } };
    await scene.route([
      { at: 0, group },
      { at: 5 * second, group, facts: { severity: "critical" } },
    ]);
    expect((await scene.waiting("chat")).map(([at]) => at)).toEqual([25, 25]);
  });

  test("join nothing when they are muted, held by quiet hours or come alone and critical", async (scene) => {
    await scene.route([
      { at: 0, delivery: { state: "muted" } },
      { at: 1 * second, delivery: { state: "held", dueAt: noon + 900 * second } },
      { at: 2 * second, facts: { severity: "critical" } },
    ]);
    expect(await scene.waiting("chat")).toEqual([
      [2, undefined, "key 2000", "queued"],
      [900, undefined, "key 1000", "held"],
    ]);
    expect(await scene.store.listHeld("chat", { dueAt: 0, seq: 0 }, 99)).toHaveLength(1);
  });

  test("do not wait when they do not ring: they are counted", async (scene) => {
    const delivery = { ring: { flapping: false, cooldownMs: 600 * second } };
    const same = { alertKey: "key", value: "99", threshold: "100" };
    const steps = [0, 5, 400].map((at) => ({ at: at * second, delivery, facts: same }));
    await scene.route(steps);
    const found = await scene.waiting("mail");
    expect(found[0]).toEqual([20, name, "key", "held"]);
    expect(found.slice(1).map(([, groupName, , state]) => [groupName, state])).toEqual([[undefined, "held"]]);
  });

  test("are as before after a restart, and forgotten after weeks", async (scene) => {
    await scene.route([{ at: 0 }]);
    await scene.scene.restart();
    await scene.route([{ at: 5 * second }]);
    expect((await scene.waiting("chat")).map(([at]) => at)).toEqual([20, 20]);
    if (scene.scene.store.maintain === undefined) return;
    await scene.scene.maintain(noon);
    await scene.scene.maintain(noon + 15 * 24 * 3600 * second);
    await scene.route([{ at: 6 * second }]);
    expect((await scene.waiting("chat")).map(([at]) => at)).toEqual([20, 20, 26]);
  });
});

export const describeCauses = aboutScenes("what follows a cause", openGroups, (test, open) => {
  const bridge = { severity: "critical" as const, alertKey: "bridge", title: "Bridge halted" };

  test("waits until the cause is over; what was over before is not sent, and the cause counts it in place", async (scene) => {
    const [causeId, , , endId] = await scene.arrive([
      { at: 0, group: holds, facts: bridge },
      { at: 1 * second, group: heldBy },
      { at: 2 * second, group: heldBy },
      { at: 3 * second, group: heldBy, facts: { alertKey: "key 1000", status: "resolved" } },
    ]);
    expect(await scene.waiting("mail")).toEqual([
      [0, undefined, "bridge", "queued"],
      [3600, cause, "key 1000", "held"],
      [3600, cause, "key 2000", "held"],
      [3600, cause, "key 1000", "held"],
    ]);
    const told = await scene.store.getAlert(causeId ?? "");
    expect(told?.deliveries.map(({ destination, state, extras }) => [destination, state, extras?.with])).toEqual([
      ["chat", "queued", undefined],
      ["mail", "queued", undefined],
      ["chat", "queued", { count: 2, titles: ["Pool 1000", "Pool 2000"] }],
    ]);
    const [overId] = await scene.route([{ at: 60 * second, group: holds, facts: { ...bridge, status: "resolved" } }]);
    expect(await scene.waiting("mail")).toEqual([
      [0, undefined, "bridge", "queued"],
      [60, cause, "key 2000", "held"],
      [60, undefined, "bridge", "queued"],
    ]);
    expect(await scene.states(endId ?? "")).toEqual(["digested", "digested"]);
    const over = await scene.store.getAlert(overId ?? "");
    expect(over?.deliveries[0]?.extras?.with?.count).toBe(2);
    await scene.route([{ at: 61 * second, group: heldBy }]);
    expect(await scene.waiting("mail")).toContainEqual([61, undefined, "key 61000", "queued"]);
  });

  test("is counted in place by one change that waits, and seldom where the message cannot name all", async (scene) => {
    const behind = Array.from({ length: 51 }, (_, index) => ({ at: (index + 1) * second, group: heldBy }));
    const [causeId] = await scene.route([{ at: 0, group: holds, facts: bridge }, ...behind.slice(0, 50)]);
    await scene.route(behind.slice(50));
    const counts = async () =>
      (await scene.store.getAlert(causeId ?? ""))?.deliveries.flatMap(({ dueAt, extras }) =>
        extras?.with ? [[((dueAt ?? 0) - noon) / second, extras.with.count]] : [],
      );
    expect(await counts()).toEqual([[0, 51]]);
    const change = (await scene.store.listDue("chat", noon, 9)).find(({ updates }) => updates === "count");
    const claim = { token: "t", deliverySeqs: [change?.seq ?? 0], leaseMs: 60_000 };
    await scene.store.claimDeliveries(scene.lane, claim, []);
    await scene.route([{ at: 60 * second, group: heldBy }]);
    expect((await counts())?.at(-1)).toEqual([70, 52]);
  });

  test("is released in steps where it is much, the oldest first, over a restart", async (scene) => {
    const one = (more: Partial<Step>) => ({ at: 0, group: heldBy, ...more });
    const fires = Array.from({ length: 500 }, (_, index) => one({ facts: { alertKey: `pool ${index}` } }));
    const over = one({ at: 1 * second, facts: { alertKey: "pool 1", status: "resolved" } });
    await scene.route([one({ group: holds, facts: bridge }), ...fires, over]);
    await scene.route([{ at: 2 * second, group: ends, facts: { ...bridge, status: "resolved" } }]);
    const dueAt = async (at: number) =>
      (await scene.scene.store.listDue("mail", noon + at * second, 999)).flatMap(({ alertKey, groupName }) =>
        groupName === cause ? [alertKey] : [],
      );
    // Two destinations share what one step may change; what is much is due some seconds later.
    expect(await dueAt(5)).toEqual([]);
    const step = () => scene.scene.store.releaseRest(["chat", "mail"], noon + 3 * second);
    await scene.scene.restart();
    expect(await step()).toBe(true);
    await scene.scene.restart();
    while (await step());
    expect(await dueAt(4)).toEqual([]);
    const keys = fires.map(({ facts }) => facts?.alertKey);
    expect(await dueAt(5)).toEqual(keys.filter((key) => key !== "pool 1"));
  });

  test("waits as well where all come in one step", async (scene) => {
    await scene.route([
      { at: 0, group: holds, facts: bridge },
      { at: 1 * second, group: heldBy },
      { at: 2 * second, group: heldBy, facts: { alertKey: "key 1000", status: "resolved" } },
      { at: 3 * second, group: heldBy },
      { at: 4 * second, group: holds, facts: { ...bridge, status: "resolved" } },
    ]);
    expect(await scene.waiting("mail")).toEqual([
      [0, undefined, "bridge", "queued"],
      [4, cause, "key 3000", "held"],
      [4, undefined, "bridge", "queued"],
    ]);
  });

  test("tells the end of what was told before its cause", async (scene) => {
    await scene.route([{ at: 0, group: heldBy, facts: { alertKey: "pool" } }]);
    await scene.route([
      { at: 1 * second, group: holds, facts: bridge },
      { at: 2 * second, group: heldBy, facts: { alertKey: "pool" } },
      { at: 3 * second, group: ends, facts: { alertKey: "pool", status: "resolved" } },
      { at: 4 * second, group: ends, facts: { ...bridge, status: "resolved" } },
    ]);
    expect((await scene.told("mail")).slice(-3)).toEqual([
      [1, "bridge", "firing"],
      [4, "pool", "resolved"],
      [4, "bridge", "resolved"],
    ]);
  });

  test("does not tell as firing what was over elsewhere meanwhile", async (scene) => {
    await scene.route([
      { at: 0, group: holds, facts: bridge },
      { at: 1 * second, group: heldBy, facts: { alertKey: "pool" } },
      { at: 2 * second, delivery: { state: "muted" }, facts: { alertKey: "pool", status: "resolved" } },
      { at: 3 * second, group: ends, facts: { ...bridge, status: "resolved" } },
    ]);
    expect((await scene.told("mail")).map(([, key]) => key)).toEqual(["bridge", "bridge"]);
  });

  it.each(["failed", "expired", "fallback"] as const)(
    "does not wait where nobody was told of the cause in time: %s",
    async (way) => {
      const scene = await openGroups(open);
      const fallback = { to: "mail", at: noon + 600 * second };
      const [causeId] = await scene.route([
        { at: 0, group: holds, facts: bridge, delivery: { fallback } },
        { at: 1 * second, group: heldBy, facts: { alertKey: "pool" }, delivery: { fallback } },
      ]);
      const deliverySeq = (await scene.store.listDue("chat", noon, 1))[0]?.seq ?? 0;
      const at = noon + 60 * second;
      if (way === "fallback") await scene.store.callFallbacks([{ deliverySeq, planned: [] }], at);
      else await scene.store.finishDeliveries(scene.lane, [deliverySeq], { state: way, reason: "gone" }, at, []);
      const pool = async (destination: string) =>
        (await scene.waiting(destination)).find(([, , key]) => key === "pool")?.[0];
      expect(causeId).toBeDefined();
      expect([await pool("chat"), await pool("mail")]).toEqual([60, 3600]);
      // The fallback of what waited is called as if it had come then.
      expect((await scene.store.listFallbacksDue(at + 600 * second)).map(({ alertKey }) => alertKey)).toContain("pool");
      await scene.route([{ at: 61 * second, group: heldBy }]);
      expect((await scene.waiting("chat")).at(-1)).toEqual([61, undefined, "key 61000", "queued"]);
    },
  );

  test("does not wait for a cause that nobody was told of, also where it was counted there and fired without a ring", async (scene) => {
    const again = { group: holds, facts: bridge, delivery: { ring: { flapping: false, cooldownMs: 600 * second } } };
    const causeSeqs = async () =>
      (await scene.store.listDue("chat", noon, 9)).flatMap(({ alertKey, seq }) => (alertKey === "bridge" ? seq : []));
    await scene.route([{ at: 0, ...again }]);
    const behind = { group: heldBy };
    for (const [index, step] of [behind, again, behind, behind].entries())
      await scene.route([{ at: (index + 1) * second, ...step }]);
    const at = noon + 60 * second;
    await scene.store.finishDeliveries(scene.lane, await causeSeqs(), { state: "failed", reason: "gone" }, at, []);
    const left = await scene.told("chat");
    expect(left.filter(([, key]) => key !== "bridge").map(([due]) => due)).toEqual([60, 60, 60]);
    const [id] = await scene.route([{ at: 61 * second, ...again }]);
    expect((await scene.store.getAlert(id ?? ""))?.decisions[0]?.reason).not.toContain("does not ring");
  });

  test("calls no fallback for what was over before its cause", async (scene) => {
    const fallback = { to: "mail", at: noon + 600 * second };
    await scene.route([
      { at: 0, group: holds, facts: bridge },
      { at: 1 * second, group: heldBy, facts: { alertKey: "pool" }, delivery: { fallback } },
      { at: 2 * second, group: ends, facts: { alertKey: "pool", status: "resolved" } },
      { at: 3 * second, group: ends, facts: { ...bridge, status: "resolved" } },
    ]);
    expect(await scene.store.listFallbacksDue(noon + 7 * 24 * 3_600_000)).toEqual([]);
  });

  test("waits until all that hold it back are over", async (scene) => {
    const rpc = nameGroup("cause", "rpc down", [["chain", "eth"]]);
    const byBoth: GroupRule = { heldBy: [cause, rpc] };
    const fallback = { to: "mail", at: noon + 600 * second };
    await scene.route([
      { at: 0, group: { holds: [{ name: rpc, atMostMs: 600_000 }] }, facts: { ...bridge, alertKey: "rpc" } },
      { at: 1 * second, group: byBoth, facts: { alertKey: "one" }, delivery: { fallback } },
      { at: 2 * second, group: byBoth, facts: { alertKey: "two" } },
      { at: 3 * second, group: holds, facts: bridge },
    ]);
    await scene.route([{ at: 4 * second, group: byBoth, facts: { alertKey: "one" } }]);
    await scene.route([{ at: 5 * second, group: ends, facts: { ...bridge, alertKey: "rpc", status: "resolved" } }]);
    const waits = (await scene.waiting("mail")).filter(([, , , state]) => state === "held");
    expect(waits).toEqual([
      [3603, cause, "one", "held"],
      [3603, cause, "two", "held"],
      [3603, cause, "one", "held"],
    ]);
    await scene.route([
      { at: 6 * second, group: ends, facts: { alertKey: "one", status: "resolved" } },
      { at: 7 * second, group: ends, facts: { ...bridge, status: "resolved" } },
    ]);
    expect((await scene.told("mail")).filter(([, key]) => key === "one" || key === "two")).toEqual([
      [7, "two", "firing"],
    ]);
  });
});
