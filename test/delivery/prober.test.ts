import { describe, expect, it } from "vitest";
import { ntfyTo, startFixture, telegramTo } from "./engine-fixture.ts";
import { flood, hour, kicked, minute, refused, second, unauthorized } from "./outcomes.ts";

const sent = { kind: "sent" } as const;
const startChat = () => startFixture([telegramTo("chat")]);

describe("trying a destination now", () => {
  it("revives a dead one at once, without a message", async () => {
    const { chat, engine, own, meet } = await startChat();
    await meet("chat", kicked);
    chat.probes.push(sent);
    expect(await engine.tryNow("chat")).toEqual({ kind: "probed", outcome: sent });
    expect(own().health).toBe("ok");
    expect(chat.calls).toHaveLength(1);
  });

  it("says why it is still dead, and counts the time until the next try anew", async () => {
    const { chat, clock, engine, own, meet } = await startChat();
    await meet("chat", kicked);
    await clock.jump(2 * hour);
    const again = { ...kicked, detail: "no right to write" };
    chat.probes.push(again);
    expect(await engine.tryNow("chat")).toEqual({ kind: "probed", outcome: again });
    const probeAt = clock.now() + 15 * minute;
    expect(own()).toMatchObject({ health: "dead", reason: "no right to write", probeAt });
  });

  it("lets what waited for a paused account go out at once", async () => {
    const { chat, clock, engine, states, meet } = await startChat();
    const id = await meet("chat", unauthorized);
    expect(await states(id)).toEqual({ chat: "waiting" });
    chat.probes.push(sent);
    await engine.tryNow("chat");
    await clock.advance(2 * second);
    expect(await states(id)).toEqual({ chat: "sent" });
  });

  it("tries the next message at once where the breaker was open and it answers", async () => {
    const { acceptMany, hook, clock, engine, own } = await startFixture([ntfyTo("hook")]);
    hook.script = new Array(8).fill(refused);
    await acceptMany(8);
    for (let passed = 0; own().health !== "down" && passed < 60; passed += 1) await clock.advance(second);
    const calls = hook.calls.length;
    hook.script = [];
    await engine.tryNow("hook");
    await clock.advance(second);
    expect(hook.calls).toHaveLength(calls);
    hook.probes.push(sent);
    await engine.tryNow("hook");
    await clock.advance(second);
    expect(hook.calls.length).toBeGreaterThan(calls);
    expect(own().health).toBe("ok");
  });

  it("does not call a chat that has asked for silence, and says so", async () => {
    const { chat, engine, meet } = await startChat();
    await meet("chat", flood(10 * minute));
    chat.probes.push(sent);
    expect(await engine.tryNow("chat")).toMatchObject({ kind: "parked", why: "asked to wait" });
    expect(chat.probes).toHaveLength(1);
  });

  it("keeps the silence that a probe was answered with, over a restart", async () => {
    const fixture = await startChat();
    fixture.chat.probes.push(flood(10 * minute), sent);
    await fixture.engine.tryNow("chat");
    await fixture.restart();
    expect(await fixture.engine.tryNow("chat")).toMatchObject({ kind: "parked" });
    expect(fixture.chat.probes).toHaveLength(1);
  });

  it("makes one call for all who ask at a time, and none for an unknown name", async () => {
    const { chat, engine } = await startChat();
    chat.probes.push(sent, sent);
    await Promise.all([engine.tryNow("chat"), engine.tryNow("chat")]);
    expect(chat.probes).toHaveLength(1);
    expect(await engine.tryNow("nowhere")).toBeUndefined();
  });

  it("follows a group that was upgraded meanwhile", async () => {
    const { chat, engine, own } = await startChat();
    chat.probes.push({ kind: "retry", reason: "address_moved", detail: "upgraded", movedTo: "-100999" }, sent);
    expect(await engine.tryNow("chat")).toEqual({ kind: "probed", outcome: sent });
    expect(own().moved).toMatchObject({ to: "-100999" });
  });
});

describe("what a person asks for", () => {
  it("is tried once at a paused account, and fails with what the account says", async () => {
    const { chat, detail, states, meet, play } = await startChat();
    const waiting = await meet("chat", unauthorized);
    chat.always = () => unauthorized;
    const [id = ""] = await play([{}, { purpose: "test" }], minute);
    expect(chat.calls).toHaveLength(2);
    expect((await detail(id)).deliveries).toMatchObject([{ state: "failed", reason: "token refused" }]);
    expect(await states(waiting)).toEqual({ chat: "waiting" });
  });

  it("is tried at a dead destination, marked, and revives it for what waited", async () => {
    const { play, chat, own } = await startChat();
    await play(kicked, {}, 5 * second);
    expect(own().health).toBe("dead");
    await play([{ title: "once more" }, { purpose: "resend" }], 5 * second);
    expect(chat.calls.map(({ action }) => action)).toEqual(["send", "send", "send"]);
    expect(chat.texts[1]).toMatch(/once more[\s\S]*resent/i);
    expect(chat.texts[2]).toContain("Alert 1");
    expect(own().health).toBe("ok");
  });

  it("is tried while the breaker is open", async () => {
    const { acceptMany, hook, clock, own, states, play } = await startFixture([ntfyTo("hook")]);
    hook.script = new Array(5).fill(refused);
    await acceptMany(5);
    await clock.advance(10 * second);
    expect(own().health).toBe("down");
    const [id = ""] = await play([{}, { purpose: "resend" }], 2 * second);
    expect(await states(id)).toEqual({ hook: "sent" });
    expect(own().health).toBe("ok");
  });
});
