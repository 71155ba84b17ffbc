import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import type { DeliverySettings } from "../../src/core/delivery-settings.ts";
import type { RelayView } from "../../src/core/ports/relays.ts";
import { takeLane } from "../support/lane.ts";
import {
  type EngineFixture,
  later,
  type Named,
  ntfyTo,
  outcomesOf,
  type Step,
  startFixture,
  telegramTo,
} from "./engine-fixture.ts";
import { kicked, minute, second } from "./outcomes.ts";
import { fails, next, onChannel, tellScenesOf } from "./tell-scene.ts";

const bot = "account:telegram:7";
const hookGroup = "destination:hook";
const longText = "word ".repeat(1_800);

const start = Date.UTC(2026, 10, 21, 12);
/** The next call gets no answer until it is ended, and says when that was, and with which words. */
const untilEnded: Step = ({ channels, clock }) =>
  void channels.chat?.script.push(({ context: { signal } }) => {
    const { promise, settle } = later<Outcome>();
    signal.addEventListener("abort", () => {
      const passedMs = clock.now() - start;
      const isInTime = passedMs >= 10 * second && passedMs < 16 * second;
      const detail = `ended ${isInTime ? "in time" : `after ${passedMs} ms`}: ${signal.reason.message}`;
      settle({ kind: "ambiguous", reason: "no_answer", detail });
    });
    return promise;
  });
const take =
  (group: string): Step =>
  async ({ store }) =>
    void (await takeLane(store, group));
const look: Step = ({ engine }) => void engine.lookForLanes();
const tryOwn: Step = ({ engine }) => engine.tryNow("hook").catch(({ code }) => code);
const takeAndClaim: Step = async ({ store, clock, accept }) => {
  const lane = await takeLane(store, bot);
  await accept();
  const [due] = await store.listDue("chat", clock.now(), 1);
  await store.claimDeliveries(lane, { token: "theirs", deliverySeqs: [due?.seq ?? 0], leaseMs: minute }, []);
};
const [chat, full, hook] = [telegramTo("chat"), telegramTo("chat", { detail: "full" }), ntfyTo("hook")];

describe("a lane group that another relay takes", () => {
  tellScenesOf([chat, hook])([
    ["is left at its next write, and what the other has claimed is not touched", [takeAndClaim, 5_000]],
  ]);
  tellScenesOf([hook])([
    [
      "is run no more by who only learns of it when its lease is renewed",
      [take(hookGroup), 9_000, fails("acquireLanes"), 20_000, tryOwn, fails(), look, 0, tryOwn],
    ],
    [
      "is asked for again until what former holders have left could be settled",
      [take(hookGroup), fails("listAbandoned"), 15_000, {}, 2_000, fails(), 10_000],
    ],
  ]);
  tellScenesOf([full])([["gets no further part of a message", [{ text: longText }, 0, take(bot), 9_000]]]);
  tellScenesOf([chat])([["counts what was under way as perhaps sent", [untilEnded, {}, 0, take(bot), 2 * minute]]]);
});

describe("the lane groups of a relay", () => {
  const hangs = onChannel("hook", (channel) => {
    channel.always = () => new Promise(() => {});
  });
  const slowly = (settings: DeliverySettings) => {
    settings.sendTimeoutMs = 5 * minute;
  };
  tellScenesOf([chat])([
    ["are kept over a time in which the store takes nothing", [fails("renewLanes"), minute, {}, second]],
  ]);
  tellScenesOf([chat, ntfyTo(bot), hook])([
    [
      "remember a destination named as an account, which works",
      [next(bot, kicked), [{}, { to: [bot] }], 5_000, "restart", [{}, { to: ["chat"] }], 2_000],
    ],
  ]);
  tellScenesOf(
    [hook],
    slowly,
  )([
    ["give a call its time, however long that is", [hangs, {}, 5 * minute]],
    ["count it as abandoned behind that", [hangs, {}, 5 * minute, 10_000]],
  ]);
});

type Shared = [others?: () => Partial<RelayView>[], own?: Partial<RelayView>];

/** The engine on a store that another relay may work on as well; `own` is how the store knows it. */
async function shareStore(fixture: EngineFixture, ...[others = () => [], own = {}]: Shared): Promise<void> {
  const store = fixture.seen;
  const handles: Partial<typeof store> = {
    capabilities: { sharedByRelays: true },
    announceRelay: async (self) => [
      { ...self, configurationVersion: 1, seenAt: fixture.clock.now(), lanes: [], ...own },
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

async function startShared<N extends string>(destinations: Named<N>[], ...shared: Shared) {
  const fixture = await startFixture(destinations);
  await shareStore(fixture, ...shared);
  return fixture;
}

const runsOf = ({ engine }: EngineFixture) => engine.laneTurns().map(({ destination }) => destination);
const releasedBy = ({ storeCalls }: EngineFixture) => storeCalls.get("releaseLanes") ?? 0;

describe("a relay that shares its store", () => {
  const share: Step = (fixture) => shareStore(fixture);
  const standsStill = onChannel("chat", ({ script, clock }) =>
    script.push(async () => {
      // Between two parts of a message, whatever would wake first.
      await clock.set(40 * second);
      return { kind: "sent", ref: "1" };
    }),
  );
  const askChat: Step = async ({ engine, clock }) => {
    const asked = engine.tryNow("chat").catch(({ code }) => code);
    await clock.advance(11_000);
    return asked;
  };
  tellScenesOf([chat])([
    [
      "leaves its lanes before their lease ends when it cannot renew it, and ends the call under way",
      [share, untilEnded, fails("renewLanes"), {}, 20_000, askChat],
    ],
  ]);
  tellScenesOf([full])([
    [
      "makes no call after it has stood still for longer than its lease",
      [share, standsStill, fails("renewLanes"), { text: longText }, 30_000],
    ],
  ]);

  it("is told so by the question before a call leaves, behind all that the call had to wait for", async () => {
    const fixture = await startShared([telegramTo("chat")]);
    const asked: boolean[] = [];
    fixture.chat.script.push(async ({ context }) => {
      asked.push(context.mayCall());
      fixture.failing.add("renewLanes");
      await fixture.clock.set(40 * second);
      asked.push(context.mayCall());
      expect(context.signal.aborted).toBe(true);
      return { kind: "retry", reason: "process_stopped", detail: "nothing was sent" };
    });
    const [id = ""] = await fixture.play({}, second);
    expect(asked).toEqual([true, false]);
    expect(await outcomesOf(fixture, id)).toEqual(["retry"]);
  });

  it("holds its share alone, and all when it is the only one", async () => {
    const others: Partial<RelayView>[] = [{ lanes: [] }];
    const fixture = await startShared([ntfyTo("a"), ntfyTo("b"), ntfyTo("c"), ntfyTo("d")], () => others);
    expect(runsOf(fixture)).toHaveLength(2);
    others.pop();
    await fixture.clock.advance(5 * second);
    expect(runsOf(fixture)).toEqual(["a", "b", "c", "d"]);
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
    expect(runsOf(fixture)).toHaveLength(0);
    isTaken = false;
    await fixture.clock.advance(0.25 * second);
    expect(runsOf(fixture)).toHaveLength(1);
  });

  it("keeps a lane whose last call takes longer than a lease when it is stopped, and leaves the others at once", async () => {
    const { fixture, clock, storeCalls } = await startShared([ntfyTo("slow"), ntfyTo("idle")]);
    const answer = fixture.slow.hang();
    const id = await fixture.accept();
    await clock.settle();
    const renewed = () => storeCalls.get("renewLanes") ?? 0;
    const [releasedBefore, renewedBefore] = [releasedBy(fixture), renewed()];
    const stopped = fixture.engine.stop(60 * second);
    await clock.advance(16 * second);
    expect(releasedBy(fixture) - releasedBefore).toBe(1);
    expect(renewed() - renewedBefore).toBeGreaterThanOrEqual(4);
    answer();
    await clock.advance(second);
    await stopped;
    expect(await fixture.states(id)).toEqual({ slow: "sent", idle: "sent" });
  });

  it("hands over what another lacks once its calls have ended, and keeps the rest", async () => {
    const others: Partial<RelayView>[] = [];
    const { fixture, clock } = await startShared([ntfyTo("a"), ntfyTo("b")], () => others);
    const answer = fixture.b.hang();
    const id = await fixture.accept();
    await clock.settle();
    others.push({ lanes: [] });
    await clock.advance(8 * second);
    expect(releasedBy(fixture)).toBe(1);
    answer();
    await clock.settle();
    expect(releasedBy(fixture)).toBe(2);
    expect(runsOf(fixture)).toEqual(["a"]);
    expect(await fixture.states(id)).toEqual({ a: "sent", b: "sent" });
    others[0] = { lanes: ["destination:b"] };
    await clock.advance(20 * second);
    expect(runsOf(fixture)).toEqual(["a"]);
  });

  const noticesOfGone = ({ hook }: Record<"hook", { texts: string[] }>) =>
    hook.texts.filter((text) => text.includes("gone"));
  const forGone = { planned: { destination: "gone" } };

  it("delivers, and keeps its lanes, while what waits for a removed destination cannot be ended, and ends it later", async () => {
    const { fixture, accept, clock, states, failing } = await startFixture([ntfyTo("hook")]);
    failing.add("listOrphans");
    await shareStore(fixture);
    const [gone, id] = [await accept({}, forGone), await accept()];
    await clock.advance(20 * second);
    expect(runsOf(fixture)).toHaveLength(1);
    expect([await states(gone), await states(id)]).toEqual([{ gone: "queued" }, { hook: "sent" }]);
    failing.clear();
    await clock.advance(5 * second);
    expect(await states(gone)).toEqual({ gone: "failed" });
    expect(noticesOfGone(fixture)).toHaveLength(1);
  });

  it("keeps its lanes while the end of what waits for a removed destination takes longer than a lease", async () => {
    const { fixture, store, acceptMany, clock, states, play } = await startFixture([ntfyTo("hook")]);
    fixture.seen = {
      ...store,
      async finishDeliveries(...asked) {
        await clock.sleep(12 * second);
        return store.finishDeliveries(...asked);
      },
    };
    const [first = "", ...others] = await acceptMany(401, {}, forGone);
    const last = others.at(-1) ?? "";
    await shareStore(fixture);
    await clock.advance(20 * second);
    expect([await states(first), await states(last)]).toEqual([{ gone: "failed" }, { gone: "queued" }]);
    const [id = ""] = await play({}, 8 * second);
    expect([await states(id), await states(last)]).toEqual([{ hook: "sent" }, { gone: "failed" }]);
    expect(noticesOfGone(fixture)).toEqual([expect.stringContaining("401")]);
  });

  it("keeps its lanes while the store does not answer how it is, and takes others when it refuses that", async () => {
    const { fixture, clock, store } = await startShared([ntfyTo("a"), ntfyTo("b")]);
    const { announceRelay } = fixture.seen;
    let refuses = false;
    fixture.seen.announceRelay = async (...asked) => {
      if (refuses) throw new Error("not now");
      await clock.sleep(60 * second);
      return announceRelay(...asked);
    };
    await clock.advance(50 * second);
    expect(runsOf(fixture)).toEqual(["a", "b"]);
    refuses = true;
    await clock.advance(20 * second);
    const former = await takeLane(store, "destination:b");
    await clock.advance(second);
    await store.releaseLanes([former]);
    await clock.advance(10 * second);
    expect(runsOf(fixture).sort()).toEqual(["a", "b"]);
    const id = await fixture.accept();
    await clock.settle();
    expect(await fixture.states(id)).toEqual({ a: "sent", b: "sent" });
  });
});

describe("a relay beside one with another configuration", () => {
  const newer: Partial<RelayView> = { configuration: "newer", configurationVersion: 2 };

  it("leaves lanes and routing to the newer, and takes them again when that one runs no more", async () => {
    const others = [newer];
    const fixture = await startFixture([ntfyTo("a")]);
    const routing: boolean[] = [];
    fixture.seen = { ...fixture.store, leaveRouting: async (isLeft) => void routing.push(isLeft) };
    await shareStore(fixture, () => others);
    expect([fixture.engine.configuration(), runsOf(fixture), routing.at(-1)]).toEqual(["older", [], true]);
    others.pop();
    await fixture.clock.advance(5 * second);
    expect([fixture.engine.configuration(), runsOf(fixture), routing.at(-1)]).toEqual(["newest", ["a"], false]);
  });

  it.each([
    ["while that one runs", [newer], {}, "queued"],
    ["for a day after it ran", [], { isSuperseded: true }, "queued"],
    ["and ends that when none has run", [], {}, "failed"],
  ])("keeps what waits for a destination that only the newer may know %s", async (_when, others, own, state) => {
    const fixture = await startFixture([ntfyTo("a")]);
    const gone = await fixture.accept({}, { planned: { destination: "gone" } });
    await shareStore(fixture, () => others, own);
    await fixture.clock.advance(20 * second);
    expect(await fixture.states(gone)).toEqual({ gone: state });
  });

  it("knows which lane no relay that runs has, and since when, until one has taken it", async () => {
    const others: Partial<RelayView>[] = [{ lanes: ["destination:a"] }];
    const { fixture, clock, store } = await startFixture([ntfyTo("a"), ntfyTo("b")]);
    // Its lease goes on though its relay runs no more, so nobody may take it.
    const acquireLanes: typeof store.acquireLanes = (relay, asked, ...more) =>
      store.acquireLanes(
        relay,
        asked.filter(({ group }) => group !== "destination:a"),
        ...more,
      );
    fixture.seen = { ...store, acquireLanes };
    await shareStore(fixture, () => others);
    const unheld = () => [...fixture.engine.membership.unheld()].filter(([group]) => group !== "duties");
    await clock.advance(5 * second);
    expect(unheld()).toEqual([]);
    const before = clock.now();
    others.pop();
    await clock.advance(5 * second);
    const [[group, since] = [], ...more] = unheld();
    expect([group, more]).toEqual(["destination:a", []]);
    expect(since).toBeGreaterThan(before);
    await clock.advance(20 * second);
    expect(unheld()).toEqual([[group, since]]);
    others.push({ lanes: ["destination:a"] });
    await clock.advance(5 * second);
    expect(unheld()).toEqual([]);
  });
});

describe("the duties of a relay that shares its store", () => {
  /** A relay beside others, and what it serves, which may be kept from ending or beginning. */
  async function start(others: Partial<RelayView>[] = []) {
    const fixture = await startShared([ntfyTo("a")], () => others);
    const served = { begun: 0, ended: 0, fences: [] as number[], mayEnd: Promise.resolve(), fails: false };
    fixture.engine.duties.serveBy(async ({ fence }, stop) => {
      if (served.fails) throw new Error("the store does not answer");
      served.begun += 1;
      served.fences.push(fence);
      await new Promise((resolve) => stop.addEventListener("abort", resolve));
      await served.mayEnd;
      served.ended += 1;
    });
    /** It ends no more before this is called. */
    const holdEnd = () => {
      const { promise, settle } = later<void>();
      served.mayEnd = promise;
      return () => settle();
    };
    return { fixture, clock: fixture.clock, served, holdEnd, counts: () => [served.begun, served.ended] };
  }

  it("are begun at once by the one that has them, and handed over when nothing of them goes on", async () => {
    const { fixture, clock, counts, holdEnd } = await start();
    expect(counts()).toEqual([1, 0]);
    const end = holdEnd();
    const released = releasedBy(fixture);
    const left = fixture.engine.duties.leave();
    await clock.advance(5 * second);
    expect(releasedBy(fixture)).toBe(released);
    end();
    await left;
    expect(releasedBy(fixture)).toBe(released + 1);
    // Deliveries go on, and the duties are not taken again.
    await clock.advance(20 * second);
    expect(counts()).toEqual([1, 1]);
    expect(runsOf(fixture)).toHaveLength(1);
  });

  it("are ended before the lease is over when it cannot be renewed, and begun again under another fence", async () => {
    const { fixture, clock, served, counts } = await start();
    fixture.failing.add("renewLanes");
    await clock.advance(10 * second);
    expect(counts()).toEqual([1, 0]);
    await clock.advance(5 * second);
    expect(served.ended).toBe(1);
    fixture.failing.clear();
    await clock.advance(5 * second);
    expect(served.begun).toBe(2);
    expect(served.fences[1]).toBeGreaterThan(served.fences[0] ?? Number.POSITIVE_INFINITY);
  });

  it("are not begun again before the former time has ended", async () => {
    const { fixture, clock, counts, holdEnd } = await start();
    const end = holdEnd();
    await takeLane(fixture.store, "duties");
    await clock.advance(30 * second);
    expect(counts()).toEqual([1, 0]);
    end();
    await clock.advance(5 * second);
    expect(counts()).toEqual([2, 1]);
  });

  it("are handed over to a relay with a newer configuration", async () => {
    const others: Partial<RelayView>[] = [];
    const { clock, counts } = await start(others);
    others.push({ configuration: "newer", configurationVersion: 2 });
    await clock.advance(20 * second);
    expect(counts()).toEqual([1, 1]);
    others.pop();
    await clock.advance(5 * second);
    expect(counts()).toEqual([2, 1]);
  });

  it("are given back when they cannot be begun, and tried again", async () => {
    const { fixture, clock, served } = await start();
    served.fails = true;
    await takeLane(fixture.store, "duties");
    await clock.advance(10 * second);
    expect(releasedBy(fixture)).toBeGreaterThan(1);
    served.fails = false;
    await clock.advance(5 * second);
    expect(served.begun).toBe(2);
  });
});
