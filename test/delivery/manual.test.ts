import { describe, expect, it } from "vitest";
import { channelOf, ntfyTo, startFixture, telegramTo } from "./engine-fixture.ts";
import { flood, minute, refused, second, unauthorized } from "./outcomes.ts";

describe("what a person asks for", () => {
  it("is tried once at a paused account, and fails with what the account says", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.always = () => unauthorized;
    const waiting = await fixture.accept();
    await fixture.clock.advance(5 * second);
    const id = await fixture.accept({}, { purpose: "test" });
    await fixture.clock.advance(minute);
    expect(chat.calls).toHaveLength(2);
    expect((await fixture.detail(id)).deliveries[0]).toMatchObject({
      state: "failed",
      reason: "token refused",
    });
    expect(await fixture.states(waiting)).toEqual({ chat: "waiting" });
  });

  it("is tried while the breaker is open", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    const hook = channelOf(fixture, "hook");
    hook.script = new Array(5).fill(refused);
    for (let alert = 0; alert < 5; alert += 1) await fixture.accept();
    await fixture.clock.advance(10 * second);
    expect(fixture.engine.statuses()[0]?.own.health).toBe("down");
    const id = await fixture.accept({}, { purpose: "resend" });
    await fixture.clock.advance(2 * second);
    expect(await fixture.states(id)).toEqual({ hook: "sent" });
    expect(fixture.engine.statuses()[0]?.own.health).toBe("ok");
  });

  it("comes before a backlog of thousands", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(flood(5 * second));
    for (let alert = 0; alert < 420; alert += 1) await fixture.accept();
    const id = await fixture.accept({ title: "manual" }, { purpose: "resend" });
    await fixture.clock.advance(10 * second);
    expect(chat.calls[1]?.text).toContain("manual");
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });
});
