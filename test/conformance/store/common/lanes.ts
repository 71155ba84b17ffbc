import { expect, it } from "vitest";
import type { DestinationStatus, PaceRecord } from "../../../../src/core/destination-status.ts";
import { takeLane } from "../../../support/lane.ts";
import * as samples from "../scene.ts";
import { aboutScenes, type OpenStore, openScene, type Scene } from "../scene.ts";

const { claimOf, kicked, noon, noticeOf, planned, thread } = samples;

const memory = {
  group: "bot",
  statuses: [
    { kind: "destination", name: "chat" },
    { kind: "account", name: "chat" },
  ] satisfies Pick<DestinationStatus, "kind" | "name">[],
  paces: ["chat:-1", "bot:7"],
};

const paces: PaceRecord[] = [
  { key: "chat:-1", sentAt: [noon - 5, noon], parkedUntil: 0 },
  { key: "bot:7", sentAt: [], parkedUntil: noon + 17_500, parkedWhy: "retry after 17 s" },
];

function statusOf(changes: Partial<DestinationStatus> = {}): DestinationStatus {
  return { kind: "destination", name: "chat", health: "ok", reason: "", since: noon, failures: 0, ...changes };
}

/** Two deliveries to `chat`, one of them claimed, under a lane that another relay has taken since. */
async function openLost(open: OpenStore) {
  const scene = await openScene(open);
  const fallback = { to: "mail", at: noon + 600_000 };
  const { id } = await scene.route({ to: [planned("chat", { fallback }), planned("chat", { fallback })] });
  const [sending, queued] = await scene.due("chat");
  if (!sending || !queued) throw new Error("nothing is due");
  await scene.store.claimDeliveries(scene.lane, claimOf("t1", sending.seq), []);
  await scene.store.saveWatchState({ name: "known", state: 0 });
  const next = await takeLane(scene.store);
  const call = (deliverySeq: number) => ({ deliverySeq, planned: [planned("mail")] });
  return { ...scene, id, sending, queued, next, call };
}

type Lost = Awaited<ReturnType<typeof openLost>>;

const writes: [string, (lost: Lost) => Promise<unknown>][] = [
  [
    "a claim, with its pace",
    ({ store, lane, queued }) => store.claimDeliveries(lane, claimOf("t2", queued.seq), paces),
  ],
  ["a run of claims", ({ store, lane, queued }) => store.claimRun(lane, [claimOf("t2", queued.seq)])],
  [
    "an attempt that ends the delivery, with its pace, thread and fallback",
    ({ sending, call, attempt }) =>
      attempt({ ...kicked, token: "t1", deliverySeqs: [sending.seq], thread, fallbacks: [call(sending.seq)] }, paces),
  ],
  [
    "an attempt that more calls follow",
    ({ sending, attempt }) =>
      attempt({ token: "t1", deliverySeqs: [sending.seq], next: undefined, leaseMs: 1, thread }),
  ],
  [
    "an end without an attempt",
    ({ store, lane, queued, call }) =>
      store.finishDeliveries(lane, [queued.seq], kicked.next, noon, [call(queued.seq)]),
  ],
  ["a claim given back", ({ store, lane }) => store.releaseClaim(lane, "t1", noon)],
  ["the end of all that waits for no destination", ({ store, lane }) => store.failOrphans(lane, [], noon)],
  [
    "a notice about them, with a health and what a watch remembers",
    ({ store, lane }) => store.recordNotice(noticeOf({ lane, about: statusOf(), watch: { name: "new", state: 1 } })),
  ],
  ["what a watch remembers", ({ store, lane }) => store.saveWatchStateFor(lane, { name: "known", state: 1 })],
  ["paces", ({ store, lane }) => store.savePaces(lane, paces)],
  ["the health of a destination", ({ store, lane }) => store.saveStatus(lane, statusOf())],
];

/** Who runs which lanes, and that nobody else writes for them. */
export const describeLanes = aboutScenes("lanes", openScene, (test, open) => {
  test("save with a notice the health of a destination, and what a watch remembers", async ({ store, lane }) => {
    const deliveries = [planned("hook", { dueAt: noon })];
    for (const about of [statusOf({ health: "dead" }), statusOf()]) {
      const watch = { name: "account", state: about.health };
      expect(await store.recordNotice(noticeOf({ deliveries, lane, about, watch }))).toBe("done");
      expect([await store.loadStatuses(), await store.loadWatchState("account")]).toEqual([[about], about.health]);
    }
  });

  test("are granted with a fence that grows at every acquisition, over all groups and restarts", async (scene) => {
    const fences = [scene.lane.fence];
    for (const group of ["one", "other", "one"]) fences.push((await takeLane(scene.store, group)).fence);
    await scene.restart();
    const more = ["first", "second"].map((group) => ({ group, statuses: [], paces: [] }));
    const grants = await scene.store.acquireLanes("relay", more, 1000);
    expect(grants.map(({ group }) => group)).toEqual(["first", "second"]);
    fences.push(...grants.map(({ fence }) => fence));
    expect(fences).toEqual([...fences].sort((a, b) => a - b));
    expect(new Set(fences).size).toBe(fences.length);
  });

  test("come with what their former holder remembered, and with nothing that was never saved", async (scene) => {
    const lane = await takeLane(scene.store, "bot");
    expect(await scene.store.savePaces(lane, paces)).toBe("done");
    expect(await scene.store.savePaces(lane, [{ key: "chat:-1", sentAt: [noon + 9], parkedUntil: 0 }])).toBe("done");
    const moved = statusOf({ health: "degraded", moved: { from: "-1", to: "-1001" } });
    const account = statusOf({ kind: "account", health: "paused" });
    for (const status of [statusOf(), moved, account]) expect(await scene.store.saveStatus(lane, status)).toBe("done");
    await scene.restart();
    const unknown = { group: "new", paces: ["chat:-2"], statuses: [{ kind: "account" as const, name: "x" }] };
    const [grant, empty] = await scene.store.acquireLanes("next", [memory, unknown], 1000);
    expect(grant?.memory.paces).toEqual([{ key: "chat:-1", sentAt: [noon + 9], parkedUntil: 0 }, paces[1]]);
    // An account and a destination may have one name.
    expect(grant?.memory.statuses).toEqual([moved, account]);
    expect(await scene.store.loadStatuses()).toEqual(expect.arrayContaining([moved, account]));
    expect(empty?.memory).toEqual({ paces: [], statuses: [] });
  });

  test("are renewed while they are held, and freed at once", async ({ store, lane }) => {
    const other = await takeLane(store, "other");
    expect(await store.renewLanes([lane, other], 0)).toEqual([lane.group, "other"]);
    const next = await takeLane(store, "other");
    expect(await store.renewLanes([lane, other], 0)).toEqual([lane.group]);
    // Who has lost it frees nothing.
    await store.releaseLanes([other]);
    expect(await store.renewLanes([next], 0)).toEqual(["other"]);
    await store.releaseLanes([lane, next]);
    expect(await store.renewLanes([lane, next], 1000)).toEqual([]);
    expect(await store.savePaces(lane, paces)).toBe("lost");
    expect((await takeLane(store, "other")).fence).toBeGreaterThan(next.fence);
  });

  it.each(writes)("that are lost take no write: %s", async (_name, write) => {
    const lost = await openLost(open);
    const { store, id, sending, next } = lost;
    const before = await stateOf(lost);
    expect(await write(lost)).toBe("lost");
    expect(await stateOf(lost)).toEqual(before);
    // The next holder goes on as if nothing had been.
    const [claim] = await store.listAbandoned({ chat: next.fence }, 9);
    expect(claim).toMatchObject({ seq: sending.seq, token: "t1" });
    const released = await store.releaseClaim(next, "t1", noon);
    expect([released, (await store.getAlert(id))?.deliveries[0]?.state]).toEqual(["done", "queued"]);
  });
});

/** Everything but the log of attempts. */
async function stateOf({ store, id, due }: Scene & { id: string }) {
  const [grant] = await store.acquireLanes("who looks", [{ ...memory, group: "look" }], 1000);
  const detail = await store.getAlert(id);
  return {
    memory: grant?.memory,
    alerts: (await store.countAlerts()).total,
    deliveries: detail?.deliveries.map(({ attempts, ...delivery }) => delivery),
    due: await due("chat"),
    thread: await store.findThread("chat", "-1004", "tvl:usdc"),
    watches: await Promise.all(["known", "new"].map((name) => store.loadWatchState(name))),
  };
}
