import { describe, expect, it } from "vitest";
import { channelOf, ntfyTo, startFixture, telegramTo } from "./engine-fixture.ts";
import { flood, hour, kicked, minute, refused, second, unauthorized } from "./outcomes.ts";

const sent = { kind: "sent" } as const;

describe("trying a destination now", () => {
  it("revives a dead one at once, without a message", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(kicked);
    await fixture.accept();
    await fixture.clock.advance(5 * second);
    chat.probes.push(sent);
    expect(await fixture.engine.tryNow("chat")).toEqual({ kind: "probed", outcome: sent });
    expect(fixture.engine.statuses()[0]?.own.health).toBe("ok");
    expect(chat.calls).toHaveLength(1);
  });

  it("says why it is still dead, and counts the time until the next try anew", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(kicked);
    await fixture.accept();
    await fixture.clock.advance(2 * hour);
    const again = { ...kicked, detail: "no right to write" };
    chat.probes.push(again);
    expect(await fixture.engine.tryNow("chat")).toEqual({ kind: "probed", outcome: again });
    expect(fixture.engine.statuses()[0]?.own).toMatchObject({
      health: "dead",
      reason: "no right to write",
      probeAt: fixture.clock.now() + 15 * minute,
    });
  });

  it("lets what waited for a paused account go out at once", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(unauthorized);
    const id = await fixture.accept();
    await fixture.clock.advance(minute);
    expect(await fixture.states(id)).toEqual({ chat: "waiting" });
    chat.probes.push(sent);
    await fixture.engine.tryNow("chat");
    await fixture.clock.advance(2 * second);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });

  it("tries the next message at once where the breaker was open and it answers", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    const hook = channelOf(fixture, "hook");
    hook.script = new Array(8).fill(refused);
    for (let alert = 0; alert < 8; alert += 1) await fixture.accept();
    for (let passed = 0; fixture.engine.statuses()[0]?.own.health !== "down" && passed < 60; passed += 1)
      await fixture.clock.advance(second);
    const calls = hook.calls.length;
    hook.script = [];
    await fixture.engine.tryNow("hook");
    await fixture.clock.advance(second);
    expect(hook.calls).toHaveLength(calls);
    hook.probes.push(sent);
    await fixture.engine.tryNow("hook");
    await fixture.clock.advance(second);
    expect(hook.calls.length).toBeGreaterThan(calls);
    expect(fixture.engine.statuses()[0]?.own.health).toBe("ok");
  });

  it("does not call a chat that has asked for silence, and says until when", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(flood(10 * minute));
    await fixture.accept();
    await fixture.clock.advance(minute);
    chat.probes.push(sent);
    expect(await fixture.engine.tryNow("chat")).toMatchObject({
      kind: "parked",
      why: "asked to wait",
    });
    expect(chat.probes).toHaveLength(1);
  });

  it("keeps the silence that a probe was answered with, over a restart", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.probes.push(flood(10 * minute), sent);
    await fixture.engine.tryNow("chat");
    await fixture.restart();
    expect(await fixture.engine.tryNow("chat")).toMatchObject({ kind: "parked" });
    expect(chat.probes).toHaveLength(1);
  });

  it("makes one call for all who ask at a time, and none for an unknown name", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.probes.push(sent, sent);
    await Promise.all([fixture.engine.tryNow("chat"), fixture.engine.tryNow("chat")]);
    expect(chat.probes).toHaveLength(1);
    expect(await fixture.engine.tryNow("nowhere")).toBeUndefined();
  });

  it("follows a group that was upgraded meanwhile", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.probes.push({ kind: "retry", reason: "address_moved", detail: "upgraded", movedTo: "-100999" }, sent);
    expect(await fixture.engine.tryNow("chat")).toEqual({ kind: "probed", outcome: sent });
    expect(fixture.engine.statuses()[0]?.own.moved).toMatchObject({ to: "-100999" });
  });
});
