import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Outcome } from "../../src/core/delivery.ts";
import { destinationBase } from "../support/destinations.ts";
import type { KnownDestination } from "../support/known-vendors.ts";
import { channelOf, mailTo, startFixture, telegramTo } from "./engine-fixture.ts";
import { flood, hour, lost, minute, refused, second } from "./outcomes.ts";

const key = { alertKey: "k", severity: "critical" } as const;
const over = { ...key, status: "resolved" } as const;

function webhookTo(name: string, changes: Partial<KnownDestination> = {}): KnownDestination {
  return {
    ...destinationBase(name),
    type: "webhook",
    url: "http://127.0.0.1:1/",
    headers: {},
    allowInternal: [],
    pace: {},
    ...changes,
  } as unknown as KnownDestination;
}

const destinations: [string, KnownDestination][] = [
  ["chat", telegramTo("out")],
  ["mailbox", mailTo("out", ["a@x.io"])],
  ["program", webhookTo("out")],
];
const faults: [string, Outcome][] = [
  ["is refused", refused],
  ["gets no answer", lost],
  ["has to wait", flood(20 * second)],
];

/** One destination; routing claims for its lane, as the relay does. */
async function start(destination: KnownDestination) {
  const fixture = await startFixture([destination]);
  fixture.routesByEngine = true;
  const { calls, script } = channelOf(fixture, "out");
  const accept = (facts: Partial<AlertFacts>, options = {}) => fixture.accept(facts, options);
  const isEnd = ({ text }: { text: string }) => /Over|"resolved"/.test(text);
  /** The next call gets no answer before this one is given. */
  function hang(): (outcome: Outcome) => void {
    let answer = (_outcome: Outcome) => {};
    script.push(
      new Promise<Outcome>((resolve) => {
        answer = resolve;
      }),
    );
    return answer;
  }
  return { ...fixture, calls, script, accept, hang, isEnd };
}

describe.each(destinations)("to a %s", (kind, destination) => {
  describe.each(faults)("whose first call %s", (_fault, fault) => {
    it.each([0, 500])("tells last that it is over, and rings no more: the end %d ms later", async (gapMs) => {
      const { accept, calls, script, clock, isEnd, states } = await start(destination);
      script.push(fault);
      const fired = await accept(key);
      await clock.advance(gapMs);
      const ended = await accept(over);
      await clock.advance(5 * minute);
      expect(calls.length).toBeGreaterThan(1);
      expect(isEnd(calls.at(-1) as { text: string })).toBe(true);
      const firstEnd = calls.findIndex(isEnd);
      expect(calls.slice(firstEnd).every(({ text, context }) => isEnd({ text }) && context.silent)).toBe(true);
      expect([await states(fired), await states(ended)]).toEqual([{ out: "sent" }, { out: "sent" }]);
      if (kind === "program") expect(calls.map(isEnd)).toEqual([false, false, true]);
    });
  });

  it("tells the end behind its beginning while that is under way", async () => {
    const { accept, calls, clock, hang, isEnd } = await start(destination);
    const answer = hang();
    await accept(key);
    await clock.advance(100);
    await accept(over);
    await accept({ ...key, alertKey: "other" });
    await clock.advance(500);
    expect(calls.filter(isEnd)).toEqual([]);
    answer({ kind: "sent", ref: "1" });
    await clock.advance(minute);
    expect(calls.filter(({ text }) => isEnd({ text })).length).toBeGreaterThan(0);
  });

  it("sends what came behind the end, though another relay had stored it before", async () => {
    const { accept, calls, clock, isEnd, script } = await start(destination);
    const at = clock.now();
    script.push(refused);
    await accept(key, { receivedAt: at + 50 });
    await clock.advance(100);
    await accept(over, { receivedAt: at });
    await clock.advance(5 * minute);
    expect(calls.map(isEnd)).toEqual([false, true, false]);
    expect(calls.at(-1)?.context.silent).toBe(false);
  });

  it("rings for nothing that was over before its turn came", async () => {
    const { accept, calls, clock, hang, isEnd } = await start(destination);
    const answer = hang();
    await accept({ ...key, alertKey: "other" });
    await clock.advance(100);
    await accept(key);
    await clock.advance(2 * second);
    await accept(over);
    await clock.advance(second);
    answer({ kind: "sent", ref: "1" });
    await clock.advance(minute);
    expect(isEnd(calls.at(-1) as { text: string })).toBe(true);
    if (kind === "chat") expect(calls.map(({ context }) => context.silent)).toEqual([false, true]);
  });

  it.each([
    ["is answered", []],
    ["gets no answer, and is repeated", [lost]],
  ])(
    "rings for no beginning that comes behind its end, while that could not be told yet: its call %s",
    async (_how, then) => {
      const { accept, calls, clock, isEnd, script } = await start(destination);
      const at = clock.now();
      script.push(flood(20 * second), ...then);
      await accept(over);
      await clock.advance(10 * second);
      // Of a relay that was cut off.
      await accept(key, { receivedAt: at - second });
      await clock.advance(5 * minute);
      expect(isEnd(calls.at(-1) as { text: string })).toBe(true);
      if (kind !== "program") expect(calls.every(isEnd)).toBe(true);
    },
  );

  it.each(["before", "behind"])(
    "rings at once for what was stored late %s its end, while quiet hours hold that",
    async (place) => {
      const { accept, calls, clock, hang, isEnd } = await start(destination);
      const at = clock.now();
      const held = { planned: { state: "held", dueAt: at + 8 * hour } };
      const answer = hang();
      await accept({ ...key, alertKey: "other" });
      await clock.advance(1_500);
      if (place === "behind") await accept(over, held);
      await accept(key, { receivedAt: at });
      if (place === "before") await accept(over, held);
      answer({ kind: "sent", ref: "1" });
      await clock.advance(second);
      const rings = calls.map((call) => !isEnd(call) && !call.context.silent);
      expect(rings).toEqual([true, true]);
      await clock.advance(20 * minute);
      expect(calls.length).toBe(2);
    },
  );

  it("rings for no beginning that comes behind its end, however long that waits for a retry", async () => {
    const { accept, calls, clock, isEnd } = await start(destination);
    const at = clock.now();
    await accept(over, { planned: { dueAt: at + 15 * minute } });
    await clock.advance(second);
    await accept(key, { receivedAt: at - second });
    await clock.advance(20 * minute);
    expect(isEnd(calls.at(-1) as { text: string })).toBe(true);
    if (kind !== "program") expect(calls.map((call) => isEnd(call) && call.context.silent)).toEqual([true]);
  });

  it("leaves out a beginning that comes behind its end, and says why", async () => {
    const { accept, calls, clock, isEnd, detail } = await start(destination);
    const at = clock.now();
    await accept(over);
    await clock.advance(minute);
    // Of a relay that was cut off: it came before the end, and is stored behind it.
    const late = await accept(key, { receivedAt: at - second });
    await clock.advance(5 * minute);
    expect(calls.map(isEnd)).toEqual([true]);
    const { deliveries } = await detail(late);
    expect(deliveries).toMatchObject([
      { state: "sent", attempts: [{ detail: expect.stringContaining("told before that it is over") }] },
    ]);
    await accept(key);
    await clock.advance(minute);
    expect(calls.map(isEnd)).toEqual([true, false]);
    expect(calls.at(-1)?.context.silent).toBe(false);
  });
});

it("rings for nothing that was over while its bot had to wait", async () => {
  const fixture = await startFixture([telegramTo("a"), telegramTo("bb")]);
  fixture.routesByEngine = true;
  const { clock } = fixture;
  const [a, b] = [channelOf(fixture, "a"), channelOf(fixture, "bb")];
  let load = () => {};
  b.prepare = () =>
    new Promise<void>((resolve) => {
      load = resolve;
    });
  await fixture.accept(key, { to: ["bb"] });
  await clock.advance(100);
  a.script.push(flood(5 * second, "account"));
  await fixture.accept({ ...key, alertKey: "other" }, { to: ["a"] });
  await clock.advance(100);
  b.prepare = undefined;
  load();
  await clock.advance(2 * second);
  await fixture.accept(over, { to: ["bb"] });
  await clock.advance(minute);
  const told = b.calls.filter(({ context }) => context.threadKey === "k");
  expect(told.map(({ text, context }) => [/Over/.test(text), context.silent])).toEqual([[true, true]]);
});

it("tells what quiet hours held in one digest, though the answer to its claim is lost", async () => {
  const fixture = await startFixture([telegramTo("out")]);
  const { clock, store } = fixture;
  let isLost = true;
  fixture.seen = {
    ...store,
    async claimDeliveries(...asked) {
      const claimed = await store.claimDeliveries(...asked);
      if (!isLost) return claimed;
      isLost = false;
      throw new AppError("store_unavailable", "The database was lost while it stored a change.");
    },
  };
  await fixture.restart();
  const planned = { state: "held", dueAt: clock.now() + hour } as const;
  for (const alertKey of ["1", "2", "3", "4", "5"]) await fixture.accept({ ...key, alertKey }, { planned });
  await clock.advance(hour + minute);
  expect(isLost).toBe(false);
  expect(channelOf(fixture, "out").calls.map(({ text }) => text)).toEqual([
    expect.stringMatching(/^🌙 While quiet: 5 alerts/),
  ]);
});

it("rings for nothing that was claimed by a commit that hung, where its end was told before that", async () => {
  const fixture = await startFixture([mailTo("out", ["a@x.io"])]);
  const { clock, store } = fixture;
  let hangs = false;
  fixture.seen = {
    ...store,
    async recordRouting(records) {
      if (!hangs) return store.recordRouting(records);
      await clock.sleep(3 * second);
      // PostgreSQL notes when it got it; the answer has what was asked.
      const recorded = await store.recordRouting(records.map((one) => ({ ...one, routedAt: clock.now() })));
      for (const { claimed } of recorded.flatMap(({ deliveries }) => deliveries.flatMap((one) => one ?? [])))
        for (const delivery of claimed?.deliveries ?? []) delivery.createdAt = delivery.receivedAt;
      return recorded;
    },
  };
  fixture.routesByEngine = true;
  await fixture.restart();
  await clock.advance(minute);
  const at = clock.now();
  await fixture.accept(over);
  await clock.advance(second);
  hangs = true;
  const firing = fixture.accept(key, { receivedAt: at - second });
  await clock.advance(minute);
  await firing;
  const { calls } = channelOf(fixture, "out");
  expect(calls.map(({ text, context }) => [/Over/.test(text), context.silent])).toEqual([[true, true]]);
});

it("an end that was told in a digest took along what was unsent of its key", async () => {
  const { accept, calls, script, clock } = await start(telegramTo("out", { digestOver: 2 }));
  script.push(lost);
  await accept(key);
  await clock.advance(second);
  for (const alertKey of ["a", "b", "c"]) await accept({ ...key, alertKey });
  await accept(over);
  await clock.advance(5 * minute);
  expect(calls.filter(({ context }) => !context.silent).length).toBeLessThan(4);
  expect(calls.at(-1)?.text).toMatch(/Over|over/);
});

it("a digest rings for nothing that was over before its turn came", async () => {
  const { accept, calls, clock, hang } = await start(telegramTo("out", { digestOver: 3 }));
  const answer = hang();
  await accept({ ...key, alertKey: "other" });
  await clock.advance(100);
  for (const alertKey of ["a", "b", "c"]) await accept({ ...key, alertKey });
  await clock.advance(2 * second);
  for (const alertKey of ["a", "b", "c"]) await accept({ ...over, alertKey });
  const answerNext = hang();
  answer({ kind: "sent", ref: "1" });
  await clock.advance(2 * second);
  // The last of these has not ended.
  for (const alertKey of ["a", "b", "c"]) await accept({ ...key, alertKey });
  for (const alertKey of ["a", "b"]) await accept({ ...over, alertKey });
  answerNext({ kind: "sent", ref: "2" });
  await clock.advance(minute);
  expect(calls.map(({ context }) => context.silent)).toEqual([false, true, false]);
  expect(calls[1]?.text).toContain("3 critical, 3 resolved");
});

it("a digest takes along the ends that wait for a retry", async () => {
  const { accept, calls, script, clock, hang } = await start(telegramTo("out", { digestOver: 2 }));
  const at = clock.now();
  script.push(lost, lost, lost);
  for (const alertKey of ["a", "b", "c"]) {
    await accept({ ...over, alertKey });
    await clock.advance(2 * second);
  }
  const answer = hang();
  await accept({ ...key, alertKey: "other" });
  await clock.advance(second);
  for (const alertKey of ["a", "b", "c"]) await accept({ ...key, alertKey }, { receivedAt: at - second });
  answer({ kind: "sent", ref: "1" });
  await clock.advance(5 * minute);
  expect(calls.map(({ context }) => context.silent)).toEqual([true, true, true, false, true]);
});

it("an end to a program is not told behind the next beginning", async () => {
  const { accept, calls, script, clock, isEnd } = await start(webhookTo("out"));
  await accept(key);
  await clock.advance(second);
  script.push(refused, refused);
  await accept(over);
  await clock.settle();
  await accept(key);
  await clock.advance(5 * minute);
  expect(calls.map(isEnd).at(-1)).toBe(false);
});

it("a program whose first call about each of many alerts fails gets all, each end behind its beginning", async () => {
  const { accept, clock, channels } = await start(webhookTo("out", { digestOver: 1_000 }));
  const channel = channels.out as NonNullable<(typeof channels)[string]>;
  const taken = new Map<string, string[]>();
  const called = new Set<string>();
  const answers = [undefined, lost, refused, flood(second)];
  channel.always = async ({ text }) => {
    const title = /Pool (\d+)/.exec(text)?.[0] ?? "";
    await clock.sleep(20);
    const fault = called.has(title) ? undefined : answers[Number(title.slice(5)) % answers.length];
    called.add(title);
    if (fault) return fault;
    taken.set(title, [...(taken.get(title) ?? []), text.includes('"resolved"') ? "over" : "fires"]);
    return { kind: "sent", ref: "1" };
  };
  for (let number = 0; number < 24; number += 1) {
    const facts = { alertKey: `k${number}`, title: `Pool ${number}` };
    await accept(facts);
    await clock.advance(60);
    await accept({ ...facts, status: "resolved" });
    await clock.advance(40);
  }
  await clock.advance(3 * minute);
  expect(taken.size).toBe(24);
  expect(new Set([...taken.values()].map(String))).toEqual(new Set(["fires,over"]));
});
