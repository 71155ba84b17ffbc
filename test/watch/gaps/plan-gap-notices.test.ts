import { describe, expect, it } from "vitest";
import type { GapOutage, GapReport, MissingAlert } from "../../../src/contract/operations.ts";
import { ruleOfTurn } from "../../../src/core/gaps.ts";
import { splitInstants } from "../../../src/ground/time/time-format.ts";
import { writeGapNotice } from "../../../src/watch/gaps/gap-notice.ts";
import { endsOf, type GapMemory, planGapNews } from "../../../src/watch/gaps/plan-gap-notices.ts";
import { hour, minute } from "../../support/test-clock.ts";

const begin = Date.UTC(2026, 10, 21, 12);
const rules = ["a", "b", "c"];

/** Missing of a rule, at so many hours. */
function lost(rule: string, hours: number, outage?: string): MissingAlert {
  const toAt = begin + hours * hour;
  const turn = { metricKey: rule, condition: "above 1", status: "firing" as const, fromAt: toAt - 5 * minute, toAt };
  return { ...turn, verdict: "likely", odds: 1000, rule, before: 0, after: 2, reason: "", whileDown: false, outage };
}

function outageOf(id: string, missing: MissingAlert[], more: Partial<GapOutage> = {}): GapOutage {
  const own = missing.filter(({ outage }) => outage === id);
  const [fromAt, toAt] = [Math.min(...own.map((one) => one.fromAt)), Math.max(...own.map((one) => one.toAt))];
  return { id, fromAt, toAt, due: own.length, lost: own.length, whileDown: false, ...more };
}

/** What people are told, look by look. */
function createPeople() {
  let memory: GapMemory = { told: [], open: [], closed: [] };
  return {
    memory: () => memory,
    look(hours: number, report: Partial<GapReport> = {}) {
      const planned = planGapNews({ ...emptyReport, checkedAt: begin + hours * hour, ...report }, memory);
      memory = planned.memory;
      return planned.news.map((one) => {
        const { title, text } = writeGapNotice(one, { recordEveryMs: undefined }, { link: "" });
        return { says: one.says, title, text, id: one.id };
      });
    },
  };
}

const emptyReport: GapReport = {
  since: 0,
  until: 0,
  checkedAt: 0,
  downtimes: [],
  missing: [],
  outages: [],
  unknown: [],
  rules: 3,
  crossings: 0,
  answered: 0,
  fresh: 0,
  unclear: 0,
  notDue: 0,
  freshMs: 5 * minute,
  sight: {
    answers: [],
    compared: rules.map((metricKey) => ruleOfTurn({ metricKey, condition: "above 1" })),
    existing: rules.map((metricKey) => ruleOfTurn({ metricKey, condition: "above 1" })),
    isBehind: false,
  },
};

const ofA = [lost("a", 1, "a"), lost("a", 2, "a"), lost("a", 3, "a")];
const silentA: Partial<GapReport> = { missing: ofA, outages: [outageOf("a", ofA, { rule: "a" })] };

describe("a loss of everything", () => {
  const ofAll = [lost("a", 5, "all"), lost("b", 5.1, "all"), lost("c", 5.2, "all")];

  it("is told beside a rule that was told to be silent, whose own outage goes on", () => {
    const people = createPeople();
    people.look(3.5, silentA);
    // The account's begins with a crossing that was told as the rule's.
    const missing = [...ofA.slice(0, 2), ...ofA.slice(2).map((one) => ({ ...one, outage: "all" })), ...ofAll];
    const outages = [outageOf("all", missing), outageOf("a", missing, { rule: "a" })];
    expect(people.look(5.5, { missing, outages })).toMatchObject([{ says: "lost" }]);
    expect(people.memory().open.map(({ isOfAll }) => isOfAll)).toEqual([false, true]);
    const over = outages.map((one) => (one.rule === undefined ? { ...one, comesAgainAt: begin + 6 * hour } : one));
    expect(people.look(6.5, { missing, outages: over })).toMatchObject([
      { says: "over", title: "Alerts come again; 4 of 4 did not arrive" },
    ]);
    expect(people.look(7, { missing, outages: over })).toEqual([]);
    expect(people.memory().open.map(({ isOfAll }) => isOfAll)).toEqual([false]);
  });

  it("is told under the same name, with one end, where it showed as one rule's at first", () => {
    const people = createPeople();
    const [first] = people.look(3.5, silentA);
    const missing = [...ofA.map((one) => ({ ...one, outage: "all" })), ...ofAll];
    const outages = [outageOf("all", missing)];
    expect(people.look(5.5, { missing, outages })).toMatchObject([{ says: "lost", id: first?.id }]);
    const over = outages.map((one) => ({ ...one, comesAgainAt: begin + 6 * hour }));
    expect(people.look(6.5, { missing, outages: over })).toMatchObject([{ says: "over", id: first?.id }]);
    expect(people.memory().open).toEqual([]);
  });

  it("ends though one rule stays silent, of which people hear by itself", () => {
    const people = createPeople();
    people.look(5.5, { missing: ofAll, outages: [outageOf("all", ofAll)] });
    const missing = [...ofAll, lost("a", 5.8, "a"), lost("a", 6, "a"), lost("a", 6.5, "a")];
    const outages = [
      outageOf("all", missing, { comesAgainAt: begin + 6 * hour }),
      outageOf("a", missing, { rule: "a" }),
    ];
    expect(people.look(7, { missing, outages }).map(({ title }) => title)).toEqual([
      "Alerts come again; 3 of 3 did not arrive",
      "3 alerts probably did not arrive",
    ]);
    expect(people.look(8, { missing, outages })).toEqual([]);
  });

  it("gives an end behind which the next loss is one of its own", () => {
    const people = createPeople();
    people.look(5.5, { missing: ofAll, outages: [outageOf("all", ofAll)] });
    people.look(6.5, { missing: ofAll, outages: [outageOf("all", ofAll, { comesAgainAt: begin + 6 * hour })] });
    expect(endsOf(people.memory())).toEqual([{ at: begin + 6 * hour }]);
  });
});

describe("an outage of which nothing is missing any more", () => {
  const sight = emptyReport.sight;
  const later = { ...lost("a", 7), metricKey: "a" };

  it("is over when the alerts of it came", () => {
    const people = createPeople();
    people.look(3.5, silentA);
    expect(people.look(4, { sight: { ...sight, answers: ofA } })).toMatchObject([
      { says: "over", title: "Alerts come again; of 3 that seemed lost none is missing now" },
    ]);
  });

  it.each<[string, GapReport["sight"]]>([
    ["its records cannot be read", { ...sight, compared: [] }],
    ["alerts wait to be read", { ...sight, answers: ofA, isBehind: true }],
    ["it cannot be judged, and none of its alerts came", sight],
  ])("lasts where %s, and has its end later", (_why, unsure) => {
    const people = createPeople();
    people.look(3.5, silentA);
    expect(people.look(4, { sight: unsure, lastAlertAt: begin + 4 * hour })).toEqual([]);
    expect(people.look(4.3, silentA)).toEqual([]);
    const over = { ...silentA, outages: [outageOf("a", ofA, { rule: "a", comesAgainAt: begin + 7 * hour })] };
    expect(people.look(8, over)).toMatchObject([{ says: "over", title: "Alerts come again; 3 of 3 did not arrive" }]);
  });

  it("says how many came where of the rest it cannot be told", () => {
    const people = createPeople();
    people.look(3.5, silentA);
    const answers = [...ofA.slice(0, 1), later];
    const [end] = people.look(8, { sight: { ...sight, answers } });
    expect(end).toMatchObject({ says: "over", title: "Alerts come again; of 3 that seemed lost 1 arrived late" });
    expect(end?.text).toContain("Of 2 it cannot be told any more");
  });

  it.each<[string, number, Partial<GapReport>]>([
    ["its rule was deleted", 4, { sight: { ...sight, existing: [] } }],
    ["it is older than the records", 8 * 24, {}],
  ])("ends without a word of alerts that come again where %s", (_why, hours, report) => {
    const people = createPeople();
    people.look(3.5, silentA);
    const [end, ...more] = people.look(hours, { lastAlertAt: begin + hours * hour, ...report });
    expect(more).toEqual([]);
    expect(end).toMatchObject({ says: "lapsed", title: "Nothing more can be told of 3 alerts that seemed lost" });
    expect(people.memory().open).toEqual([]);
  });

  it("is told anew where its rule is there again, and still silent", () => {
    const people = createPeople();
    people.look(3.5, silentA);
    people.look(4, { sight: { ...sight, existing: [] } });
    expect(people.look(4.3, silentA)).toMatchObject([{ says: "lost" }]);
  });
});

it("a notice of a loss through which one alert came has an end of its own", () => {
  const people = createPeople();
  const leaking = { ...silentA, outages: [outageOf("a", ofA, { rule: "a", comesAgainAt: begin + 3.3 * hour })] };
  const [notice] = people.look(3.5, leaking);
  expect(notice?.text).not.toContain("come again since");
  expect(notice?.text).toContain("You get one more notice");
  expect(people.look(4, leaking)).toMatchObject([{ says: "over" }]);
});

it("each time in a notice is an instant that a destination shows in its zone", () => {
  const [notice] = createPeople().look(3.5, silentA);
  const words = splitInstants(notice?.text ?? "").filter((part) => typeof part === "string");
  expect(words.join("")).not.toMatch(/UTC|2026|\d\d:\d\d/);
});
