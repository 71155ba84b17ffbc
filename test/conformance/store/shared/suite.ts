import { expect, onTestFinished } from "vitest";
import { Mailbox } from "../../../../src/core/mailbox.ts";
import type { Store } from "../../../../src/core/ports/store.ts";
import { aboutScenes, noon, type OpenStore, openScene } from "../scene.ts";

/** One database that two relays have open. */
async function openPair(open: OpenStore) {
  const scene = await openScene(open);
  const other: Store = await open(scene.dataDir);
  onTestFinished(() => other.close());
  return { ...scene, other };
}

/** What a driver with `sharedByRelays` has to do besides. */
export const describeShared = aboutScenes("two relays on one database", openPair, (test) => {
  test("give an expiring key to one of them", async ({ store, other }) => {
    const both = [store, other];
    const puts = both.map((one) => one.putKeyIfAbsent("used-login-code", { key: "k1", expiresAt: noon + 1 }, noon));
    expect((await Promise.all(puts)).sort()).toEqual([false, true]);
    for (const one of both) expect(await one.hasKey("used-login-code", "k1", noon)).toBe(true);
  });

  test("grant a lane group to one of them, until its lease ends or it is freed", async ({ store, other }) => {
    const group = { group: "bot", statuses: [], paces: [] };
    const [mine] = await store.acquireLanes("one", [group], 60_000);
    expect(await other.acquireLanes("other", [group], 60_000)).toEqual([]);
    await store.releaseLanes(mine ? [mine] : []);
    expect(await other.acquireLanes("other", [group], 0)).toHaveLength(1);
    expect(await store.acquireLanes("one", [group], 60_000)).toHaveLength(1);
  });

  test("leave letters for each other, and each is given once and heard of", async ({ store, other }) => {
    const boxes = [store, other].map((one) => new Mailbox<string>(one, "all", 4)) as [Mailbox<string>, Mailbox<string>];
    const heard = new Promise<void>((resolve) => other.subscribe("mail", resolve));
    await Promise.all([boxes[0].put(["a"]), boxes[1].put(["b"]), boxes[0].put(["c"])]);
    await heard;
    expect(await boxes[0].take((letter) => letter === "b")).toEqual(["b"]);
    expect((await Promise.all([boxes[0].take(), boxes[1].take()])).flat().sort()).toEqual(["a", "c"]);
    await boxes[0].put(["a", "b", "c", "d", "e"]);
    expect(await boxes[1].take()).toEqual(["b", "c", "d", "e"]);
  });

  test("hear how the other is", async ({ store, other }) => {
    const self = { id: "1", name: "one", version: "0.1.0", configuration: "c", startedAt: noon };
    const hooks = { Git: { accepted: 2, lastAcceptedAt: noon, refused: { wrong_signature: 1 } } };
    const report = { ready: false, reasons: ["it is starting"], accepted: 3, spooled: 1, hooks };
    await store.announceRelay({ ...self, report }, 60_000);
    expect(await other.listRelays()).toMatchObject([{ ...self, report }]);
    // One of a version that says nothing of it.
    await other.announceRelay({ ...self, id: "2" }, 60_000);
    await store.announceRelay({ ...self, report: { ...report, ready: true, reasons: [] } }, 60_000);
    expect((await other.listRelays()).map(({ report: its }) => its?.ready)).toEqual([true, undefined]);
  });
});
