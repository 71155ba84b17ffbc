import { describe } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { MetricHistoryService } from "../../../src/core/ports/metric-history.ts";
import { formatDuration } from "../../../src/ground/time/time-format.ts";
import { type GapWatchDeps, openGapWatch } from "../../../src/watch/gaps/gap-watch.ts";
import { openRunningTimes } from "../../../src/watch/running-times.ts";
import { tellWatches, type WatchScene, type WatchStep, writeView } from "../tell-watch.ts";
import { createWatchWorld, hour, minute, muting } from "../watch-world.ts";

const key = "eth_token_price_0x00aa11bb22cc33dd44ee55ff66aa77bb88cc99dd";
const recordEvery = 5 * minute;

/** A price that stands at 90 and goes to 110 for half an hour, every two hours; a rule at 100 tells of both turns. */
const priceAt = (at: number): number => (at % (2 * hour) < 30 * minute ? 110 : 90);

const listed = (changes: object = {}) => ({
  subscription: { id: "sub_1", op: ">", value: 100, ...changes },
  metric: { key },
});

interface Options {
  subscriptions?: unknown[];
  /** What calls throw instead of an answer. */
  fails?: { subscriptions?: Error; records?: Error };
  /** What alerts call the metric. Default: its key. */
  word?: string;
  /** Whose account it is. Default: that of the environment. */
  source?: string;
  /** So long it has run, and all has come. Default 0. */
  ranMs?: number;
  /** Before that, too. Default: a day. */
  cameMs?: number;
}

/** A relay behind a day of which every alert has come. */
async function open({ word = key, source: of, ranMs = 0, cameMs = 24 * hour, ...options }: Options) {
  const { fails, subscriptions = [listed()] } = options;
  const calls = { subscriptions: 0, records: [] as { fromAt: number; toAt: number }[] };
  const service: MetricHistoryService = {
    async lookAtSubscriptions() {
      calls.subscriptions += 1;
      if (fails?.subscriptions) throw fails.subscriptions;
      return { entries: given.subscriptions };
    },
    async lookAtRecords({ fromAt = 0, toAt = clock.now() }) {
      calls.records.push({ fromAt, toAt });
      if (fails?.records) throw fails.records;
      const points = [];
      const from = Math.max(fromAt, clock.now() - 7 * 24 * hour);
      for (let at = Math.ceil(from / recordEvery) * recordEvery; at <= toAt; at += recordEvery)
        points.push({ at, value: priceAt(at) });
      return { points, unread: 0 };
    },
  };
  const given = { subscriptions, off: { isOff: false, at: 0 } as Awaited<ReturnType<GapWatchDeps["readOff"]>> };
  const runner = await createWatchWorld(async (deps) => {
    const ran = await openRunningTimes({ store: deps.store, clock, log: silentLog });
    const { downtimes } = ran;
    const own = { ...deps, service, downtimes, readOff: async () => given.off, random: () => 0.5, source: of };
    const watch = await openGapWatch(own, { everyMs: 15 * minute });
    const run = watch.run.bind(watch);
    return Object.assign(watch, {
      run: async (stop: AbortSignal) => void (await Promise.all([ran.run(stop), run(stop)])),
    });
  });
  const { clock, scene } = runner;
  const begin = clock.now();
  const world = Object.assign(runner, {
    ...{ given, calls },
    /** The alert of the turn at this time, as it was received. */
    async comes(at: number, source?: string) {
      const facts = { metric: word, threshold: "100", value: String(priceAt(at)), occurredAt: at + 500 };
      const status = priceAt(at) > 100 ? ("firing" as const) : ("resolved" as const);
      const fields = [{ name: "condition", value: "above" }];
      await scene.route({ to: [], source, receivedAt: at + 900, facts: { ...facts, status, fields } });
    },
    /** All turns of a time come. */
    async turnsCome(fromAt: number, toAt: number, source?: string) {
      for (let at = Math.ceil(fromAt / (30 * minute)) * 30 * minute; at < toAt; at += 30 * minute) {
        if (priceAt(at) !== priceAt(at - 1)) await world.comes(at, source);
      }
    },
  });
  if (cameMs > 0) await world.turnsCome(begin - cameMs, begin + Math.min(ranMs, 1), of);
  await world.start();
  await clock.advance(ranMs);
  await world.turnsCome(begin + 1, clock.now(), of);
  return world;
}

type World = Awaited<ReturnType<typeof open>>;
type Step = WatchStep<World>;

const tellScenes = tellWatches<World, Options>(
  (options = {}) => open(options),
  ({ watch }, start) => `${watch.view().name} ${writeView(watch.view(), start)}`,
);

/** Time passes, and what is due comes when it is. */
const live =
  (ms: number): Step =>
  async ({ clock, comes }) => {
    for (const end = clock.now() + ms; clock.now() < end; ) {
      await clock.advance(5 * minute);
      if (priceAt(clock.now()) !== priceAt(clock.now() - 1)) await comes(clock.now());
    }
  };
/** No relay runs for so long; what is due meanwhile comes by that hook, or not at all. */
const sleeps =
  (ms: number, hook?: "account" | (string & {})): Step =>
  async ({ clock, stop, start, turnsCome }) => {
    await stop();
    await clock.jump(ms);
    if (hook !== undefined) await turnsCome(clock.now() - ms, clock.now(), hook === "account" ? undefined : hook);
    await start();
  };
/** What has been due for so long comes. */
const comesOf =
  (ms: number): Step =>
  ({ clock, turnsCome }) =>
    turnsCome(clock.now() - ms + 1, clock.now());
const isOff =
  (isOff: boolean): Step =>
  ({ given, clock }) => {
    given.off = { isOff, at: clock.now() };
  };
const lists =
  (...subscriptions: unknown[]): Step =>
  ({ given }) => {
    given.subscriptions = subscriptions;
  };
/** What is missing, as the report has it, and the times in which no relay ran. */
const reports: Step = ({ watch, clock }) => {
  const { missing, downtimes } = watch.report() ?? { missing: [], downtimes: [] };
  const down = downtimes.map(
    ({ fromAt, toAt }) => `${formatDuration(toAt - fromAt)}, ${formatDuration(clock.now() - toAt)} ago`,
  );
  const lost = missing.map(({ verdict, status, whileDown }) => `${verdict} ${status}${whileDown ? " while down" : ""}`);
  return `missing: ${lost.sort().join(", ") || "nothing"}; down: ${down.join(", ") || "never"}`;
};

describe("a relay that was down", () => {
  const restartsAndLives: Step[] = ["restart", 6 * minute, comesOf(6 * minute)];
  tellScenes([
    [
      "looks for those of a source's account by that source's hook alone, and says whose they are",
      [
        ...[sleeps(3 * hour, "account"), 20 * minute],
        async ({ scene }) =>
          (await scene.store.loadWatchState("gaps:rules")) ?? "nothing is kept under the view's name",
        ...["restart" as const, 20 * minute],
      ],
      { source: "rules", ranMs: 10 * minute },
    ],
    [
      "takes the same turns by another source's hook for none of the account's",
      [sleeps(3 * hour, "second"), 6 * minute],
      { ranMs: 10 * minute },
    ],
    [
      "tells once of what did not come meanwhile, and over restarts not again",
      [
        ...[sleeps(3 * hour), 6 * minute, reports],
        ...[...restartsAndLives, ...restartsAndLives, ...restartsAndLives],
        // Later alerts have come: these are not on their way any more.
        ...[60 * minute, comesOf(60 * minute), 20 * minute, reports],
        // A notice is no alert: it is not among what the check itself looks at.
        async ({ scene: { store } }) => [
          (await store.listAlerts({ limit: 200 })).filter(({ origin }) => origin === "notice").length,
          (await store.listFacts({ fromAt: 0, limit: 500 })).filter(({ origin }) => origin !== "hook"),
        ],
      ],
      { ranMs: 10 * minute },
    ],
    [
      "asks the service for what is new, once a quarter of an hour",
      [
        65 * minute,
        ({ calls: { subscriptions, records } }) =>
          `${subscriptions} lists, records of ${records.map(({ fromAt, toAt }) => formatDuration(toAt - fromAt)).join(", ")}`,
      ],
    ],
    [
      "keeps a notice back for good for which a mute holds",
      [muting({ field: "source", condition: { equals: ["Tocsin"] } }), sleeps(3 * hour), 6 * minute, muting(), hour],
    ],
    ["misses nothing that a sender who repeats brings later", [sleeps(3 * hour, "account"), 6 * minute]],
  ]);
});

describe("what somebody did on purpose", () => {
  tellScenes([
    [
      "is to turn the webhook off by setup: nothing is expected, then or later",
      [isOff(true), 5 * hour, isOff(false), live(4 * hour), reports],
    ],
    ...Object.entries({
      "is paused for a night": listed({ enabled: false }),
      "has another threshold for a night": listed({ value: 500 }),
    }).map(
      ([what, meanwhile]): WatchScene<World, Options> => [
        `is a subscription that ${what}: it owes nothing of that time, over a restart too`,
        [
          ...[10 * minute, lists(meanwhile), 8 * hour, lists(listed()), live(20 * minute), "restart" as const],
          ...[live(6 * hour), reports],
        ],
      ],
    ),
    [
      "is no list that is empty for once: no subscription is new",
      [lists(), live(15 * minute), lists(listed()), sleeps(3 * hour), live(70 * minute), reports],
      { ranMs: 10 * minute },
    ],
    [
      "is told once where the list's order changes and no subscription has a name",
      [
        ...[sleeps(3 * hour), 6 * minute],
        ({ given }) => {
          given.subscriptions = given.subscriptions.toReversed();
        },
        hour,
      ],
      { subscriptions: [{ op: ">", value: 100, metric: { key } }, { enabled: false }, { enabled: false }] },
    ],
  ]);
});

describe("answers that say nothing", () => {
  const refused = new AppError(
    "upstream_bad_answer",
    "alerting: GET /subscriptions answered an HTML page, where JSON was expected",
  );
  const gone = new AppError("upstream_unreachable", "alerting: no answer within 15 s");
  const strange = [{ a: 1 }, "x", null];
  const noSignal: Step[] = [sleeps(3 * hour), 6 * minute, reports];
  tellScenes([
    ["are a page for records: it cannot tell, and alarms nobody", noSignal, { fails: { records: refused } }],
    [
      "are unknown members of subscriptions and alerts: it cannot tell",
      noSignal,
      { subscriptions: strange, word: "price" },
    ],
    ["are none: it cannot tell", noSignal, { fails: { subscriptions: gone, records: gone } }],
    ["are of a log without an alert: it says nothing of what is missing", [6 * minute], { cameMs: 0 }],
    ["are no subscription at all: nothing is expected", noSignal, { subscriptions: [] }],
    // Nobody has said that the rule is still there: nothing is sure.
    [
      "are a page for subscriptions: it goes by the rules that alerts reveal",
      noSignal,
      { fails: { subscriptions: refused } },
    ],
    [
      "are unknown members of subscriptions: it goes by the rules that alerts reveal",
      noSignal,
      { subscriptions: strange },
    ],
  ]);
});
