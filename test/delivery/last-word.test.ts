import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { Outcome } from "../../src/core/delivery.ts";
import { type DraftOptions, later, mailTo, type Step, startFixture, telegramTo, webhookTo } from "./engine-fixture.ts";
import { flood, hour, lost, minute, refused, second } from "./outcomes.ts";
import { claims, doing, losesAnswer, pause, tellScenesOf } from "./tell-scene.ts";

const key = { alertKey: "k", severity: "critical" } as const;
const over = { ...key, status: "resolved" } as const;

const destinations = [telegramTo("out"), mailTo("out"), webhookTo("out")];
const faults: [string, Outcome][] = [
  ["is refused", refused],
  ["gets no answer", lost],
  ["has to wait", flood(20 * second)],
];

const isEnd = (text: string) => /Over|"resolved"/.test(text);

/** One destination; routing claims for its lane, as the relay does. */
async function start(destination = telegramTo("out")) {
  const fixture = await startFixture([destination]);
  fixture.routesByEngine = true;
  return fixture;
}

const other = { ...key, alertKey: "other" };
/** Of a relay that was cut off: it came before the others, and is stored behind them. */
const late = (at: number): Step => [key, { receivedAt: at - second }];

/** The next engine needs a second for each claim that it finds abandoned. */
const slowly: Step = (fixture) => {
  const { store, clock } = fixture;
  const { now } = clock;
  const listAbandoned: typeof store.listAbandoned = async (...asked) => {
    const found = await store.listAbandoned(...asked);
    const times = found.map((_, index) => now() + index * second);
    clock.now = () => times.shift() ?? now();
    return found;
  };
  fixture.seen = { ...store, listAbandoned };
};

type Told = [what: string, steps: (at: number) => Step[]];

/** What each kind of destination is told, and whether that rings; and what became of each alert. */
it.each<Told>([
  ["tells no end while its beginning is under way", () => ["hang", key, 100, over, other, 500]],
  [
    "tells the end behind its beginning once that has arrived",
    () => ["hang", key, 100, over, other, 500, "answer", minute],
  ],
  [
    "sends what came behind the end, though another relay had stored it before",
    (at) => [refused, [key, { receivedAt: at + 50 }], 100, [over, { receivedAt: at }], 2 * minute],
  ],
  [
    "rings for nothing that was over before its turn came",
    () => ["hang", other, 100, key, 2 * second, over, second, "answer", minute],
  ],
  ...[[], [lost]].map(
    (then): Told => [
      `rings for no beginning that comes behind its end, while that could not be told yet: ${then.length} calls of it are lost`,
      (at) => [flood(20 * second), ...then, over, 10 * second, late(at), 2 * minute],
    ],
  ),
  ...["before", "behind"].flatMap((place) =>
    [second, 2 * minute].map(
      (waitMs): Told => [
        `rings for what was stored late ${place} its end, while quiet hours hold that: ${waitMs} ms later`,
        (at) => {
          const end: Step = [over, { heldForMs: 8 * hour }];
          const stored: Step = [key, { receivedAt: at }];
          return ["hang", other, 1_500, ...(place === "before" ? [stored, end] : [end, stored]), "answer", waitMs];
        },
      ],
    ),
  ),
  [
    "rings for no beginning that comes behind its end, however long that waits for a retry",
    (at) => [[over, { planned: { dueAt: at + 15 * minute } }], second, late(at), 16 * minute],
  ],
  ...faults.flatMap(([what, fault]) =>
    [0, 500].map(
      (gapMs): Told => [
        `tells last that it is over, and rings no more, where the first call ${what}: the end ${gapMs} ms later`,
        () => [fault, key, gapMs, over, 2 * minute],
      ],
    ),
  ),
  [
    "tells no beginning that comes behind its end, where a try of that got no answer",
    (at) => [lost, over, 100, late(at), 2 * minute],
  ],
  [
    "tells again together what went out together when the process was killed",
    () => [refused, key, 500, over, "hang", 2 * second, slowly, "kill", 20 * minute],
  ],
  [
    "leaves out a beginning that comes behind its end, says why, and rings for the next",
    (at) => [over, minute, late(at), minute, key, minute],
  ],
])("%s", async (_what, stepsFrom) => {
  const lines: string[] = [];
  for (const destination of destinations) {
    const { play, clock, out, detail } = await start(destination);
    const ids = await play(...stepsFrom(clock.now()));
    const told = out.texts.map((text, index) => [isEnd(text) ? "over" : "fires", out.silences[index] && "silent"]);
    const alerts = (await Promise.all(ids.map(detail))).flatMap(({ deliveries }) => deliveries);
    const became = alerts.map(({ state, attempts }) => [state, ...attempts.flatMap(({ detail }) => detail ?? [])]);
    const words = [told, became].map((all) => all.map((one) => one.filter(Boolean).join(" ")).join(", "));
    lines.push(`${destination.type}: ${words.join(" · ")}`);
  }
  expect(`\n${lines.join("\n")}\n`).toMatchSnapshot();
});

const loading = later<void>();
const bbLoads =
  (loads: boolean): Step =>
  ({ channels }) => {
    Object.assign(channels.bb ?? {}, { prepare: loads ? () => loading.promise : undefined });
    if (!loads) loading.settle();
  };
tellScenesOf([telegramTo("a"), telegramTo("bb")])([
  [
    "rings for nothing that was over while its bot had to wait",
    [
      ...[claims, bbLoads(true), [key, { to: ["bb"] }] as Step, 100, flood(5 * second, "account")],
      ...[[other, { to: ["a"] }] as Step, 100, bbLoads(false), 2 * second, [over, { to: ["bb"] }] as Step, minute],
    ],
  ],
]);
const ofGroup = (heldForMs: number): DraftOptions => {
  return { heldForMs, planned: { groupName: '["group","all","chain","eth"]' } };
};
const resent: DraftOptions = { purpose: "bulk_resend", planned: { updates: "new" } };
tellScenesOf([telegramTo("out")])([
  [
    "tells a group's end with the beginning that waits for a retry",
    [
      ...[refused, refused, [key, ofGroup(20 * second)] as Step, [other, ofGroup(20 * second)] as Step, 20_500],
      ...[[over, ofGroup(5 * minute)] as Step, 6 * minute],
    ],
  ],
  [
    "resends what a key had in the order of the log",
    [pause("out", "anna"), [key, resent], [over, resent], [key, resent], pause("out"), minute],
  ],
  ["tells no resent beginning behind its end", [refused, refused, [key, resent], second, over, minute]],
]);
const own: Step[] = [doing("recordRouting", (real) => real), "restart"];
const heldAll = [..."12345"].map((alertKey): Step => [{ ...key, alertKey }, { heldForMs: minute }]);
tellScenesOf([telegramTo("out")])([
  [
    "tells what quiet hours held in one digest, though the answer to its claim is lost",
    [...own, losesAnswer("claimDeliveries"), ...heldAll, 2 * minute],
  ],
]);
const commitHangs = doing("recordRouting", (real, { clock }) => async (records) => {
  await clock.sleep(3 * second);
  // PostgreSQL notes when it got it; the answer has what was asked.
  const recorded = await real(records.map((one) => ({ ...one, routedAt: clock.now() })));
  for (const { claimed } of recorded.flatMap(({ deliveries }) => deliveries.flatMap((one) => one ?? [])))
    for (const delivery of claimed?.deliveries ?? []) delivery.createdAt = delivery.receivedAt;
  return recorded;
});
const firesLate: Step = ({ accept, clock }) => void accept(key, { receivedAt: clock.now() - 2 * second });
tellScenesOf([mailTo("out")])([
  [
    "rings for nothing that was claimed by a commit that hung, where its end was told before that",
    [claims, ...own, minute, over, second, commitHangs, firesLate, minute],
  ],
]);

describe("a digest", () => {
  const each = (facts: Partial<AlertFacts>, options = {}) =>
    [..."abc"].map((alertKey): Step => [{ ...facts, alertKey }, options]);
  const before = { receivedAt: Date.UTC(2026, 10, 21, 11, 59, 59) };
  const worst = { id: "none", at: before.receivedAt, severity: "critical" } as const;
  const damped = { count: 1, sinceAt: before.receivedAt, worst, why: "it is no further" };
  const summary: Step = [key, { planned: { updates: "summary", damped } }];
  tellScenesOf([telegramTo("out", { digestOver: 2 })])([
    ["that tells an end took along what its key had", [claims, lost, key, second, ...each(key), over, 2 * minute]],
    [
      "that got no answer is repeated before an end of its alerts is told",
      ["hang", other, 100, lost, key, ...each(key), "answer", 2 * second, over, 2 * minute],
    ],
    [
      "that has to wait leaves what is over to its end",
      ["hang", other, 100, refused, refused, refused, key, ...each(key), "answer", 10 * second, over, 2 * minute],
    ],
    [
      "takes along the ends that wait for a retry",
      [
        ...[claims, lost, lost, lost, ...each(over).flatMap((one) => [one, 2 * second])],
        ...["hang" as const, other, second, ...each(key, before), "answer" as const, 2 * minute],
      ],
    ],
    [
      "tells that a key fires again, and its end does not change the message of the end before",
      [key, 2 * second, over, 2 * second, "hang", other, 100, key, ...each(key), "answer", 5 * second, over, minute],
    ],
    [
      "tells an end, and rings for nothing that comes behind it",
      ["hang", other, 1_500, over, ...each(key), "answer", 5 * second, [key, before], minute],
    ],
    [
      "that told an end is the last word for a summary that waits for a retry",
      [key, 70 * second, refused, summary, 500, "hang", other, 100, ...each(key), over, "answer", minute],
    ],
    [
      "shows as over what was stored behind its end",
      ["hang", other, 1_500, over, [key, before], ...each(key), "answer", 2 * minute],
    ],
  ]);
  tellScenesOf([webhookTo("out")])([
    [
      "or an end to a program is not told behind the next beginning",
      [claims, key, second, refused, refused, over, 0, key, 2 * minute],
    ],
  ]);

  /** The next call hangs, and the one before is answered. */
  const turns: Step = async (fixture) => {
    const { answer } = fixture;
    await fixture.play("hang");
    answer();
  };
  tellScenesOf([telegramTo("out", { digestOver: 3 })])([
    [
      "rings for nothing that was over before its turn came",
      [
        ...[claims, "hang" as const, other, 100, ...each(key), 2 * second, ...each(over), turns, 2 * second],
        // The last of these has not ended.
        ...[...each(key), ...each(over).slice(0, 2), "answer" as const, minute],
      ],
    ],
  ]);
});

it("a program whose first call about each of many alerts fails gets all, each end behind its beginning", async () => {
  const { clock, out, play } = await start(webhookTo("out", { digestOver: 1_000 }));
  const taken = new Map<string, string[]>();
  const called = new Set<string>();
  const answers = [undefined, lost, refused, flood(second)];
  out.always = async ({ text }) => {
    const title = /Pool (\d+)/.exec(text)?.[0] ?? "";
    await clock.sleep(20);
    const fault = called.has(title) ? undefined : answers[Number(title.slice(5)) % answers.length];
    called.add(title);
    if (fault) return fault;
    taken.set(title, [...(taken.get(title) ?? []), text.includes('"resolved"') ? "over" : "fires"]);
    return { kind: "sent", ref: "1" };
  };
  for (let number = 0; number < 24; number += 1) {
    const facts = { alertKey: `k${number}`, title: `Pool ${number}` };
    await play(facts, 60, { ...facts, status: "resolved" }, 40);
  }
  await clock.advance(3 * minute);
  expect(taken.size).toBe(24);
  expect(new Set([...taken.values()].map(String))).toEqual(new Set(["fires,over"]));
});
