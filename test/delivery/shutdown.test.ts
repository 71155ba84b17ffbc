import { describe, expect, it } from "vitest";
import { channelOf, outcomesOf, startFixture, stopEngine, telegramTo } from "./engine-fixture.ts";
import { hour, kicked, minute, refused, second } from "./outcomes.ts";

describe("a stop", () => {
  it("between two parts gives the claim back, and the rest follows after the next start", async () => {
    const fixture = await startFixture([telegramTo("chat", { detail: "full" })]);
    const chat = channelOf(fixture, "chat");
    const id = await fixture.accept({ text: "word ".repeat(1_800) });
    await fixture.clock.settle();
    expect(chat.calls).toHaveLength(1);
    await stopEngine(fixture.engine, fixture.clock, 100);
    const [waiting] = await fixture.store.listDue("chat", fixture.clock.now() + minute, 10);
    expect(waiting).toMatchObject({ state: "queued", ambiguous: 0, progress: { refs: ["1"] } });
    await fixture.restart();
    await fixture.clock.advance(10 * second);
    expect(chat.calls.map((call) => /\[(\d)\/3\]/.exec(call.text)?.[1])).toEqual(["1", "2", "3"]);
    expect(await outcomesOf(fixture, id)).toEqual(["sent", "sent", "sent"]);
  });

  it("while the store refuses does not wait for it for ever", async () => {
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
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(kicked);
    await fixture.accept();
    await fixture.clock.advance(5 * second);
    chat.probe = (_recipient, signal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(refused)));
    await fixture.clock.jump(25 * hour);
    const before = fixture.clock.now();
    await stopEngine(fixture.engine, fixture.clock, 20 * second);
    expect(fixture.clock.now() - before).toBeLessThanOrEqual(second);
  });
});
