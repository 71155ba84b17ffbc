import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { Secret } from "../../src/core/secret.ts";
import type { PagerdutyMessage } from "../../src/vendors/pagerduty/render.ts";
import { classifyPagerduty } from "../../src/vendors/pagerduty/send.ts";
import { pagerduty } from "../../src/vendors/pagerduty/vendor.ts";
import { destinationBase } from "../support/destinations.ts";
import type { KnownDestination } from "../support/known-vendors.ts";
import { type Step, startFixture } from "./engine-fixture.ts";
import { hour, minute, second } from "./outcomes.ts";

const taken = { status: 202, headers: {}, body: JSON.stringify({ status: "success" }) };
const busy = { status: 503, headers: {}, body: "" };
const flooded = { status: 429, headers: { "retry-after": "60" }, body: "" };

/** A relay with one PagerDuty, which answers by the script, then takes everything. */
async function startOnCall(changes: Partial<KnownDestination> = {}) {
  const destination = {
    ...destinationBase("oncall"),
    type: "pagerduty",
    routingKey: new Secret("canaryPagerdutyRoutingKeyXXXXXXX"),
    server: "http://127.0.0.1:1",
    allowInternal: [],
    pace: pagerduty.pace,
    ...changes,
  } as KnownDestination & { name: "oncall" };
  const fixture = await startFixture([destination]);
  const answers: (typeof taken | "silence")[] = [];
  const events: string[] = [];
  const incidents = new Map<string, string>();
  fixture.oncall.send = async (message) => {
    const { event } = message as PagerdutyMessage;
    const answer = answers.shift() ?? taken;
    const key = event.dedup_key?.replace("tocsin:", "") ?? "none";
    events.push(`${event.event_action} ${key}${answer === taken ? "" : " (not taken)"}`);
    // What got no answer was taken all the same.
    if (answer === taken || answer === "silence") incidents.set(key, event.event_action);
    if (answer === "silence") return { kind: "ambiguous", reason: "no_answer", detail: "no answer in time" };
    return classifyPagerduty(answer, { host: "pd", nowMs: fixture.clock.now(), redact: (text) => text });
  };
  const accept = (facts: Partial<AlertFacts>, planned = {}) => fixture.accept({ alertKey: "k", ...facts }, { planned });
  const takenEvents = () => events.filter((event) => !event.includes("not taken"));
  return { ...fixture, answers, events, takenEvents, incidents, accept };
}

const over = { status: "resolved" } as const;
/** An alert that comes is of the key `k` unless it says another. */
function ofK(step: Exclude<Step, number>): Step {
  if (typeof step === "string" || "kind" in step) return step;
  return Array.isArray(step) ? [{ alertKey: "k", ...step[0] }, step[1]] : { alertKey: "k", ...step };
}

const other = { alertKey: "other" };
const critical = { severity: "critical" } as const;
const night = { heldForMs: 8 * hour };
type Answer = typeof taken | "silence";

it.each<[string, Answer[], Step[], string[]]>([
  ...(["503", "429", "silence"] as const).map((what): [string, Answer[], Step[], string[]] => [
    `page nobody for what is over when the trigger has to wait (${what})`,
    [{ 503: busy, 429: flooded, silence: "silence" as const }[what]],
    [{}, 0, over, 2 * minute],
    ["trigger k (not taken)", "resolve k"],
  ]),
  [
    "wait for a resolution that is to be retried, so that it ends nothing newer",
    [taken, busy, busy],
    [{}, second, over, 0, { title: "again" }, other, minute],
    [
      ...["trigger k", "resolve k (not taken)", "trigger other (not taken)"],
      ...["resolve k", "trigger k", "trigger other"],
    ],
  ],
  [
    "are not held by quiet hours where they resolve, and take along what these hold",
    [],
    [critical, minute, [{}, night], minute, over, second, 8 * hour, minute],
    ["trigger k", "resolve k"],
  ],
  ["go at once where they are worse than what quiet hours hold", [], [[{}, night], critical, second], ["trigger k"]],
  [
    "come when quiet hours end though a worse one came before",
    [],
    [[{}, night], critical, second, 8 * hour, minute],
    ["trigger k", "trigger k"],
  ],
])("events of one key %s", async (_what, given, steps, expected) => {
  const { answers, events, play, incidents, states } = await startOnCall();
  answers.push(...given);
  const ids = await play(...steps.map((step) => (typeof step === "number" ? step : ofK(step))));
  expect(events).toEqual(expected);
  expect(incidents.get("k")).toBe(expected.findLast((event) => event.endsWith(" k"))?.split(" ")[0]);
  if (expected.at(-1) === "resolve k") for (const id of ids) expect(await states(id)).toEqual({ oncall: "sent" });
});

describe("events of one key", () => {
  it("go out in the order of the log after an outage, with one resolution for all before it", async () => {
    const { accept, answers, takenEvents, incidents, clock } = await startOnCall();
    answers.push(busy, busy, busy, busy, busy, busy);
    await accept({});
    await clock.advance(30 * second);
    for (const facts of [over, {}, other]) await accept(facts);
    await clock.advance(10 * minute);
    expect(takenEvents()).toEqual(["resolve k", "trigger k", "trigger other"]);
    expect([...incidents.values()]).toEqual(["trigger", "trigger"]);
  });

  it("are found beyond what is listed at once, in a burst that is refused at first", async () => {
    const { accept, answers, incidents, events, clock } = await startOnCall({ pace: {} });
    answers.push(busy);
    await accept({});
    for (let index = 0; index < 410; index += 1) await accept({ alertKey: `burst-${index}` });
    await accept(over);
    await clock.advance(minute);
    expect(incidents.get("k")).toBe("resolve");
    expect(events.filter((event) => event.endsWith(" k"))).toEqual(["resolve k"]);
    expect(incidents.size).toBe(411);
  });
});

describe("what is one digest elsewhere is one event for each alert", () => {
  const keys = Array.from({ length: 12 }, (_, index) => `key-${index}`);
  type OnCall = Awaited<ReturnType<typeof startOnCall>>;

  it.each<[string, (typeof busy)[], (scene: OnCall) => object]>([
    ["after quiet hours", [], ({ clock }) => ({ state: "held", dueAt: clock.now() + minute })],
    ["of a burst", [], () => ({})],
    ["after an outage", [busy, busy, busy, busy, busy, busy], () => ({})],
    ["that is older than its route allows", [flooded], () => ({ freshnessMs: 10 * second })],
  ])("%s", async (_when, answers, plan) => {
    const scene = await startOnCall();
    scene.answers.push(...answers);
    const planned = plan(scene);
    for (const alertKey of keys) await scene.accept({ alertKey }, planned);
    await scene.clock.advance(5 * minute);
    expect(scene.takenEvents()).toEqual(keys.map((key) => `trigger ${key}`));
  });
});
