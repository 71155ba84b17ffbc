import { describe, expect, it } from "vitest";
import type { Decision, Destination, Route } from "../../src/core/rules.ts";
import { createRouteAgain } from "../../src/explain/route-again.ts";
import { createRouter } from "../../src/routing/router.ts";
import { chat, noon } from "../routing/sample.ts";
import { expectWords } from "../support/expect-words.ts";
import { type AlertInput, createWebFixture, plain, route } from "../support/web-fixture.ts";

const isCritical = { field: "severity", condition: { equals: ["critical"] } };
const isWhale = { field: "payload.kind", condition: { equals: ["whale"] } };
const decided = (name: string, result: Decision["result"], destination?: string, reason = "as it was"): Decision => ({
  route: name,
  result,
  reason,
  ...(destination !== undefined && { destination }),
});
async function routedAgain(routes: Route[], alert: AlertInput) {
  const fixture = await createWebFixture({ routes });
  const { id } = await fixture.addAlert(alert);
  const answer = await fixture.api(`/api/alerts/${id}/routes`);
  const page = plain(await fixture.read(`/alerts/${id}`));
  return { answer, page, routed: (await answer.json()) as { data: { isSame: boolean; differences: unknown[] } } };
}

describe("what today's routes would do", () => {
  it("is said in one line where it is what was decided then, though the route has another name now", async () => {
    const { page, routed } = await routedAgain([route("desk")], {
      decisions: [decided("everything", "deliver", "ops")],
    });
    expect(routed.data).toMatchObject({ isSame: true, differences: [] });
    expect(page).toContain("today's routes and mutes would do the same as then. Each route's answer now");
  });

  it("compares an end that was told before as what the routes said of it", async () => {
    const decisions = [decided("everything", "contained", "ops", "it takes all; not sent, as it is told already")];
    const same = await routedAgain([route("desk")], { decisions });
    expect(same.routed.data).toMatchObject({ isSame: true, differences: [] });
    expect(same.page).toContain("If it came now");
    const { routed } = await routedAgain([route("desk", { to: ["treasury"] })], { decisions });
    expect(routed.data.differences).toMatchObject([
      { destination: "ops", before: { result: "deliver" }, now: { result: "nothing" } },
      { destination: "treasury", now: { result: "deliver" } },
    ]);
  });

  it("says of what did not ring that the routes do not decide that", async () => {
    const decisions = [decided("everything", "damped", "ops", "it takes all; does not ring: the floor")];
    const { page, routed } = await routedAgain([route("desk")], { decisions });
    expect(routed.data).toMatchObject({ isSame: true, differences: [] });
    expect(page).toContain("would do the same as then. Whether it rings depends on what rang before.");
  });

  it("is not asked of an alert that another's message shows", async () => {
    const { answer } = await routedAgain([route("desk")], { decisions: [decided("(none)", "contained")] });
    expect(answer.status).toBe(409);
  });

  it("names what is lost before what is gained, each with its reason then and now", async () => {
    const routes = [
      route("critical", { matchers: [isCritical] }),
      route("rest", { isDefault: true, to: ["treasury"] }),
    ];
    const { page, routed } = await routedAgain(routes, {
      facts: { severity: "info" },
      decisions: [
        decided("critical", "deliver", "ops", "severity is info"),
        decided("old", "deliver", "gone"),
        decided("rest", "not_matched", undefined, "the default route is not used: route critical has matched"),
      ],
    });
    expect(routed.data).toMatchObject({
      isSame: false,
      differences: [
        {
          destination: "ops",
          before: { result: "deliver", route: "critical", reason: "severity is info" },
          now: { result: "nothing", reason: "route critical: severity is info, not critical" },
        },
        { destination: "gone", now: { result: "nothing", reason: "there is no destination gone any more" } },
        {
          destination: "treasury",
          before: { result: "nothing", reason: expect.stringMatching(/^route rest: the default route is not used/) },
          now: { result: "deliver", route: "rest" },
        },
      ],
    });
    expect(page).toMatch(
      /would do something else: Destination Then Now ops deliver by critical : severity is info nothing :/,
    );
  });

  it("says when a route that took it is gone, and when the one that takes it is new", async () => {
    const { routed } = await routedAgain([route("new", { to: ["treasury"] })], {
      decisions: [decided("old", "deliver", "ops")],
    });
    expect(routed.data.differences).toMatchObject([
      { destination: "ops", now: { reason: "there is no route old any more" } },
      { destination: "treasury", before: { reason: "there was no route new" } },
    ]);
  });

  it("tells a drop on purpose from an alert that no route takes, though it reaches nobody either way", async () => {
    const { page, routed } = await routedAgain([route("noise", { to: [] })], {
      deliveries: [],
      decisions: [decided("critical", "not_matched")],
    });
    const before = { result: "nothing", reason: "there was no route noise" };
    expect(routed.data.differences).toMatchObject([{ destination: null, before, now: { result: "dropped" } }]);
    expect(page).toMatch(/nobody nothing : there was no route noise dropped by noise/);
  });

  it("looks into the payload as it came, and says where the body is too large for that", async () => {
    const decisions = [decided("whale", "deliver", "ops")];
    const routes = [route("whale", { matchers: [isWhale] })];
    const small = await routedAgain(routes, { decisions, body: '{"kind":"whale"}' });
    expect(small.routed.data).toMatchObject({ isSame: true, isTooLarge: false });
    const body = JSON.stringify({ kind: "whale", padding: "x".repeat(65 * 1024) });
    const large = await routedAgain(routes, { decisions, body });
    expect(large.routed.data).toMatchObject({ isSame: false, isTooLarge: true });
    expect(large.page).toContain("The body is too large to be read again for this page");
  });

  it("is not asked of an alert that is not routed yet", async () => {
    const { answer, page } = await routedAgain([route("desk")], { unrouted: true });
    expect(answer.status).toBe(409);
    expect(page).not.toContain("If it came now");
  });

  it("shows names and reasons of a stranger as text", async () => {
    const fixture = await createWebFixture({ routes: [] });
    const { id } = await fixture.addAlert({ decisions: [decided("<b>r</b>", "deliver", "<i>d</i>", "<u>why</u>")] });
    const page = await fixture.read(`/alerts/${id}`);
    expectWords(page, "there is no destination &lt;i&gt;d&lt;/i&gt; any more", { not: /<b>r<|<i>d<|<u>why</ });
  });
});

describe("quiet hours", () => {
  const quietHours = { from: "22:00", to: "07:00", except: [] };

  async function differences(quiet: boolean, then: Decision["result"]) {
    const destinations: Destination[] = [chat("ops", quiet ? { quietHours } : {})];
    const fixture = await createWebFixture();
    await fixture.clock.advance(noon + 11 * 3_600_000 - fixture.clock.now());
    const { id } = await fixture.addAlert({ decisions: [decided("desk", then, "ops")] });
    const alert = await fixture.store.getAlert(id);
    if (alert === undefined) throw new Error("it was just stored");
    const router = createRouter({ destinations, routes: [route("desk")], mutes: [] });
    const now = () => noon + 24 * 3_600_000;
    return createRouteAgain({ router, destinations, activeMutes: () => [], now })(alert)?.differences;
  }

  it("that would hold it at the same hour are no difference of the configuration", async () => {
    expect(await differences(true, "held")).toMatchObject([
      { before: { result: "held" }, now: { result: "deliver" }, onlyByHour: true },
    ]);
  });

  it("that are gone, or new, are one", async () => {
    expect(await differences(false, "held")).toMatchObject([{ onlyByHour: false }]);
    expect(await differences(true, "deliver")).toEqual([]);
  });
});
