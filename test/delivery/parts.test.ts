import { describe, expect, it } from "vitest";
import { channelOf, outcomesOf, startFixture, stopEngine, telegramTo } from "./engine-fixture.ts";
import { flood, minute, second } from "./outcomes.ts";

describe("a message of several parts", () => {
  it("is sent once, though its chat has to wait between two parts for longer than a lease", async () => {
    const fixture = await startFixture([telegramTo("chat", { detail: "full" }), telegramTo("other")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(async () => {
      // Meanwhile the whole bot is asked to wait.
      channelOf(fixture, "other").script.push(flood(10 * minute, "account"));
      await fixture.accept({}, { to: ["other"] });
      await fixture.clock.sleep(100);
      return { kind: "sent", ref: "1" };
    });
    const id = await fixture.accept({ text: "word ".repeat(1_800) }, { to: ["chat"] });
    await fixture.clock.advance(20 * minute);
    expect(chat.calls.map((call) => /\[(\d)\/3\]/.exec(call.text)?.[1])).toEqual(["1", "2", "3"]);
    expect(await outcomesOf(fixture, id)).toEqual(["sent", "sent", "sent"]);
    expect((chat.calls[1]?.at ?? 0) - (chat.calls[0]?.at ?? 0)).toBeGreaterThanOrEqual(10 * minute);
  });

  it("goes on after a restart, for all repeats that it showed together", async () => {
    const fixture = await startFixture([telegramTo("chat", { detail: "full" })]);
    const chat = channelOf(fixture, "chat");
    await stopEngine(fixture.engine, fixture.clock);
    const long = { alertKey: "k", text: "word ".repeat(1_800) };
    const ids = [await fixture.accept(long), await fixture.accept(long)];
    chat.script.push({ kind: "sent", ref: "11" }, flood(90_500));
    await fixture.restart();
    await fixture.clock.advance(5 * second);
    await fixture.restart();
    await fixture.clock.advance(3 * minute);
    expect(chat.calls.map((call) => /\[(\d)\/\d\]/.exec(call.text)?.[1])).toEqual(["1", "2", "2", "3"]);
    for (const id of ids) expect(await fixture.states(id)).toEqual({ chat: "sent" });
  });
});
