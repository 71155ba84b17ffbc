import { describe, expect, it } from "vitest";
import type { RelayView } from "../../src/core/ports/relays.ts";
import { takeLane } from "../support/lane.ts";
import { channelOf, type EngineFixture, ntfyTo, outcomesOf, startFixture, telegramTo } from "./engine-fixture.ts";
import { kicked, minute, second } from "./outcomes.ts";

const bot = "account:telegram:7";
const hook = "destination:hook";

describe("a lane group that another relay takes", () => {
  it("is left at its next write: nothing is sent, and what the other has claimed is not touched", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const lane = await takeLane(fixture.store, bot);
    const id = await fixture.accept();
    const [due] = await fixture.store.listDue("chat", fixture.clock.now(), 1);
    const claim = { token: "theirs", deliverySeqs: [due?.seq ?? 0], leaseMs: minute };
    await fixture.store.claimDeliveries(lane, claim, []);
    await fixture.clock.advance(5 * second);
    expect(channelOf(fixture, "chat").calls).toHaveLength(0);
    // The other groups go on.
    expect(await fixture.states(id)).toEqual({ chat: "sending", hook: "sent" });
  });

  it("is run no more by who only learns of it when its lease is renewed", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    await takeLane(fixture.store, hook);
    await fixture.clock.advance(9 * second);
    const before = fixture.storeCalls.get("listDue") ?? 0;
    fixture.failing.add("acquireLanes");
    await fixture.clock.advance(20 * second);
    expect((fixture.storeCalls.get("listDue") ?? 0) - before).toBeLessThanOrEqual(1);
    await expect(fixture.engine.tryNow("hook")).rejects.toMatchObject({ code: "conflict" });
    expect(fixture.engine.statuses()).toMatchObject([{ own: { health: "ok" } }]);
    fixture.failing.clear();
    fixture.engine.lookForLanes();
    await fixture.clock.settle();
    expect(await fixture.engine.tryNow("hook")).toMatchObject({ kind: "probed" });
  });

  it("gets no further part of a message", async () => {
    const fixture = await startFixture([telegramTo("chat", { detail: "full" })]);
    const chat = channelOf(fixture, "chat");
    const id = await fixture.accept({ text: "word ".repeat(1_800) });
    await fixture.clock.settle();
    await takeLane(fixture.store, bot);
    await fixture.clock.advance(9 * second);
    expect(chat.calls).toHaveLength(1);
    expect(await fixture.states(id)).toEqual({ chat: "sending" });
  });

  it("is asked for again until what former holders have left could be settled", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    await takeLane(fixture.store, hook);
    fixture.failing.add("listAbandoned");
    await fixture.clock.advance(15 * second);
    const id = await fixture.accept();
    expect(await fixture.states(id)).toEqual({ hook: "queued" });
    fixture.failing.clear();
    await fixture.clock.advance(10 * second);
    expect(await fixture.states(id)).toEqual({ hook: "sent" });
  });

  it("is asked for again, and what was under way then counts as perhaps sent", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    let given: unknown;
    chat.script.push(({ context }) => {
      return new Promise((resolve) => {
        const lost = { kind: "ambiguous", reason: "no_answer", detail: "ended" } as const;
        context.signal.addEventListener("abort", () => {
          given = context.signal.reason.message;
          resolve(lost);
        });
      });
    });
    const id = await fixture.accept();
    await fixture.clock.settle();
    await takeLane(fixture.store, bot);
    await fixture.clock.advance(2 * minute);
    expect(chat.calls.map(({ text }) => text.includes("possible repeat"))).toEqual([false, true]);
    expect(await outcomesOf(fixture, id)).toEqual(["ambiguous", "ambiguous", "sent"]);
    expect(given).toBe("another relay took the destination over");
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });
});

describe("the lane groups of a relay", () => {
  it("are kept by renewing their leases, and freed at a stop", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const asked = fixture.storeCalls.get("acquireLanes");
    await fixture.clock.advance(minute);
    expect(fixture.storeCalls.get("acquireLanes")).toBe(asked);
    expect(fixture.storeCalls.get("renewLanes")).toBeGreaterThanOrEqual(5);
    await fixture.restart();
    expect(fixture.storeCalls.get("releaseLanes")).toBe(1);
  });

  it("are kept over a time in which the store takes nothing", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    fixture.failing.add("renewLanes");
    await fixture.clock.advance(minute);
    const id = await fixture.accept();
    await fixture.clock.advance(second);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });

  it("remember a destination that has the name of an account", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo(bot), ntfyTo("hook")]);
    channelOf(fixture, bot).script.push(kicked);
    await fixture.accept({}, { to: [bot] });
    await fixture.clock.advance(5 * second);
    await fixture.restart();
    const states = fixture.engine.statuses().map(({ own, account }) => [own.health, account?.health]);
    expect(states).toEqual([
      ["ok", "ok"],
      ["dead", undefined],
      ["ok", undefined],
    ]);
  });

  it("give a call its time, however long that is, before they count it as abandoned", async () => {
    const fixture = await startFixture([ntfyTo("hook")], (settings) => {
      settings.sendTimeoutMs = 5 * minute;
    });
    channelOf(fixture, "hook").always = () => new Promise(() => {});
    const id = await fixture.accept();
    await fixture.clock.advance(5 * minute);
    expect(await outcomesOf(fixture, id)).toEqual([]);
    await fixture.clock.advance(10 * second);
    expect(await outcomesOf(fixture, id)).toEqual(["ambiguous"]);
    expect((await fixture.detail(id)).deliveries[0]?.attempts[0]?.reason).toBe("no_answer");
  });
});

/** The engine on a store that another relay may work on as well. */
async function shareStore(fixture: EngineFixture, others: () => Partial<RelayView>[] = () => []): Promise<void> {
  const store = fixture.seen;
  const handles: Partial<typeof store> = {
    capabilities: { sharedByRelays: true },
    announceRelay: async (self) => [
      { ...self, configurationVersion: 1, seenAt: fixture.clock.now(), lanes: [] },
      ...others().map((other) => ({
        ...{ id: "other", name: "two", version: "0.1.0", configuration: self.configuration, startedAt: 0 },
        ...{ configurationVersion: 1, seenAt: 0, lanes: [] },
        ...other,
      })),
    ],
  };
  fixture.seen = { ...store, ...handles };
  await fixture.restart();
}

describe("a relay that shares its store", () => {
  it("leaves its lanes before their lease ends when it cannot renew it, and ends the call under way", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    await shareStore(fixture);
    let endedAt = 0;
    channelOf(fixture, "chat").script.push(
      ({ context }) =>
        new Promise((resolve) =>
          context.signal.addEventListener("abort", () => {
            endedAt = fixture.clock.now();
            resolve({ kind: "ambiguous", reason: "process_stopped", detail: "ended" });
          }),
        ),
    );
    const startedAt = fixture.clock.now();
    fixture.failing.add("renewLanes");
    await fixture.accept();
    await fixture.clock.advance(20 * second);
    expect(endedAt - startedAt).toBeGreaterThan(10 * second);
    expect(endedAt - startedAt).toBeLessThan(15 * second);
    const asked = expect(fixture.engine.tryNow("chat")).rejects.toMatchObject({ code: "conflict" });
    await fixture.clock.advance(11 * second);
    await asked;
  });

  it("makes no call after it has stood still for longer than its lease", async () => {
    const fixture = await startFixture([telegramTo("chat", { detail: "full" })]);
    await shareStore(fixture);
    const chat = channelOf(fixture, "chat");
    chat.script.push(async () => {
      // Between two parts of a message, whatever would wake first.
      fixture.failing.add("renewLanes");
      await fixture.clock.set(40 * second);
      return { kind: "sent", ref: "1" };
    });
    await fixture.accept({ text: "word ".repeat(1_800) });
    await fixture.clock.advance(30 * second);
    expect(chat.calls).toHaveLength(1);
  });

  it("is told so by the question before a call leaves, behind all that the call had to wait for", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    await shareStore(fixture);
    const asked: boolean[] = [];
    channelOf(fixture, "chat").script.push(async ({ context }) => {
      asked.push(context.mayCall());
      fixture.failing.add("renewLanes");
      await fixture.clock.set(40 * second);
      asked.push(context.mayCall());
      expect(context.signal.aborted).toBe(true);
      return { kind: "retry", reason: "process_stopped", detail: "nothing was sent" };
    });
    const id = await fixture.accept();
    await fixture.clock.advance(second);
    expect(asked).toEqual([true, false]);
    expect(await outcomesOf(fixture, id)).toEqual(["retry"]);
  });

  it("holds its share alone, and all when it is the only one", async () => {
    const others: Partial<RelayView>[] = [{ lanes: [] }];
    const fixture = await startFixture([ntfyTo("a"), ntfyTo("b"), ntfyTo("c"), ntfyTo("d")]);
    await shareStore(fixture, () => others);
    const heldNow = () => fixture.engine.laneTurns().map(({ destination }) => destination);
    expect(heldNow()).toHaveLength(2);
    others.pop();
    await fixture.clock.advance(5 * second);
    expect(heldNow()).toEqual(["a", "b", "c", "d"]);
  });

  it("looks again at once for a lane that it was not given though nobody had it", async () => {
    const others: Partial<RelayView>[] = [{ lanes: ["destination:a", "destination:b"] }];
    const fixture = await startFixture([ntfyTo("a"), ntfyTo("b")]);
    const { acquireLanes } = fixture.store;
    let isTaken = true;
    // Another relay asks for the same one at the same moment.
    fixture.seen = { ...fixture.store, acquireLanes: async (...asked) => (isTaken ? [] : acquireLanes(...asked)) };
    await shareStore(fixture, () => others);
    others[0] = { lanes: ["destination:a"] };
    fixture.engine.lookForLanes();
    await fixture.clock.settle();
    expect(fixture.engine.laneTurns()).toHaveLength(0);
    isTaken = false;
    await fixture.clock.advance(0.25 * second);
    expect(fixture.engine.laneTurns()).toHaveLength(1);
    const looks = fixture.storeCalls.get("announceRelay") ?? 0;
    await fixture.clock.advance(second);
    expect((fixture.storeCalls.get("announceRelay") ?? 0) - looks).toBeLessThanOrEqual(2);
  });

  it("keeps a lane whose last call takes longer than a lease when it is stopped, and leaves the others at once", async () => {
    const fixture = await startFixture([ntfyTo("slow"), ntfyTo("idle")]);
    await shareStore(fixture);
    let answer: (() => void) | undefined;
    channelOf(fixture, "slow").script.push(
      () =>
        new Promise((resolve) => {
          answer = () => resolve({ kind: "sent", ref: "1" });
        }),
    );
    const id = await fixture.accept();
    await fixture.clock.settle();
    const released = () => fixture.storeCalls.get("releaseLanes") ?? 0;
    const renewed = () => fixture.storeCalls.get("renewLanes") ?? 0;
    const [releasedBefore, renewedBefore] = [released(), renewed()];
    const stopped = fixture.engine.stop(60 * second);
    await fixture.clock.advance(16 * second);
    expect(released() - releasedBefore).toBe(1);
    expect(renewed() - renewedBefore).toBeGreaterThanOrEqual(4);
    answer?.();
    await fixture.clock.advance(second);
    await stopped;
    expect(await fixture.states(id)).toEqual({ slow: "sent", idle: "sent" });
  });

  it("hands over what another lacks once its calls have ended, and keeps the rest", async () => {
    const others: Partial<RelayView>[] = [];
    const fixture = await startFixture([ntfyTo("a"), ntfyTo("b")]);
    await shareStore(fixture, () => others);
    let answer: (() => void) | undefined;
    channelOf(fixture, "b").script.push(
      () =>
        new Promise((resolve) => {
          answer = () => resolve({ kind: "sent", ref: "1" });
        }),
    );
    const id = await fixture.accept();
    await fixture.clock.settle();
    others.push({ lanes: [] });
    await fixture.clock.advance(8 * second);
    expect(fixture.storeCalls.get("releaseLanes")).toBe(1);
    answer?.();
    await fixture.clock.settle();
    expect(fixture.storeCalls.get("releaseLanes")).toBe(2);
    expect(fixture.engine.laneTurns().map(({ destination }) => destination)).toEqual(["a"]);
    expect(await fixture.states(id)).toEqual({ a: "sent", b: "sent" });
    others[0] = { lanes: ["destination:b"] };
    await fixture.clock.advance(20 * second);
    expect(fixture.engine.laneTurns().map(({ destination }) => destination)).toEqual(["a"]);
  });

  it("delivers, and keeps its lanes, while what waits for a removed destination cannot be ended, and ends it later", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    fixture.failing.add("listOrphans");
    await shareStore(fixture);
    const [gone, id] = [await fixture.accept({}, { planned: { destination: "gone" } }), await fixture.accept()];
    await fixture.clock.advance(20 * second);
    expect(fixture.engine.laneTurns()).toHaveLength(1);
    expect([await fixture.states(gone), await fixture.states(id)]).toEqual([{ gone: "queued" }, { hook: "sent" }]);
    fixture.failing.clear();
    await fixture.clock.advance(5 * second);
    expect(await fixture.states(gone)).toEqual({ gone: "failed" });
    const notices = channelOf(fixture, "hook").calls.filter(({ text }) => text.includes("gone"));
    expect(notices).toHaveLength(1);
  });

  it("keeps its lanes while the end of what waits for a removed destination takes longer than a lease", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    const { store } = fixture;
    fixture.seen = {
      ...store,
      async finishDeliveries(...asked) {
        await fixture.clock.sleep(12 * second);
        return store.finishDeliveries(...asked);
      },
    };
    const gone: string[] = [];
    for (let count = 0; count < 401; count += 1)
      gone.push(await fixture.accept({}, { planned: { destination: "gone" } }));
    await shareStore(fixture);
    await fixture.clock.advance(20 * second);
    const statesOf = async () => [
      (await fixture.states(gone[0] ?? "")).gone,
      (await fixture.states(gone[400] ?? "")).gone,
    ];
    expect(await statesOf()).toEqual(["failed", "queued"]);
    const id = await fixture.accept();
    await fixture.clock.advance(8 * second);
    expect(await fixture.states(id)).toEqual({ hook: "sent" });
    expect(await statesOf()).toEqual(["failed", "failed"]);
    const notices = channelOf(fixture, "hook").calls.filter(({ text }) => text.includes("gone"));
    expect(notices.map(({ text }) => text.includes("401"))).toEqual([true]);
  });

  it("keeps its lanes while the store does not answer how it is, and takes others when it refuses that", async () => {
    const fixture = await startFixture([ntfyTo("a"), ntfyTo("b")]);
    await shareStore(fixture);
    const { announceRelay } = fixture.seen;
    let refuses = false;
    fixture.seen.announceRelay = async (...asked) => {
      if (refuses) throw new Error("not now");
      await fixture.clock.sleep(60 * second);
      return announceRelay(...asked);
    };
    await fixture.clock.advance(50 * second);
    const runs = () => fixture.engine.laneTurns().map(({ destination }) => destination);
    expect(runs()).toEqual(["a", "b"]);
    refuses = true;
    await fixture.clock.advance(20 * second);
    const former = await takeLane(fixture.store, "destination:b");
    await fixture.clock.advance(second);
    await fixture.store.releaseLanes([former]);
    await fixture.clock.advance(10 * second);
    expect(runs().sort()).toEqual(["a", "b"]);
    const id = await fixture.accept();
    await fixture.clock.settle();
    expect(await fixture.states(id)).toEqual({ a: "sent", b: "sent" });
  });

  it("leaves to newer configurations what no destination of its own has", async () => {
    const others: Partial<RelayView>[] = [{ configuration: "newer", configurationVersion: 2 }];
    const fixture = await startFixture([ntfyTo("a")]);
    const orphans = () => fixture.storeCalls.get("listOrphans") ?? 0;
    const before = orphans();
    await shareStore(fixture, () => others);
    await fixture.clock.advance(20 * second);
    expect(orphans()).toBe(before);
    expect(fixture.engine.laneTurns()).toHaveLength(0);
    others.pop();
    await fixture.clock.advance(5 * second);
    expect(orphans()).toBeGreaterThan(before);
  });
});

describe("the duties of a relay that shares its store", () => {
  /** Says what is served, and may be kept from ending or beginning. */
  function createServed(fixture: EngineFixture) {
    const served = { begun: 0, ended: 0, fences: [] as number[], mayEnd: Promise.resolve(), fails: false };
    fixture.engine.duties.serveBy(async ({ fence }, stop) => {
      if (served.fails) throw new Error("the store does not answer");
      served.begun += 1;
      served.fences.push(fence);
      await new Promise((resolve) => stop.addEventListener("abort", resolve));
      await served.mayEnd;
      served.ended += 1;
    });
    return served;
  }

  const isFree = async ({ store }: EngineFixture) => (await takeLane(store, "duties")) !== undefined;

  it("are begun at once by the one that has them, and handed over when nothing of them goes on", async () => {
    const fixture = await startFixture([ntfyTo("a")]);
    await shareStore(fixture);
    const served = createServed(fixture);
    expect([served.begun, served.ended]).toEqual([1, 0]);
    let end = () => {};
    served.mayEnd = new Promise((resolve) => {
      end = () => resolve();
    });
    const released = fixture.storeCalls.get("releaseLanes") ?? 0;
    const left = fixture.engine.duties.leave();
    await fixture.clock.advance(5 * second);
    expect(fixture.storeCalls.get("releaseLanes") ?? 0).toBe(released);
    end();
    await left;
    expect(fixture.storeCalls.get("releaseLanes")).toBe(released + 1);
    // Deliveries go on, and the duties are not taken again.
    await fixture.clock.advance(20 * second);
    expect([served.begun, served.ended]).toEqual([1, 1]);
    expect(fixture.engine.laneTurns()).toHaveLength(1);
  });

  it("are ended before the lease is over when it cannot be renewed, and begun again under another fence", async () => {
    const fixture = await startFixture([ntfyTo("a")]);
    await shareStore(fixture);
    const served = createServed(fixture);
    fixture.failing.add("renewLanes");
    await fixture.clock.advance(10 * second);
    expect(served.ended).toBe(0);
    await fixture.clock.advance(5 * second);
    expect(served.ended).toBe(1);
    fixture.failing.clear();
    await fixture.clock.advance(5 * second);
    expect(served.begun).toBe(2);
    expect(served.fences[1]).toBeGreaterThan(served.fences[0] ?? Number.POSITIVE_INFINITY);
  });

  it("are not begun again before the former time has ended", async () => {
    const fixture = await startFixture([ntfyTo("a")]);
    await shareStore(fixture);
    const served = createServed(fixture);
    let end = () => {};
    served.mayEnd = new Promise((resolve) => {
      end = () => resolve();
    });
    await isFree(fixture);
    await fixture.clock.advance(30 * second);
    expect([served.begun, served.ended]).toEqual([1, 0]);
    end();
    await fixture.clock.advance(5 * second);
    expect([served.begun, served.ended]).toEqual([2, 1]);
  });

  it("are handed over to a relay with a newer configuration", async () => {
    const others: Partial<RelayView>[] = [];
    const fixture = await startFixture([ntfyTo("a")]);
    await shareStore(fixture, () => others);
    const served = createServed(fixture);
    others.push({ configuration: "newer", configurationVersion: 2 });
    await fixture.clock.advance(20 * second);
    expect([served.begun, served.ended]).toEqual([1, 1]);
    others.pop();
    await fixture.clock.advance(5 * second);
    expect(served.begun).toBe(2);
  });

  it("are given back when they cannot be begun, and tried again", async () => {
    const fixture = await startFixture([ntfyTo("a")]);
    await shareStore(fixture);
    const served = createServed(fixture);
    served.fails = true;
    await isFree(fixture);
    await fixture.clock.advance(10 * second);
    const released = fixture.storeCalls.get("releaseLanes") ?? 0;
    expect(released).toBeGreaterThan(1);
    served.fails = false;
    await fixture.clock.advance(5 * second);
    expect(served.begun).toBe(2);
  });
});
