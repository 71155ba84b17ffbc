import { expect, it } from "vitest";
import type { DestinationStatus } from "../../src/core/destination-status.ts";
import { referTo } from "../../src/ground/shape/refusal.ts";
import { expectWords } from "../support/expect-words.ts";
import { createWebFixture, plain, route } from "../support/web-fixture.ts";

const routes = [
  route("critical", {
    matchers: [{ field: "severity", condition: { equals: ["critical"] } }],
    fallback: { to: "treasury", afterMs: 600_000 },
  }),
  route("noise", { matchers: [{ field: "severity", condition: { equals: ["info"] } }], to: [] }),
  route("rest", { isDefault: true, to: ["treasury"] }),
];

it("says since when it counts: the log's first alert, not the hour in which that came", async () => {
  const fixture = await createWebFixture({ routes });
  await fixture.clock.advance(53 * 60_000);
  await fixture.addAlert();
  await fixture.clock.advance(52_000);
  expect(plain(await fixture.read("/routes"))).toContain("Counts since 12:53 UTC");
});

it("says which routes are active now, and which alerts make no sound", async () => {
  const hours = { timeZone: "UTC", days: [0, 1, 2, 3, 4, 5, 6] };
  const fixture = await createWebFixture({
    routes: [
      route("noon", { activeHours: { ...hours, from: "11:00", to: "13:00" }, silent: ["info", "unknown"] }),
      route("night", { activeHours: { ...hours, from: "22:00", to: "06:00" } }),
    ],
  });
  const page = plain(await fixture.read("/routes"));
  expect(page).toMatch(/noon.* 11:00 to 13:00.*: active now ops ; no sound for info, unknown/u);
  expect(page).toMatch(/night.* 22:00 to 06:00.*: not active now ops /u);
});

it("a body is tried: facts, decisions with reasons and the message, and nothing of it is stored", async () => {
  const fixture = await createWebFixture({ routes });
  const body = '{"title":"<b>USDC</b> low","severity":"critical","token":"USDC"}';
  const answer = await fixture.post("/routes", { body });
  expect(answer.status).toBe(200);
  const page = await answer.text();
  expect(plain(page)).toContain("Nothing of it was stored or sent.");
  expect(plain(page)).toContain("1 destination: ops (route critical)");
  expect(plain(page)).toContain("payload.token USDC");
  expect(plain(page)).toMatch(/critical ✓ deliver ops severity is critical/);
  expect(plain(page)).toContain("noise – skipped not asked: route critical has matched before it");
  expectWords(page, ["sent at once", "&lt;b&gt;USDC&lt;/b&gt; low"], { not: "<b>USDC</b> low" });
  expect((await fixture.store.countAlerts()).total).toBe(0);
  const several = plain(await (await fixture.post("/routes", { body: `[${`${body},`.repeat(24)}${body}]` })).text());
  expect(several).toContain("The body holds 25 alerts. These are the first 20.");
  const broken = plain(await (await fixture.post("/routes", { body: '{"title": "cut' })).text());
  expect(broken).toContain("1 destination: treasury");
});

it("a body that is tried says where its message would not arrive now", async () => {
  const words = async (ops: Partial<DestinationStatus>) => {
    const fixture = await createWebFixture({ routes, statuses: { ops } });
    const answer = await fixture.post("/routes", { body: '{"title":"low","severity":"critical"}' });
    return /ops \(.*?\): (sent at once.*?) 🚨/.exec(plain(await answer.text()))?.[1];
  };
  expect(await words({})).toBe("sent at once");
  expect(await words({ health: "dead", probeAt: 9 })).toBe(
    "sent at once, but is dead: it would wait for an hour at most",
  );
  expect(await words({ health: "dead" })).toBe("sent at once, if it takes messages again: it is dead");
  expect(await words({ health: "down" })).toBe("sent at once, once it answers: it is down");
  expect(await words({ paused: { at: 0, by: "page" } })).toMatch(/once somebody resumes it: it is paused/);
});

it("what the hook would refuse is refused here, with what was typed kept", async () => {
  const { post } = await createWebFixture({ routes });
  const answer = await post("/routes", { body: "x".repeat(1024 * 1024 + 1) });
  expect(answer.status).toBe(413);
  expect(await answer.text()).toContain("The hook refuses this body");
  expect((await post("/routes", { body: "x".repeat(5 * 1024 * 1024) })).status).toBe(413);
  const unknown = await post("/routes", { body: "typed", source: "none" });
  expect([unknown.status, await unknown.text()]).toEqual([404, expect.stringContaining("typed</textarea>")]);
  expect((await post("/routes", { body: "x", form_token: "x" })).status).toBe(403);
});

it("other forms stay as small as they were", async () => {
  const { post } = await createWebFixture();
  expect((await post("/mutes", { reason: "x".repeat(70_000) })).status).toBe(413);
});

it("another file is compared with what happened to the stored alerts: where they went, what rings, and its mistakes by line", async () => {
  const fixture = await createWebFixture({ routes });
  for (let minute = 0; minute < 3; minute += 1) {
    const body = `{"title":"USDC TVL","severity":"critical","value":${20 - minute / 10},"threshold":25}`;
    await fixture.addAlert({ body });
    await fixture.clock.advance(2 * 60_000);
  }
  expect(plain(await fixture.read("/routes"))).toContain("Try another file");
  const post = async (file: string) => plain(await (await fixture.post("/routes", { file, days: "7" })).text());
  const withSecret = `destinations: { x: { url: "${referTo("SECRET")}" } }\n`;
  const page = await post(`${withSecret}routes: [{ name: all, to: treasury, again: { furtherBy: 5% } }]\n`);
  expectWords(page, ["What this file would have done 3 alerts from", "3 would have gone elsewhere by this file"]);
  expect(page).toMatch(/treasury all 3 1 1 from \S+:00:00Z 2 −1/);
  const refused = await fixture.post("/routes", {
    file: `routes: [{ to: treasurey }, { to: "${referTo("ADMIN_TOKEN")}" }]`,
  });
  expect(refused.status).toBe(400);
  const mistakes = plain(await refused.text());
  expectWords(mistakes, [/file:1:16: routes\[0\].to: there is no destination &quot;treasurey&quot;/, "ADMIN_TOKEN"]);
  expect(mistakes).not.toContain("is not set");
  expect(await post("mutes: []")).toContain("file:1:1: routes: is missing");
  expect(await post("mute: []\nroutes: [{ to: ops }]")).toContain(
    "file:1:1: mute: is not known here (did you mean mutes?",
  );
  expect(await post("routes: [{ to: ops }]\ninhibit: [{ name: x }]")).toContain("inhibit[0].while: is missing");
  expect(await post(`routes: [{ to: ops }] # ${"x".repeat(65_536)}`)).toContain("Compare it with tocsin backtest");
});

it("compares some days, whatever the form says", async () => {
  const browser = await (await createWebFixture({ routes })).logIn();
  for (const days of ["Infinity", "-5", "1e300", "some"]) {
    const answer = await browser.post("/routes", { file: "routes: [{ to: ops }]", days });
    expect([answer.status, plain(await answer.text())]).toEqual([200, expect.stringContaining("No alerts of senders")]);
  }
});
