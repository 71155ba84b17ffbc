import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { takeLane } from "../support/lane.ts";
import { mailTo, ntfyTo, outcomesOf, startFixture, stopEngine, telegramTo } from "./engine-fixture.ts";
import { flood, hour, kicked, lost, minute, refused, second, unauthorized } from "./outcomes.ts";

describe("delivering", () => {
  it("sends an alert to every destination and records each attempt", async () => {
    const { accept, clock, chat, hook, detail } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const id = await accept({ title: "USDC fell" });
    await clock.settle();
    expect(chat.texts).toEqual([expect.stringContaining("USDC fell")]);
    expect(hook.calls).toHaveLength(1);
    const { deliveries } = await detail(id);
    expect(deliveries.map(({ state, attempts }) => [state, attempts.map(({ outcome }) => outcome)])).toEqual([
      ["sent", ["sent"]],
      ["sent", ["sent"]],
    ]);
  });

  it("finds what is due within five seconds when the signal is lost", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    await fixture.clock.settle();
    fixture.hears = false;
    await fixture.accept();
    await fixture.clock.settle();
    expect(fixture.chat.calls).toEqual([]);
    await fixture.clock.advance(5_000);
    expect(fixture.chat.calls).toHaveLength(1);
  });

  it("retries on the schedule, and counts each attempt", async () => {
    const { accept, clock, hook, detail } = await startFixture([ntfyTo("hook")]);
    hook.script = [refused, refused, refused];
    const start = clock.now();
    const id = await accept();
    await clock.advance(minute);
    expect(hook.calls.map((call) => call.at - start)).toEqual([0, 1_000, 6_000, 21_000]);
    const [delivery] = (await detail(id)).deliveries;
    expect(delivery?.state).toBe("sent");
    expect(delivery?.attempts.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ...Array(3).fill(["retry", "connect_failed"]),
      ["sent", undefined],
    ]);
  });

  it("repeats an ambiguous delivery after 30 s, marked, under the same id, and holds it after two repeats", async () => {
    const { accept, clock, hook, detail } = await startFixture([ntfyTo("hook")]);
    hook.always = () => lost;
    const start = clock.now();
    const id = await accept();
    await clock.advance(5 * minute);
    expect(hook.calls.map((call) => call.at - start)).toEqual([0, 30_000, 60_000]);
    expect(hook.repeats).toEqual([false, true, true]);
    expect(hook.texts[1]).toContain(id);
    expect(new Set(hook.calls.map((call) => call.context.deliveryId)).size).toBe(1);
    const held = { state: "held", reason: expect.stringContaining("3 tries") };
    expect((await detail(id)).deliveries).toMatchObject([held]);
  });

  it("sends plain text once when the rendering is refused, then fails", async () => {
    const { accept, clock, chat, detail } = await startFixture([telegramTo("chat")]);
    const detailText = "can't parse entities";
    chat.always = () => ({ kind: "rejected", scope: "message", reason: "markup_refused", detail: detailText });
    const id = await accept();
    await clock.advance(minute);
    expect(chat.texts.filter((text) => !text.includes("did not reach"))).toHaveLength(2);
    expect((await detail(id)).deliveries).toMatchObject([{ state: "failed", reason: detailText }]);
  });

  it("leaves other destinations alone while one hangs", async () => {
    const { accept, clock, chat, hook } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    chat.hang();
    await accept();
    await accept();
    await clock.settle();
    expect([hook.calls.length, chat.calls.length]).toEqual([2, 1]);
  });
});

describe("pacing", () => {
  it("sends to one chat at most once a second and eighteen times a minute, over a restart", async () => {
    const { fixture, accept, clock, chat } = await startFixture([telegramTo("chat", { digestOver: 1000 })]);
    for (let index = 0; index < 19; index += 1) await accept();
    await clock.advance(40_000);
    const times = chat.calls.map((call) => call.at);
    expect(times).toHaveLength(18);
    const gaps = times.slice(1).map((at, index) => at - (times[index] as number));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
    await fixture.restart();
    await clock.advance(10_000);
    expect(chat.calls).toHaveLength(18);
    await clock.advance(15_000);
    expect(chat.calls).toHaveLength(19);
  });

  it("sends nothing to a chat before its retry_after, over a restart, and does not call that an attempt", async () => {
    const { fixture, accept, clock, chat } = await startFixture([telegramTo("chat")]);
    chat.script.push(flood(120_500));
    const start = clock.now();
    const id = await accept();
    await clock.settle();
    await accept();
    await clock.advance(20_000);
    await fixture.restart();
    await clock.advance(3 * minute);
    expect(chat.calls).toHaveLength(3);
    expect((chat.calls[1]?.at ?? 0) - start).toBeGreaterThanOrEqual(120_500);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });
});

describe("digests", () => {
  it("sends more than ten waiting as one digest that accounts for each", async () => {
    const { accept, clock, chat, states } = await startFixture([telegramTo("chat")]);
    const ids: string[] = [];
    for (let index = 0; index < 1000; index += 1) ids.push(await accept({ title: `Burst ${index}` }));
    await clock.advance(75_000);
    const counts = chat.texts.map((text) => Number(/\b(\d+) warnings in/.exec(text)?.[1] ?? 1));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1000);
    expect(counts.length).toBeLessThanOrEqual(5);
    const all = await Promise.all(ids.map((id) => states(id)));
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
    const { accept, clock, hook } = await startFixture([ntfyTo("hook", { digestOver: 1 })]);
    const answerFirst = hook.hang();
    hook.script.push(lost);
    await accept();
    await clock.settle();
    for (let index = 0; index < 3; index += 1) await accept();
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
    const text = chat.texts.join("\n");
    for (const title of [...titles, "in 1 s"]) expect(text).toContain(title);
  });

  it("says what routes say of those that still fire, and the links that these share", async () => {
    const { accept, clock, chat } = await startFixture([telegramTo("chat")]);
    const held = { state: "held" as const, dueAt: clock.now() + 2_000, groupName: '["group","all"]' };
    const planOf = (note: string, ...names: string[]) => {
      const links = names.map((name) => ({ label: name, url: `https://charts.example/${name}` }));
      return { planned: { ...held, extras: { note, links } } };
    };
    await accept({ alertKey: "a" }, planOf("Call the risk officer.", "Chart", "Pool"));
    await accept({ alertKey: "b" }, planOf("Call the risk officer.", "Chart", "Bridge"));
    await accept({ alertKey: "c" }, planOf("Ask the bridge's team.", "Chart"));
    await accept({ alertKey: "d" }, planOf("It is over.", "Other"));
    await accept({ alertKey: "d", status: "resolved" }, planOf("It is over.", "Other"));
    await clock.advance(5_000);
    expect(chat.calls).toHaveLength(1);
    const lines = chat.texts.flatMap((text) => text.split("\n"));
    expect(lines).toContain("Call the risk officer. (2 of 3)");
    expect(lines).toContain("Ask the bridge's team. (1 of 3)");
    expect(lines).toContain("Chart");
    expect(lines.join("\n")).not.toMatch(/Pool|Bridge|It is over|Other/);
  });

  it("are followed by a silent message of what a cause in one of them holds back", async () => {
    const { accept, clock, chat } = await startFixture([telegramTo("chat")]);
    const held = { state: "held" as const, dueAt: clock.now() + 2_000, groupName: '["group","all"]' };
    for (const alertKey of ["bridge", "sequencer"]) await accept({ alertKey }, { planned: held });
    await clock.advance(5_000);
    const extras = { with: { count: 2, titles: ["Pool 1", "Pool 2"] } };
    await accept({ alertKey: "bridge" }, { planned: { updates: "count", extras } });
    await clock.advance(5_000);
    expect(chat.texts).toEqual([expect.anything(), expect.stringContaining("With it: 2 (Pool 1; Pool 2)")]);
    expect(chat.silences).toEqual([false, true]);
  });

  it("are not overtaken by what a cause in one of them holds back", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const { accept, clock, chat, draftOf } = fixture;
    const held = { state: "held" as const, dueAt: clock.now() + 4_000, groupName: '["group","all"]' };
    const extras = { with: { count: 1, titles: ["Pool 1"] } };
    const heldBack = { route: "behind", updates: "count" as const, extras };
    fixture.draftOf = (facts, options) => {
      const cause = draftOf(facts, { ...options, planned: held });
      return { ...cause, deliveries: [...cause.deliveries, ...draftOf(facts, { planned: heldBack }).deliveries] };
    };
    await accept({ title: "Bridge", alertKey: "bridge" });
    await clock.advance(3_000);
    expect(chat.texts).toEqual([]);
    await clock.advance(8_000);
    expect(chat.texts).toEqual([expect.stringContaining("Bridge"), expect.stringContaining("With it: 1 (Pool 1)")]);
  });

  it("says what did not ring before each of its alerts", async () => {
    const { accept, clock, chat } = await startFixture([telegramTo("chat")]);
    const held = { state: "held" as const, dueAt: clock.now() + 2_000, groupName: '["group","all"]' };
    const worst = { id: "w", at: 0, severity: "warning" as const };
    const damped = { count: 12, sinceAt: 0, worst, lowest: 22.9, highest: 24.1, why: "" };
    const pool = { alertKey: "a", title: "Pool" };
    await accept(pool, { planned: { ...held, damped } });
    await accept(pool, { planned: { ...held, damped: { ...damped, count: 3, lowest: 21 } } });
    await accept({ alertKey: "b", title: "Other" }, { planned: held });
    await clock.advance(5_000);
    const lines = chat.texts.flatMap((text) => text.split("\n"));
    expect(lines.find((line) => line.includes("Pool"))).toContain("15, from 21 to 24.1, did not ring");
    expect(lines.find((line) => line.includes("Other"))).not.toContain("did not ring");
  });
});

describe("updates", () => {
  const key = { alertKey: "usdc-tvl", title: "USDC TVL" };

  it("edits the message for a repeat within a minute, with a count and the last value", async () => {
    const { accept, clock, chat, states } = await startFixture([telegramTo("chat")]);
    await accept({ ...key, value: "4.9" });
    await clock.advance(10_000);
    const id = await accept({ ...key, value: "4.7" });
    await clock.advance(10_000);
    expect(chat.calls).toMatchObject([{ action: "send" }, { action: "edit", ref: "1" }]);
    expect(chat.texts[1]).toContain("4.7");
    expect(chat.texts[1]).toContain("2nd time since ");
    expect(await states(id)).toEqual({ chat: "sent" });
  });

  it.each([
    ["a later repeat", 5 * minute, "warning"],
    ["a repeat that is worse, however soon", 5 * second, "critical"],
  ] as const)("answers the first message for %s", async (_what, afterMs, severity) => {
    const { accept, clock, chat } = await startFixture([telegramTo("chat")]);
    await accept(key);
    await clock.advance(afterMs);
    await accept({ ...key, severity });
    await clock.advance(5_000);
    expect(chat.calls[1]).toMatchObject({ action: "send", context: { replyTo: "1" } });
  });

  it("makes no sound for what its route has silent, unless a louder alert is in the message", async () => {
    const { accept, clock, chat } = await startFixture([telegramTo("chat")]);
    const silent = { planned: { extras: { silent: true as const } } };
    await accept({ ...key, severity: "info" }, silent);
    await clock.advance(5_000);
    expect(chat.calls[0]).toMatchObject({ action: "send", context: { silent: true } });
    chat.script.push({ kind: "retry", reason: "server_error", detail: "busy" });
    await accept({ alertKey: "loud", severity: "critical" });
    await clock.advance(2_000);
    await accept({ alertKey: "loud", severity: "info" }, silent);
    await clock.advance(60_000);
    const sent = chat.calls.filter(({ action }) => action === "send").slice(1);
    expect(sent.length).toBeGreaterThan(1);
    expect(sent.at(-1)?.context.silent).toBe(false);
  });

  it("edits the first message and answers it when the alert is resolved, and starts anew afterwards", async () => {
    const { accept, clock, chat } = await startFixture([telegramTo("chat")]);
    await accept(key);
    await clock.advance(5 * minute);
    await accept({ ...key, status: "resolved" });
    await clock.advance(5_000);
    expect(chat.calls[1]).toMatchObject({ action: "edit", ref: "1" });
    expect(chat.texts[1]).toMatch(/^⚠️ USDC TVL\n✅ Over since .*, after 5 min/);
    expect(chat.calls[2]).toMatchObject({ action: "send", context: { replyTo: "1", silent: true } });
    expect(chat.texts[2]).toBe("✅ Over after 5 min: USDC TVL");
    await clock.advance(5_000);
    await accept(key);
    await clock.advance(5_000);
    expect(chat.calls[3]).toMatchObject({ action: "send", context: { silent: false } });
    expect(chat.calls[3]?.context.replyTo).toBeUndefined();
  });

  it("shows the title that the route gave each of them, in the first message and its edit, and in the answer", async () => {
    const { accept, clock, chat } = await startFixture([telegramTo("chat")]);
    const titled = (title: string) => ({ planned: { extras: { title } } });
    await accept(key, titled("USDC −5.7 %"));
    await clock.advance(5 * minute);
    await accept({ ...key, status: "resolved" }, titled("USDC −0.1 %"));
    await clock.advance(5_000);
    expect(chat.texts).toEqual([
      expect.stringMatching(/^⚠️ USDC −5\.7 %\n/),
      expect.stringMatching(/^⚠️ USDC −5\.7 %\n✅ Over since/),
      "✅ Over after 5 min: USDC −0.1 %",
    ]);
  });

  it("answers instead when the message cannot be edited", async () => {
    const { accept, clock, chat, states } = await startFixture([telegramTo("chat")]);
    await accept(key);
    await clock.advance(5_000);
    const detail = "message to edit not found";
    chat.script.push({ kind: "rejected", scope: "message", reason: "edit_target_gone", detail });
    const id = await accept(key);
    await clock.advance(5_000);
    expect(chat.calls.map((call) => call.action)).toEqual(["send", "edit", "send"]);
    expect(await states(id)).toEqual({ chat: "sent" });
  });

  it("makes an edit that nobody answered for again, unmarked, since that changes nothing more", async () => {
    const { accept, clock, chat, states } = await startFixture([telegramTo("chat")]);
    await accept(key);
    await clock.advance(5_000);
    chat.script.push(lost);
    const id = await accept(key);
    await clock.advance(5_000);
    expect(chat.calls.map(({ action }) => action)).toEqual(["send", "edit", "edit"]);
    expect(chat.repeats).toEqual([false, false, false]);
    expect(await states(id)).toEqual({ chat: "sent" });
  });

  it("shows repeats that waited together by one edit", async () => {
    const { accept, clock, chat, states } = await startFixture([telegramTo("chat")]);
    await accept(key);
    await clock.settle();
    const ids = [await accept(key), await accept(key), await accept({ ...key, value: "9" })];
    await clock.advance(10_000);
    expect(chat.calls.map(({ action }) => action)).toEqual(["send", "edit"]);
    expect(chat.texts[1]).toContain("9");
    for (const id of ids) expect(await states(id)).toEqual({ chat: "sent" });
  });

  it("are mails of their own in a mailbox, in one thread, and say how often it fired and how long it lasted", async () => {
    const { accept, clock, mail } = await startFixture([mailTo("mail")]);
    for (const status of ["firing", "firing", "resolved", "firing"] as const) {
      await accept({ alertKey: "k", status });
      await clock.advance(4 * minute);
    }
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
    const { accept, clock, chat, other } = fixture;
    chat.script.push(async () => {
      // Meanwhile the whole bot is asked to wait.
      other.script.push(flood(10 * minute, "account"));
      await accept({}, { to: ["other"] });
      await clock.sleep(100);
      return { kind: "sent", ref: "1" };
    });
    const id = await accept({ text }, { to: ["chat"] });
    await clock.advance(11 * minute);
    expect(partsOf(chat.texts)).toEqual(["1", "2", "3"]);
    expect(await outcomesOf(fixture, id)).toEqual(["sent", "sent", "sent"]);
    expect((chat.calls[1]?.at ?? 0) - (chat.calls[0]?.at ?? 0)).toBeGreaterThanOrEqual(10 * minute);
  });

  it("goes on with the part that was refused, after a restart, for all repeats that it showed together", async () => {
    const { fixture, accept, clock, chat, states } = await startFixture([telegramTo("chat", { detail: "full" })]);
    await stopEngine(fixture.engine, clock);
    const ids = [await accept({ alertKey: "k", text }), await accept({ alertKey: "k", text })];
    chat.script.push({ kind: "sent", ref: "11" }, flood(90_500));
    await fixture.restart();
    await clock.advance(5 * second);
    await fixture.restart();
    await clock.advance(3 * minute);
    expect(partsOf(chat.texts)).toEqual(["1", "2", "2", "3"]);
    expect(chat.texts[1]).toBe(chat.texts[2]);
    for (const id of ids) expect(await states(id)).toEqual({ chat: "sent" });
  });

  it("gives its claim back at a stop between two parts, and the rest follows after the next start", async () => {
    const { fixture, accept, clock, chat, store } = await startFixture([telegramTo("chat", { detail: "full" })]);
    const id = await accept({ text });
    await clock.settle();
    expect(chat.calls).toHaveLength(1);
    await stopEngine(fixture.engine, clock, 100);
    const [waiting] = await store.listDue("chat", clock.now() + minute, 10);
    expect(waiting).toMatchObject({ state: "queued", ambiguous: 0, progress: { refs: ["1"] } });
    await fixture.restart();
    await clock.advance(10 * second);
    expect(partsOf(chat.texts)).toEqual(["1", "2", "3"]);
    expect(await outcomesOf(fixture, id)).toEqual(["sent", "sent", "sent"]);
  });
});

describe("destinations that fail", () => {
  it("opens the breaker after five failures, and waiting there is no attempt", async () => {
    const { accept, clock, hook, detail } = await startFixture([ntfyTo("hook")]);
    hook.always = () => refused;
    const start = clock.now();
    const ids = [await accept(), await accept(), await accept(), await accept(), await accept()];
    await clock.advance(25_000);
    expect(hook.calls.length).toBe(5);
    await clock.advance(10_000);
    expect(hook.calls.length).toBe(6);
    expect((hook.calls[5]?.at ?? 0) - start).toBeGreaterThanOrEqual(30_000);
    const attempts = await Promise.all(ids.map(async (id) => (await detail(id)).deliveries[0]?.attempts.length ?? 0));
    expect(attempts.reduce((sum, count) => sum + count, 0)).toBe(6);
  });

  it("sends a notice of a dead destination on another one within a minute, keeps what comes for it, and says when it is back", async () => {
    const { accept, clock, chat, hook, states, own, meet } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    await meet("chat", kicked);
    expect(hook.texts).toEqual([expect.stringContaining("chat gets no alerts")]);
    const later = await accept({}, { to: ["chat"] });
    await clock.advance(1_000);
    expect(await states(later)).toEqual({ chat: "waiting" });
    expect(chat.calls).toHaveLength(1);
    chat.probes.push({ kind: "sent" });
    await clock.advance(2 * minute);
    expect(own().health).toBe("ok");
    expect(await states(later)).toEqual({ chat: "digested" });
    expect(hook.texts.at(-1)).toContain("works again");
  });

  it("pauses all destinations of an account whose credentials are refused, and keeps their queue", async () => {
    const destinations = [telegramTo("a"), telegramTo("bb"), ntfyTo("hook")];
    const { accept, clock, a, bb, hook, states, meet } = await startFixture(destinations);
    const ofA = await meet("a", unauthorized);
    const ofB = await accept({}, { to: ["bb"] });
    await clock.advance(minute);
    expect(bb.calls).toHaveLength(0);
    expect(hook.texts[0]).toContain("paused");
    a.probes.push({ kind: "sent" });
    bb.probes.push({ kind: "sent" });
    await clock.advance(10 * minute);
    expect([await states(ofA), await states(ofB)]).toEqual([{ a: "sent" }, { bb: "sent" }]);
  });

  it("follows a group to its new id at once, and remembers it over a restart", async () => {
    const { fixture, accept, clock, chat } = await startFixture([telegramTo("chat")]);
    chat.script.push({ kind: "retry", reason: "address_moved", detail: "moved", movedTo: "-100777", waitMs: 0 });
    const id = await accept();
    await clock.advance(3_000);
    expect(chat.calls.map((call) => call.context.recipient)).toEqual(["-1004", "-100777"]);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
    await fixture.restart();
    await accept();
    await clock.advance(3_000);
    expect(chat.calls.at(-1)?.context.recipient).toBe("-100777");
  });
});

describe("stopping and starting again", () => {
  it("records a call that is aborted at the deadline, and repeats it marked after the next start", async () => {
    const { fixture, accept, clock, chat } = await startFixture([telegramTo("chat")]);
    chat.script.push(
      ({ context }) => new Promise((resolve) => context.signal.addEventListener("abort", () => resolve(lost))),
    );
    const id = await accept();
    await clock.settle();
    await fixture.restart();
    await clock.advance(minute);
    expect(chat.repeats).toEqual([false, true]);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });

  it("treats what a killed process was sending as ambiguous", async () => {
    const { fixture, clock, store } = await startFixture([telegramTo("chat")]);
    await stopEngine(fixture.engine, clock);
    const id = await fixture.accept();
    const [due] = await store.listDue("chat", clock.now(), 10);
    const claim = { token: "of the dead", deliverySeqs: [due?.seq ?? 0], leaseMs: 60_000 };
    await store.claimDeliveries(await takeLane(store), claim, []);
    await fixture.restart();
    await clock.advance(minute);
    const [delivery] = (await fixture.detail(id)).deliveries;
    expect(delivery?.attempts.map(({ outcome, detail }) => [outcome, detail])).toEqual([
      ["ambiguous", "Tocsin was stopped during the call"],
      ["sent", undefined],
    ]);
    expect(fixture.chat.repeats).toEqual([true]);
  });

  it("ends deliveries to destinations that are no longer configured, with that reason", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    await stopEngine(fixture.engine, fixture.clock);
    const id = await fixture.accept({}, { planned: { destination: "gone" } });
    await fixture.restart();
    await fixture.clock.settle();
    const failed = { state: "failed", reason: "this destination is no longer configured" };
    expect((await fixture.detail(id)).deliveries).toMatchObject([failed]);
  });

  it("does not wait for ever for a store that refuses", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    fixture.failing.add("recordAttempt").add("saveStatus");
    const id = await fixture.accept();
    await fixture.clock.advance(second);
    await stopEngine(fixture.engine, fixture.clock, 100);
    fixture.failing.clear();
    await fixture.restart();
    await fixture.clock.advance(minute);
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
