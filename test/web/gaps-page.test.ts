import { expect, test } from "vitest";
import type { GapReport, WatchView } from "../../src/contract/operations.ts";
import { createWebFixture, linesOf } from "../support/web-fixture.ts";

const noon = Date.UTC(2026, 10, 21, 12);
const hour = 3_600_000;

const report: GapReport = {
  since: noon - 168 * hour,
  until: noon,
  checkedAt: noon,
  downtimes: [{ fromAt: noon - 3 * hour, toAt: noon - 2 * hour, asleep: false, restored: false }],
  missing: [
    {
      verdict: "sure",
      odds: 4000,
      rule: "sub_1",
      metricKey: "eth_<b>price</b>_0x00",
      metricName: "<i>ETH</i> price",
      condition: "above 3300",
      status: "resolved",
      fromAt: noon - 3 * hour,
      toAt: noon - 2.9 * hour,
      before: 3312,
      after: 3290,
      reason: "14 of 14 other returns brought an alert; Tocsin did not run",
      whileDown: true,
      outage: "down 1",
    },
  ],
  outages: [
    {
      id: "down 1",
      fromAt: noon - 3 * hour,
      toAt: noon - 2.9 * hour,
      due: 2,
      lost: 1,
      whileDown: true,
      comesAgainAt: noon,
    },
  ],
  unknown: [{ what: "sub_2", names: 1, why: "it cannot be read which condition it has", crossings: 0 }],
  rules: 4,
  crossings: 46,
  answered: 39,
  fresh: 1,
  unclear: 2,
  notDue: 3,
  freshMs: 300_000,
  recordEveryMs: 300_000,
  sight: { answers: [], compared: [], isBehind: false },
};

test("the page says what is missing, how sure that is, and what cannot be told", async () => {
  const { read } = await createWebFixture({ gaps: report });
  const page = await read("/gaps");
  expect(page).not.toContain("<b>price");
  expect(`\n${linesOf(page)}\n`).toMatchSnapshot();
});

const watch: WatchView = { name: "gaps", verdict: "unknown", summary: "not yet", troubles: [] };
const failed = { ...watch, summary: "cannot tell: no answer" };
const clean = { ...report, missing: [], outages: [], fresh: 0, unclear: 0, notDue: 0 };
const uncrossed = { ...clean, crossings: 0, answered: 0 };
const partly = "No alert is missing of the 39 crossings that can be judged";

test.each<[string, Parameters<typeof createWebFixture>[0], string]>([
  ["nobody looks", {}, "Nobody looks for missing alerts"],
  ["it has not looked yet", { watches: [watch] }, "Not looked yet"],
  ["the first look failed", { watches: [{ ...failed, lookedAt: noon }] }, "Cannot tell: no answer"],
  ["nothing is missing", { gaps: { ...clean, unknown: [] } }, "No alert is missing, as far as"],
  ["not all can be judged", { gaps: { ...clean, unclear: 2 } }, partly],
  ["nothing can be judged", { gaps: uncrossed }, "It cannot tell whether alerts are missing"],
  ["no metric crossed a threshold", { gaps: { ...uncrossed, unknown: [] } }, "No metric crossed a threshold"],
  ["there is no subscription", { gaps: { ...uncrossed, unknown: [], rules: 0 } }, "The account has no subscription"],
  ["a later look failed", { gaps: report, watches: [failed] }, "Cannot tell: no answer."],
])("the page says that %s", async (_what, options, said) => {
  const { read } = await createWebFixture(options);
  expect(await read("/gaps")).toContain(said);
});

test("shows each account that is looked at, by itself", async () => {
  const asked: unknown[] = [];
  const desk = { ...watch, name: "gaps:desk", lookedAt: noon, summary: "all well at the desk" };
  const { read, post } = await createWebFixture({
    watches: [watch, desk],
    checkGaps: async (window, source) => {
      asked.push([window, source]);
      return report;
    },
  });
  const main = await read("/gaps");
  expect(main).toContain('<a href="/gaps" aria-current="true">The account of ALERTING_URL</a>');
  expect(main).toContain('<a href="/gaps?source=desk">desk</a>');
  expect(await read("/gaps?source=desk")).toContain("All well at the desk");
  const looked = await post("/gaps", { source: "desk" });
  expect(looked.headers.get("location")).toBe("/gaps?source=desk&done=looked");
  expect(asked).toEqual([[{}, "desk"]]);
  expect(await read("/gaps?source=%3Cb%3E")).toContain("<bdi>&lt;b&gt;</bdi>");
});

test("a button looks now, and lets nobody wait for a service that hangs", async () => {
  const asked: object[] = [];
  const { read, post, clock } = await createWebFixture({
    gaps: report,
    watches: [watch],
    checkGaps: (window) => {
      asked.push(window);
      return asked.length === 1 ? Promise.resolve(report) : new Promise(() => {});
    },
  });
  const looked = await post("/gaps");
  expect([looked.status, looked.headers.get("location")]).toEqual([303, "/gaps?done=looked"]);
  const waiting = post("/gaps");
  while (asked.length < 2) await clock.settle();
  await clock.settle();
  await clock.advance(10_000);
  expect((await waiting).headers.get("location")).toBe("/gaps?done=looking");
  expect(await read("/gaps?done=looking")).toContain("takes longer than usual");
  expect(asked).toEqual([{}, {}]);
});
