import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import type { PlannedDelivery } from "../../src/core/rules.ts";
import { mailTo, ntfyTo, outcomesOf, type Step, startFixture, stopEngine, telegramTo } from "./engine-fixture.ts";
import { flood, hour, kicked, lost, minute, refused, second, unauthorized } from "./outcomes.ts";

describe("delivering", () => {
  it("sends an alert to every destination and records each attempt", async () => {
    const { chat, hook, detail, play } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const [id = ""] = await play({ title: "USDC fell" }, 0);
    expect(chat.texts).toEqual([expect.stringContaining("USDC fell")]);
    expect(hook.calls).toHaveLength(1);
    const sent = { state: "sent", attempts: [{ outcome: "sent" }] };
    expect((await detail(id)).deliveries).toMatchObject([sent, sent]);
  });

  it("finds what is due within five seconds when the signal is lost", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    await fixture.clock.settle();
    fixture.hears = false;
    await fixture.play({}, 0);
    expect(fixture.chat.calls).toEqual([]);
    await fixture.clock.advance(5_000);
    expect(fixture.chat.calls).toHaveLength(1);
  });

  it("retries on the schedule, and counts each attempt", async () => {
    const { clock, hook, detail, play } = await startFixture([ntfyTo("hook")]);
    hook.script = [refused, refused, refused];
    const start = clock.now();
    const [id = ""] = await play({}, minute);
    expect(hook.calls.map((call) => call.at - start)).toEqual([0, 1_000, 6_000, 21_000]);
    const [delivery] = (await detail(id)).deliveries;
    expect(delivery?.state).toBe("sent");
    expect(delivery?.attempts.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ...Array(3).fill(["retry", "connect_failed"]),
      ["sent", undefined],
    ]);
  });

  it("repeats an ambiguous delivery after 30 s, marked, under the same id, and holds it after two repeats", async () => {
    const { clock, hook, detail, play } = await startFixture([ntfyTo("hook")]);
    hook.always = () => lost;
    const start = clock.now();
    const [id = ""] = await play({}, 5 * minute);
    expect(hook.calls.map((call) => call.at - start)).toEqual([0, 30_000, 60_000]);
    expect(hook.repeats).toEqual([false, true, true]);
    expect(hook.texts[1]).toContain(id);
    expect(new Set(hook.calls.map((call) => call.context.deliveryId)).size).toBe(1);
    const held = { state: "held", reason: expect.stringContaining("3 tries") };
    expect((await detail(id)).deliveries).toMatchObject([held]);
  });

  it("sends plain text once when the rendering is refused, then fails", async () => {
    const { chat, detail, play } = await startFixture([telegramTo("chat")]);
    const detailText = "can't parse entities";
    chat.always = () => ({ kind: "rejected", scope: "message", reason: "markup_refused", detail: detailText });
    const [id = ""] = await play({}, minute);
    expect(chat.texts.filter((text) => !text.includes("did not reach"))).toHaveLength(2);
    expect((await detail(id)).deliveries).toMatchObject([{ state: "failed", reason: detailText }]);
  });
});

describe("pacing", () => {
  it("sends to one chat at most once a second and eighteen times a minute, over a restart", async () => {
    const { acceptMany, clock, chat, play } = await startFixture([telegramTo("chat", { digestOver: 1000 })]);
    await acceptMany(19);
    await clock.advance(40_000);
    const times = chat.calls.map((call) => call.at);
    expect(times).toHaveLength(18);
    const gaps = times.slice(1).map((at, index) => at - (times[index] as number));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
    await play("restart", 10_000);
    expect(chat.calls).toHaveLength(18);
    await clock.advance(15_000);
    expect(chat.calls).toHaveLength(19);
  });

  it("sends nothing to a chat before its retry_after, over a restart, and does not call that an attempt", async () => {
    const { fixture, clock, chat, play } = await startFixture([telegramTo("chat")]);
    chat.script.push(flood(120_500));
    const start = clock.now();
    const [id = ""] = await play({}, 0, {}, 20_000, "restart", 3 * minute);
    expect(chat.calls).toHaveLength(3);
    expect((chat.calls[1]?.at ?? 0) - start).toBeGreaterThanOrEqual(120_500);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });
});

describe("digests", () => {
  it("sends more than ten waiting as one digest that accounts for each", async () => {
    const { acceptMany, clock, chat, states } = await startFixture([telegramTo("chat")]);
    const ids = await acceptMany(1000);
    await clock.advance(75_000);
    const counts = chat.texts.map((text) => Number(/\b(\d+) warnings in/.exec(text)?.[1] ?? 1));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1000);
    expect(counts.length).toBeLessThanOrEqual(5);
    const all = await Promise.all(ids.map(states));
    expect(new Set(all.map((state) => state.chat))).toEqual(new Set(["sent", "digested"]));
  });

  it("sends what waited out an outage newest first, with how late and why", async () => {
    const { accept, clock, hook, states } = await startFixture([ntfyTo("hook")]);
    hook.always = () => refused;
    const ids: string[] = [];
    for (let index = 0; index < 15; index += 1) ids.push(await accept({ title: `Outage ${index}` }));
    await clock.advance(10 * minute);
    hook.always = undefined;
    const before = hook.calls.length;
    await clock.advance(15 * minute);
    const digest = hook.texts[before] ?? "";
    expect(digest).toContain("15 warnings in 1 s");
    expect(digest).toContain("16 min late: the ntfy server could not be reached");
    expect(digest.indexOf("Outage 14")).toBeGreaterThan(0);
    expect(digest.indexOf("Outage 13")).toBeGreaterThan(digest.indexOf("Outage 14"));
    for (const id of ids) expect(await states(id)).toEqual({ hook: "digested" });
  });

  it("repeats an ambiguous digest as the same digest, marked", async () => {
    const { acceptMany, clock, hook, play } = await startFixture([ntfyTo("hook", { digestOver: 1 })]);
    const answerFirst = hook.hang();
    await play(lost, {}, 0);
    await acceptMany(3);
    answerFirst();
    await clock.advance(2 * minute);
    const digests = hook.calls.filter((call) => /\d warnings in/.test(call.text));
    expect(digests.map((call) => call.text.includes("possible repeat"))).toEqual([false, true]);
    expect(digests[0]?.context.deliveryId).toBe(digests[1]?.context.deliveryId);
  });

  it("shows the titles of routes", async () => {
    const { accept, clock, chat } = await startFixture([telegramTo("chat", { digestOver: 3 })]);
    const titles = Array.from({ length: 6 }, (_, index) => `Titled ${index}`);
    for (const title of titles) await accept({ alertKey: title }, { planned: { extras: { title } } });
    await clock.advance(60_000);
    for (const title of [...titles, "in 1 s"]) expect(chat.texts.join("\n")).toContain(title);
  });

  /** How an alert is planned that waits with others of its group. */
  const grouped = (planned: Partial<PlannedDelivery> = {}, heldForMs = 2 * second) => {
    return { heldForMs, planned: { groupName: '["group","all"]', ...planned } };
  };

  it("says what routes say of those that still fire, and the links that these share", async () => {
    const { play, chat } = await startFixture([telegramTo("chat")]);
    const saying = (note: string, ...names: string[]) => {
      const links = names.map((name) => ({ label: name, url: `https://charts.example/${name}` }));
      return grouped({ extras: { note, links } });
    };
    await play(
      [{ alertKey: "a" }, saying("Call the risk officer.", "Chart", "Pool")],
      [{ alertKey: "b" }, saying("Call the risk officer.", "Chart", "Bridge")],
      [{ alertKey: "c" }, saying("Ask the bridge's team.", "Chart")],
      [{ alertKey: "d" }, saying("It is over.", "Other")],
      [{ alertKey: "d", status: "resolved" }, saying("It is over.", "Other")],
      5 * second,
    );
    expect(chat.calls).toHaveLength(1);
    const lines = chat.texts[0]?.split("\n") ?? [];
    for (const line of ["Call the risk officer. (2 of 3)", "Ask the bridge's team. (1 of 3)", "Chart"])
      expect(lines).toContain(line);
    expect(lines.join("\n")).not.toMatch(/Pool|Bridge|It is over|Other/);
  });

  it("are followed by a silent message of what a cause in one of them holds back", async () => {
    const { play, chat } = await startFixture([telegramTo("chat")]);
    const extras = { with: { count: 2, titles: ["Pool 1", "Pool 2"] } };
    await play([{ alertKey: "bridge" }, grouped()], [{ alertKey: "sequencer" }, grouped()], 5 * second);
    await play([{ alertKey: "bridge" }, { planned: { updates: "count", extras } }], 5 * second);
    expect(chat.texts).toEqual([expect.anything(), expect.stringContaining("With it: 2 (Pool 1; Pool 2)")]);
    expect(chat.silences).toEqual([false, true]);
  });

  it("are not overtaken by what a cause in one of them holds back", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const { clock, chat, draftOf, play } = fixture;
    const extras = { with: { count: 1, titles: ["Pool 1"] } };
    const heldBack = { route: "behind", updates: "count" as const, extras };
    fixture.draftOf = (facts, options) => {
      const cause = draftOf(facts, { ...options, ...grouped({}, 4 * second) });
      return { ...cause, deliveries: [...cause.deliveries, ...draftOf(facts, { planned: heldBack }).deliveries] };
    };
    await play({ title: "Bridge", alertKey: "bridge" }, 3_000);
    expect(chat.texts).toEqual([]);
    await clock.advance(8_000);
    expect(chat.texts).toEqual([expect.stringContaining("Bridge"), expect.stringContaining("With it: 1 (Pool 1)")]);
  });

  it("says what did not ring before each of its alerts", async () => {
    const { play, chat } = await startFixture([telegramTo("chat")]);
    const worst = { id: "w", at: 0, severity: "warning" as const };
    const damped = { count: 12, sinceAt: 0, worst, lowest: 22.9, highest: 24.1, why: "" };
    const pool = { alertKey: "a", title: "Pool" };
    await play([pool, grouped({ damped })], [pool, grouped({ damped: { ...damped, count: 3, lowest: 21 } })]);
    await play([{ alertKey: "b", title: "Other" }, grouped()], 5 * second);
    const lines = chat.texts.flatMap((text) => text.split("\n"));
    expect(lines.find((line) => line.includes("Pool"))).toContain("15, from 21 to 24.1, did not ring");
    expect(lines.find((line) => line.includes("Other"))).not.toContain("did not ring");
  });
});

const key = { alertKey: "k", title: "USDC TVL" };
const over = { ...key, status: "resolved" } as const;
const silently = { planned: { extras: { silent: true as const } } };
const titled = (title: string) => ({ planned: { extras: { title } } });
const gone: Outcome = { kind: "rejected", scope: "message", reason: "edit_target_gone", detail: "not found" };
const busy: Outcome = { kind: "retry", reason: "server_error", detail: "busy" };

describe("updates", () => {
  it.each<[string, Step[], string[], (RegExp | string)[]?]>([
    [
      "edit the message for a repeat within a minute, with a count and the last value",
      [{ ...key, value: "4.9" }, 10 * second, { ...key, value: "4.7" }],
      ["send", "edit 1"],
      [/4\.9/, /4\.7[\s\S]*2nd time since /],
    ],
    ["answer the first message for a later repeat", [key, 5 * minute, key], ["send", "answer 1"]],
    [
      "answer it for a worse one, however soon",
      [key, 5 * second, { ...key, severity: "critical" }],
      ["send", "answer 1"],
    ],
    ["make no sound for what its route has silent", [[{ ...key, severity: "info" }, silently]], ["send silent"]],
    [
      "make one where a louder alert is in the message",
      [busy, { ...key, severity: "critical" }, 200, [{ ...key, severity: "info" }, silently]],
      ["send", "send"],
    ],
    [
      "edit the first message and answer it when the alert is resolved, and start anew afterwards",
      [key, 5 * minute, over, 10 * second, key],
      ["send", "edit 1 silent", "answer 1 silent", "send"],
      [/^⚠️ USDC TVL\n/, /^⚠️ USDC TVL\n✅ Over since .*, after 5 min/, "✅ Over after 5 min: USDC TVL", /^⚠️/],
    ],
    [
      "show the title that the route gave each of them, in the first message and its edit, and in the answer",
      [[key, titled("USDC −5.7 %")], 5 * minute, [over, titled("USDC −0.1 %")]],
      ["send", "edit 1 silent", "answer 1 silent"],
      [/^⚠️ USDC −5\.7 %\n/, /^⚠️ USDC −5\.7 %\n✅ Over since/, "✅ Over after 5 min: USDC −0.1 %"],
    ],
    ["answer instead when the message cannot be edited", [key, 5 * second, gone, key], ["send", "edit 1", "answer 1"]],
    [
      "repeat an edit that nobody answered for, unmarked, since that changes nothing more",
      [key, 5 * second, lost, key],
      ["send", "edit 1", "edit 1"],
    ],
    [
      "show repeats that waited together by one edit",
      [key, 0, key, key, { ...key, value: "9" }],
      ["send", "edit 1"],
      [/^/, /9/],
    ],
  ])("%s", async (_what, steps, did, texts = []) => {
    const { play, chat, states } = await startFixture([telegramTo("chat")]);
    const ids = await play(...steps, 10 * second);
    expect(chat.did).toEqual(did);
    for (const [index, text] of texts.entries()) expect(chat.texts[index]).toEqual(expect.stringMatching(text));
    for (const id of ids) expect(await states(id)).toEqual({ chat: "sent" });
  });

  it("are mails of their own in a mailbox, in one thread, and say how often it fired and how long it lasted", async () => {
    const { play, mail } = await startFixture([mailTo("mail")]);
    const untitled = { alertKey: "k" };
    const pause = 4 * minute;
    await play(untitled, pause, untitled, pause, { ...untitled, status: "resolved" }, pause, untitled, pause);
    expect(mail.calls.map(({ action, context }) => `${action} ${context.threadKey}`)).toEqual(Array(4).fill("send k"));
    expect(mail.texts[1]).toContain("2nd time since");
    expect(mail.texts[2]).toContain("[Over after 8 min] Alert 3");
    expect(mail.texts[3]).not.toContain("time since");
  });
});

describe("a message of several parts", () => {
  const text = "word ".repeat(1_800);
  const partsOf = (texts: string[]) => texts.map((part) => /\[(\d)\/3\]/.exec(part)?.[1]);

  it("is sent once, though its chat has to wait between two parts for longer than a lease", async () => {
    const fixture = await startFixture([telegramTo("chat", { detail: "full" }), telegramTo("other")]);
    const { accept, clock, chat, other, play } = fixture;
    chat.script.push(async () => {
      // Meanwhile the whole bot is asked to wait.
      other.script.push(flood(10 * minute, "account"));
      await accept({}, { to: ["other"] });
      await clock.sleep(100);
      return { kind: "sent", ref: "1" };
    });
    const [id = ""] = await play([{ text }, { to: ["chat"] }], 11 * minute);
    expect(partsOf(chat.texts)).toEqual(["1", "2", "3"]);
    expect(await outcomesOf(fixture, id)).toEqual(["sent", "sent", "sent"]);
    expect((chat.calls[1]?.at ?? 0) - (chat.calls[0]?.at ?? 0)).toBeGreaterThanOrEqual(10 * minute);
  });

  it("goes on with the part that was refused, after a restart, for all repeats that it showed together", async () => {
    const { fixture, accept, clock, chat, states, play } = await startFixture([telegramTo("chat", { detail: "full" })]);
    await stopEngine(fixture.engine, clock);
    const ids = [await accept({ alertKey: "k", text }), await accept({ alertKey: "k", text })];
    await play({ kind: "sent", ref: "11" }, flood(90_500), "restart", 5 * second, "restart", 3 * minute);
    expect(partsOf(chat.texts)).toEqual(["1", "2", "2", "3"]);
    expect(chat.texts[1]).toBe(chat.texts[2]);
    for (const id of ids) expect(await states(id)).toEqual({ chat: "sent" });
  });

  it("gives its claim back at a stop between two parts, and the rest follows after the next start", async () => {
    const { fixture, clock, chat, store, play } = await startFixture([telegramTo("chat", { detail: "full" })]);
    const [id = ""] = await play({ text }, 0);
    expect(chat.calls).toHaveLength(1);
    await stopEngine(fixture.engine, clock, 100);
    const [waiting] = await store.listDue("chat", clock.now() + minute, 10);
    expect(waiting).toMatchObject({ state: "queued", ambiguous: 0, progress: { refs: ["1"] } });
    await play("restart", 10 * second);
    expect(partsOf(chat.texts)).toEqual(["1", "2", "3"]);
    expect(await outcomesOf(fixture, id)).toEqual(["sent", "sent", "sent"]);
  });
});

describe("destinations that fail", () => {
  it("opens the breaker after five failures, and waiting there is no attempt", async () => {
    const { acceptMany, clock, hook, detail } = await startFixture([ntfyTo("hook")]);
    hook.always = () => refused;
    const start = clock.now();
    const ids = await acceptMany(5);
    await clock.advance(25_000);
    expect(hook.calls.length).toBe(5);
    await clock.advance(10_000);
    expect(hook.calls.length).toBe(6);
    expect((hook.calls[5]?.at ?? 0) - start).toBeGreaterThanOrEqual(30_000);
    const attempts = await Promise.all(ids.map(async (id) => (await detail(id)).deliveries[0]?.attempts.length ?? 0));
    expect(attempts.reduce((sum, count) => sum + count, 0)).toBe(6);
  });

  it("pauses all destinations of an account whose credentials are refused, and keeps their queue", async () => {
    const destinations = [telegramTo("a"), telegramTo("bb"), ntfyTo("hook")];
    const { clock, a, bb, hook, states, meet, play } = await startFixture(destinations);
    const ofA = await meet("a", unauthorized);
    const [ofB = ""] = await play([{}, { to: ["bb"] }], minute);
    expect(bb.calls).toHaveLength(0);
    expect(hook.texts[0]).toContain("paused");
    a.probes.push({ kind: "sent" });
    bb.probes.push({ kind: "sent" });
    await clock.advance(10 * minute);
    expect([await states(ofA), await states(ofB)]).toEqual([{ a: "sent" }, { bb: "sent" }]);
  });

  it("follows a group to its new id at once, and remembers it over a restart", async () => {
    const { fixture, chat, play } = await startFixture([telegramTo("chat")]);
    chat.script.push({ kind: "retry", reason: "address_moved", detail: "moved", movedTo: "-100777", waitMs: 0 });
    const [id = ""] = await play({}, 3_000);
    expect(chat.calls.map((call) => call.context.recipient)).toEqual(["-1004", "-100777"]);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
    await play("restart", {}, 3_000);
    expect(chat.calls.at(-1)?.context.recipient).toBe("-100777");
  });
});

describe("stopping and starting again", () => {
  it("records a call that is aborted at the deadline, and repeats it marked after the next start", async () => {
    const { fixture, chat, play } = await startFixture([telegramTo("chat")]);
    chat.script.push(
      ({ context }) => new Promise((resolve) => context.signal.addEventListener("abort", () => resolve(lost))),
    );
    const [id = ""] = await play({}, 0, "restart", minute);
    expect(chat.repeats).toEqual([false, true]);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });

  it("does not wait for ever for a store that refuses", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    fixture.failing.add("recordAttempt").add("saveStatus");
    const [id = ""] = await fixture.play({}, second);
    await stopEngine(fixture.engine, fixture.clock, 100);
    fixture.failing.clear();
    await fixture.play("restart", minute);
    expect(await outcomesOf(fixture, id)).toEqual(["ambiguous", "sent"]);
  });

  it("does not wait for a probe", async () => {
    const { clock, chat, engine, meet } = await startFixture([telegramTo("chat")]);
    await meet("chat", kicked);
    chat.probe = (_recipient, signal) =>
      new Promise<Outcome>((resolve) => signal.addEventListener("abort", () => resolve(refused)));
    await clock.jump(25 * hour);
    const before = clock.now();
    await stopEngine(engine, clock, 20 * second);
    expect(clock.now() - before).toBeLessThanOrEqual(second);
  });
});
