import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import { silentLog } from "../../src/core/log.ts";
import { Prober, proveAll } from "../../src/delivery/duties/prober.ts";
import { Calls } from "../../src/delivery/lane/call-channel.ts";
import { HealthMemory } from "../../src/delivery/memory/health.ts";
import { PaceMemory } from "../../src/delivery/memory/pace.ts";
import { planNotice } from "../../src/delivery/plan/plan-notice.ts";
import type { KnownDestination as Destination } from "../support/known-vendors.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createTestClock } from "../support/test-clock.ts";
import { createScriptedChannel, mailTo, ntfyTo, type Step, telegramTo } from "./engine-fixture.ts";
import { flood, hour, kicked, lost, minute, refused, second, unauthorized } from "./outcomes.ts";
import { everyProbe, next, onChannel, tellScenesOf } from "./tell-scene.ts";

const yes: Outcome = { kind: "sent" };
const proveEveryMs = hour;
const chat = telegramTo("chat", { proveEveryMs });
const hook = ntfyTo("hook");

const toChat: Step = [{}, { to: ["chat"] }];
const passes =
  (minutes: number): Step =>
  ({ clock }) =>
    clock.advance(minutes * minute);
const [isYes, isKicked] = [everyProbe("chat", yes), everyProbe("chat", kicked)];
const [isLost, isRefused] = [everyProbe("chat", lost), everyProbe("chat", refused)];
/** When the last message and the last yes came, in seconds. */
const times: Step = ({ own, clock }) => {
  const { lastSentAt, lastProvenAt, failedProbes } = own("chat");
  return [lastSentAt, lastProvenAt]
    .map((at = Number.NaN) => (clock.now() - at) / second)
    .concat(failedProbes?.count ?? 0);
};
const hangingProbe = onChannel("chat", (channel) => {
  channel.probe = (recipient) => {
    channel.probed.push({ at: channel.clock.now(), recipient, outcome: lost });
    return new Promise(() => {});
  };
});
const messages = (count: number) => Array.from({ length: count }, (): Step[] => [toChat, 10 * second]).flat();

describe("a destination that has nothing to do", () => {
  tellScenesOf([chat, hook])([
    ["is probed some minutes after the start, then about every hour, unseen", [isYes, passes(72), times]],
    [
      "that its bot was removed from is told elsewhere within the interval, before any alert needs it",
      [isYes, passes(10), isKicked, passes(60)],
    ],
    [
      "is not probed while messages get through, since each says more",
      [isYes, toChat, passes(30), toChat, passes(30), toChat, passes(75)],
    ],
    ["is not probed during a call", [isYes, "hang", passes(5.4), toChat, 20 * second, "answer", second]],
    ["gets its alert at once though a probe of it hangs", [hangingProbe, passes(5.6), toChat, passes(1), times]],
    [
      "is down after five probes without an answer, minutes apart, is told once, and once that it works again",
      [isYes, passes(10), isLost, passes(66), times, passes(13), isYes, passes(5)],
    ],
    [
      "has its next alert tried at once though probes found it down, and then waits as after any failure",
      [isRefused, passes(30), next("chat", refused), toChat, second, times, passes(1)],
    ],
    ["is not probed while its chat or bot wants silence", [isYes, next("chat", flood(2 * hour)), toChat, passes(72)]],
    [
      "knows after a restart when the last message and the last yes came",
      [isYes, passes(10), ...messages(3), times, "restart", times, passes(65)],
    ],
    ["knows after a kill all but the last minute", [isYes, passes(10), ...messages(12), times, "kill", times]],
  ]);
  tellScenesOf([mailTo("chat", undefined, { proveEveryMs }), hook])([
    ["has its account paused when its login is refused", [everyProbe("chat", unauthorized), passes(10)]],
  ]);
  tellScenesOf([telegramTo("chat"), hook])([["is not probed where proving is off", [isYes, passes(72)]]]);
});

/** The probes of some destinations of one bot alone, without an engine, so that a month passes in a moment. */
function proveAlone(destinations: Destination[], answer: () => Outcome) {
  const clock = createTestClock();
  const settings = defaultDeliverySettings();
  const store = { saveStatus: async () => "done" as const, savePaces: async () => "done" as const };
  const said: string[] = [];
  const onChange = () => {
    for (const destination of destinations)
      said.push(planNotice(health.of(destination), true, clock.now())?.says ?? "");
  };
  const health = new HealthMemory({ store, clock, settings, log: silentLog, onChange }, []);
  const probedAt: number[] = [];
  const pace = new PaceMemory([]);
  const calls = new Calls({ clock, log: silentLog });
  const proven = destinations.map((destination) => {
    const channel = createScriptedChannel(destination.type, clock);
    channel.probe = async () => {
      probedAt.push(clock.now());
      return answer();
    };
    const deps = { store, destination, channel, calls, pace, health, settings, clock, log: silentLog };
    return { destination, lane: { isIdle: () => true }, prober: new Prober(deps) };
  });
  const stop = new AbortController();
  const random = createSeededRandom(7).next;
  const running = proveAll({ proven, health, clock, random, log: silentLog }, stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  return { clock, health, probedAt, said, end };
}

/** Of one bot. */
function chats(count: number): Destination[] {
  return Array.from({ length: count }, (_, index) => telegramTo("n".repeat(index + 1), { proveEveryMs }));
}

it("is no dead destination whose server has no page for its health: only that nobody answers counts", async () => {
  const quiet = ntfyTo("quiet", { proveEveryMs });
  let answer: Outcome = kicked;
  const { clock, health, end } = proveAlone([quiet], () => answer);
  for (const said of [kicked, { ...refused, reason: "bad_answer" } as const]) {
    answer = said;
    await clock.advance(9 * hour);
    expect(health.of(quiet).health).toBe("ok");
  }
  answer = refused;
  await clock.advance(2 * hour);
  expect(health.of(quiet).health).toBe("down");
  await end();
});

describe("probes over a long time", () => {
  it("make no notice in weeks though one in twenty has no answer in time", async () => {
    const days = 14;
    const random = createSeededRandom(41).next;
    const answer = (): Outcome => (random() < 0.05 ? { ...lost, reason: "no_answer" } : yes);
    const destinations = chats(4);
    const { clock, probedAt, said, end } = proveAlone(destinations, answer);
    await clock.advance(days * 24 * hour);
    await end();
    expect(said.filter(Boolean)).toEqual([]);
    // About one an hour of each, and those that were asked again.
    expect(probedAt.length).toBeGreaterThan(4 * days * 24);
    expect(probedAt.length).toBeLessThan(4 * days * 24 * 1.2);
  });

  it("are spread after a start, and never two of one bot within a second", async () => {
    const { clock, probedAt, end } = proveAlone(chats(60), () => yes);
    await clock.advance(11 * minute);
    await end();
    expect(probedAt).toHaveLength(60);
    const inMinute = (minutes: number) =>
      probedAt.filter((at) => Math.floor((at - (probedAt[0] ?? 0)) / minute) === minutes);
    expect(Math.max(...[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((minutes) => inMinute(minutes).length))).toBeLessThan(20);
    const gaps = probedAt.slice(1).map((at, index) => at - (probedAt[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(second);
  });

  it("go on when the clock is set back by hours", async () => {
    const { clock, probedAt, end } = proveAlone(chats(1), () => yes);
    const real = clock.now;
    await clock.advance(30 * minute);
    const before = probedAt.length;
    clock.now = () => real() - 5 * hour;
    await clock.advance(1.3 * hour);
    await end();
    expect(probedAt.length).toBe(before + 1);
  });
});
