import { describe, expect, it } from "vitest";
import { nameGroup } from "../../src/core/group.ts";
import { channelOf, mailTo, ntfyTo, startFixture, stopEngine, telegramTo } from "./engine-fixture.ts";
import { flood, hour, lost, minute, second } from "./outcomes.ts";

describe("alerts that are sent together", () => {
  it("are repeated as they were sent, while newer ones of the key wait", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    chat.script.push(lost);
    const first = await fixture.accept({ alertKey: "k", value: "1" });
    await fixture.clock.advance(29 * second);
    await stopEngine(fixture.engine, fixture.clock, 1);
    const next = await fixture.accept({ alertKey: "k", value: "2" });
    await fixture.clock.advance(10 * second);
    await fixture.restart();
    await fixture.clock.advance(5 * second);
    expect(chat.calls[1]?.text).toContain("possible repeat");
    expect(chat.calls[1]?.text).toContain(first);
    expect(chat.calls[1]?.context.alertId).toBe(first);
    expect(chat.calls[2]?.text).not.toContain("possible repeat");
    expect(await fixture.states(next)).toEqual({ chat: "sent" });
  });

  it("during quiet hours are one digest at their end, and say so; one alone says why it is late", async () => {
    const fixture = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const until = fixture.clock.now() + 8 * hour;
    const held = { planned: { state: "held" as const, dueAt: until } };
    const ids = [
      await fixture.accept({}, { ...held, to: ["chat"] }),
      await fixture.accept({}, { ...held, to: ["chat"] }),
      await fixture.accept({}, { ...held, to: ["hook"] }),
    ];
    await fixture.clock.jump(8 * hour - minute);
    await fixture.clock.advance(30 * second);
    expect(channelOf(fixture, "chat").calls).toHaveLength(0);
    await fixture.clock.advance(minute);
    expect(channelOf(fixture, "chat").calls.map((call) => call.text)).toEqual([
      expect.stringMatching(/^🌙 While quiet: 2 alerts, 2 still firing/),
    ]);
    expect(channelOf(fixture, "hook").calls.map((call) => call.text)).toEqual([
      expect.stringMatching(/8 h.* late: quiet hours/),
    ]);
    expect(await fixture.states(ids[0] as string)).toEqual({ chat: "digested" });
  });

  it.each([
    [
      "a group",
      nameGroup("group", "pools", [["chain", "eth"]]),
      /^⚠️ 400 of 402 alerts in 1 s: 400 warnings/u,
      /^⚠️ 2 of 402 alerts/u,
    ],
    ["quiet hours", undefined, /^🌙 While quiet: 400 of 402 alerts, /u, /^🌙 While quiet: 2 of 402 alerts, /u],
  ])(
    "ring once for %s where that takes several messages, say how many they are, and ring for what is due later",
    async (_, groupName, first, last) => {
      const fixture = await startFixture([telegramTo("chat")]);
      const { calls } = channelOf(fixture, "chat");
      const dueAt = fixture.clock.now() + minute;
      const held = { planned: { state: "held" as const, dueAt, groupName } };
      for (let index = 0; index < 402; index += 1) await fixture.accept({ alertKey: `k${index}` }, held);
      await fixture.clock.advance(2 * minute);
      expect(calls.map((call) => call.context.silent)).toEqual([false, true]);
      expect(calls.map((call) => call.text)).toEqual([expect.stringMatching(first), expect.stringMatching(last)]);
      const later = { planned: { ...held.planned, dueAt: fixture.clock.now() + minute } };
      for (let index = 0; index < 2; index += 1) await fixture.accept({ alertKey: `l${index}` }, later);
      await fixture.clock.advance(2 * minute);
      expect(calls[2]?.context.silent).toBe(false);
      expect(calls[2]?.text).not.toContain(" of 2");
    },
  );

  it("say how many they are, and ring once, also where two groups or two recipients take turns", async () => {
    const fixture = await startFixture([telegramTo("chat"), mailTo("mail", ["anna@example.com", "ben@example.com"])]);
    const names = ["eth", "base"].map((chain) => nameGroup("group", "pools", [["chain", chain]]));
    const dueAt = fixture.clock.now() + minute;
    for (let index = 0; index < 900; index += 1)
      await fixture.accept(
        { alertKey: `k${index}` },
        { planned: { state: "held", dueAt, groupName: names[index % 2] } },
      );
    await fixture.clock.advance(5 * minute);
    const { calls } = channelOf(fixture, "chat");
    expect(calls.map(({ text, context }) => `${text.match(/\d+ of \d+/u)} ${context.silent}`)).toEqual([
      ...["200 of 450 false", "300 of 450 false", "250 of 450 true", "150 of 450 true"],
    ]);
    for (const { text } of channelOf(fixture, "mail").calls) expect(text).toMatch(/\d+ of 450 alerts/u);
  });

  it("ring with the first message of a group that says of something that it fires", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const held = { planned: { state: "held" as const, dueAt: fixture.clock.now() + minute, groupName: "g" } };
    const over = { severity: "critical", status: "resolved" } as const;
    for (let index = 0; index < 400; index += 1) await fixture.accept({ alertKey: `over ${index}`, ...over }, held);
    for (const alertKey of ["one", "other"]) await fixture.accept({ alertKey, severity: "critical" }, held);
    await fixture.clock.advance(2 * minute);
    expect(channelOf(fixture, "chat").calls.map(({ context }) => context.silent)).toEqual([true, false]);
  });

  it("are one message of their group for each recipient, also where there are many and nothing is sent together", async () => {
    const to = Array.from({ length: 10 }, (_, index) => `${index}@example.com`);
    const fixture = await startFixture([{ ...mailTo("mail", to), digestOver: 1000 }]);
    const dueAt = fixture.clock.now() + minute;
    const held = { planned: { state: "held" as const, dueAt, groupName: '["group","all"]' } };
    for (let index = 0; index < 3; index += 1) await fixture.accept({ alertKey: `k${index}` }, held);
    await fixture.clock.advance(2 * minute);
    expect(
      channelOf(fixture, "mail")
        .calls.map(({ context }) => context.recipient)
        .sort(),
    ).toEqual(to);
  });

  it("ping nobody when all are older than their route allows, and neither does one alone", async () => {
    const fixture = await startFixture([telegramTo("chat")]);
    const chat = channelOf(fixture, "chat");
    const freshness = { planned: { freshnessMs: 15 * minute } };
    chat.script.push(flood(20 * minute));
    await fixture.accept({}, freshness);
    await fixture.clock.advance(21 * minute);
    expect(chat.calls.map((call) => call.context.silent)).toEqual([false, true]);
    expect(chat.calls[1]?.text).toMatch(/20 min late: Telegram asked us to wait/);
    await fixture.accept({}, freshness);
    await fixture.clock.advance(second);
    expect(chat.calls[2]?.context.silent).toBe(false);
  });
});
