import { describe, expect, it } from "vitest";
import { nameGroup } from "../../src/core/group.ts";
import { mailTo, ntfyTo, startFixture, stopEngine, telegramTo } from "./engine-fixture.ts";
import { flood, hour, lost, minute, second } from "./outcomes.ts";

describe("alerts that are sent together", () => {
  /** How an alert is planned that waits for a minute, for others of its group or in quiet hours. */
  const holdIn = (groupName?: string) => ({ heldForMs: minute, planned: { groupName } });

  it("are repeated as they were sent, while newer ones of the key wait", async () => {
    const { fixture, chat, clock, play } = await startFixture([telegramTo("chat")]);
    const [first = ""] = await play(lost, { alertKey: "k", value: "1" }, 29 * second);
    await stopEngine(fixture.engine, clock, 1);
    const [next = ""] = await play({ alertKey: "k", value: "2" }, 10 * second, "restart", 5 * second);
    expect(chat.repeats).toEqual([false, true, false]);
    expect(chat.texts[1]).toContain(first);
    expect(chat.calls[1]?.context.alertId).toBe(first);
    expect(await fixture.states(next)).toEqual({ chat: "sent" });
  });

  it("during quiet hours are one digest at their end, and say so; one alone says why it is late", async () => {
    const { accept, acceptMany, chat, hook, clock, states } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const heldForMs = 8 * hour;
    const [id] = await acceptMany(2, {}, { heldForMs, to: ["chat"] });
    await accept({}, { heldForMs, to: ["hook"] });
    await clock.jump(8 * hour - minute);
    await clock.advance(30 * second);
    expect(chat.calls).toHaveLength(0);
    await clock.advance(minute);
    expect(chat.texts).toEqual([expect.stringMatching(/^🌙 While quiet: 2 alerts, 2 still firing/)]);
    expect(hook.texts).toEqual([expect.stringMatching(/8 h.* late: quiet hours/)]);
    expect(await states(id ?? "")).toEqual({ chat: "digested" });
  });

  const pools = (chain: string) => nameGroup("group", "pools", [["chain", chain]]);
  it.each([
    ["a group", pools("eth"), /^⚠️ 400 of 402 alerts in 1 s: 400 warnings/u, /^⚠️ 2 of 402 alerts/u],
    ["quiet hours", undefined, /^🌙 While quiet: 400 of 402 alerts, /u, /^🌙 While quiet: 2 of 402 alerts, /u],
  ])(
    "ring once for %s where that takes several messages, say how many they are, and ring for what is due later",
    async (_, groupName, first, last) => {
      const { chat, clock, acceptMany } = await startFixture([telegramTo("chat")]);
      await acceptMany(402, {}, holdIn(groupName));
      await clock.advance(2 * minute);
      expect(chat.silences).toEqual([false, true]);
      expect(chat.texts).toEqual([expect.stringMatching(first), expect.stringMatching(last)]);
      await acceptMany(2, {}, holdIn(groupName));
      await clock.advance(2 * minute);
      expect(chat.silences[2]).toBe(false);
      expect(chat.texts[2]).not.toContain(" of 2");
    },
  );

  it("say how many they are, and ring once, also where two groups or two recipients take turns", async () => {
    const mailboxes = mailTo("mail", ["anna@example.com", "ben@example.com"]);
    const { chat, mail, clock, accept } = await startFixture([telegramTo("chat"), mailboxes]);
    for (let index = 0; index < 450; index += 1)
      for (const chain of ["eth", "base"]) await accept({}, holdIn(pools(chain)));
    await clock.advance(2 * minute);
    expect(chat.calls.map(({ text, context }) => `${text.match(/\d+ of \d+/u)} ${context.silent}`)).toEqual([
      ...["200 of 450 false", "300 of 450 false", "250 of 450 true", "150 of 450 true"],
    ]);
    for (const text of mail.texts) expect(text).toMatch(/\d+ of 450 alerts/u);
  });

  it("ring with the first message of a group that says of something that it fires", async () => {
    const { chat, clock, acceptMany } = await startFixture([telegramTo("chat")]);
    await acceptMany(400, { severity: "critical", status: "resolved" }, holdIn("g"));
    await acceptMany(2, { severity: "critical" }, holdIn("g"));
    await clock.advance(2 * minute);
    expect(chat.silences).toEqual([true, false]);
  });

  it("are one message of their group for each recipient, also where there are many and nothing is sent together", async () => {
    const to = Array.from({ length: 10 }, (_, index) => `${index}@example.com`);
    const { mail, clock, acceptMany } = await startFixture([mailTo("mail", to, { digestOver: 1000 })]);
    await acceptMany(3, {}, holdIn('["group","all"]'));
    await clock.advance(2 * minute);
    expect(mail.calls.map(({ context }) => context.recipient).sort()).toEqual(to);
  });

  it("ping nobody when all are older than their route allows, and neither does one alone", async () => {
    const { chat, play } = await startFixture([telegramTo("chat")]);
    const freshness = { planned: { freshnessMs: 15 * minute } };
    await play(flood(20 * minute), [{}, freshness], 21 * minute);
    expect(chat.silences).toEqual([false, true]);
    expect(chat.texts[1]).toMatch(/20 min late: Telegram asked us to wait/);
    await play([{}, freshness], second);
    expect(chat.silences[2]).toBe(false);
  });
});
