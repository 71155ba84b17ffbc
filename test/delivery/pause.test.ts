import { describe, expect, it } from "vitest";
import type { Store } from "../../src/core/ports/store.ts";
import { later, ntfyTo, startFixture, telegramTo } from "./engine-fixture.ts";
import { kicked, minute, second } from "./outcomes.ts";

describe("a destination that a person has paused", () => {
  it("is sent nothing until it is resumed; then what waited goes, as one message when it is much", async () => {
    const destinations = [telegramTo("chat", { digestOver: 3 }), telegramTo("other")];
    const { acceptMany, chat, other, clock, engine, own, states } = await startFixture(destinations);
    expect(await engine.setPause("chat", "page")).toBe(true);
    const ids = await acceptMany(5);
    await clock.advance(2 * minute);
    expect(chat.calls).toHaveLength(0);
    expect(other.calls.length).toBeGreaterThan(0);
    expect(own().paused).toMatchObject({ by: "page" });
    expect((await states(ids[0] as string)).chat).toBe("queued");
    await engine.setPause("chat", undefined);
    await clock.advance(10 * second);
    expect(chat.texts).toEqual([expect.stringContaining("5 ")]);
    for (const id of ids) expect((await states(id)).chat).toBe("digested");
    expect(own().paused).toBeUndefined();
  });

  it("stays so over a restart and a kill", async () => {
    const { fixture, chat, play } = await startFixture([telegramTo("chat")]);
    await fixture.engine.setPause("chat", "api");
    const [id = ""] = await fixture.play("kill", {});
    await play(20 * second, "restart", 20 * second);
    expect(chat.calls).toHaveLength(0);
    await fixture.engine.setPause("chat", undefined);
    await play("restart", 20 * second);
    expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });

  it("gives nothing up, however long it lasts, and says afterwards why it is late", async () => {
    const { accept, hook, clock, engine, states, play } = await startFixture([ntfyTo("hook")], (settings) => {
      settings.schedule.giveUpAfterMs = 5 * minute;
      settings.webhookSchedule.giveUpAfterMs = 5 * minute;
    });
    hook.always = () => ({ kind: "retry", reason: "server_error", detail: "500" });
    const [tried = ""] = await play({}, second);
    await engine.setPause("hook", "page");
    const called = hook.calls.length;
    hook.always = undefined;
    const untried = await accept({ alertKey: "other" });
    await clock.jump(19 * minute);
    await clock.advance(minute);
    expect(hook.calls).toHaveLength(called);
    await engine.setPause("hook", undefined);
    await clock.advance(minute);
    expect([await states(tried), await states(untried)]).toEqual([{ hook: "sent" }, { hook: "sent" }]);
    expect(hook.texts.join()).toContain("the destination was paused");
  });

  it("fails nothing while it is dead as well", async () => {
    const { engine, own, states, meet, play } = await startFixture([telegramTo("chat")]);
    await meet("chat", kicked);
    expect(own().health).toBe("dead");
    await engine.setPause("chat", "page");
    const [id = ""] = await play({}, 2 * minute);
    expect(await states(id)).toEqual({ chat: "queued" });
  });

  it("takes a test, and the resend of one alert", async () => {
    const { accept, clock, engine, states } = await startFixture([telegramTo("chat")]);
    await engine.setPause("chat", "page");
    const waiting = await accept();
    const asked = [await accept({}, { purpose: "test" }), await accept({}, { purpose: "resend" })];
    await clock.advance(30 * second);
    for (const id of asked) expect(await states(id)).toEqual({ chat: "sent" });
    expect(await states(waiting)).toEqual({ chat: "queued" });
  });

  it("leaves its route's fallback to go on", async () => {
    const { engine, states, play } = await startFixture([telegramTo("chat"), telegramTo("backup")]);
    await engine.setPause("chat", "page");
    const [id = ""] = await play([{}, { to: ["chat"], fallback: ["backup", minute] }], 2 * minute);
    expect(await states(id)).toEqual({ chat: "queued", backup: "sent" });
  });

  it("does not begin what was claimed ahead, nor what routing claims for it", async () => {
    const { fixture, accept, hook, clock, engine, store, play } = await startFixture([ntfyTo("hook")]);
    fixture.routesByEngine = true;
    await play({ alertKey: "first" }, 5 * second);
    const answer = hook.hang();
    for (const alertKey of ["a", "b", "c"]) await accept({ alertKey });
    await engine.setPause("hook", "page");
    await accept({ alertKey: "d" });
    const called = hook.calls.length;
    answer();
    await clock.advance(minute);
    expect(hook.calls).toHaveLength(called);
    await engine.setPause("hook", undefined);
    await clock.advance(minute);
    expect((await store.countByDestination())[0]?.counts).toMatchObject({ sent: 5 });
  });

  it.each([telegramTo("chat"), ntfyTo("chat")])(
    "gets nothing that was being claimed when it was paused ($type)",
    async (destination) => {
      const { fixture, chat, clock, store } = await startFixture([destination]);
      const { promise: answered, settle: answer } = later<void>();
      const slow = new Set<keyof Store>(["claimDeliveries", "claimRun"]);
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
      const [id = ""] = await fixture.play("restart", {});
      await clock.settle();
      await fixture.engine.setPause("chat", "page");
      answer();
      await clock.advance(minute);
      expect(chat.calls).toHaveLength(0);
      await fixture.engine.setPause("chat", undefined);
      await clock.advance(minute);
      expect(await fixture.states(id)).toEqual({ chat: "sent" });
      expect(chat.calls).toHaveLength(1);
    },
  );

  it("is not paused when that cannot be put on record, and unknown names are nobody", async () => {
    const { engine, own, states, failing, play } = await startFixture([telegramTo("chat")]);
    failing.add("saveStatus");
    await expect(engine.setPause("chat", "page")).rejects.toThrow("disk");
    failing.clear();
    expect(own().paused).toBeUndefined();
    const [id = ""] = await play({}, 10 * second);
    expect(await states(id)).toEqual({ chat: "sent" });
    expect(await engine.setPause("nobody", "page")).toBe(false);
  });
});
