import { expect, test } from "vitest";
import { canaryMark } from "../../src/core/alert.ts";
import type { Route } from "../../src/core/rules.ts";
import { createRouter } from "../../src/routing/router.ts";
import type { WebhookDestination } from "../../src/vendors/webhook/vendor.ts";
import { alert, chat, is, mailbox, mute, noon, route, rules } from "./sample.ts";

const { bot: _, chatId: __, silent: ___, ...common } = chat("hook");
const hook = { ...common, type: "webhook" } as unknown as WebhookDestination;
const destinations = [chat("desk"), mailbox("mail", ["a@b.example", "c@d.example"]), hook];

function ringRules(over: Partial<Route>, input = alert(), mutes: Parameters<typeof mute>[] = []) {
  const router = createRouter(rules({ destinations, routes: [route("all", ["desk", "mail", "hook"], over)] }));
  const active = mutes.map((one) => mute(...one));
  return router.route(input, active, noon).deliveries.map(({ ring }) => ring);
}

test("what people read is held back when it flaps; programs get everything", () => {
  const mail = { flapping: true };
  expect(ringRules({})).toEqual([{ flapping: true, editsForMs: 60_000 }, mail, mail, undefined]);
  expect(ringRules({ updates: "reply" })[0]).toEqual({ flapping: true });
  expect(ringRules({ updates: "edit" })[0]).toEqual({ flapping: true, editsForMs: 86_400_000 });
});

test("a route says otherwise, for programs too", () => {
  // What holds nothing back is remembered: another route may send there as well.
  expect(ringRules({ ringing: { flapping: false } })).toMatchObject(Array(4).fill({ flapping: false }));
  const [first, , , program] = ringRules({ ringing: { cooldownMs: 5 } });
  expect([first, program]).toMatchObject([{ flapping: true }, { flapping: false, cooldownMs: 5 }]);
  expect(ringRules({ ringing: { flapping: true } }).at(-1)).toEqual({ flapping: true });
});

test.each([
  ["a test", alert({}, { origin: "test" })],
  ["a canary", alert({}, { origin: "test", payload: canaryMark })],
])("%s is not judged", (_what, input) => {
  expect(ringRules({}, input).every((ring) => ring === undefined)).toBe(true);
});

test("a muted alert is remembered as others are", () => {
  expect(ringRules({}, alert(), [["m1", [is("severity", "critical")]]])).toEqual(ringRules({}));
});

test("what no rule could judge is not judged", () => {
  const router = createRouter(rules({ destinations, routes: [route("all", ["desk"], { isDefault: true })] }));
  expect(router.routeUnjudged("reading", "why", noon).deliveries[0]).not.toHaveProperty("ring", expect.anything());
});
