import { expect, test } from "vitest";
import type { GapReport } from "../../src/core/gaps.ts";
import { createWebFixture } from "../support/web-fixture.ts";

const noon = Date.UTC(2026, 10, 21, 12);
const hour = 3_600_000;

const report: GapReport = {
  since: noon - 168 * hour,
  until: noon,
  checkedAt: noon,
  downtimes: [{ fromAt: noon - 3 * hour, toAt: noon - 2 * hour }],
  missing: [
    {
      verdict: "sure",
      rule: "sub_1",
      metricKey: "eth_<b>price</b>_0x00",
      condition: "above 3300",
      status: "resolved",
      fromAt: noon - 3 * hour,
      toAt: noon - 2.9 * hour,
      before: 3312,
      after: 3290,
      reason: "14 of 14 other returns brought an alert; Tocsin did not run",
      whileDown: true,
    },
  ],
  unknown: [{ what: "sub_2", why: "it cannot be read which condition it has" }],
  rules: 4,
  crossings: 40,
  answered: 39,
  recordEveryMs: 300_000,
};

test("the page says what is missing, how sure that is, and what cannot be told", async () => {
  const { logIn } = await createWebFixture({ gaps: report });
  const page = await (await (await logIn()).get("/gaps")).text();
  expect(page).toContain("eth_&lt;b&gt;price&lt;/b&gt;_0x00");
  expect(page).not.toContain("<b>price");
  expect(page).toContain("above 3300 ended");
  expect(page).toContain("14 of 14 other returns brought an alert; Tocsin did not run");
  expect(page).toMatch(/40\s+of 4 rules, of which 39\s+brought an alert/);
  expect(page).toContain("what begins and ends between two records, 5 min");
  expect(page).toContain("<bdi>sub_2</bdi>: <bdi>it cannot be read which condition it has</bdi>");
});

test("before the first look, and with nothing missing, the page says so", async () => {
  const fresh = await createWebFixture();
  expect(await (await (await fresh.logIn()).get("/gaps")).text()).toContain("It has not been looked yet");
  const well = await createWebFixture({ gaps: { ...report, missing: [], unknown: [] } });
  expect(await (await (await well.logIn()).get("/gaps")).text()).toContain("No alert is missing");
  const blind = await createWebFixture({ gaps: { ...report, missing: [], crossings: 0, answered: 0 } });
  expect(await (await (await blind.logIn()).get("/gaps")).text()).toContain(
    "It cannot tell whether alerts are missing",
  );
});

test("the API gives the last look, looks anew for a time, and refuses what is no time", async () => {
  const asked: object[] = [];
  const checkGaps = async (window: object) => {
    asked.push(window);
    return report;
  };
  const fixture = await createWebFixture({ gaps: report, checkGaps });
  const browser = await fixture.logIn();
  const last = await (await browser.get("/api/gaps")).json();
  expect(last).toMatchObject({ data: { missing: [{ verdict: "sure", toAt: "2026-11-21T09:06:00.000Z" }], rules: 4 } });
  const post = (body: object) =>
    browser.get("/api/gaps", {
      method: "POST",
      headers: { "content-type": "application/json", origin: "http://tocsin.test", host: "tocsin.test" },
      body: JSON.stringify(body),
    });
  expect((await post({ since: "2026-11-20T12:00:00Z" })).status).toBe(200);
  expect(asked).toEqual([{ since: noon - 24 * hour }]);
  expect((await post({ since: "2026-11-22T12:00:00Z", until: "2026-11-20T12:00:00Z" })).status).toBe(400);
  expect((await post({ since: "yesterday" })).status).toBe(400);
  expect(asked).toHaveLength(1);
  const without = await createWebFixture();
  expect(await (await (await without.logIn()).get("/api/gaps")).json()).toEqual({ data: null });
});
