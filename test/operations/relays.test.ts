import { expect, it } from "vitest";
import type { RelayView } from "../../src/core/ports/relays.ts";
import { holdersOf, judgeRelays, judgeUnheld, viewRelays } from "../../src/operations/relays.ts";

const relay = (name: string, changes: Partial<RelayView> = {}): RelayView => ({
  id: name,
  name,
  version: "1.0.0",
  configuration: "c",
  configurationVersion: 1,
  startedAt: 1,
  seenAt: 2,
  lanes: [],
  report: { started: true, ready: true, reasons: [], accepted: 3, hooks: {} },
  ...changes,
});

const laneGroups = () =>
  new Map([
    ["account:bot", ["desk", "night"]],
    ["destination:hook", ["hook"]],
  ]);

const view = (relays: RelayView[], isAlone = false) =>
  viewRelays({ relays: () => relays, selfId: "two", laneGroups, isAlone });

it("the relays on a database are shown with what each delivers to and since when, the one that answers first", () => {
  const one = relay("one", { lanes: ["account:bot", "duties", "unknown"], lanesSince: { "account:bot": 7 } });
  const shown = view([one, relay("two", { lanes: ["destination:hook"] })]);
  expect(shown.map(({ name, isSelf, watches }) => [name, isSelf, watches])).toEqual([
    ["two", true, false],
    ["one", false, true],
  ]);
  expect(shown[1]?.destinations).toEqual(["desk", "night"].map((name) => ({ name, since: 7 })));
  expect(Object.fromEntries(holdersOf(shown))).toEqual({ hook: "two", desk: "one", night: "one" });
  expect(judgeRelays(shown)).toEqual([]);
});

it("the relays on a database of one machine are told apart by their ports, and by the end of their ids where those are alike too", () => {
  const report = { started: true, ready: true, reasons: [], accepted: 0, hooks: {} };
  const of = (id: string, port?: number) => relay("host", { id, report: { ...report, port } });
  for (const [relays, names] of [
    [[of("0001-aaaa", 8080)], "host"],
    [[of("0001-aaaa", 8080), of("0002-bbbb", 8081), relay("other")], "host:8080, host:8081, other"],
    [[of("1-aaaa", 8080), of("2-bbbb", 8080), of("3-cccc")], "host, host:8080 (aaaa), host:8080 (bbbb)"],
    [[of("0003-cccc"), of("0004-dddd")], "host (cccc), host (dddd)"],
  ] as const)
    expect(
      view([...relays])
        .map(({ name }) => name)
        .join(", "),
    ).toBe(names);
});

it("the relays on a database are one with SQLite, which does everything, and no card names it", () => {
  const shown = view([relay("two")], true);
  expect(shown).toMatchObject([
    { watches: true, destinations: [{ name: "desk" }, { name: "night" }, { name: "hook" }] },
  ]);
  expect(holdersOf(shown).size).toBe(0);
});

it("the relays on a database are a trouble of low level on each of them with an older configuration, or not ready", () => {
  const failing = { started: true, ready: false, reasons: ["the disk is full"], accepted: 0, hooks: {} };
  const relays = [relay("two"), relay("old"), relay("new", { configurationVersion: 2, report: failing })];
  expect(judgeRelays(view(relays)).map(({ what, level }) => [what, level])).toEqual([
    ["The relay two has an older configuration", "warn"],
    ["The relay new is not ready", "warn"],
    ["The relay old has an older configuration", "warn"],
  ]);
});

it("the relays on a database are in trouble when none of them has a lane, or the duties, for more than a minute", () => {
  const unheld = new Map([
    ["account:bot", 5],
    ["destination:hook", 10_000],
    ["duties", 6],
  ]);
  const judge = (now: number) => judgeUnheld(unheld, laneGroups, now);
  expect(judge(60_005)).toEqual([]);
  expect(judge(60_007).map(({ kind, level, what, since }) => [kind, level, what, since])).toEqual([
    ["lane", "bad", "No relay delivers to desk, night", 5],
    ["lane", "bad", "No relay runs the watches", 6],
  ]);
  for (const { notes } of judge(60_007)) expect(notes.join()).toContain("restart a relay");
});

it("the relays on a database are shown as not heard of when the others have said since that they run", () => {
  const relays = Object.entries({ two: 20_000, late: 12_000, gone: 11_000 }).map(([name, seenAt]) =>
    relay(name, { seenAt }),
  );
  const unheard = view(relays).map(({ name, unheardMs }) => `${name} ${unheardMs}`);
  expect(unheard).toEqual(["two undefined", "gone 9000", "late undefined"]);
});

it("the relays on a database do not count with a newer configuration until they were ready", () => {
  const starting = { started: false, ready: false, reasons: ["it is starting"], accepted: 0, hooks: {} };
  const shown = view([relay("two"), relay("new", { configurationVersion: 2, report: starting })]);
  expect(shown.map(({ configuration }) => configuration)).toEqual(["newest", "starting"]);
  expect(judgeRelays(shown)).toEqual([]);
});
