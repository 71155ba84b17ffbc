import { describe, expect, it } from "vitest";
import type { Decision, Destination, Route } from "../../src/core/rules.ts";
import { createRouteAgain } from "../../src/explain/route-again.ts";
import { createRouter } from "../../src/routing/router.ts";
import { chat, noon } from "../routing/sample.ts";
import { type AlertInput, createWebFixture, plain, route } from "../support/web-fixture.ts";

const isCritical = { field: "severity", condition: { equals: ["critical"] } };
const isWhale = { field: "payload.kind", condition: { equals: ["whale"] } };
const decided = (name: string, result: Decision["result"], destination?: string, reason = "as it was"): Decision => ({
  route: name,
  result,
  reason,
  ...(destination !== undefined && { destination }),
});
const oneOf = (name: string, result: Decision["result"], destination?: string, reason?: string) => ({
  decisions: [decided(name, result, destination, reason)],
});
const critical = [route("critical", { matchers: [isCritical] }), route("rest", { isDefault: true, to: ["treasury"] })];
const info: AlertInput = {
  facts: { severity: "info" },
  decisions: [
    decided("critical", "deliver", "ops", "severity is info"),
    decided("old", "deliver", "gone"),
    decided("rest", "not_matched", undefined, "the default route is not used: route critical has matched"),
  ],
};
const told = oneOf("everything", "contained", "ops", "it takes all; not sent, as it is told already");
const quiet = oneOf("everything", "damped", "ops", "it takes all; does not ring: the floor");
const dropped = { ...oneOf("critical", "not_matched"), deliveries: [] };
const whale = [route("whale", { matchers: [isWhale] })];
const body = (padding: string) => ({
  ...oneOf("whale", "deliver", "ops"),
  body: JSON.stringify({ kind: "whale", padding }),
});
const hostile = oneOf("<b>r</b>", "deliver", "<i>d</i>", "<u>why</u>");

it.each<[what: string, routes: Route[], alert: AlertInput]>([
  ["is what was decided then, though the route has another name now", [route("desk")], oneOf("all", "deliver", "ops")],
  ["is compared for an end that was told before with what the routes said of it", [route("desk")], told],
  ["sends an end that was told before elsewhere", [route("desk", { to: ["treasury"] })], told],
  ["does not say whether it rings, where it did not", [route("desk")], quiet],
  ["is not asked of an alert that another's message shows", [route("desk")], oneOf("(none)", "contained")],
  ["names what is lost before what is gained, each with its reason then and now", critical, info],
  ["says which route is gone, and which is new", [route("new", { to: ["treasury"] })], oneOf("old", "deliver", "ops")],
  ["tells a drop on purpose from an alert that no route takes", [route("noise", { to: [] })], dropped],
  ["looks into the payload as it came", whale, body("")],
  ["looks into no body that is too large", whale, body("x".repeat(65 * 1024))],
  ["is not asked of an alert that is not routed yet", [route("desk")], { unrouted: true }],
  ["has names and reasons of a stranger as text", [], hostile],
])("what today's routes would do %s", async (_what, routes, alert) => {
  const fixture = await createWebFixture({ routes });
  const { id } = await fixture.addAlert(alert);
  const answer = await fixture.api(`/api/alerts/${id}/routes`);
  const { data } = (await answer.json()) as { data?: { isSame: boolean; isTooLarge: boolean; differences: object[] } };
  const html = await fixture.read(`/alerts/${id}`);
  expect(html).not.toMatch(/<b>r<|<i>d<|<u>why</);
  const said = /If it came now.*?(?=Each route's answer now|$)/.exec(plain(html))?.[0].slice(0, 600);
  const { isSame, isTooLarge, differences = [] } = data ?? {};
  const lines = [{ status: answer.status, isSame, isTooLarge }, said, ...differences].map((one) => JSON.stringify(one));
  expect(`\n${lines.join("\n")}\n`).toMatchSnapshot();
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
