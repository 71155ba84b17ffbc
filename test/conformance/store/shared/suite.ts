import { describe, expect, it, onTestFinished } from "vitest";
import { Mailbox } from "../../../../src/core/mailbox.ts";
import type { StoreCapabilities } from "../../../../src/core/ports/administration.ts";
import type { ChangeCursor } from "../../../../src/core/ports/alert-log.ts";
import type { Store } from "../../../../src/core/ports/store.ts";
import { takeLane } from "../../../support/lane.ts";
import { mute } from "../common/mutes.ts";
import {
  factsOf,
  findUnrouted,
  newId,
  noon,
  noticeOf,
  type OpenStore,
  openScene,
  planned,
  request,
  routed,
  type Scene,
} from "../scene.ts";

interface Pair extends Scene {
  /** The same database, opened once more. */
  other: Store;
}

async function openPair(open: OpenStore): Promise<Pair> {
  const scene = await openScene(open);
  const other = await open(scene.dataDir);
  onTestFinished(() => other.close());
  return Object.assign(scene, { other });
}

/**
 * What two stores on one database have to do, each a relay's. Some of it every driver owes, since a command may open
 * the database beside the relay; the rest is for drivers with
 * `sharedByRelays` alone, and is no test of others.
 */
export function describeShared(name: string, open: OpenStore, capabilities: StoreCapabilities): void {
  describe(`two stores on one database: ${name}`, () => {
    it("report the same capabilities", async () => {
      const { store, other } = await openPair(open);
      for (const one of [store, other]) expect(one.capabilities).toEqual(capabilities);
    });

    it("accept one request of an idempotency key, and know it as a repeat otherwise", async () => {
      const { store, other } = await openPair(open);
      const send = (to: Store) => to.acceptRequest(request({ dedupeKey: "k", ids: [newId()] }));
      const [first, second] = await Promise.all([send(store), send(other)]);
      expect([first?.kind, second?.kind].sort()).toEqual(["accepted", "duplicate"]);
      expect(second?.ids).toEqual(first?.ids);
      expect((await store.countAlerts()).total).toBe(1);
    });

    it("route an alert once, and do not flag what the other has routed", async () => {
      const { store, other, states } = await openPair(open);
      const incoming = request();
      await store.acceptRequest(incoming);
      const { seq, id } = await findUnrouted(store, incoming.ids[0]);
      expect(await findUnrouted(other, id)).toMatchObject({ seq });
      const record = routed(seq, { deliveries: [planned("chat")] });
      await Promise.all([store, other].map((one) => one.recordRouting([record])));
      await other.recordRoutingFailure([seq], "late", noon);
      expect(await states(id)).toEqual(["queued"]);
      expect((await store.getAlert(id))?.routingError).toBeUndefined();
    });

    it("tell an end once that both route at the same time", async () => {
      const { store, other, states } = await openPair(open);
      const facts = factsOf({ status: "resolved", occurredAt: noon });
      const records = await Promise.all(
        [newId(), newId()].map(async (id) => {
          await store.acceptRequest(request({ ids: [id] }));
          const { seq } = await findUnrouted(store, id);
          return { id, ...routed(seq, { facts, deliveries: [planned("chat")], endEdits: [] }) };
        }),
      );
      // The later one first, as it may well be.
      await Promise.all([store, other].map((one, index) => one.recordRouting(records.slice(1 - index, 2 - index))));
      const made = await Promise.all(records.map(({ id }) => states(id)));
      expect(made.flat()).toEqual(["queued"]);
    });

    it("claim a delivery once, and the attempt of whoever does not hold it changes nothing", async () => {
      const { store, other, lane, route, due, states, attempt } = await openPair(open);
      const ids: string[] = [];
      for (let count = 0; count < 5; count += 1) ids.push((await route()).id);
      const deliverySeqs = (await due("chat")).map(({ seq }) => seq);
      const claim = async (from: Store, token: string) => {
        const claimed = await from.claimDeliveries(lane, { token, deliverySeqs, leaseMs: 60_000 }, []);
        return claimed === "lost" ? [] : claimed;
      };
      const [mine = [], theirs = []] = await Promise.all([claim(store, "mine"), claim(other, "theirs")]);
      expect([...mine, ...theirs].map(({ seq }) => seq).sort()).toEqual([...deliverySeqs].sort());
      const [token, taken] = mine.length === 0 ? ["mine", theirs] : ["theirs", mine];
      expect(await attempt({ token, deliverySeqs: [taken[0]?.seq ?? -1] })).toBe("late");
      expect(await states(ids[0] ?? "")).toEqual(["sending"]);
    });

    it("write for a lane through the one that acquired it last", async () => {
      const { store, other, lane, route, due } = await openPair(open);
      await route();
      const next = await takeLane(other);
      expect(next.fence).toBeGreaterThan(lane.fence);
      const deliverySeqs = (await due("chat")).map(({ seq }) => seq);
      const claim = { token: "t", deliverySeqs, leaseMs: 60_000 };
      expect(await store.claimDeliveries(lane, claim, [])).toBe("lost");
      expect(await store.renewLanes([lane], 60_000)).toEqual([]);
      expect(await other.claimDeliveries(next, claim, [])).toHaveLength(1);
    });

    it("call a fallback once, and resend what failed once", async () => {
      const { store, other, lane, route, due, states } = await openPair(open);
      const { id } = await route({ to: [planned("chat", { fallback: { to: "mail", at: noon } })] });
      const [late] = await due("chat");
      const deliverySeq = late?.seq ?? -1;
      await Promise.all(
        [store, other].map((one) => one.callFallbacks([{ deliverySeq, planned: [planned("mail")] }], noon)),
      );
      expect(await states(id)).toEqual(["queued", "queued"]);
      await store.finishDeliveries(lane, [deliverySeq], { state: "failed", reason: "" }, noon, []);
      const calls = [{ deliverySeq, planned: [planned("chat")], onlyNew: false }];
      const counts = await Promise.all([store, other].map((one) => one.resendFailed(calls, noon)));
      expect(counts.map(({ made }) => made).sort()).toEqual([0, 1]);
    });

    it("give an expiring key to one of them, and both know it", async () => {
      const { store, other } = await openPair(open);
      const entry = { key: "k1", expiresAt: noon + 1 };
      const puts = [store, other].map((one) => one.putKeyIfAbsent("used-login-code", entry, noon));
      expect((await Promise.all(puts)).sort()).toEqual([false, true]);
      for (const one of [store, other]) expect(await one.hasKey("used-login-code", "k1", noon)).toBe(true);
    });

    it("hold to a mute of the other, and to its end", async () => {
      const { store, other } = await openPair(open);
      const made = mute("m1");
      await store.addMute(made);
      expect(await other.listMutes(noon, false)).toEqual([made]);
      expect(await other.endMute(made.id, noon + 5)).toBe(true);
      expect(await store.listMutes(noon + 5, false)).toEqual([]);
    });
  });

  if (!capabilities.sharedByRelays) return;
  describe(`two relays on one database: ${name}`, () => {
    it("grant a lane group to one of them, until its lease ends or it is freed", async () => {
      const { store, other } = await openPair(open);
      const group = { group: "bot", statuses: [], paces: [] };
      const [mine] = await store.acquireLanes("one", [group], 60_000);
      expect(await other.acquireLanes("other", [group], 60_000)).toEqual([]);
      await store.releaseLanes(mine ? [mine] : []);
      expect(await other.acquireLanes("other", [group], 0)).toHaveLength(1);
      expect(await store.acquireLanes("one", [group], 60_000)).toHaveLength(1);
    });

    it("leave letters for each other, and each is given once and heard of", async () => {
      const { store, other } = await openPair(open);
      const boxes = [store, other].map((one) => new Mailbox<string>(one, "all", 4)) as [
        Mailbox<string>,
        Mailbox<string>,
      ];
      const heard = new Promise<void>((resolve) => other.subscribe("mail", resolve));
      await Promise.all([boxes[0].put(["a"]), boxes[1].put(["b"]), boxes[0].put(["c"])]);
      await heard;
      expect(await boxes[0].take((letter) => letter === "b")).toEqual(["b"]);
      const taken = await Promise.all([boxes[0].take(), boxes[1].take()]);
      expect(taken.flat().sort()).toEqual(["a", "c"]);
      await boxes[0].put(["a", "b", "c", "d", "e"]);
      expect(await boxes[1].take()).toEqual(["b", "c", "d", "e"]);
    });

    it("hear how the other is", async () => {
      const { store, other } = await openPair(open);
      const self = { id: "1", name: "one", version: "0.1.0", configuration: "c", startedAt: noon };
      const hooks = { Git: { accepted: 2, lastAcceptedAt: noon, refused: { wrong_signature: 1 } } };
      const report = { ready: false, reasons: ["it is starting"], accepted: 3, spooled: 1, hooks };
      await store.announceRelay({ ...self, report }, 60_000);
      expect(await other.listRelays()).toMatchObject([{ ...self, report }]);
      // One of a version that says nothing of it.
      await other.announceRelay({ ...self, id: "2" }, 60_000);
      await store.announceRelay({ ...self, report: { ...report, ready: true, reasons: [] } }, 60_000);
      const relays = await other.listRelays();
      expect(relays.map(({ report: its }) => its?.ready)).toEqual([true, undefined]);
    });

    it("hear of what the other has committed", async () => {
      const { other, route } = await openPair(open);
      const heard = new Promise<void>((resolve) => {
        onTestFinished(other.subscribe("changed", () => resolve()));
      });
      const { id } = await route();
      await heard;
      expect((await other.listChanges(undefined, 10)).map((alert) => alert.id)).toEqual([id]);
    });

    it("see the changes of both in one order, and miss none while both write", async () => {
      const { store, other } = await openPair(open);
      const accepted: string[] = [];
      const seen = new Set<string>();
      let cursor: ChangeCursor | undefined;
      async function follow(): Promise<void> {
        for (const change of await other.listChanges(cursor, 7)) {
          seen.add(change.id);
          cursor = change.cursor;
        }
      }
      async function write(to: Store): Promise<void> {
        for (let count = 0; count < 50; count += 1) {
          const id = newId();
          accepted.push(id);
          await to.recordNotice(noticeOf({ id }));
          await follow();
        }
      }
      await Promise.all([write(store), write(other)]);
      for (let before = -1; seen.size !== before; ) {
        before = seen.size;
        await follow();
      }
      expect([...seen].sort()).toEqual(accepted.sort());
      const orderOf = async (one: Store) => (await one.listChanges(undefined, 200)).map(({ id }) => id);
      expect(await orderOf(store)).toEqual(await orderOf(other));
    });
  });
}
