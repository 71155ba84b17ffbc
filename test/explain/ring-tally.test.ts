import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { type GroupMemory, type GroupRule, nameGroup } from "../../src/core/group.ts";
import type { RingRule } from "../../src/core/ring.ts";
import type { PlannedDelivery, QuietHours, Rules } from "../../src/core/rules.ts";
import { createRingTally } from "../../src/explain/ring-tally.ts";
import { groupBy } from "../../src/ground/group-by.ts";
import { triedPercents } from "../../src/ringing/advise-on-rings.ts";
import { judgeGroups } from "../../src/ringing/judge-group.ts";
import { createRouter } from "../../src/routing/router.ts";
import { chat, facts, is, noon, route, rules } from "../routing/sample.ts";
import { createSeededRandom } from "../support/seeded-random.ts";

const minute = 60_000;
const pools: PlannedDelivery = {
  ...{ destination: "desk", channel: "telegram", recipient: "-1", route: "pools", state: "queued", reason: "" },
  ...{ dueAt: noon, updates: "auto", ring: { flapping: true } },
};

/** A price below 100 that falls a little each quarter of an hour, and is over between. */
function history(count: number, deliveries: PlannedDelivery[]) {
  const tally = createRingTally();
  const alerts = Array.from({ length: count }, (_, index) => [
    { id: `fires ${index}`, receivedAt: noon + index * 16 * minute, value: String(98 - index / 10) },
    { id: `ends ${index}`, receivedAt: noon + (index * 16 + 8) * minute, value: "100.2", status: "resolved" as const },
  ]);
  for (const { id, receivedAt, ...over } of alerts.flat().reverse())
    tally.add({ id, receivedAt, facts: facts({ threshold: "100", alertKey: "pool", ...over }) }, deliveries);
  return tally.tally();
}

test("counts by destination and route what rings and what is held back, with the loudest hour and the worst of it", async () => {
  const worst = { id: "fires 7", receivedAt: "2026-11-21T13:52:00.000Z", change: "−0.41 %" };
  const counts = { alerts: 8, rings: 4, heldBack: 4, loudest: { from: "2026-11-21T12:00:00.000Z", rings: 4 } };
  const { places } = await history(8, [pools]);
  expect(places).toEqual([{ destination: "desk", route: "pools", ...counts, worst }]);
});

test("proposes options that would have rung less, and says the largest move that they hold", async () => {
  const off: RingRule = { flapping: false, cooldownMs: 1000 };
  const { proposals } = await history(30, [{ ...pools, ring: off }]);
  expect(proposals.map(({ options, rings, insteadOf, worst }) => [options, rings, insteadOf, worst?.change])).toEqual([
    ["again: { furtherBy: 3% }, rearm: { backBy: 3% }", 1, 30, "−3.0 %"],
  ]);
});

test("judges nothing that is muted or that a program reads, and counts what no option holds back", async () => {
  const hook: PlannedDelivery = { ...pools, channel: "webhook", destination: "hook", ring: undefined };
  const all = { ...pools, destination: "ops", ring: undefined };
  const { places } = await history(8, [hook, { ...pools, state: "muted" }, all]);
  expect(places).toMatchObject([{ destination: "ops", rings: 8, heldBack: 0 }]);
});

test("lets a relay do what it has to do between a hundred alerts and the next", async () => {
  let isOver = false;
  let turns = 0;
  const told = history(1_000, [{ ...pools, ring: { flapping: false } }]).finally(() => {
    isOver = true;
  });
  for (; !isOver; turns += 1) await nextTurn();
  await told;
  const passes = 1 + triedPercents.length;
  expect(turns).toBeGreaterThan(passes * 19);
});

interface Came {
  at: number;
  facts: AlertFacts;
}

function tallyOf(came: readonly Came[], deliveriesOf: (one: Came) => PlannedDelivery[]) {
  const tally = createRingTally();
  for (const [index, one] of [...came.entries()].reverse())
    tally.add({ id: `${index}`, receivedAt: one.at, facts: one.facts }, deliveriesOf(one));
  return tally.tally();
}

const bridge: Partial<AlertFacts> = { title: "Bridge halted", alertKey: "bridge", chain: "eth" };
const fortyPools = Array.from({ length: 40 }, (_, index) => {
  return { title: `Pool ${index}`, severity: "warning", alertKey: `pool ${index}`, chain: "eth" } as const;
});
const over = (one: Partial<AlertFacts>) => ({ ...one, status: "resolved" as const });
const times = { by: ["chain"], waitMs: 30_000, againMs: 5 * minute, waitCriticalMs: 0 };
const cause = { name: "bridge down", while: [is("title", "Bridge halted")], hold: [is("severity", "warning")] };
const behindBridge: Partial<Rules> = { inhibit: [{ ...cause, equal: ["chain"], atMostMs: 24 * 60 * minute }] };
const loudest = (rings: number) => ({ loudest: { from: "2026-11-21T12:00:00.000Z", rings } });

const quietHours: QuietHours = { from: "11:00", to: "13:00", except: ["critical"] };
const night = { destinations: [{ ...chat("desk"), quietHours }] };

/** What the journeys in test/journey/groups.test.ts hear of the same alerts. */
test.each<[string, Partial<AlertFacts>[], Partial<Rules>, object]>([
  [
    "41 of a group with their cause last ring once",
    [...fortyPools, bridge],
    { routes: [route("all", ["desk"], { group: times })] },
    { alerts: 41, rings: 1, joined: 41, messages: 1, ...loudest(1) },
  ],
  [
    "41 of a group with their cause first ring once",
    [bridge, ...fortyPools],
    { routes: [route("all", ["desk"], { group: { ...times, waitCriticalMs: 30_000 } })] },
    { alerts: 41, rings: 1, joined: 41, messages: 1, ...loudest(1) },
  ],
  [
    "those that are over when the message of their group goes out ring no more than it does",
    [...fortyPools.slice(0, 2), ...fortyPools.slice(0, 2).map(over)],
    { routes: [route("all", ["desk"], { group: times })] },
    { alerts: 2, rings: 0, joined: 4, messages: 1 },
  ],
  [
    "40 behind a cause ring with it, and once for what still fires when it is over",
    [bridge, ...fortyPools, ...fortyPools.slice(0, 30).map(over), over(bridge)],
    { routes: [route("all", ["desk"])], ...behindBridge },
    { alerts: 41, rings: 2, joined: 10, messages: 1, ...loudest(2) },
  ],
  [
    "40 behind a cause that all are over before it do not ring",
    [bridge, ...fortyPools, ...fortyPools.map(over), over(bridge)],
    { routes: [route("all", ["desk"])], ...behindBridge },
    { alerts: 41, rings: 1, ...loudest(1) },
  ],
  [
    "what quiet hours hold rings once in the summary at their end, also what is over meanwhile joins it",
    [bridge, ...fortyPools, ...fortyPools.slice(0, 30).map(over)],
    { ...night, routes: [route("all", ["desk"])] },
    { alerts: 41, rings: 2, joined: 70, messages: 1, ...loudest(1) },
  ],
  [
    "a summary of quiet hours in which all is over makes no sound",
    [fortyPools[0] ?? {}, over(fortyPools[0] ?? {})],
    { ...night, routes: [route("all", ["desk"])] },
    { alerts: 1, rings: 0, joined: 2, messages: 1 },
  ],
  [
    "what a route wants without a sound does not ring, also in the summary of quiet hours",
    [bridge, ...fortyPools],
    { ...night, routes: [route("all", ["desk"], { silent: ["warning", "critical"] })] },
    { alerts: 41, rings: 0, joined: 40, messages: 1 },
  ],
  [
    "a summary of quiet hours makes no sound where its route finds all of it too old",
    fortyPools,
    { ...night, routes: [route("all", ["desk"], { freshnessMs: minute })] },
    { alerts: 40, rings: 0, joined: 40, messages: 1 },
  ],
])("counts messages: %s", async (_, came, asked, expected) => {
  const router = createRouter(rules({ destinations: [chat("desk")], ...asked }));
  const all = came.map((one, index) => ({ at: noon + index * 400, facts: facts(one) }));
  const { places } = await tallyOf(
    all,
    (one) => router.route({ facts: one.facts, origin: "hook" }, [], one.at).deliveries,
  );
  expect(places).toEqual([{ destination: "desk", route: "all", heldBack: 0, ...expected }]);
});

test("tries options with the cause of another route that holds what they are for", async () => {
  const routes = [route("bridges", ["desk"], { matchers: [is("alertKey", "bridge")] }), route("pools", ["desk"])];
  const router = createRouter(rules({ destinations: [chat("desk")], routes, ...behindBridge }));
  const pool = (value: number) => ({ ...fortyPools[0], threshold: "100", value: String(value) });
  const falling = Array.from({ length: 30 }, (_, index) => [pool(98 - index / 10), over(pool(100.2))]);
  // Two that are news by any option wait for the cause, and ring together.
  const all = [...falling.flat(), bridge, pool(50), pool(20)].map((one, index) => ({
    at: noon + index * minute,
    facts: facts(one),
  }));
  const { places, proposals } = await tallyOf(all, ({ facts, at }) =>
    router.route({ facts, origin: "hook" }, [], at).deliveries.map((one) => ({ ...one, ring: { flapping: false } })),
  );
  expect(places.map(({ route, rings }) => `${route} ${rings}`)).toEqual(["pools 31", "bridges 1"]);
  expect(proposals.map(({ route, rings, insteadOf }) => [route, rings, insteadOf])).toEqual([["pools", 2, 31]]);
});

/** As rows of a table: each change looks through all of them, and messages are told apart at the end. */
function tellRows(came: readonly Came[], ruleOf: (one: Came) => GroupRule) {
  const memories = new Map<string, GroupMemory>();
  const rows: { name: string; dueAt: number; came: Came; isOver: boolean }[] = [];
  for (const [index, one] of came.entries()) {
    const { at, facts } = one;
    const judged = judgeGroups((name) => memories.get(name), { id: `${index}`, at, ...facts }, ruleOf(one), true);
    for (const [name, memory] of judged.memories) memories.set(name, memory);
    for (const { name, dueAt, ...change } of judged.changes) {
      const those = rows.filter((row) => row.name === name && row.dueAt >= at && !row.isOver);
      if (change.kind === "move") {
        const moved = those.filter(({ came }) => change.keys.includes(came.facts.alertKey));
        for (const row of moved) Object.assign(row, { name: change.to, dueAt });
        continue;
      }
      for (const [place, row] of those.entries()) {
        const isEnd = (other: (typeof rows)[number]) =>
          other.came.facts.status === "resolved" && other.came.facts.alertKey === row.came.facts.alertKey;
        row.isOver = change.kind === "release" && those.slice(place).some(isEnd);
        row.dueAt = Math.min(row.dueAt, dueAt);
      }
    }
    rows.push({ name: judged.held?.name ?? `${index}`, dueAt: judged.held?.dueAt ?? at, came: one, isOver: false });
  }
  const left = rows.filter(({ isOver }) => !isOver);
  const told = groupBy(left, ({ name, dueAt }) => `${name} ${dueAt}`);
  const messages = [...told.values()].map((those) => those.map(({ came }) => came));
  const together = messages.filter(({ length }) => length > 1);
  const fires = ({ facts }: Came) => facts.status === "firing";
  const isEndOf = (one: Came) => (other: Came) => !fires(other) && other.facts.alertKey === one.facts.alertKey;
  const rings = (one: Came[]) => one.some((came, place) => fires(came) && !one.slice(place).some(isEndOf(came)));
  const counts = { alerts: came.filter(fires).length, rings: messages.filter(rings).length };
  return { ...counts, joined: together.flat().length, messages: together.length };
}

test("100 histories of groups and causes ring as often as rows say that are looked through one by one", async () => {
  let seen = 0;
  for (let seed = 0; seed < 100; seed += 1) {
    const { below, pick, next } = createSeededRandom(seed);
    const group = {
      name: nameGroup("group", "all", []),
      ...{ waitMs: pick([0, 20]) * 1000, againMs: pick([0, 300]) * 1000, waitCriticalMs: pick([0, 10]) * 1000 },
    };
    // No alert comes at the very time at which a cause has held back for long enough.
    const atMost = () => ({ atMostMs: pick([60_500, 3_600_500]) });
    const causes = ["bridge", "rpc"].map((of) => ({ name: nameGroup("cause", of, []), ...atMost() }));
    const isGrouped = next() < 0.6;
    let at = noon;
    const came = Array.from({ length: 80 }, (): Came => {
      at += pick([0, 1, 5, 60]) * below(5) * 1000;
      const alertKey = pick(["bridge", "rpc", "a", "b", "c", "d"]);
      const severity = alertKey.length > 1 || next() < 0.1 ? "critical" : "warning";
      return { at, facts: facts({ alertKey, severity, status: next() < 0.4 ? "resolved" : "firing" }) };
    });
    const ruleOf = ({ facts: { alertKey } }: Came): GroupRule => {
      const holds = causes.filter(({ name }) => name.includes(`"${alertKey}"`));
      const waits = holds.length > 0 ? { holds } : { heldBy: causes.map(({ name }) => name) };
      return { ...(isGrouped && { group }), ...waits };
    };
    const expected = tellRows(came, ruleOf);
    const { places } = await tallyOf(came, (one) => [{ ...pools, ring: { flapping: false }, group: ruleOf(one) }]);
    expect({ joined: 0, messages: 0, ...places[0] }, `history ${seed}`).toMatchObject(expected);
    seen += expected.messages;
  }
  expect(seen).toBeGreaterThan(100);
});
