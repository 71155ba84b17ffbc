import { expect, test } from "vitest";
import type { CauseMemory, GroupEvent, GroupMemory, GroupRule } from "../../src/core/group.ts";
import { allCauses, nameGroup, writeGroup } from "../../src/core/group.ts";
import { endCauses, holdBehind, joinGroup, judgeGroups } from "../../src/ringing/judge-group.ts";
import { createSeededRandom } from "../support/seeded-random.ts";

const name = nameGroup("group", "pools", [
  ["token", "USDC"],
  ["chain", "eth"],
]);
type Group = NonNullable<GroupRule["group"]>;
const group: Group = { name, waitMs: 20_000, againMs: 300_000, waitCriticalMs: 0 };
const cause = nameGroup("cause", "bridge down", [["chain", "eth"]]);

const event = (at: number, more: Partial<GroupEvent> = {}): GroupEvent => ({
  ...{ id: `alert ${at}`, at, alertKey: `key ${at}`, severity: "warning", status: "firing", title: `Pool ${at}` },
  ...more,
});

/** When each is told, as the store does it. */
function tellAll(events: readonly GroupEvent[], rule: Group): number[] {
  let memory: GroupMemory | undefined;
  const told: number[] = [];
  for (const one of events) {
    const joining = joinGroup(memory, one, rule);
    if (joining.hastens)
      for (const [index, at] of told.entries()) told[index] = at > one.at ? Math.min(at, joining.dueAt) : at;
    told.push(Math.max(joining.dueAt, one.at));
    memory = joining.memory;
  }
  return told;
}

/** The same second by second: alerts lie in a heap until its time has come. */
function tickAll(events: readonly GroupEvent[], { waitMs, againMs, waitCriticalMs }: Group): number[] {
  const told: number[] = [];
  let heap: number[] = [];
  let [lastAt, heapDueAt] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const firedAsCritical = new Set<string>();
  const flush = (at: number) => {
    for (const index of heap) told[index] = at;
    [heap, lastAt, heapDueAt] = [[], at, Number.POSITIVE_INFINITY];
  };
  const end = (events.at(-1)?.at ?? 0) + waitMs + againMs + waitCriticalMs + 1000;
  for (let at = 0, index = 0; at <= end; at += 1000) {
    if (at >= heapDueAt) flush(at);
    for (; events[index]?.at === at; index += 1) {
      const { alertKey, severity, status } = events[index] as GroupEvent;
      const isEnd = status === "resolved";
      const isCritical = severity === "critical" || (isEnd && firedAsCritical.has(alertKey));
      firedAsCritical.delete(alertKey);
      if (isCritical && !isEnd) firedAsCritical.add(alertKey);
      if (isCritical && isEnd && waitCriticalMs === 0) {
        told[index] = at;
        continue;
      }
      // None waits less than the first of a group does.
      const isSoon = waitMs <= againMs && at < lastAt + againMs;
      if (heap.length === 0) heapDueAt = isSoon ? lastAt + againMs : at + waitMs;
      heap.push(index);
      if (isCritical && !isEnd) heapDueAt = Math.min(heapDueAt, at + waitCriticalMs);
      if (at >= heapDueAt) flush(at);
    }
  }
  return told;
}

test("500 rows of alerts are told when a heap says that is emptied second by second", () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const { below, pick, next } = createSeededRandom(seed);
    const waits = { waitMs: pick([1, 20, 60]) * 1000, againMs: pick([0, 30, 300]) * 1000 };
    const rule: Group = { name, ...waits, waitCriticalMs: pick([0, 0, 10]) * 1000 };
    let at = 0;
    const events = Array.from({ length: 60 }, () => {
      at += pick([0, 1, 5, 40]) * below(5) * 1000;
      const severity = next() < 0.2 ? ("critical" as const) : ("warning" as const);
      return event(at, { alertKey: pick(["a", "b", "c"]), severity, status: next() < 0.3 ? "resolved" : "firing" });
    });
    expect(tellAll(events, rule), `row ${seed}`).toEqual(tickAll(events, rule));
  }
});

test("a message further ahead than a group waits is not believed", () => {
  const { memory } = joinGroup(undefined, event(7_200_000), group);
  expect(joinGroup(memory, event(0), group).dueAt).toBe(20_000);
  expect(joinGroup({ dueAt: 300_000 }, event(0), group).dueAt).toBe(300_000);
});

test("a name shows 40 characters of a value, clean and quoted, and tells values apart that differ behind them", () => {
  const long = (end: string) => nameGroup("group", "pools", [["text", `${"x".repeat(20_000)}${end}`]]);
  expect(long("a")).not.toBe(long("b"));
  expect(long("a").length).toBeLessThan(150);
  expect(writeGroup(long("a"))).toBe(`text ${"x".repeat(39)}…`);
  const hostile = nameGroup("group", "pools", [
    ["token", "\u202Ea\n“b”, chain eth"],
    ["chain", "eth"],
  ]);
  expect(writeGroup(hostile)).toBe("token “a 'b', chain eth”, chain eth");
});

test("says what is waited for, with figures", () => {
  let memory: GroupMemory | undefined;
  const told = [event(0), event(8_000), event(100_000), event(101_000, { severity: "critical" })].map((one) => {
    const joining = joinGroup(memory, one, group);
    memory = joining.memory;
    return joining.why;
  });
  expect(told).toMatchSnapshot();
  expect(writeGroup(nameGroup("group", "pools", [["token", ""]]))).toBe("token none");
});

const [other, warning] = [{ alertKey: "other bridge" }, { severity: "warning" } as const];

function openCause() {
  const memories = new Map<string, GroupMemory>();
  const judge = (one: GroupEvent, rule: GroupRule, isSent = true) => {
    const judged = judgeGroups((asked) => memories.get(asked), one, rule, isSent);
    for (const [asked, memory] of judged.memories) memories.set(asked, memory);
    return judged;
  };
  const holds: GroupRule = { holds: [{ name: cause, atMostMs: 3_600_000 }] };
  const heldBy: GroupRule = { heldBy: [cause] };
  const halt = (at: number, more: Partial<GroupEvent> = {}) =>
    event(at, { alertKey: "bridge", severity: "critical", title: "Bridge halted", ...more });
  return { judge, holds, heldBy, halt, known: () => memories.get(allCauses)?.causes ?? {} };
}

/** What becomes of each: what it is behind and until when, what its message counts, and what it releases. */
test.each<[string, (scene: ReturnType<typeof openCause>) => ReturnType<typeof judgeGroups>[]]>([
  [
    "what follows a cause until the last of its kind is over, with its own end, and no end of what was told before",
    ({ judge, holds, heldBy, halt }) => [
      ...[
        judge(event(0), heldBy),
        judge(halt(1000), holds),
        judge(halt(2000, other), holds),
        judge(event(3000), heldBy),
      ],
      judge(event(4000, { alertKey: "key 3000", status: "resolved" }), heldBy),
      judge(event(4000, { alertKey: "key 0", status: "resolved" }), heldBy),
      ...[judge(halt(5000, { status: "resolved" }), holds), judge(event(6000), heldBy)],
      ...[judge(halt(7000, { ...other, status: "resolved" }), holds), judge(event(8000), heldBy)],
    ],
  ],
  [
    "nothing worse than the cause, nothing after its bound, and nothing where nobody was told of it",
    ({ judge, holds, heldBy, halt }) => [
      ...[judge(halt(0, warning), holds, false), judge(event(1000), heldBy), judge(halt(2000, warning), holds)],
      judge(halt(1_800_000, warning), holds, false),
      judge(event(3_000, { severity: "critical" }), heldBy),
      ...[judge(event(3_601_999), heldBy), judge(event(3_602_000), heldBy)],
      judge(halt(3_603_000, { ...warning, status: "resolved" }), holds),
    ],
  ],
  [
    "with its cause what waits in the same group",
    ({ judge, holds, heldBy, halt }) => {
      const both = { ...group, waitCriticalMs: 20_000 };
      return [
        ...[judge(halt(0), { ...holds, group: both }), judge(event(5000), { ...heldBy, group: both })],
        ...[judge(event(6000), heldBy), judge(event(20_000), { ...heldBy, group: both })],
      ];
    },
  ],
])("a cause holds back %s", (_what, play) => {
  const told = play(openCause()).map(({ memories: _, ...judged }) => JSON.stringify(judged));
  expect(`\n${told.join("\n")}\n`).toMatchSnapshot();
});

test("a cause that holds back very many names some of them and counts all", () => {
  let memory: CauseMemory = {
    firing: { bridge: { id: "1", title: "Bridge halted", severity: "critical", toldAt: 0, until: 9e9 } },
  };
  const names = { name: cause, by: [cause] };
  for (let index = 0; index < 600; index += 1) memory = holdBehind(memory, event(index + 1), names)?.memory ?? {};
  const last = holdBehind(memory, event(1000), names);
  expect(last?.with.count).toBe(601);
  expect(last?.with.titles).toHaveLength(50);
  // The end of one that is not named waits with it too, and that of one that was told before the cause does not.
  expect(holdBehind(memory, event(2000, { alertKey: "key 600", status: "resolved" }), names)).toBeDefined();
  expect(holdBehind(memory, event(2000, { alertKey: "key 601", status: "resolved" }), names)).toBeUndefined();
  // The same key once more is no other alert.
  for (const alertKey of ["key 1", "key 600"])
    expect(holdBehind(memory, event(2000, { alertKey }), names)?.with.count).toBe(600);
});

test("of very many causes at a destination the first ones hold nothing back any more, and tell what waits", () => {
  const { judge, heldBy, holds, halt, known } = openCause();
  judge(halt(0), holds);
  judge(event(1), heldBy);
  const others = Array.from({ length: 550 }, (_, index) => judge(event(index + 2), holdsAs(`token ${index}`)).changes);
  expect(others.flat()).toEqual([{ name: cause, kind: "release", upTo: 3_600_000, dueAt: 501 }]);
  expect(Object.keys(known())).toEqual(Array.from({ length: 500 }, (_, index) => `token ${index + 50}`));
  const one = holdsAs("one name");
  for (let at = 1000; at < 1600; at += 1) judge(event(at), one);
  expect(Object.keys(known())).toEqual(["one name"]);
  expect(Object.keys(known()["one name"]?.firing ?? {})).toHaveLength(500);
});

test("of what many causes hold back at a destination as much is known by name as of one", () => {
  const { judge, known } = openCause();
  for (let index = 0; index < 30; index += 1) {
    judge(event(100 * index, { alertKey: `cause ${index}` }), holdsAs(`["cause","token ${index}"]`));
    for (let at = 0; at < 20; at += 1)
      judge(event(100 * index + at, { alertKey: `pool ${index} ${at}` }), { heldBy: [`["cause","token ${index}"]`] });
  }
  const named = Object.values(known()).flatMap(({ held }) => Object.keys(held?.titles ?? {}));
  expect(named).toHaveLength(500);
});

test("a cause that nobody was told of holds nothing back any more", () => {
  const { judge, holds, heldBy, halt, known } = openCause();
  const { id } = halt(0);
  judge(halt(0), holds);
  judge(event(1000), heldBy);
  expect(endCauses(known(), 2000, (_, its) => its === "another").changes).toEqual([]);
  const { causes, changes } = endCauses(known(), 2000, (_, its) => its === id);
  expect(causes).toEqual({});
  expect(changes).toEqual([{ name: cause, kind: "release", upTo: 3_600_000, dueAt: 2000 }]);
});

/** What waits by key, with all that hold it back, as a list says it that is looked through for each alert. */
test("500 rows of causes hold back what a list says, and an end waits where its beginning does", () => {
  const names = ["bridge", "rpc", "chain"].map((rule) => nameGroup("cause", rule, []));
  for (let seed = 0; seed < 500; seed += 1) {
    const { below, pick, next } = createSeededRandom(seed);
    const { judge } = openCause();
    const firing: { name: string; key: string }[] = [];
    let waiting: { key: string; by: string[]; name: string }[] = [];
    for (let at = 1; at <= 60; at += 1) {
      const isEnd = next() < 0.4;
      const status = isEnd ? "resolved" : "firing";
      const row = `row ${seed}, ${at}`;
      if (next() < 0.5) {
        const name = pick(names);
        // A key is a cause of each rule that it ever matched.
        const alertKey = `cause ${below(3)}`;
        const { changes } = judge(event(at, { alertKey, status, severity: "critical" }), isEnd ? ends : holdsAs(name));
        if (!isEnd) {
          if (!firing.some((one) => one.name === name && one.key === alertKey)) firing.push({ name, key: alertKey });
          expect(changes, row).toEqual([]);
          continue;
        }
        const left = firing.filter(({ key }) => key !== alertKey);
        firing.splice(0, firing.length, ...left);
        const fires = (one: string) => firing.some((its) => its.name === one);
        const gone = waiting.filter(({ name: one }) => !fires(one));
        const moves = changes.flatMap((one) =>
          one.kind === "move" ? one.keys.map((key) => ({ key, to: one.to })) : [],
        );
        for (const one of gone) {
          const to = moves.findLast(({ key }) => key === one.key)?.to;
          // It waits on while any of those that may hold it back fires.
          expect(to !== undefined && fires(to), row).toBe(one.by.some(fires));
          if (to !== undefined) one.name = to;
        }
        waiting = waiting.filter(({ name: one }) => fires(one));
      } else {
        const by = names.filter(() => next() < 0.6);
        const alertKey = `pool ${below(4)}`;
        const known = waiting.find(({ key }) => key === alertKey);
        const { held } = judge(event(at, { alertKey, status }), isEnd ? ends : { heldBy: by });
        const expected =
          known?.name ?? (isEnd ? undefined : by.find((one) => firing.some(({ name: its }) => its === one)));
        expect(held?.name, row).toBe(expected);
        if (held && known) known.by = isEnd ? known.by : by;
        else if (held) waiting.push({ key: alertKey, by, name: held.name });
      }
    }
  }
});

const ends: GroupRule = { holds: [], heldBy: [] };
const holdsAs = (name: string): GroupRule => ({ holds: [{ name, atMostMs: 3_600_000 }] });
