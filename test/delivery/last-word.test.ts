import { describe, expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { Outcome } from "../../src/core/delivery.ts";
import { AppError } from "../../src/core/errors.ts";
import { later, mailTo, startFixture, telegramTo, webhookTo } from "./engine-fixture.ts";
import { flood, hour, lost, minute, refused, second } from "./outcomes.ts";

const key = { alertKey: "k", severity: "critical" } as const;
const over = { ...key, status: "resolved" } as const;

const destinations = [
  ["chat", telegramTo("out")],
  ["mailbox", mailTo("out")],
  ["program", webhookTo("out")],
] as const;
const faults: [string, Outcome][] = [
  ["is refused", refused],
  ["gets no answer", lost],
  ["has to wait", flood(20 * second)],
];

/** One destination; routing claims for its lane, as the relay does. */
async function start(destination = telegramTo("out")) {
  const fixture = await startFixture([destination]);
  fixture.routesByEngine = true;
  const isEnd = (text: string) => /Over|"resolved"/.test(text);
  const { out } = fixture;
  return {
    ...fixture,
    /** Of each call, whether it tells an end, and whether it rings for what fires. */
    ends: () => out.texts.map(isEnd),
    rings: () => out.calls.map(({ text, context }) => !isEnd(text) && !context.silent),
  };
}

describe.each(destinations)("to a %s", (kind, destination) => {
  describe.each(faults)("whose first call %s", (_fault, fault) => {
    it.each([0, 500])("tells last that it is over, and rings no more: the end %d ms later", async (gapMs) => {
      const { accept, out, clock, ends, states } = await start(destination);
      out.script.push(fault);
      const fired = await accept(key);
      await clock.advance(gapMs);
      const ended = await accept(over);
      await clock.advance(2 * minute);
      expect(out.calls.length).toBeGreaterThan(1);
      expect(ends().at(-1)).toBe(true);
      const firstEnd = ends().indexOf(true);
      expect(ends().slice(firstEnd)).not.toContain(false);
      expect(out.silences.slice(firstEnd)).not.toContain(false);
      expect([await states(fired), await states(ended)]).toEqual([{ out: "sent" }, { out: "sent" }]);
      if (kind === "program") expect(ends()).toEqual([false, false, true]);
    });
  });

  it("tells the end behind its beginning while that is under way", async () => {
    const { accept, out, clock, ends } = await start(destination);
    const answer = out.hang();
    await accept(key);
    await clock.advance(100);
    await accept(over);
    await accept({ ...key, alertKey: "other" });
    await clock.advance(500);
    expect(ends()).not.toContain(true);
    answer();
    await clock.advance(minute);
    expect(ends()).toContain(true);
  });

  it("sends what came behind the end, though another relay had stored it before", async () => {
    const { accept, out, clock, ends } = await start(destination);
    const at = clock.now();
    out.script.push(refused);
    await accept(key, { receivedAt: at + 50 });
    await clock.advance(100);
    await accept(over, { receivedAt: at });
    await clock.advance(2 * minute);
    expect(ends()).toEqual([false, true, false]);
    expect(out.silences.at(-1)).toBe(false);
  });

  it("rings for nothing that was over before its turn came", async () => {
    const { accept, out, clock, ends } = await start(destination);
    const answer = out.hang();
    await accept({ ...key, alertKey: "other" });
    await clock.advance(100);
    await accept(key);
    await clock.advance(2 * second);
    await accept(over);
    await clock.advance(second);
    answer();
    await clock.advance(minute);
    expect(ends().at(-1)).toBe(true);
    if (kind === "chat") expect(out.silences).toEqual([false, true]);
  });

  it.each([
    ["is answered", []],
    ["gets no answer, and is repeated", [lost]],
  ])(
    "rings for no beginning that comes behind its end, while that could not be told yet: its call %s",
    async (_how, then) => {
      const { accept, out, clock, ends } = await start(destination);
      const at = clock.now();
      out.script.push(flood(20 * second), ...then);
      await accept(over);
      await clock.advance(10 * second);
      // Of a relay that was cut off.
      await accept(key, { receivedAt: at - second });
      await clock.advance(2 * minute);
      expect(ends().at(-1)).toBe(true);
      if (kind !== "program") expect(ends()).not.toContain(false);
    },
  );

  it.each(["before", "behind"])(
    "rings at once for what was stored late %s its end, while quiet hours hold that",
    async (place) => {
      const { accept, out, clock, rings } = await start(destination);
      const at = clock.now();
      const held = { planned: { state: "held", dueAt: at + 8 * hour } } as const;
      const answer = out.hang();
      await accept({ ...key, alertKey: "other" });
      await clock.advance(1_500);
      if (place === "behind") await accept(over, held);
      await accept(key, { receivedAt: at });
      if (place === "before") await accept(over, held);
      answer();
      await clock.advance(second);
      expect(rings()).toEqual([true, true]);
      await clock.advance(2 * minute);
      expect(rings()).toHaveLength(2);
    },
  );

  it("rings for no beginning that comes behind its end, however long that waits for a retry", async () => {
    const { accept, out, clock, ends } = await start(destination);
    const at = clock.now();
    await accept(over, { planned: { dueAt: at + 15 * minute } });
    await clock.advance(second);
    await accept(key, { receivedAt: at - second });
    await clock.advance(minute);
    await clock.jump(14 * minute);
    await clock.advance(minute);
    expect(ends().at(-1)).toBe(true);
    if (kind !== "program") expect([ends(), out.silences]).toEqual([[true], [true]]);
  });

  it("leaves out a beginning that comes behind its end, and says why", async () => {
    const { accept, out, clock, ends, detail } = await start(destination);
    const at = clock.now();
    await accept(over);
    await clock.advance(minute);
    // Of a relay that was cut off: it came before the end, and is stored behind it.
    const late = await accept(key, { receivedAt: at - second });
    await clock.advance(minute);
    expect(ends()).toEqual([true]);
    const why = expect.stringContaining("told before that it is over");
    expect((await detail(late)).deliveries).toMatchObject([{ state: "sent", attempts: [{ detail: why }] }]);
    await accept(key);
    await clock.advance(minute);
    expect(ends()).toEqual([true, false]);
    expect(out.silences.at(-1)).toBe(false);
  });
});

it("rings for nothing that was over while its bot had to wait", async () => {
  const { fixture, accept, clock, a, bb } = await startFixture([telegramTo("a"), telegramTo("bb")]);
  fixture.routesByEngine = true;
  const { promise, settle: load } = later<void>();
  bb.prepare = () => promise;
  await accept(key, { to: ["bb"] });
  await clock.advance(100);
  a.script.push(flood(5 * second, "account"));
  await accept({ ...key, alertKey: "other" }, { to: ["a"] });
  await clock.advance(100);
  bb.prepare = undefined;
  load();
  await clock.advance(2 * second);
  await accept(over, { to: ["bb"] });
  await clock.advance(minute);
  const told = bb.calls.filter(({ context }) => context.threadKey === "k");
  expect(told.map(({ text, context }) => [/Over/.test(text), context.silent])).toEqual([[true, true]]);
});

it("tells what quiet hours held in one digest, though the answer to its claim is lost", async () => {
  const { fixture, accept, clock, store, out } = await startFixture([telegramTo("out")]);
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
  const planned = { state: "held", dueAt: clock.now() + minute } as const;
  for (const alertKey of ["1", "2", "3", "4", "5"]) await accept({ ...key, alertKey }, { planned });
  await clock.advance(2 * minute);
  expect(isLost).toBe(false);
  expect(out.texts).toEqual([expect.stringMatching(/^🌙 While quiet: 5 alerts/)]);
});

it("rings for nothing that was claimed by a commit that hung, where its end was told before that", async () => {
  const { fixture, accept, clock, store, out } = await startFixture([mailTo("out")]);
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
  await accept(over);
  await clock.advance(second);
  hangs = true;
  const firing = accept(key, { receivedAt: at - second });
  await clock.advance(minute);
  await firing;
  expect(out.calls.map(({ text, context }) => [/Over/.test(text), context.silent])).toEqual([[true, true]]);
});

describe("a digest", () => {
  const startOver = (digestOver: number) => start(telegramTo("out", { digestOver }));
  type Scene = Awaited<ReturnType<typeof start>>;
  const acceptEach = async ({ accept }: Scene, facts: Partial<AlertFacts>, keys = ["a", "b", "c"], options = {}) => {
    for (const alertKey of keys) await accept({ ...facts, alertKey }, options);
  };

  it("that tells an end took along what was unsent of its key", async () => {
    const scene = await startOver(2);
    const { accept, out, clock } = scene;
    out.script.push(lost);
    await accept(key);
    await clock.advance(second);
    await acceptEach(scene, key);
    await accept(over);
    await clock.advance(2 * minute);
    expect(out.silences.filter((isSilent) => !isSilent).length).toBeLessThan(4);
    expect(out.texts.at(-1)).toMatch(/Over|over/);
  });

  it("rings for nothing that was over before its turn came", async () => {
    const scene = await startOver(3);
    const { accept, out, clock } = scene;
    const answer = out.hang();
    await accept({ ...key, alertKey: "other" });
    await clock.advance(100);
    await acceptEach(scene, key);
    await clock.advance(2 * second);
    await acceptEach(scene, over);
    const answerNext = out.hang();
    answer();
    await clock.advance(2 * second);
    // The last of these has not ended.
    await acceptEach(scene, key);
    await acceptEach(scene, over, ["a", "b"]);
    answerNext({ kind: "sent", ref: "2" });
    await clock.advance(minute);
    expect(out.silences).toEqual([false, true, false]);
    expect(out.texts[1]).toContain("3 critical, 3 resolved");
  });

  it("takes along the ends that wait for a retry", async () => {
    const scene = await startOver(2);
    const { accept, out, clock } = scene;
    const at = clock.now();
    out.script.push(lost, lost, lost);
    for (const alertKey of ["a", "b", "c"]) {
      await accept({ ...over, alertKey });
      await clock.advance(2 * second);
    }
    const answer = out.hang();
    await accept({ ...key, alertKey: "other" });
    await clock.advance(second);
    await acceptEach(scene, key, undefined, { receivedAt: at - second });
    answer();
    await clock.advance(2 * minute);
    expect(out.silences).toEqual([true, true, true, false, true]);
  });
});

it("an end to a program is not told behind the next beginning", async () => {
  const { accept, out, clock, ends } = await start(webhookTo("out"));
  await accept(key);
  await clock.advance(second);
  out.script.push(refused, refused);
  await accept(over);
  await clock.settle();
  await accept(key);
  await clock.advance(2 * minute);
  expect(ends().at(-1)).toBe(false);
});

it("a program whose first call about each of many alerts fails gets all, each end behind its beginning", async () => {
  const { accept, clock, out } = await start(webhookTo("out", { digestOver: 1_000 }));
  const taken = new Map<string, string[]>();
  const called = new Set<string>();
  const answers = [undefined, lost, refused, flood(second)];
  out.always = async ({ text }) => {
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
