import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/ports/store.ts";
import { channelOf, ntfyTo, startFixture, telegramTo } from "./engine-fixture.ts";
import { kicked, minute, second } from "./outcomes.ts";

describe("a destination that a person has paused", () => {
  it("is sent nothing until it is resumed; then what waited goes, as one message when it is much", async () => {
    const fixture = await startFixture([telegramTo("chat", { digestOver: 3 }), telegramTo("other")]);
    const chat = channelOf(fixture, "chat");
    expect(await fixture.engine.setPause("chat", "page")).toBe(true);
    const ids: string[] = [];
    for (let alert = 0; alert < 5; alert += 1) ids.push(await fixture.accept());
    await fixture.clock.advance(10 * minute);
    expect(chat.calls).toHaveLength(0);
    expect(channelOf(fixture, "other").calls.length).toBeGreaterThan(0);
    expect(fixture.engine.statuses()[0]?.own.paused).toMatchObject({ by: "page" });
    expect((await fixture.states(ids[0] as string)).chat).toBe("queued");
    await fixture.engine.setPause("chat", undefined);
    await fixture.clock.advance(10 * second);
    expect(chat.calls).toHaveLength(1);
    expect(chat.calls[0]?.text).toContain("5 ");
    for (const id of ids) expect((await fixture.states(id)).chat).toBe("digested");
    expect(fixture.engine.statuses()[0]?.own.paused).toBeUndefined();
  });

  it("stays so over a restart and a kill", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    await fixture.engine.setPause("chat", "api");
    await fixture.kill();
    const id = await fixture.accept();
    await fixture.clock.advance(minute);
    await fixture.restart();
    await fixture.clock.advance(minute);
    expect(channelOf(fixture, "chat").calls).toHaveLength(0);
    await fixture.engine.setPause("chat", undefined);
    await fixture.restart();
    await fixture.clock.advance(minute);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });

  it("gives nothing up, however long it lasts, and says afterwards why it is late", async () => {
    const fixture = await startFixture([ntfyTo("hook")], (settings) => {
      settings.schedule.giveUpAfterMs = 5 * minute;
      settings.webhookSchedule.giveUpAfterMs = 5 * minute;
    });
    const hook = channelOf(fixture, "hook");
    hook.always = () => ({ kind: "retry", reason: "server_error", detail: "500" });
    const tried = await fixture.accept();
    await fixture.clock.advance(second);
    await fixture.engine.setPause("hook", "page");
    const called = hook.calls.length;
    hook.always = undefined;
    const untried = await fixture.accept({ alertKey: "other" });
    await fixture.clock.advance(20 * minute);
    expect(hook.calls).toHaveLength(called);
    await fixture.engine.setPause("hook", undefined);
    await fixture.clock.advance(minute);
    expect([await fixture.states(tried), await fixture.states(untried)]).toEqual([{ hook: "sent" }, { hook: "sent" }]);
    expect(hook.calls.map(({ text }) => text).join()).toContain("the destination was paused");
  });

  it("fails nothing while it is dead as well", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    channelOf(fixture, "chat").script.push(kicked);
    await fixture.accept();
    await fixture.clock.advance(5 * second);
    expect(fixture.engine.statuses()[0]?.own.health).toBe("dead");
    await fixture.engine.setPause("chat", "page");
    const id = await fixture.accept();
    await fixture.clock.advance(10 * minute);
    expect(await fixture.states(id)).toEqual({ chat: "queued" });
  });

  it("takes a test, and the resend of one alert", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    await fixture.engine.setPause("chat", "page");
    const waiting = await fixture.accept();
    const asked = [await fixture.accept({}, { purpose: "test" }), await fixture.accept({}, { purpose: "resend" })];
    await fixture.clock.advance(30 * second);
    for (const id of asked) expect(await fixture.states(id)).toEqual({ chat: "sent" });
    expect(await fixture.states(waiting)).toEqual({ chat: "queued" });
  });

  it("leaves its route's fallback to go on", async () => {
    const fixture = await startFixture([telegramTo("chat"), telegramTo("backup")]);
    await fixture.engine.setPause("chat", "page");
    const planned = { fallback: { to: "backup", at: fixture.clock.now() + 5 * minute } };
    const id = await fixture.accept({}, { to: ["chat"], planned });
    await fixture.clock.advance(6 * minute);
    expect(await fixture.states(id)).toEqual({ chat: "queued", backup: "sent" });
  });

  it("does not begin what was claimed ahead, nor what routing claims for it", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    fixture.routesByEngine = true;
    const hook = channelOf(fixture, "hook");
    let answer = () => {};
    await fixture.accept({ alertKey: "first" });
    await fixture.clock.advance(5 * second);
    hook.script.push(
      new Promise((resolve) => {
        answer = () => resolve({ kind: "sent" });
      }),
    );
    for (const alertKey of ["a", "b", "c"]) await fixture.accept({ alertKey });
    await fixture.engine.setPause("hook", "page");
    await fixture.accept({ alertKey: "d" });
    const called = hook.calls.length;
    answer();
    await fixture.clock.advance(minute);
    expect(hook.calls).toHaveLength(called);
    await fixture.engine.setPause("hook", undefined);
    await fixture.clock.advance(minute);
    expect((await fixture.store.countByDestination())[0]?.counts).toMatchObject({ sent: 5 });
  });

  it.each([telegramTo("chat"), ntfyTo("chat")])(
    "gets nothing that was being claimed when it was paused ($type)",
    async (chat) => {
      const fixture = await startFixture([chat]);
      let answer = () => {};
      const answered = new Promise<void>((resolve) => {
        answer = resolve;
      });
      const slow = new Set<keyof Store>(["claimDeliveries", "claimRun"]);
      const { store } = fixture;
      fixture.seen = new Proxy(store, {
        get: (target, name: keyof Store) =>
          !slow.has(name)
            ? target[name]
            : async (...args: never[]) => {
                const claimed = await (target[name] as (...args: never[]) => Promise<unknown>)(...args);
                await answered;
                return claimed;
              },
      });
      await fixture.restart();
      const id = await fixture.accept();
      await fixture.clock.settle();
      await fixture.engine.setPause("chat", "page");
      answer();
      await fixture.clock.advance(minute);
      expect(channelOf(fixture, "chat").calls).toHaveLength(0);
      await fixture.engine.setPause("chat", undefined);
      await fixture.clock.advance(minute);
      expect(await fixture.states(id)).toEqual({ chat: "sent" });
      expect(channelOf(fixture, "chat").calls).toHaveLength(1);
    },
  );

  it("is not paused when that cannot be put on record, and unknown names are nobody", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    fixture.failing.add("saveStatus");
    await expect(fixture.engine.setPause("chat", "page")).rejects.toThrow("disk");
    fixture.failing.clear();
    expect(fixture.engine.statuses()[0]?.own.paused).toBeUndefined();
    const id = await fixture.accept();
    await fixture.clock.advance(10 * second);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
    expect(await fixture.engine.setPause("nobody", "page")).toBe(false);
  });
});
