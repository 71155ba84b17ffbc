import { describe, expect, it } from "vitest";
import {
  channelOf,
  type EngineFixture,
  mailTo,
  ntfyTo,
  startFixture,
  stopEngine,
  telegramTo,
} from "./engine-fixture.ts";
import { hour, kicked, lost, minute, refused, refusedRecipient, second } from "./outcomes.ts";

describe("fallbacks", () => {
  const planned = (fixture: EngineFixture, afterMs: number) => ({
    to: ["chat"],
    planned: { fallback: { to: "hook", at: fixture.clock.now() + afterMs } },
  });

  it("that are dead as well leave both failed, with reasons, and go round no further", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    channelOf(fixture, "chat").always = () => kicked;
    channelOf(fixture, "hook").always = () => kicked;
    const id = await fixture.accept({}, planned(fixture, hour));
    await fixture.clock.advance(minute);
    await fixture.clock.jump(2 * hour);
    await fixture.clock.advance(5 * second);
    const { deliveries } = await fixture.detail(id);
    expect(deliveries.map(({ destination, state }) => [destination, state])).toEqual([
      ["chat", "failed"],
      ["hook", "failed"],
    ]);
    expect(deliveries.every(({ reason }) => reason.includes("kicked"))).toBe(true);
  });

  it("are called at once when the first fails for good, and say instead of what", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    channelOf(fixture, "chat").script.push(refusedRecipient);
    const id = await fixture.accept({}, planned(fixture, hour));
    await fixture.clock.settle();
    expect((await fixture.detail(id)).deliveries).toMatchObject([
      { destination: "chat", state: "failed", purpose: "alert" },
      { destination: "hook", state: "sent", purpose: "fallback", insteadOf: "chat" },
    ]);
    expect(channelOf(fixture, "hook").calls.map(({ text }) => text)).toEqual([
      expect.stringContaining("Sent here because chat"),
    ]);
  });

  it("are called once, by time, and not again when the first fails for good afterwards", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const chat = channelOf(fixture, "chat");
    chat.always = () => refused;
    await fixture.accept({}, planned(fixture, minute));
    await fixture.clock.advance(2 * minute);
    chat.always = () => refusedRecipient;
    await fixture.clock.advance(15 * minute);
    const notices = channelOf(fixture, "hook").calls.filter((call) =>
      call.text.includes("Sent here because chat has not taken it in time"),
    );
    expect(notices).toHaveLength(1);
  });

  it("take over by time from what is held for a person", async () => {
    const fixture = await startFixture([telegramTo("chat", { onAmbiguous: "hold" }), ntfyTo("hook")]);
    channelOf(fixture, "chat").script.push(lost);
    const id = await fixture.accept({}, planned(fixture, minute));
    await fixture.clock.advance(2 * minute);
    const { deliveries } = await fixture.detail(id);
    expect(deliveries.map(({ state }) => state)).toEqual(["held", "sent"]);
  });

  it("get an alert once, though all mailboxes of the first destination are refused", async () => {
    const fixture = await startFixture([mailTo("mail", ["a@x.io", "b@x.io"]), ntfyTo("hook")]);
    channelOf(fixture, "mail").always = () => refusedRecipient;
    await fixture.accept({}, { to: ["mail"], planned: { fallback: { to: "hook", at: fixture.clock.now() + hour } } });
    await fixture.clock.advance(5 * second);
    expect(channelOf(fixture, "hook").calls).toHaveLength(1);
  });

  it("take what waited for a destination that was renamed, and people get a notice of it", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    await stopEngine(fixture.engine, fixture.clock);
    const at = fixture.clock.now() + hour;
    const id = await fixture.accept({}, { planned: { destination: "old", fallback: { to: "hook", at } } });
    await fixture.restart();
    await fixture.clock.advance(5 * second);
    const { deliveries } = await fixture.detail(id);
    expect(deliveries.map(({ destination, state }) => [destination, state])).toEqual([
      ["old", "failed"],
      ["hook", "sent"],
    ]);
    const texts = channelOf(fixture, "hook").calls.map((call) => call.text);
    expect(texts.some((text) => text.includes("1 delivery waited for old"))).toBe(true);
  });
});
