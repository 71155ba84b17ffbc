import { expect, it } from "vitest";
import type { RingRule } from "../../../../src/core/ring.ts";
import { aboutScenes, deciding, factsOf, noon, type OpenStore, openScene, planned, routeDrafts } from "../scene.ts";

const minute = 60_000;
const rule: RingRule = { flapping: true };
const chat = (ring: RingRule = rule) => planned("chat", { ring });
const mail = planned("mail", { channel: "email", recipient: "anna@example.com", ring: rule });
type Firing = readonly [value: string, status?: "firing" | "resolved"];

/** Fires once a minute, 1 % further down each time. */
const falls = (count: number, from = 0): Firing[] =>
  Array.from({ length: count }, (_, index) => [String(100 - (from + index) / 10)] as const);

async function openRings(open: OpenStore) {
  const scene = await openScene(open);
  let at = noon;

  const drafts = (firings: readonly Firing[], deliveries = [chat(), mail]) =>
    firings.map(([value, status = "firing"]) => {
      at += minute;
      const due = deliveries.map((one) => ({ ...one, dueAt: at }));
      return deciding(due, { facts: factsOf({ value, status, threshold: "101" }), routedAt: at });
    });
  /** The long way: stored one by one, and routed in one step. */
  const route = (...asked: Parameters<typeof drafts>) => routeDrafts(scene, drafts(...asked), "one");
  /** On arrival: stored and routed in one step. */
  const arrive = (...asked: Parameters<typeof drafts>) => routeDrafts(scene, drafts(...asked), "arriving");

  const decisionsOf = async (id = "") => (await scene.store.getAlert(id))?.decisions ?? [];
  const resultsOf = async (ids: readonly string[]) =>
    (await Promise.all(ids.map(decisionsOf))).map(([decision]) => decision?.result);

  const told = async (id: string | undefined) =>
    (await scene.store.getAlert(id ?? ""))?.deliveries.map(
      ({ destination, state, damped }) => `${destination} ${state}${damped === undefined ? "" : ` ${damped.count}`}`,
    );

  /** Stored in their order, and routed one by one in another. */
  const routeInTurns = (turns: readonly number[], ...asked: Parameters<typeof drafts>) =>
    routeDrafts(scene, drafts(...asked), "many", turns);

  return { ...scene, route, routeInTurns, arrive, decisionsOf, resultsOf, told, now: () => at };
}

export const describeRings = aboutScenes("what does not ring", openRings, (test, open) => {
  it.each(["route", "arrive"] as const)("is decided by what rang before, and counted: %s", async (way) => {
    const scene = await openRings(open);
    const ids = await scene[way](falls(8));
    expect(await scene.resultsOf(ids)).toEqual([...Array(4).fill("deliver"), ...Array(4).fill("damped")]);
    const last = await scene.store.getAlert(ids.at(-1) as string);
    expect(last?.unmatched).toBe(false);
    expect((await scene.store.listAlerts({ limit: 9, state: "damped" })).map(({ id }) => id)).toEqual(
      ids.slice(4).reverse(),
    );
    expect(last?.decisions[0]?.reason).toMatch(/^it takes every alert; does not ring: it /);
    expect(await scene.told(ids[3])).toEqual(["chat queued", "mail queued"]);
    // Of a key one summary waits, and where a message can be changed one count.
    expect(await scene.told(ids[6])).toEqual(["chat digested 3", "mail digested 3", "chat digested 3"]);
    expect(await scene.told(ids[7])).toEqual(["chat held 4", "mail held 4", "chat queued 4"]);
    const due = await scene.store.listDue("chat", scene.now(), 99);
    expect(due.map(({ updates, damped }) => [updates, damped?.count])).toEqual([
      ["auto", undefined],
      ...Array(3).fill(["reply", undefined]),
      ["count", 4],
    ]);
    const [summary] = (await scene.store.listDue("mail", Number.MAX_SAFE_INTEGER, 99)).slice(-1);
    expect(summary).toMatchObject({ updates: "summary", alertId: ids[7], damped: { by: expect.any(String) } });
    expect(summary?.dueAt).toBeGreaterThanOrEqual(scene.now() + 15 * minute);
  });

  it.each([
    ["an end behind what fired again without a ring is not sent", [0, 2, 1], ["deliver", "contained", "damped"]],
    ["a beginning behind its end is no ring to the next", [1, 0, 2], ["deliver", "deliver", "deliver"]],
  ])("counts in the order of arrival where that is not the order of routing: %s", async (_, turns, results) => {
    const scene = await openRings(open);
    const firings: Firing[] = [["100"], ["101.5", "resolved"], ["100"]];
    const ids = await scene.routeInTurns(turns, firings, [chat({ ...rule, again: { furtherBy: { percent: 50 } } })]);
    expect(await scene.resultsOf(ids)).toEqual(results);
    const isHeld = results[2] === "damped";
    expect(await scene.told(ids[1])).toEqual(isHeld ? [] : ["chat queued"]);
    expect((await scene.told(ids[2]))?.[0]).toBe(isHeld ? "chat held 1" : "chat queued");
  });

  test("counts a firing that is routed behind a younger one in what waits for that one", async () => {
    const scene = await openRings(open);
    const firings: Firing[] = [["100"], ["99"], ["100"]];
    const ids = await scene.routeInTurns([0, 2, 1], firings, [
      chat({ ...rule, again: { furtherBy: { percent: 50 } } }),
    ]);
    expect(await scene.resultsOf(ids)).toEqual(["deliver", "damped", "damped"]);
    // Each has a delivery that changes a message, which is no summary.
    expect([await scene.told(ids[1]), await scene.told(ids[2])]).toEqual([
      ["chat digested 2", "chat digested 2"],
      ["chat held 2", "chat queued 1"],
    ]);
  });

  it("is the same in one step and in many, on arrival and the long way", async () => {
    const walk: Firing[] = falls(20).flatMap((firing, index) =>
      index % 3 === 2 ? [firing, ["101.5", "resolved"] as const] : [firing],
    );
    const [one, many, arriving] = [await openRings(open), await openRings(open), await openRings(open)];
    const inOne = await one.route(walk);
    const inMany: string[] = [];
    for (const firing of walk) inMany.push(...(await many.route([firing])));
    const arrived = await arriving.arrive(walk);
    const results = await one.resultsOf(inOne);
    expect(results.filter((result) => result === "damped").length).toBeGreaterThan(5);
    expect(await many.resultsOf(inMany)).toEqual(results);
    expect(await arriving.resultsOf(arrived)).toEqual(results);
    const tellings = await Promise.all(inOne.map(one.told));
    expect(await Promise.all(inMany.map(many.told))).toEqual(tellings);
    expect(await Promise.all(arrived.map(arriving.told))).toEqual(tellings);
  });

  test("is said by the next ring, which takes the summary along", async ({ route, told, store }) => {
    const ids = await route(falls(7));
    const [far] = await route([["80"]]);
    expect(await told(ids.at(-1))).toEqual(["chat digested 3", "mail digested 3", "chat digested 3"]);
    expect(await told(far)).toEqual(["chat queued 3", "mail queued 3"]);
    const detail = await store.getAlert(far ?? "");
    expect(detail?.deliveries[0]?.damped).toMatchObject({ count: 3, lowest: 99.4, highest: 99.6 });
    expect(detail?.deliveries[0]?.damped?.by).toBeUndefined();
  });

  test("is told although a mute of other alerts of the key has begun, unless it is not so any more", async (scene) => {
    const { route, told } = scene;
    const muted = [{ ...mail, state: "muted" as const }];
    const [held] = (await route(falls(5), [mail])).slice(-1);
    await route(falls(2, 5), muted);
    expect(await told(held)).toEqual(["mail held 1"]);
    // The next that is judged counts it.
    const [next] = await route(falls(1, 7), [mail]);
    expect(await told(held)).toEqual(["mail digested 1"]);
    expect(await told(next)).toEqual(["mail held 2"]);
    await route([["101.5", "resolved"]], muted);
    expect(await told(next)).toEqual(["mail digested 2"]);
  });

  test("tells nothing in a mute: an end that is muted ends the summary, and behind its end the next rings", async (scene) => {
    const { route, told, resultsOf } = scene;
    const again = { again: { furtherBy: { percent: 5 } }, flapping: false };
    const plain = [chat(again)];
    const muted = [planned("chat", { state: "muted", ring: again })];
    const [, held] = await route(falls(2), plain);
    const ids = await route([["99.9"], ["101.5", "resolved"]], muted);
    expect(await told(held)).toEqual(["chat digested 1", "chat digested 1"]);
    expect(await Promise.all(ids.map(told))).toEqual([["chat muted"], ["chat muted"]]);
    const next = await route([["99.9"]], plain);
    expect(await resultsOf(next)).toEqual(["deliver"]);
    expect(await told(next[0])).toEqual(["chat queued 1"]);
  });

  test("puts a summary off, and the next alert of its key ends it as before", async (scene) => {
    const { route, told, due, store, finish, now } = scene;
    const [id] = (await route(falls(5), [mail])).slice(-1);
    const all = await due("mail", Number.MAX_SAFE_INTEGER);
    const seqs = all.filter(({ updates }) => updates === "summary").map(({ seq }) => seq);
    const dueAt = now() + 24 * 60 * minute;
    await finish(seqs, { state: "held", reason: "", dueAt }, now());
    expect((await store.getAlert(id ?? ""))?.deliveries).toMatchObject([{ state: "held", dueAt }]);
    const [next] = await route(falls(1, 5), [mail]);
    expect(await told(id)).toEqual(["mail digested 1"]);
    expect(await told(next)).toEqual(["mail held 2"]);
  });

  test("leaves a summary that is under way, and makes another", async ({ route, told, claim, now }) => {
    const ids = await route(falls(6));
    await claim("mail", "t1", { now: now() + 24 * 60 * minute });
    const [next] = await route(falls(1, 6));
    expect(await told(ids.at(-1))).toContain("mail sending 2");
    expect(await told(next)).toContain("mail held 3");
  });

  test("is remembered across a restart, for each destination by itself", async (scene) => {
    await scene.route(falls(4), [chat()]);
    await scene.restart();
    const [id] = await scene.route(falls(1, 4), [chat(), mail]);
    expect((await scene.decisionsOf(id)).map(({ result }) => result)).toEqual(["damped", "deliver"]);
  });

  it.each([
    ["failed", "forgotten"],
    ["expired", "forgotten"],
    ["sent", "remembered"],
  ] as const)("counts no ring that reached nobody: one that is %s is %s", async (state, is) => {
    const scene = await openRings(open);
    await scene.route(falls(4), [chat()]);
    const at = scene.now();
    await scene.send("chat", { claimedAt: at, at, outcome: "rejected", next: { state, reason: "" } });
    const ids = await scene.route(falls(1, 4), [chat()]);
    expect(await scene.resultsOf(ids)).toEqual([is === "forgotten" ? "deliver" : "damped"]);
  });

  test("forgets a ring that ended untried, and makes one that missed one of two good to that one alone", async (scene) => {
    const both = [mail, { ...mail, recipient: "ben@example.com" }];
    const tooOld = { state: "expired", reason: "too old" } as const;
    const expire = (due: { seq: number }[]) => {
      const seqs = due.map(({ seq }) => seq);
      return scene.finish(seqs, tooOld, scene.now());
    };
    await scene.route(falls(4), both);
    const due = await scene.due("mail", scene.now());
    await expire(due.filter(({ recipient }) => recipient === "anna@example.com"));
    const [next, after] = await scene.route(falls(2, 4), both);
    expect(await scene.resultsOf([next ?? "", after ?? ""])).toEqual(["deliver", "damped"]);
    expect(await scene.told(next)).toEqual(["mail queued", "mail digested 1"]);
    expect(await scene.told(after)).toEqual(["mail held 2", "mail held 2"]);
    await expire(await scene.due("mail", scene.now()));
    expect(await scene.resultsOf(await scene.route(falls(1, 6), both))).toEqual(["deliver"]);
  });

  test("is no affair of what has no rule, is muted or was told before", async ({ route, resultsOf }) => {
    const free = await route(falls(9), [planned("chat")]);
    const muted = await route(falls(9), [planned("chat", { state: "muted", ring: rule })]);
    expect(new Set([...(await resultsOf(free)), ...(await resultsOf(muted))])).toEqual(new Set(["deliver"]));
    expect(await resultsOf(await route(falls(5), [chat()]))).toEqual([...Array(4).fill("deliver"), "damped"]);
  });

  test("is forgotten after a week without an alert", async ({ route, maintain, now, resultsOf, store }) => {
    await route(falls(4), [chat()]);
    if (store.maintain === undefined) return;
    await maintain(now() + 6 * 24 * 60 * minute);
    expect(await resultsOf(await route(falls(1, 4), [chat()]))).toEqual(["damped"]);
    await maintain(now() + 8 * 24 * 60 * minute);
    expect(await resultsOf(await route(falls(1, 5), [chat()]))).toEqual(["deliver"]);
  });
});
