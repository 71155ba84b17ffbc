import { expect } from "vitest";
import { takeLane } from "../../../support/lane.ts";
import { aboutScenes, claimOf, noon, openScene, planned, thread } from "../scene.ts";

export const describeClaims = aboutScenes("claims", openScene, (test) => {
  test("lists what is due at one destination, oldest first, up to the limit, and says when the next one is", async (scene) => {
    const { store, route, due, claim } = scene;
    expect(await store.nextDueAt("chat")).toBeUndefined();
    await route({ to: [planned("chat", { dueAt: noon + 20 }), planned("mail")] });
    await route({ to: [planned("chat", { dueAt: noon + 10 })], facts: { severity: "critical" } });
    expect(await store.nextDueAt("chat")).toBe(noon + 10);
    expect((await due("chat", noon + 9)).length).toBe(0);
    expect((await due("chat", noon + 10)).map(({ severity }) => severity)).toEqual(["critical"]);
    expect((await due("chat", noon + 20)).map(({ dueAt }) => dueAt - noon)).toEqual([10, 20]);
    expect(await store.listDue("chat", noon + 20, 1)).toHaveLength(1);
    await claim("chat", "t1", { now: noon + 20 });
    expect(await store.nextDueAt("chat")).toBeUndefined();
  });

  test("puts first what a person asked for, and the relay's notices, when not all can be listed", async (scene) => {
    const { store, route } = scene;
    const { id } = await route();
    for (let count = 0; count < 4; count += 1) await route();
    await store.addDeliveries(id, [planned("chat", { dueAt: noon + 5 })], "resend", noon + 5);
    const purposes = async (limit: number) =>
      (await store.listDue("chat", noon + 5, limit)).map(({ purpose }) => purpose);
    expect(await purposes(3)).toEqual(["resend", "alert", "alert"]);
    expect(await purposes(10)).toEqual(["alert", "alert", "alert", "alert", "alert", "resend"]);
  });

  test("lists all that is unsent of a key, whether it is due or not, in the order of the log", async (scene) => {
    const { store, route, claim } = scene;
    await route({ facts: { alertKey: "a" } });
    await claim("chat", "taken");
    const times = [noon + 50, noon, noon + 9];
    for (const dueAt of times) await route({ to: [planned("chat", { dueAt }), "mail"], facts: { alertKey: "a" } });
    await route({ facts: { alertKey: "b" } });
    await route({ facts: { alertKey: "c" } });
    const dueOf = async (keys: string[], limit = 9) =>
      (await store.listByKeys("chat", keys, limit)).map(({ dueAt }) => dueAt);
    expect(await dueOf(["a"])).toEqual(times);
    expect(await dueOf(["a", "c"])).toEqual([...times, noon]);
    expect(await dueOf(["a", "c"], 2)).toEqual(times.slice(0, 2));
    expect(await dueOf([])).toEqual([]);
  });

  test("gives planning all that it needs of a delivery", async ({ route, due }) => {
    const fallback = { to: "mail", at: noon + 600_000 };
    const { id, seq } = await route({ to: [planned("chat", { fallback, freshnessMs: 5000, updates: "edit" })] });
    expect(await due("chat")).toEqual([
      {
        ...{ seq: expect.any(Number), id: expect.any(String), alertSeq: seq, alertId: id, origin: "hook" },
        ...{ destination: "chat", recipient: "-1004", purpose: "alert", state: "queued", reason: "" },
        ...{ dueAt: noon, createdAt: noon + 5, receivedAt: noon, alertKey: "tvl:usdc", severity: "warning" },
        ...{ status: "firing", attempts: 0, ambiguous: 0, form: "rich", progress: { refs: [] } },
        ...{ updates: "edit", freshnessMs: 5000, fallbackTo: "mail" },
      },
    ]);
  });

  test("counts what is due together for a recipient: at the end of quiet hours, and of a group", async (scene) => {
    const { store, route } = scene;
    const held = planned("chat", { state: "held", dueAt: noon + 100 });
    for (const groupName of [undefined, "g", "g"]) await route({ to: [{ ...held, groupName }] });
    await route({ to: [{ ...held, updates: "summary" }] });
    await route({ to: [{ ...held, recipient: "other" }] });
    await route({ to: [planned("chat")] });
    const countAt = (at: number, group?: string) => store.countDueTogether("chat", held.recipient, group, noon + at);
    expect(await Promise.all([countAt(99), countAt(100), countAt(100, "g")])).toEqual([0, 1, 2]);
  });

  test("gives each delivery to one claim only, however many ask at once", async ({ store, lane, route, due }) => {
    for (let count = 0; count < 5; count += 1) await route();
    const deliverySeqs = (await due("chat")).map(({ seq }) => seq);
    const claims = await Promise.all(
      ["t1", "t2", "t3"].map((token) => store.claimDeliveries(lane, claimOf(token, ...deliverySeqs), [])),
    );
    expect(claims.map((taken) => taken.length).sort()).toEqual([0, 0, 5]);
    expect(await due("chat")).toEqual([]);
  });

  test("returns the claimed in the order asked, with what their alerts say", async ({ store, lane, route, due }) => {
    await route({ facts: { title: "first" } });
    await route({ facts: { title: "second" } });
    const deliverySeqs = (await due("chat")).map(({ seq }) => seq).reverse();
    const pace = { key: "chat", sentAt: [noon], parkedUntil: 0 };
    const claim = { token: "t1", deliverySeqs, leaseMs: 1000, digestId: "digest-1" };
    expect(await store.claimDeliveries(lane, claim, [pace])).toMatchObject([
      { state: "sending", digestId: "digest-1", facts: { title: "second" } },
      { state: "sending", facts: { title: "first" } },
    ]);
    const [grant] = await store.acquireLanes("next", [{ group: "g", statuses: [], paces: ["chat"] }], 1000);
    expect(grant?.memory.paces).toEqual([pace]);
  });

  test("makes a run of claims in one step: each its own, without those that nothing can be taken for", async (scene) => {
    const { store, lane, route, due, send, states } = scene;
    await route({ facts: { title: "before", alertKey: "one" } });
    await send("chat", { thread });
    const routed = [];
    for (const title of ["first", "second", "third"]) routed.push(await route({ facts: { title, alertKey: "one" } }));
    const [first, second, third] = (await due("chat")).map(({ seq }) => seq) as [number, number, number];
    await store.claimDeliveries(lane, claimOf("t1", second), []);
    const run = [claimOf("t2", third), claimOf("t3", second), claimOf("t4", first)];
    const { rootRef } = thread;
    expect(await store.claimRun(lane, run)).toMatchObject([
      { token: "t2", deliveries: [{ state: "sending", facts: { title: "third" } }], thread: { rootRef } },
      { token: "t4", deliveries: [{ state: "sending", facts: { title: "first" } }], thread: { rootRef } },
    ]);
    await store.releaseClaim(lane, "t4", noon);
    expect(await Promise.all(routed.map(({ id }) => states(id)))).toEqual([["queued"], ["sending"], ["sending"]]);
  });

  test("gives what stands in several claims of a run to the first of them", async ({ store, lane, route, due }) => {
    await route({ to: ["chat", "chat"] });
    const [one, both] = (await due("chat")).map(({ seq }) => seq) as [number, number];
    const claimed = await store.claimRun(lane, [claimOf("t0", both), claimOf("t1", one, both)]);
    if (claimed === "lost") throw new Error("the lane is lost");
    expect(claimed.map(({ deliveries }) => deliveries.map(({ seq }) => seq))).toEqual([[both], [one]]);
  });

  test("returns an untried claim to where it was", async ({ store, lane, route, claim, due, states }) => {
    const { id } = await route();
    await claim("chat", "t1");
    expect(await states(id)).toEqual(["sending"]);
    await store.releaseClaim(lane, "t1", noon + 7);
    expect(await states(id)).toEqual(["queued"]);
    expect(await due("chat", noon + 6)).toEqual([]);
    expect(await due("chat", noon + 7)).toMatchObject([{ attempts: 0, dueAt: noon + 7 }]);
    expect(await store.listAbandoned({ chat: (await takeLane(store)).fence }, 9)).toEqual([]);
  });

  test("returns a tried claim as waiting, and leaves other claims alone", async (scene) => {
    const { store, lane, route, claim, attempt, states } = scene;
    const { id } = await route({ to: ["chat", "mail"] });
    await claim("chat", "t1");
    await claim("mail", "t2");
    const next = { state: "waiting", reason: "", dueAt: noon + 200 } as const;
    await attempt({ token: "t1", outcome: "retry", reason: "connect_failed", next });
    await claim("chat", "t3", { now: noon + 200 });
    await store.releaseClaim(lane, "t3", noon + 300);
    expect(await states(id)).toEqual(["waiting", "sending"]);
  });

  test("lists as abandoned whose lease has ended, and whatever was claimed under an older fence", async (scene) => {
    await scene.route({ to: ["chat", "mail", "other"] });
    await scene.claim("chat", "t1", { leaseMs: 0 });
    await scene.claim("mail", "t2");
    await scene.claim("other", "t3");
    const { fence } = scene.lane;
    const held = { chat: fence, mail: fence, nowhere: fence };
    const abandoned = [{ token: "t1", destination: "chat", state: "sending" }];
    expect(await scene.store.listAbandoned(held, 9)).toMatchObject(abandoned);
    await scene.restart();
    const next = await takeLane(scene.store, "a group that one destination belongs to now");
    const tokens = async (destinations: Record<string, number>, limit: number) =>
      (await scene.store.listAbandoned(destinations, limit)).map(({ token }) => token);
    expect(await tokens({ ...held, mail: next.fence }, 9)).toEqual(["t1", "t2"]);
    expect(await tokens({ mail: next.fence, other: fence }, 9)).toEqual(["t2"]);
    expect(await tokens({ chat: next.fence, mail: next.fence }, 1)).toEqual(["t1"]);
  });
});
