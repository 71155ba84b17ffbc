import { describe, expect, it } from "vitest";
import type { SilenceRule } from "../../src/core/rules.ts";
import { formatDuration } from "../../src/ground/time/time-format.ts";
import { type SilenceDeps, SilenceWatch } from "../../src/watch/silence.ts";
import { newIdAt } from "../conformance/store/scene.ts";
import { request } from "../conformance/store/scene-samples.ts";
import { writeTime } from "../support/test-clock.ts";
import { tellWatches, type WatchStep } from "./tell-watch.ts";
import { createWatchWorld, day, hour, minute, muting, second } from "./watch-world.ts";

const hook: SilenceRule = { of: "hook", after: 6 * hour };

interface Options extends Partial<Pick<SilenceDeps, "describeAccount" | "sources">> {
  rules?: SilenceRule[];
  /** Every half hour of so many days before the start an alert came, by turns from two sources. Default: 0. */
  filledDays?: number;
}

async function open({ rules = [hook], filledDays = 0, ...options }: Options = {}) {
  /** Those of the next run. */
  const given = { rules };
  const world = await createWatchWorld((deps) => new SilenceWatch({ ...deps, ...options, ...given }).open());
  const { clock, scene } = world;
  for (let at = clock.now() - filledDays * day; at < clock.now(); at += 30 * minute)
    await scene.route({ receivedAt: at, facts: { source: (at / minute) % 60 < 30 ? "Pyth" : "Other" }, to: [] });
  const { start } = world;
  world.start = async () => {
    await start();
    // Until the log is read.
    await clock.advance(second);
  };
  await world.start();
  return Object.assign(world, { given, state: () => world.watch.view().map(({ state }) => state) });
}

type World = Awaited<ReturnType<typeof open>>;
type Step = WatchStep<World>;

/** Of each watch what a person sees of it, without what changes at each look. */
function show({ watch }: World, start: number): string {
  const views = watch.view().map(({ watch, state, usualMs, tellsAt, learning, since }) => {
    const known = learning && `${learning.days} of ${learning.daysNeeded} days since ${new Date(since).toISOString()}`;
    const tells = usualMs && tellsAt && `tells at ${writeTime(tellsAt - start)}`;
    return [`${watch} ${state}`, usualMs && `usually ${formatDuration(usualMs)}`, tells, known]
      .filter(Boolean)
      .join(", ");
  });
  return views.join("; ");
}
const tellScenes = tellWatches<World, Options>(open, show);

/** An alert comes. */
const comes =
  (changes: Partial<Parameters<SilenceWatch["note"]>[0]> = {}): Step =>
  async ({ watch, clock }) => {
    const receivedAt = clock.now();
    watch.note({ id: newIdAt(receivedAt), origin: "hook", receivedAt, decisions: [], ...changes });
    await clock.settle();
  };
const [alert, test] = [comes(), comes({ origin: "test" })];
/** The relay is down for so long. */
const restarts =
  (afterMs: number, how?: "stopped" | "killed", rules?: SilenceRule[]): Step =>
  async (world) => {
    world.given.rules = rules ?? world.given.rules;
    await world.restart(afterMs, how);
  };
const setClock =
  (ms: number): Step =>
  ({ clock }) =>
    clock.set(ms);
const diskIs =
  (full: boolean): Step =>
  ({ scene: { store } }) => {
    const { health } = store;
    store.health = async () => ({ ...(await health()), full });
  };
/** What a flood leaves behind: stored, and routed when it is over. */
const isStored: Step = async ({ scene, clock }) =>
  void (await scene.store.acceptRequest(request({ receivedAt: clock.now() })));
const times = (count: number, ...steps: Step[]) => Array.from({ length: count }, () => steps).flat();

describe("a silence of the hook", () => {
  tellScenes([
    [
      "is told once, with when the last alert came and what is known of the account, and once when it is over",
      [alert, 6 * hour - minute, 10 * hour, alert, hour],
      { describeAccount: () => "The account still sends here; asked 3 min ago." },
    ],
    ["is told of a relay that has never had an alert", [7 * hour]],
    ["is not ended by tests", [alert, 5 * hour, test, 2 * hour, test, minute]],
    ...(["stopped", "killed"] as const).flatMap((how): Parameters<typeof tellScenes>[0] => [
      [
        `is told twice to nobody when the relay is ${how}`,
        [alert, 7 * hour, restarts(10_000, how), 9 * hour, alert, restarts(10_000, how), hour],
      ],
      [
        `does not count the time in which the relay was ${how}`,
        [alert, 4 * hour, restarts(20 * hour, how), 110 * minute, 20 * minute],
      ],
    ]),
    [
      "is noticed over restarts that come more often than its time",
      [alert, ...times(8, hour, restarts(10_000, "killed"))],
    ],
    [
      "is as long by a clock that is set back",
      [2 * hour, alert, setClock(-hour), 359 * minute, 2 * minute, setClock(-7 * hour), minute, alert, minute],
    ],
    [
      "counts no hour of a clock that was wrong",
      [alert, setClock(7 * hour), hour, setClock(-7 * hour), 299 * minute, 62 * minute],
    ],
    ["is none of the sender while the disk is full", [alert, diskIs(true), 8 * hour, diskIs(false), 5 * hour]],
    [
      "is told to nobody while it is muted, and the page says so",
      [muting("tocsin:silence:hook"), alert, 8 * hour, muting(), minute, muting("tocsin:silence:other"), minute],
    ],
    [
      "is over when it is switched off, and begins anew when it is switched on",
      [
        ...[7 * hour, restarts(10_000, "stopped", [{ of: "route", name: "other", after: 90 * day }]), 7 * hour],
        ...[restarts(10_000, "stopped", [hook]), 5 * hour],
      ],
    ],
  ]);
  const halfAnHour = { rules: [{ ...hook, after: 30 * minute }] };
  tellScenes([
    ["is none while alerts that have come are not routed yet", [alert, 25 * minute, isStored, 20 * minute], halfAnHour],
    ["is told though there are alerts that cannot be routed at all", [isStored, 2 * hour], halfAnHour],
    [
      "of the account is told whatever comes by the hooks of others",
      [comes({ source: "Pyth" }), ...times(7, 10 * minute, comes({ source: "github" })), alert],
      {
        sources: ["github"],
        rules: [
          { of: "hook", after: hour },
          { of: "source", name: "github", after: hour },
        ],
      },
    ],
  ]);
});

const isOther = { field: "source", condition: { equals: ["Other"] } };
const critical = (result: "not_matched" | "skipped") => ({ route: "critical", result, reason: "" }) as const;
const others = { route: "rest", destination: "desk", result: "deliver", reason: "" } as const;

tellScenes([
  [
    "a silence of a route or a source is told by its name, whatever else comes",
    [
      muting(isOther),
      ...times(24, comes({ source: "Someone", decisions: [critical("not_matched"), others] }), 10 * minute),
      comes({ source: "Pyth", decisions: [{ ...critical("skipped"), destination: "desk" }] }),
    ],
    {
      rules: [
        { of: "route", name: "critical", after: 2 * hour },
        { of: "source", name: "Pyth", after: 3 * hour },
        { of: "source", name: "Other", after: 3 * hour },
      ],
    },
  ],
]);

describe("auto", () => {
  const rules: SilenceRule[] = [
    { of: "hook", after: "auto" },
    { of: "source", name: "Pyth", after: "auto" },
  ];
  const filled = { rules, filledDays: 20 };
  const fixed = rules.map((rule) => ({ ...rule, after: 90 * day }));
  /** The next time. */
  const logCannotBeRead: Step = ({ scene: { store } }) => {
    const { listArrivals } = store;
    store.listArrivals = async () => {
      store.listArrivals = listArrivals;
      throw new Error("no room");
    };
  };
  tellScenes([
    [
      "learns from the log at once what is usual, shows it, and tells of what is longer",
      [minute, 3 * hour, restarts(10_000, "killed"), hour],
      filled,
    ],
    ...(["stopped", "killed"] as const).map((how): Parameters<typeof tellScenes>[0][number] => [
      `learns from the log where it was a time before, also when it is ${how}`,
      [5 * minute, restarts(10_000, how, rules), minute, restarts(10_000, how), minute],
      { ...filled, rules: fixed },
    ]),
    [
      "reads the log at the next start when it could not be read",
      [logCannotBeRead, restarts(10_000, "stopped", rules), 12 * minute, restarts(10_000), minute],
      { ...filled, rules: fixed },
    ],
    ["alarms nobody and says what it needs while it knows too little", [3 * day], { rules, filledDays: 3 }],
    [
      "keeps what it has learned over a restart, and reads the log once",
      [11 * minute, logCannotBeRead, restarts(10_000), minute],
      filled,
    ],
  ]);

  it("knows what it has learned after a start with the clock of a year ago", async () => {
    const { clock, restart, state, told } = await open(filled);
    await clock.advance(minute);
    await restart(-365 * day);
    await clock.advance(5 * minute);
    await clock.set(365 * day);
    await clock.advance(minute);
    expect([state(), told]).toEqual([["watching", "watching"], []]);
  });
});
