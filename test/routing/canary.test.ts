import { expect, test } from "vitest";
import type { AlertOrigin } from "../../src/core/alert.ts";
import { canaryMark } from "../../src/core/alert.ts";
import type { Rules } from "../../src/core/rules.ts";
import { createRouter } from "../../src/routing/router.ts";
import { alert, chat, json, noon, route, rules } from "./sample.ts";

const marked = JSON.stringify({ ...canaryMark, title: "Canary of Tocsin" });

function decide(over: Partial<Rules>, origin: AlertOrigin = "test", body = marked) {
  const world = rules({ destinations: [chat("desk"), chat("archive")], routes: [route("all", ["desk"])], ...over });
  const { decisions, deliveries } = createRouter(world).route(alert({}, { origin, payload: json(body) }), [], noon);
  return { results: decisions.map(({ result }) => result), to: deliveries.map(({ destination }) => destination) };
}

test("a canary goes to nobody, whatever the routes say, or where it is configured to go", () => {
  expect(decide({})).toEqual({ results: ["dropped"], to: [] });
  expect(decide({ canaryTo: ["archive"] })).toEqual({ results: ["deliver"], to: ["archive"] });
});

test("an alert with the same words, and any other test, is routed like all others", () => {
  expect(decide({}, "hook").to).toEqual(["desk"]);
  expect(decide({}, "test", '{"tocsin":"other"}').to).toEqual(["desk"]);
  expect(decide({}, "test", '["canary"]').to).toEqual(["desk"]);
});

test("GitHub's ping is kept and goes to nobody, with the reason; an alert that only has its words is sent", () => {
  const ping = { zen: "Design for failure.", hook_id: 7, hook: { events: ["push"] }, repository: { full_name: "a/b" } };
  expect(decide({}, "hook", JSON.stringify(ping))).toEqual({ results: ["dropped"], to: [] });
  expect(decide({}, "hook", JSON.stringify({ ...ping, hook: "none" })).to).toEqual(["desk"]);
});
