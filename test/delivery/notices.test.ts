import { describe, expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import { channelOf, startFixture, telegramTo, webhookTo } from "./engine-fixture.ts";
import { hour, kicked, minute, refused, second } from "./outcomes.ts";

describe("notices", () => {
  it("come in one pair while a destination flaps", async () => {
    const fixture = await startFixture([webhookTo("flaky"), webhookTo("hook")]);
    const flaky = channelOf(fixture, "flaky");
    for (let round = 0; round < 3; round += 1) {
      flaky.script = new Array(6).fill(refused);
      for (let alert = 0; alert < 6; alert += 1) await fixture.accept({}, { to: ["flaky"] });
      await fixture.clock.advance(2.5 * minute);
    }
    const texts = channelOf(fixture, "hook").calls.map((call) => call.text);
    expect(texts.map((text) => /does not answer|works again/.exec(text)?.[0])).toEqual([
      "does not answer",
      "works again",
    ]);
  });

  it("wait on the page until there is somebody to tell", async () => {
    const fixture = await startFixture([telegramTo("chat"), webhookTo("hook")]);
    const chat = channelOf(fixture, "chat");
    const hook = channelOf(fixture, "hook");
    chat.always = () => kicked;
    hook.always = () => refused;
    for (let alert = 0; alert < 6; alert += 1) await fixture.accept();
    await fixture.clock.advance(20 * second);
    const [notice] = await fixture.store.listAlerts({ limit: 1, state: "unmatched" });
    expect(notice?.origin).toBe("notice");
    hook.always = undefined;
    await fixture.clock.advance(2 * minute);
    expect(hook.calls.some((call) => call.text.includes("chat cannot be reached"))).toBe(true);
  });

  it("reach somebody within a minute although the destination that seemed well hangs", async () => {
    const fixture = await startFixture([telegramTo("chat"), webhookTo("hangs"), webhookTo("hook")]);
    channelOf(fixture, "chat").script.push(kicked);
    channelOf(fixture, "hangs").always = () => new Promise<Outcome>(() => {});
    await fixture.accept({}, { to: ["chat"] });
    await fixture.clock.advance(minute);
    expect(channelOf(fixture, "hook").calls.map((call) => call.text)).toEqual([
      expect.stringContaining("chat cannot be reached"),
    ]);
  });

  it("do not say that a webhook works again because its address takes connections", async () => {
    const fixture = await startFixture([webhookTo("gone"), webhookTo("hook")]);
    const gone = channelOf(fixture, "gone");
    gone.script.push({ kind: "rejected", scope: "destination", reason: "gone", detail: "answered 410" });
    await fixture.accept({}, { to: ["gone"] });
    gone.probes.push({ kind: "sent" });
    await fixture.clock.advance(5 * second);
    await fixture.clock.jump(25 * hour);
    await fixture.clock.advance(10 * second);
    expect(channelOf(fixture, "hook").calls).toHaveLength(1);
    await fixture.accept({}, { to: ["gone"] });
    await fixture.clock.advance(5 * second);
    expect(channelOf(fixture, "hook").calls.at(-1)?.text).toContain("gone works again");
  });
});
