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
import { createScriptedChannel, ntfyTo, startFixture, telegramTo } from "./engine-fixture.ts";
import { flood, hour, kicked, lost, minute, refused, second } from "./outcomes.ts";

const yes: Outcome = { kind: "sent" };
const proveEveryMs = hour;
const chat = telegramTo("chat", { proveEveryMs });
const hook = ntfyTo("hook");

/** The destinations with an engine, and every probe of `chat` with its time; each is answered with what `answer` says. */
async function watch(destinations: (typeof chat | typeof hook)[] = [chat, hook]) {
  const fixture = await startFixture<"chat" | "hook">(destinations);
  const state = { answer: yes as Outcome | (() => Promise<Outcome>), probedAt: [] as number[] };
  fixture.chat.probe = async () => {
    state.probedAt.push(fixture.clock.now());
    return typeof state.answer === "function" ? state.answer() : state.answer;
  };
  return Object.assign(fixture, { state, start: fixture.clock.now() });
}

describe("a destination that has nothing to do", () => {
  it("is probed some minutes after the start, then about every hour, and its people see nothing", async () => {
    const { clock, state, start, chat, own } = await watch();
    await clock.advance(1.2 * hour);
    expect(state.probedAt.map((at) => Math.round((at - start) / minute))).toEqual([6, 66]);
    expect(own().lastProvenAt).toBe(state.probedAt.at(-1));
    expect(chat.calls).toHaveLength(0);
  });

  it("that its bot was removed from is told elsewhere within the interval, before any alert needs it", async () => {
    const { clock, state, chat, hook, own } = await watch();
    await clock.advance(10 * minute);
    state.answer = kicked;
    await clock.advance(hour);
    expect(chat.calls).toHaveLength(0);
    expect(hook.texts).toEqual([expect.stringContaining("chat gets no alerts")]);
    expect(own()).toMatchObject({ health: "dead", reasonCode: "kicked" });
  });

  it("is not probed while messages get through, since each says more", async () => {
    const { clock, state, accept } = await watch();
    for (let half = 0; half < 3; half += 1) {
      await accept({}, { to: ["chat"] });
      await clock.advance(0.5 * hour);
    }
    const probes = state.probedAt.length;
    await clock.advance(45 * minute);
    expect([probes, state.probedAt.length]).toEqual([0, 1]);
  });

  it("is not probed during a call", async () => {
    const { state, chat, play } = await watch();
    const answer = chat.hang();
    await play(5.4 * minute, [{}, { to: ["chat"] }], 20 * second);
    expect(state.probedAt).toHaveLength(0);
    answer(yes);
  });

  it("gets its alert at once though a probe of it hangs", async () => {
    const { clock, state, states, own, play } = await watch();
    state.answer = () => new Promise(() => {});
    await clock.advance(5.6 * minute);
    expect(state.probedAt).toHaveLength(1);
    const [id = ""] = await play([{}, { to: ["chat"] }], 0);
    expect(await states(id)).toEqual({ chat: "sent" });
    await clock.advance(minute);
    // What the probe came to in the end says less than the message.
    expect(own().failedProbes).toBeUndefined();
  });

  it("is down after five probes without an answer, minutes apart, is told once, and once that it works again", async () => {
    const { clock, state, hook, own } = await watch();
    await clock.advance(10 * minute);
    state.answer = lost;
    await clock.advance(55 * minute + 11 * minute);
    expect(own()).toMatchObject({ health: "ok", failedProbes: { count: 4 } });
    await clock.advance(3 * minute);
    expect(own()).toMatchObject({ health: "down", reasonCode: "connection_lost" });
    await clock.advance(10 * minute);
    state.answer = yes;
    await clock.advance(5 * minute);
    const said = hook.texts.map((text) => /does not answer|works again/.exec(text)?.[0]);
    expect(said).toEqual(["does not answer", "works again"]);
    expect(own().health).toBe("ok");
  });

  it("has its next alert tried at once though probes found it down, and then waits as after any failure", async () => {
    const { clock, state, states, chat, own, play } = await watch();
    state.answer = refused;
    await clock.advance(30 * minute);
    expect(own().health).toBe("down");
    chat.script.push(refused);
    const [id = ""] = await play([{}, { to: ["chat"] }], second);
    expect(chat.calls).toHaveLength(1);
    expect(own()).toMatchObject({ health: "down", failedProbes: undefined });
    await clock.advance(minute);
    expect(await states(id)).toEqual({ chat: "sent" });
    expect(own().health).toBe("ok");
  });

  it.each<[string, (typeof chat)[], Outcome?]>([
    ["where proving is off", [telegramTo("chat")]],
    ["while its chat or bot wants silence, or its pace is used up", [chat], flood(2 * hour)],
  ])("is not probed %s", async (_when, destinations, answer) => {
    const { clock, state, meet } = await watch([...destinations, hook]);
    if (answer !== undefined) await meet("chat", answer);
    await clock.advance(1.2 * hour);
    expect(state.probedAt).toHaveLength(0);
  });
});

describe("after a restart", () => {
  async function watchMessages(count: number) {
    const fixture = await watch();
    await fixture.clock.advance(10 * minute);
    for (let left = count; left > 0; left -= 1) await fixture.play([{}, { to: ["chat"] }], 10 * second);
    return { ...fixture, fixture, ...fixture.own() };
  }

  it("it is known when the last message and the last yes came, to the very time", async () => {
    const { fixture, clock, state, own, lastSentAt, lastProvenAt } = await watchMessages(3);
    expect(lastProvenAt).toBe(state.probedAt[0]);
    expect(lastSentAt).toBeGreaterThan(clock.now() - 15 * second);
    await fixture.restart();
    expect(own()).toMatchObject({ lastSentAt, lastProvenAt });
    const restartedAt = clock.now();
    await clock.advance(55 * minute);
    expect(state.probedAt).toHaveLength(1);
    await clock.advance(10 * minute);
    expect((state.probedAt[1] ?? 0) - restartedAt).toBeGreaterThan(59 * minute);
  });

  it("a kill costs at most the last minute of messages, and no proof", async () => {
    const { fixture, state, own, lastSentAt = 0 } = await watchMessages(12);
    await fixture.kill();
    expect(lastSentAt - (own().lastSentAt ?? 0)).toBeLessThanOrEqual(70 * second);
    expect(own().lastProvenAt).toBe(state.probedAt[0]);
  });
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
