import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { takeLane } from "../support/lane.ts";
import { ntfyTo, startFixture, stopEngine, telegramTo } from "./engine-fixture.ts";
import { flood, kicked, lost, minute, refused, unauthorized } from "./outcomes.ts";

describe("delivering", () => {
  it("sends an alert to every destination and records each attempt", async () => {
    const { accept, clock, channels, detail } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const id = await accept({ title: "USDC fell" });
    await clock.settle();
    expect(channels.chat?.calls.map((call) => call.text)).toEqual([expect.stringContaining("USDC fell")]);
    expect(channels.hook?.calls).toHaveLength(1);
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
    expect(fixture.channels.chat?.calls).toEqual([]);
    await fixture.clock.advance(5_000);
    expect(fixture.channels.chat?.calls).toHaveLength(1);
  });

  it("retries on the schedule, and counts each attempt", async () => {
    const { accept, clock, channels, detail } = await startFixture([ntfyTo("hook")]);
    const hook = channels.hook as NonNullable<typeof channels.hook>;
    hook.script = [refused, refused, refused];
    const start = clock.now();
    const id = await accept();
    await clock.advance(minute);
    expect(hook.calls.map((call) => call.at - start)).toEqual([0, 1_000, 6_000, 21_000]);
    const [delivery] = (await detail(id)).deliveries;
    expect(delivery?.state).toBe("sent");
    expect(delivery?.attempts.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ["retry", "connect_failed"],
      ["retry", "connect_failed"],
      ["retry", "connect_failed"],
      ["sent", undefined],
    ]);
  });

  it("repeats an ambiguous delivery after 30 s, marked, under the same id, and holds it after two repeats", async () => {
    const { accept, clock, channels, detail } = await startFixture([ntfyTo("hook")]);
    const hook = channels.hook as NonNullable<typeof channels.hook>;
    hook.always = () => lost;
    const start = clock.now();
    const id = await accept();
    await clock.advance(5 * minute);
    expect(hook.calls.map((call) => call.at - start)).toEqual([0, 30_000, 60_000]);
    expect(hook.calls.map((call) => call.text.includes("possible repeat"))).toEqual([false, true, true]);
    expect(hook.calls[1]?.text).toContain(id);
    expect(new Set(hook.calls.map((call) => call.context.deliveryId)).size).toBe(1);
    expect((await detail(id)).deliveries[0]).toMatchObject({
      state: "held",
      reason: expect.stringContaining("3 tries"),
    });
  });

  it("sends plain text once when the rendering is refused, then fails", async () => {
    const { accept, clock, channels, detail } = await startFixture([telegramTo("chat")]);
    const chat = channels.chat as NonNullable<typeof channels.chat>;
    chat.always = () => ({
      kind: "rejected",
      scope: "message",
      reason: "markup_refused",
      detail: "can't parse entities",
    });
    const id = await accept();
    await clock.advance(minute);
    const own = chat.calls.filter(({ text }) => !text.includes("did not reach"));
    expect(own).toHaveLength(2);
    expect((await detail(id)).deliveries[0]).toMatchObject({
      state: "failed",
      reason: "can't parse entities",
    });
  });

  it("leaves other destinations alone while one hangs", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    channels.chat?.script.push(new Promise<Outcome>(() => {}));
    await accept();
    await accept();
    await clock.settle();
    expect(channels.hook?.calls).toHaveLength(2);
    expect(channels.chat?.calls).toHaveLength(1);
  });
});

describe("pacing", () => {
  it("sends to one chat at most once a second and eighteen times a minute", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat", { digestOver: 1000 })]);
    for (let index = 0; index < 30; index += 1) await accept();
    await clock.advance(minute);
    const times = channels.chat?.calls.map((call) => call.at) ?? [];
    expect(times).toHaveLength(18);
    const gaps = times.slice(1).map((at, index) => at - (times[index] as number));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
    await clock.advance(minute);
    expect(channels.chat?.calls).toHaveLength(30);
  });

  it("keeps the pace over a restart", async () => {
    const fixture = await startFixture([telegramTo("chat", { digestOver: 1000 })]);
    for (let index = 0; index < 19; index += 1) await fixture.accept();
    await fixture.clock.advance(40_000);
    expect(fixture.channels.chat?.calls).toHaveLength(18);
    await fixture.restart();
    await fixture.clock.advance(10_000);
    expect(fixture.channels.chat?.calls).toHaveLength(18);
    await fixture.clock.advance(15_000);
    expect(fixture.channels.chat?.calls).toHaveLength(19);
  });

  it("sends nothing to a chat before its retry_after, over a restart, and does not call that an attempt", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = fixture.channels.chat as NonNullable<typeof fixture.channels.chat>;
    chat.script.push(flood(120_500));
    const start = fixture.clock.now();
    const id = await fixture.accept();
    await fixture.clock.settle();
    await fixture.accept();
    await fixture.clock.advance(20_000);
    await fixture.restart();
    await fixture.clock.advance(3 * minute);
    expect(chat.calls).toHaveLength(3);
    expect((chat.calls[1]?.at ?? 0) - start).toBeGreaterThanOrEqual(120_500);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });
});

describe("digests", () => {
  it("sends more than ten waiting as one digest that accounts for each", async () => {
    const { accept, clock, channels, states } = await startFixture([telegramTo("chat")]);
    const ids: string[] = [];
    for (let index = 0; index < 1000; index += 1) ids.push(await accept({ title: `Burst ${index}` }));
    await clock.advance(75_000);
    const texts = channels.chat?.calls.map((call) => call.text) ?? [];
    const counts = texts.map((text) => Number(/\b(\d+) warnings in/.exec(text)?.[1] ?? 1));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1000);
    expect(texts.length).toBeLessThanOrEqual(5);
    const all = await Promise.all(ids.map((id) => states(id)));
    expect(new Set(all.map((state) => state.chat))).toEqual(new Set(["sent", "digested"]));
  });

  it("sends what waited out an outage newest first, with how late and why", async () => {
    const { accept, clock, channels, states } = await startFixture([ntfyTo("hook")]);
    const hook = channels.hook as NonNullable<typeof channels.hook>;
    hook.always = () => refused;
    const ids: string[] = [];
    for (let index = 0; index < 15; index += 1) ids.push(await accept({ title: `Outage ${index}` }));
    await clock.advance(10 * minute);
    hook.always = undefined;
    const before = hook.calls.length;
    await clock.advance(15 * minute);
    const [digest] = hook.calls.slice(before);
    expect(digest?.text).toContain("15 warnings in 1 s");
    expect(digest?.text).toMatch(/late/);
    expect(digest?.text).toContain("16 min late: the ntfy server could not be reached");
    expect((digest?.text.indexOf("Outage 14") ?? -1) < (digest?.text.indexOf("Outage 13") ?? -1)).toBe(true);
    for (const id of ids) expect(await states(id)).toEqual({ hook: "digested" });
  });

  it("repeats an ambiguous digest as the same digest, marked", async () => {
    const { accept, clock, channels } = await startFixture([ntfyTo("hook", { digestOver: 1 })]);
    const hook = channels.hook as NonNullable<typeof channels.hook>;
    let answerFirst = (_outcome: Outcome) => {};
    hook.script.push(new Promise<Outcome>((resolve) => (answerFirst = resolve)), lost);
    await accept();
    await clock.settle();
    for (let index = 0; index < 3; index += 1) await accept();
    answerFirst({ kind: "sent" });
    await clock.advance(2 * minute);
    const digests = hook.calls.filter((call) => /\d warnings in/.test(call.text));
    expect(digests).toHaveLength(2);
    expect(digests[0]?.context.deliveryId).toBe(digests[1]?.context.deliveryId);
    expect(digests.map((call) => call.text.includes("possible repeat"))).toEqual([false, true]);
  });

  it("turns pings that are no longer fresh into a digest", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat")]);
    const chat = channels.chat as NonNullable<typeof channels.chat>;
    chat.script.push(flood(20 * minute));
    for (let index = 0; index < 3; index += 1) await accept({}, { planned: { freshnessMs: 15 * minute } });
    await clock.advance(25 * minute);
    expect(chat.calls).toHaveLength(2);
    expect(chat.calls[1]?.text).toContain("3 warnings in 1 s");
  });
});

describe("updates", () => {
  const key = { alertKey: "usdc-tvl", title: "USDC TVL" };

  it("edits the message for a repeat within a minute, with a count and the last value", async () => {
    const { accept, clock, channels, states } = await startFixture([telegramTo("chat")]);
    await accept({ ...key, value: "4.9" });
    await clock.advance(10_000);
    const second = await accept({ ...key, value: "4.7" });
    await clock.advance(10_000);
    const [first, edit] = channels.chat?.calls ?? [];
    expect(first?.action).toBe("send");
    expect(edit).toMatchObject({ action: "edit", ref: "1" });
    expect(edit?.text).toContain("4.7");
    expect(edit?.text).toContain("2nd time since ");
    expect(await states(second)).toEqual({ chat: "sent" });
  });

  it("answers the first message for a later repeat", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat")]);
    await accept(key);
    await clock.advance(5 * minute);
    await accept(key);
    await clock.advance(1_000);
    expect(channels.chat?.calls[1]).toMatchObject({ action: "send", context: { replyTo: "1" } });
  });

  it("makes no sound for what its route has silent, unless a louder alert is in the message", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat")]);
    const silent = { planned: { extras: { silent: true as const } } };
    await accept({ ...key, severity: "info" }, silent);
    await clock.advance(5_000);
    expect(channels.chat?.calls[0]).toMatchObject({ action: "send", context: { silent: true } });
    channels.chat?.script.push({ kind: "retry", reason: "server_error", detail: "busy" });
    await accept({ alertKey: "loud", severity: "critical" });
    await clock.advance(2_000);
    await accept({ alertKey: "loud", severity: "info" }, silent);
    await clock.advance(60_000);
    const sent = channels.chat?.calls.filter(({ action }) => action === "send").slice(1) ?? [];
    expect(sent.length).toBeGreaterThan(1);
    expect(sent.at(-1)?.context.silent).toBe(false);
  });

  it("never only edits when the severity rises", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat")]);
    await accept(key);
    await clock.advance(5_000);
    await accept({ ...key, severity: "critical" });
    await clock.advance(5_000);
    expect(channels.chat?.calls[1]).toMatchObject({ action: "send", context: { replyTo: "1" } });
  });

  it("edits the first message and answers it when the alert is resolved, and starts anew afterwards", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat")]);
    await accept(key);
    await clock.advance(5 * minute);
    await accept({ ...key, status: "resolved" });
    await clock.advance(5_000);
    const calls = channels.chat?.calls ?? [];
    expect(calls[1]).toMatchObject({ action: "edit", ref: "1" });
    expect(calls[1]?.text).toMatch(/^⚠️ USDC TVL\n✅ Over since .*, after 5 min/);
    expect(calls[2]).toMatchObject({ action: "send", context: { replyTo: "1", silent: true } });
    expect(calls[2]?.text).toBe("✅ Over after 5 min: USDC TVL");
    await clock.advance(5_000);
    await accept(key);
    await clock.advance(5_000);
    expect(calls[3]).toMatchObject({ action: "send", context: { silent: false } });
    expect(calls[3]?.context.replyTo).toBeUndefined();
  });

  it("shows the title that the route gave each of them, in the first message and its edit, and in the answer", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat")]);
    const titled = (title: string) => ({ planned: { extras: { title } } });
    await accept(key, titled("USDC −5.7 %"));
    await clock.advance(5 * minute);
    await accept({ ...key, status: "resolved" }, titled("USDC −0.1 %"));
    await clock.advance(5_000);
    const [first, edit, answer] = channels.chat?.calls ?? [];
    expect(first?.text).toMatch(/^⚠️ USDC −5\.7 %\n/);
    expect(edit?.text).toMatch(/^⚠️ USDC −5\.7 %\n✅ Over since/);
    expect(answer?.text).toBe("✅ Over after 5 min: USDC −0.1 %");
  });

  it("shows the titles of routes in a digest", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat", { digestOver: 3 })]);
    for (const index of Array.from({ length: 6 }).keys())
      await accept({ alertKey: `k${index}` }, { planned: { extras: { title: `Titled ${index}` } } });
    await clock.advance(60_000);
    const text = channels.chat?.calls.map((call) => call.text).join("\n") ?? "";
    expect(text).toContain("in 1 s");
    for (const index of Array.from({ length: 6 }).keys()) expect(text).toContain(`Titled ${index}`);
  });

  it("says in a digest what routes say of those that still fire, and the links that these share", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat")]);
    const planOf = (note: string, ...names: string[]) => {
      const links = names.map((name) => ({ label: name, url: `https://charts.example/${name}` }));
      return {
        planned: {
          ...{ state: "held" as const, dueAt: clock.now() + 2_000, groupName: '["group","all"]' },
          extras: { note, links },
        },
      };
    };
    await accept({ alertKey: "a" }, planOf("Call the risk officer.", "Chart", "Pool"));
    await accept({ alertKey: "b" }, planOf("Call the risk officer.", "Chart", "Bridge"));
    await accept({ alertKey: "c" }, planOf("Ask the bridge's team.", "Chart"));
    await accept({ alertKey: "d" }, planOf("It is over.", "Other"));
    await accept({ alertKey: "d", status: "resolved" }, planOf("It is over.", "Other"));
    await clock.advance(5_000);
    const lines = channels.chat?.calls.flatMap(({ text }) => text.split("\n")) ?? [];
    expect(channels.chat?.calls).toHaveLength(1);
    expect(lines).toContain("Call the risk officer. (2 of 3)");
    expect(lines).toContain("Ask the bridge's team. (1 of 3)");
    expect(lines).toContain("Chart");
    expect(lines.join("\n")).not.toMatch(/Pool|Bridge|It is over|Other/);
  });

  it("says in a digest what did not ring before each of its alerts", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat")]);
    const held = { state: "held" as const, dueAt: clock.now() + 2_000, groupName: '["group","all"]' };
    const worst = { id: "w", at: 0, severity: "warning" as const };
    const damped = { count: 12, sinceAt: 0, worst, lowest: 22.9, highest: 24.1, why: "" };
    await accept({ alertKey: "a", title: "Pool" }, { planned: { ...held, damped } });
    await accept(
      { alertKey: "a", title: "Pool" },
      { planned: { ...held, damped: { ...damped, count: 3, lowest: 21 } } },
    );
    await accept({ alertKey: "b", title: "Other" }, { planned: held });
    await clock.advance(5_000);
    const lines = channels.chat?.calls.flatMap(({ text }) => text.split("\n")) ?? [];
    expect(lines.find((line) => line.includes("Pool"))).toContain("15, from 21 to 24.1, did not ring");
    expect(lines.find((line) => line.includes("Other"))).not.toContain("did not ring");
  });

  it("answers instead when the message cannot be edited", async () => {
    const { accept, clock, channels, states } = await startFixture([telegramTo("chat")]);
    await accept(key);
    await clock.advance(5_000);
    channels.chat?.script.push({
      kind: "rejected",
      scope: "message",
      reason: "edit_target_gone",
      detail: "message to edit not found",
    });
    const id = await accept(key);
    await clock.advance(5_000);
    expect(channels.chat?.calls.map((call) => call.action)).toEqual(["send", "edit", "send"]);
    expect(await states(id)).toEqual({ chat: "sent" });
  });

  it("makes an edit that nobody answered for again, unmarked, since that changes nothing more", async () => {
    const { accept, clock, channels, states } = await startFixture([telegramTo("chat")]);
    await accept(key);
    await clock.advance(5_000);
    channels.chat?.script.push(lost);
    const id = await accept(key);
    await clock.advance(5_000);
    expect(channels.chat?.calls.map(({ action }) => action)).toEqual(["send", "edit", "edit"]);
    expect(channels.chat?.calls[2]?.text).not.toContain("possible repeat");
    expect(await states(id)).toEqual({ chat: "sent" });
  });

  it("shows repeats that waited together by one edit", async () => {
    const { accept, clock, channels, states } = await startFixture([telegramTo("chat")]);
    await accept(key);
    await clock.settle();
    const ids = [await accept(key), await accept(key), await accept({ ...key, value: "9" })];
    await clock.advance(10_000);
    const edits = channels.chat?.calls.filter((call) => call.action === "edit") ?? [];
    expect(edits).toHaveLength(1);
    expect(edits[0]?.text).toContain("9");
    for (const id of ids) expect(await states(id)).toEqual({ chat: "sent" });
  });
});

describe("long messages", () => {
  it("goes on with the part that was refused, not from the start", async () => {
    const { accept, clock, channels, states } = await startFixture([telegramTo("chat", { detail: "full" })]);
    const chat = channels.chat as NonNullable<typeof channels.chat>;
    chat.script.push({ kind: "sent", ref: "11" }, flood(90_500));
    const id = await accept({ text: "word ".repeat(1_800) });
    await clock.advance(4 * minute);
    const texts = chat.calls.map((call) => call.text);
    expect(texts[0]).toMatch(/\[1\/3\]/);
    expect(texts.slice(1).map((text) => /\[(\d)\/3\]/.exec(text)?.[1])).toEqual(["2", "2", "3"]);
    expect(texts[1]).toBe(texts[2]);
    expect(await states(id)).toEqual({ chat: "sent" });
  });
});

describe("destinations that fail", () => {
  it("opens the breaker after five failures, and waiting there is no attempt", async () => {
    const { accept, clock, channels, detail } = await startFixture([ntfyTo("hook")]);
    const hook = channels.hook as NonNullable<typeof channels.hook>;
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
    const { accept, clock, channels, states, engine } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    channels.chat?.script.push(kicked);
    await accept({}, { to: ["chat"] });
    await clock.advance(10_000);
    expect(channels.hook?.calls.map((call) => call.text)).toEqual([expect.stringContaining("chat gets no alerts")]);
    const later = await accept({}, { to: ["chat"] });
    await clock.advance(1_000);
    expect(await states(later)).toEqual({ chat: "waiting" });
    expect(channels.chat?.calls).toHaveLength(1);
    channels.chat?.probes.push({ kind: "sent" });
    await clock.advance(2 * minute);
    expect(engine.statuses()[0]?.own.health).toBe("ok");
    expect(await states(later)).toEqual({ chat: "digested" });
    expect(channels.hook?.calls.at(-1)?.text).toContain("works again");
  });

  it("pauses all destinations of an account whose credentials are refused, and keeps their queue", async () => {
    const { accept, clock, channels, states } = await startFixture([telegramTo("a"), telegramTo("bb"), ntfyTo("hook")]);
    channels.a?.script.push(unauthorized);
    const first = await accept({}, { to: ["a"] });
    await clock.settle();
    const second = await accept({}, { to: ["bb"] });
    await clock.advance(minute);
    expect(channels.bb?.calls).toHaveLength(0);
    expect(channels.hook?.calls[0]?.text).toContain("paused");
    channels.a?.probes.push({ kind: "sent" });
    channels.bb?.probes.push({ kind: "sent" });
    await clock.advance(10 * minute);
    expect(await states(first)).toEqual({ a: "sent" });
    expect(await states(second)).toEqual({ bb: "sent" });
  });

  it("uses the fallback once when the first has been down for the set time, and still delivers to the first later", async () => {
    const { accept, clock, channels, detail } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const chat = channels.chat as NonNullable<typeof channels.chat>;
    chat.always = () => refused;
    const id = await accept({}, { to: ["chat"], planned: { fallback: { to: "hook", at: clock.now() + 2 * minute } } });
    await clock.advance(3 * minute);
    chat.always = undefined;
    await clock.advance(20 * minute);
    const { deliveries } = await detail(id);
    expect(deliveries.map(({ destination, state }) => [destination, state])).toEqual([
      ["chat", "sent"],
      ["hook", "sent"],
    ]);
  });

  it("does not touch the fallback when the first destination delivers", async () => {
    const { accept, clock, channels } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    await accept({}, { to: ["chat"], planned: { fallback: { to: "hook", at: clock.now() + minute } } });
    await clock.advance(10 * minute);
    expect(channels.hook?.calls).toHaveLength(0);
  });

  it("follows a group to its new id at once, and remembers it over a restart", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = fixture.channels.chat as NonNullable<typeof fixture.channels.chat>;
    chat.script.push({
      kind: "retry",
      reason: "address_moved",
      detail: "the group is now -100777",
      movedTo: "-100777",
      waitMs: 0,
    });
    const id = await fixture.accept();
    await fixture.clock.advance(3_000);
    expect(chat.calls.map((call) => call.context.recipient)).toEqual(["-1004", "-100777"]);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
    await fixture.restart();
    await fixture.accept();
    await fixture.clock.advance(3_000);
    expect(chat.calls.at(-1)?.context.recipient).toBe("-100777");
  });
});

describe("stopping and starting again", () => {
  it("records a call that is aborted at the deadline, and repeats it marked after the next start", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = fixture.channels.chat as NonNullable<typeof fixture.channels.chat>;
    chat.script.push(
      (call) =>
        new Promise((resolve) => {
          call.context.signal.addEventListener("abort", () => resolve(lost));
        }),
    );
    const id = await fixture.accept();
    await fixture.clock.settle();
    await fixture.restart();
    await fixture.clock.advance(minute);
    expect(chat.calls).toHaveLength(2);
    expect(chat.calls[1]?.text).toContain("possible repeat");
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });

  it("treats what a killed process was sending as ambiguous", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    await stopEngine(fixture.engine, fixture.clock);
    const id = await fixture.accept();
    const [due] = await fixture.store.listDue("chat", fixture.clock.now(), 10);
    await fixture.store.claimDeliveries(
      await takeLane(fixture.store),
      { token: "of the dead", deliverySeqs: [due?.seq ?? 0], leaseMs: 60_000 },
      [],
    );
    await fixture.restart();
    await fixture.clock.advance(minute);
    const [delivery] = (await fixture.detail(id)).deliveries;
    expect(delivery?.attempts.map(({ outcome, detail }) => [outcome, detail])).toEqual([
      ["ambiguous", "Tocsin was stopped during the call"],
      ["sent", undefined],
    ]);
    expect(fixture.channels.chat?.calls[0]?.text).toContain("possible repeat");
  });

  it("ends deliveries to destinations that are no longer configured, with that reason", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    await stopEngine(fixture.engine, fixture.clock);
    const id = await fixture.accept({}, { planned: { destination: "gone" } });
    await fixture.restart();
    await fixture.clock.settle();
    expect((await fixture.detail(id)).deliveries[0]).toMatchObject({
      state: "failed",
      reason: "this destination is no longer configured",
    });
  });
});
