import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { Secret } from "../../src/core/secret.ts";
import type { PagerdutyMessage } from "../../src/vendors/pagerduty/render.ts";
import { classifyPagerduty } from "../../src/vendors/pagerduty/send.ts";
import { pagerduty } from "../../src/vendors/pagerduty/vendor.ts";
import { destinationBase } from "../support/destinations.ts";
import type { KnownDestination } from "../support/known-vendors.ts";
import { startFixture } from "./engine-fixture.ts";
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

describe("events of one key", () => {
  it.each([
    ["503", busy],
    ["429", flooded],
    ["silence", "silence" as const],
  ])("page nobody for what is over when the trigger has to wait (%s), and leave nothing open", async (_, answer) => {
    const { accept, answers, events, incidents, clock, states } = await startOnCall();
    answers.push(answer);
    const fired = await accept({});
    await clock.settle();
    const resolved = await accept(over);
    await clock.advance(2 * minute);
    expect(events).toEqual(["trigger k (not taken)", "resolve k"]);
    expect(incidents.get("k") ?? "resolve").toBe("resolve");
    expect([await states(fired), await states(resolved)]).toEqual([{ oncall: "sent" }, { oncall: "sent" }]);
  });

  it("wait for a resolution that is to be retried, so that it ends nothing newer", async () => {
    const { accept, answers, events, incidents, clock } = await startOnCall();
    await accept({});
    await clock.advance(second);
    answers.push(busy, busy);
    await accept(over);
    await clock.settle();
    await accept({ title: "again" });
    await accept({ alertKey: "other" });
    await clock.advance(minute);
    expect(events).toEqual([
      "trigger k",
      "resolve k (not taken)",
      "trigger other (not taken)",
      "resolve k",
      "trigger k",
      "trigger other",
    ]);
    expect(incidents.get("k")).toBe("trigger");
  });

  it("go out in the order of the log after an outage, with one resolution for all before it", async () => {
    const { accept, answers, takenEvents, incidents, clock } = await startOnCall();
    answers.push(busy, busy, busy, busy, busy, busy);
    await accept({});
    await clock.advance(30 * second);
    await accept(over);
    await accept({});
    await accept({ alertKey: "other" });
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

describe("quiet hours", () => {
  it("hold no resolution of an incident, which takes along what they hold of its key", async () => {
    const { accept, events, clock, states } = await startOnCall();
    const until = clock.now() + 8 * hour;
    await accept({ severity: "critical" });
    await clock.advance(minute);
    const held = await accept({}, { state: "held", dueAt: until });
    await clock.advance(minute);
    await accept(over);
    await clock.advance(second);
    expect(events).toEqual(["trigger k", "resolve k"]);
    expect(await states(held)).toEqual({ oncall: "sent" });
    await clock.jump(8 * hour);
    await clock.advance(minute);
    expect(events).toHaveLength(2);
  });

  it("keep no worse alert of the key waiting", async () => {
    const { accept, events, clock } = await startOnCall();
    await accept({}, { state: "held", dueAt: clock.now() + 8 * hour });
    await accept({ severity: "critical" });
    await clock.advance(second);
    expect(events).toEqual(["trigger k"]);
    await clock.jump(8 * hour);
    await clock.advance(minute);
    expect(events).toEqual(["trigger k", "trigger k"]);
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
