import { describe } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import type { DeliverySettings } from "../../src/core/delivery-settings.ts";
import type { RelayView } from "../../src/core/ports/relays.ts";
import { takeLane } from "../support/lane.ts";
import type { TestClock } from "../support/test-clock.ts";
import { channelOf, later, ntfyTo, type Step, telegramTo } from "./engine-fixture.ts";
import { kicked, minute, second } from "./outcomes.ts";
import { doing, fails, many, next, onChannel, type Scene, states, tellScenesOf } from "./tell-scene.ts";

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

/** The other relays on the store are these from now on. */
const beside =
  (...others: Partial<RelayView>[]): Step =>
  (fixture) => {
    fixture.others = others;
  };
/** The engine begins anew on a store on which other relays may work as well; `own` is how the store knows it. */
const shares =
  (own: Partial<RelayView> = {}): Step =>
  async (fixture) => {
    const { clock, storeCalls } = fixture;
    const handles: Partial<typeof fixture.seen> = {
      capabilities: { sharedByRelays: true },
      announceRelay: async (self) => [
        { ...self, configurationVersion: 1, seenAt: clock.now(), lanes: [], ...own },
        ...fixture.others.map((other) => ({
          ...{ id: "other", name: "two", version: "0.1.0", configuration: self.configuration, startedAt: 0 },
          ...{ configurationVersion: 1, seenAt: 0, lanes: [] },
          ...other,
        })),
      ],
      leaveRouting: async (isLeft) => void storeCalls.set("leaveRouting", isLeft ? 1 : 0),
    };
    fixture.seen = { ...fixture.seen, ...handles };
    await fixture.restart();
  };
const share = shares();
const runs: Step = ({ engine }) =>
  engine
    .laneTurns()
    .map(({ destination }) => destination)
    .sort();
const howManyRun: Step = ({ engine }) => `${engine.laneTurns().length} run`;
/** How often lanes were given back, and renewed. */
const releases: Step = ({ storeCalls }) => `released: ${storeCalls.get("releaseLanes") ?? 0}`;
const renewals: Step = ({ storeCalls }) => `renewed: ${storeCalls.get("renewLanes") ?? 0}`;
const isStopped: Step = ({ engine }) => void engine.stop(60 * second);
const hangs =
  (name: string): Step =>
  (fixture) => {
    fixture.answer = channelOf(fixture, name).hang();
  };
const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => ntfyTo(name)) as [
  typeof hook,
  typeof hook,
  typeof hook,
  typeof hook,
];
const [hasA, hasB] = [{ lanes: ["destination:a"] }, { lanes: ["destination:b"] }];
const forGone = { planned: { destination: "gone" } };

describe("a relay that shares its store", () => {
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
  /** Asks before it calls, and again behind all that the call had to wait for. */
  const asksTwice: Step = ({ channels, failing, clock }) =>
    void channels.chat?.script.push(async ({ context: { mayCall, signal } }) => {
      const asked = mayCall();
      failing.add("renewLanes");
      await clock.set(40 * second);
      const detail = `may call: ${asked}, then ${mayCall()}; ended: ${signal.aborted}`;
      return { kind: "retry", reason: "process_stopped", detail };
    });
  tellScenesOf([chat])([
    [
      "leaves its lanes before their lease ends when it cannot renew it, and ends the call under way",
      [share, untilEnded, fails("renewLanes"), {}, 20_000, askChat],
    ],
    ["is told so by the question before a call leaves", [share, asksTwice, {}, second]],
  ]);
  tellScenesOf([full])([
    [
      "makes no call after it has stood still for longer than its lease",
      [share, standsStill, fails("renewLanes"), { text: longText }, 30_000],
    ],
  ]);
  tellScenesOf([a, b, c, d])([
    [
      "holds its share alone, and all when it is the only one",
      [beside({ lanes: [] }), share, howManyRun, beside(), 5 * second, runs],
    ],
  ]);

  /** What comes before the store's answer how it is. */
  const announces =
    (before: (clock: TestClock) => Promise<void>): Step =>
    ({ seen, clock }) => {
      const { announceRelay } = seen;
      seen.announceRelay = async (...asked) => {
        await before(clock);
        return announceRelay?.(...asked) ?? [];
      };
    };
  const releasesB: Step = async ({ store, clock }) => {
    const former = await takeLane(store, "destination:b");
    await clock.advance(second);
    await store.releaseLanes([former]);
  };
  tellScenesOf([a, b])([
    [
      "looks again at once for a lane that it was not given though nobody had it",
      [
        // Another relay asks for the same one at the same moment.
        ...[beside({ lanes: [...hasA.lanes, ...hasB.lanes] }), doing("acquireLanes", () => async () => []), share],
        ...[beside(hasA), look, 0, runs, doing("acquireLanes", (real) => real), 0.25 * second, howManyRun],
      ],
    ],
    [
      "keeps a lane whose last call takes longer than a lease when it is stopped, and leaves the others at once",
      [
        ...[share, hangs("a"), {}, 0, releases, renewals, isStopped, 16 * second],
        ...[releases, renewals, "answer" as const, second],
      ] as Step[],
    ],
    [
      "hands over what another lacks once its calls have ended, and keeps the rest",
      [
        ...[share, hangs("b"), {}, 0, beside({ lanes: [] }), 8 * second, releases, "answer" as const, 0, releases],
        ...[runs, beside(hasB), 20 * second, runs],
      ],
    ],
    [
      "keeps its lanes while the store does not answer how it is, and takes others when it refuses that",
      [
        ...[share, announces((clock) => clock.sleep(60 * second)), 50 * second, runs],
        ...[announces(() => Promise.reject(new Error("not now"))), 20 * second, releasesB, 10 * second, runs, {}, 0],
      ],
    ],
  ]);
  tellScenesOf([hook])([
    [
      "delivers, and keeps its lanes, while what waits for a removed destination cannot be ended, and ends it later",
      [fails("listOrphans"), share, [{}, forGone], {}, 20 * second, runs, states, fails(), 5 * second],
    ],
    [
      "keeps its lanes while the end of what waits for a removed destination takes longer than a lease",
      [
        doing("finishDeliveries", (finish, { clock }) => async (...asked) => {
          await clock.sleep(12 * second);
          return finish(...asked);
        }),
        ...[many(401, forGone), share, 20 * second, states, {}, 8 * second],
      ],
    ],
  ]);
});

describe("a relay beside one with another configuration", () => {
  const newer: Partial<RelayView> = { configuration: "newer", configurationVersion: 2 };
  const configuration: Step = ({ engine, storeCalls }) =>
    `${engine.configuration()}, routing ${storeCalls.get("leaveRouting") ? "left" : "taken"}`;
  const unheld: Step = ({ engine }) =>
    [...engine.membership.unheld()].filter(([group]) => group !== "duties").map(([group, at]) => [group, at - start]);
  tellScenesOf([a])([
    [
      "leaves lanes and routing to the newer, and takes them again when that one runs no more",
      [beside(newer), share, configuration, runs, beside(), 5 * second, configuration, runs],
    ],
    ...(
      [
        ["while that one runs", beside(newer), share],
        ["for a day after it ran", beside(), shares({ isSuperseded: true })],
        ["and ends that when none has run", beside(), share],
      ] as const
    ).map(
      ([when, others, own]): Scene => [
        `keeps what waits for a destination that only the newer may know ${when}`,
        [[{}, forGone], others, own, 20 * second],
      ],
    ),
  ]);
  tellScenesOf([a, b])([
    [
      "knows which lane no relay that runs has, and since when, until one has taken it",
      [
        // Its lease goes on though its relay runs no more, so nobody may take it.
        doing("acquireLanes", (acquire) => (relay, asked, ...more) => {
          const others = asked.filter(({ group }) => group !== "destination:a");
          return acquire(relay, others, ...more);
        }),
        ...[beside(hasA), share, 5 * second, unheld, beside(), 5 * second, unheld, 20 * second, unheld],
        ...[beside(hasA), 5 * second, unheld],
      ],
    ],
  ]);
});

describe("the duties of a relay that shares its store", () => {
  /** What it serves, which may be kept from ending or beginning. */
  let served = { fences: [] as number[], ended: 0, mayEnd: later<void>(), fails: false };
  const serves: Step = ({ engine }) => {
    served = { fences: [], ended: 0, mayEnd: later(), fails: false };
    served.mayEnd.settle();
    engine.duties.serveBy(async ({ fence }, stop) => {
      if (served.fails) throw new Error("the store does not answer");
      served.fences.push(fence);
      await new Promise((resolve) => stop.addEventListener("abort", resolve));
      await served.mayEnd.promise;
      served.ended += 1;
    });
  };
  const hasServed: Step = () => `begun under ${served.fences.join(" and ") || "none"}, ended ${served.ended}`;
  const holdEnd: Step = () => {
    served.mayEnd = later();
  };
  const letEnd: Step = () => served.mayEnd.settle();
  const cannotBegin =
    (fails: boolean): Step =>
    () => {
      served.fails = fails;
    };
  const isLost = take("duties");
  const leaves: Step = ({ engine }) => void engine.duties.leave();
  const newer = beside({ configuration: "newer", configurationVersion: 2 });
  tellScenesOf([a])(
    (
      [
        [
          "are begun at once by the one that has them, and handed over when nothing of them goes on",
          [
            ...[hasServed, holdEnd, releases, leaves, 5 * second, releases],
            // Deliveries go on, and the duties are not taken again.
            ...[letEnd, 0, releases, 20 * second, hasServed, runs],
          ],
        ],
        [
          "are ended before the lease is over when it cannot be renewed, and begun again under another fence",
          [fails("renewLanes"), 10 * second, hasServed, 5 * second, hasServed, fails(), 5 * second, hasServed],
        ],
        [
          "are not begun again before the former time has ended",
          [holdEnd, isLost, 30 * second, hasServed, letEnd, 5 * second, hasServed],
        ],
        [
          "are handed over to a relay with a newer configuration",
          [newer, 20 * second, hasServed, beside(), 5 * second, hasServed],
        ],
        [
          "are given back when they cannot be begun, and tried again",
          [cannotBegin(true), isLost, 10 * second, releases, cannotBegin(false), 5 * second, hasServed],
        ],
      ] as Scene[]
    ).map(([what, steps]): Scene => [what, [share, serves, 0, ...steps]]),
  );
});
