import { describe, expect, it } from "vitest";
import { nameGroup } from "../../src/core/group.ts";
import { mailTo, ntfyTo, startFixture, stopEngine, telegramTo } from "./engine-fixture.ts";
import { flood, hour, lost, minute, second } from "./outcomes.ts";

type Planned = { state: "held"; dueAt: number; groupName?: string };

describe("alerts that are sent together", () => {
  /** Destinations, and a way to store alerts that are held for a minute, with keys of their own. */
  async function start<N extends string>(destinations: Parameters<typeof startFixture<N>>[0]) {
    const { fixture, accept, clock } = await startFixture(destinations);
    let number = 0;
    const holdFor = (groupName?: string): { planned: Planned } => ({
      planned: { state: "held", dueAt: clock.now() + minute, groupName },
    });
    const acceptMany = async (count: number, held: { planned: Planned }, facts = {}) => {
      for (const end = number + count; number < end; number += 1)
        await accept({ alertKey: `k${number}`, ...facts }, held);
    };
    return { ...fixture, holdFor, acceptMany };
  }

  it("are repeated as they were sent, while newer ones of the key wait", async () => {
    const { fixture, accept, chat, clock } = await startFixture([telegramTo("chat")]);
    chat.script.push(lost);
    const first = await accept({ alertKey: "k", value: "1" });
    await clock.advance(29 * second);
    await stopEngine(fixture.engine, clock, 1);
    const next = await accept({ alertKey: "k", value: "2" });
    await clock.advance(10 * second);
    await fixture.restart();
    await clock.advance(5 * second);
    expect(chat.repeats).toEqual([false, true, false]);
    expect(chat.texts[1]).toContain(first);
    expect(chat.calls[1]?.context.alertId).toBe(first);
    expect(await fixture.states(next)).toEqual({ chat: "sent" });
  });

  it("during quiet hours are one digest at their end, and say so; one alone says why it is late", async () => {
    const { accept, chat, hook, clock, states } = await startFixture([telegramTo("chat"), ntfyTo("hook")]);
    const planned = { state: "held" as const, dueAt: clock.now() + 8 * hour };
    const id = await accept({}, { planned, to: ["chat"] });
    await accept({}, { planned, to: ["chat"] });
    await accept({}, { planned, to: ["hook"] });
    await clock.jump(8 * hour - minute);
    await clock.advance(30 * second);
    expect(chat.calls).toHaveLength(0);
    await clock.advance(minute);
    expect(chat.texts).toEqual([expect.stringMatching(/^🌙 While quiet: 2 alerts, 2 still firing/)]);
    expect(hook.texts).toEqual([expect.stringMatching(/8 h.* late: quiet hours/)]);
    expect(await states(id)).toEqual({ chat: "digested" });
  });

  const pools = (chain: string) => nameGroup("group", "pools", [["chain", chain]]);
  it.each([
    ["a group", pools("eth"), /^⚠️ 400 of 402 alerts in 1 s: 400 warnings/u, /^⚠️ 2 of 402 alerts/u],
    ["quiet hours", undefined, /^🌙 While quiet: 400 of 402 alerts, /u, /^🌙 While quiet: 2 of 402 alerts, /u],
  ])(
    "ring once for %s where that takes several messages, say how many they are, and ring for what is due later",
    async (_, groupName, first, last) => {
      const { chat, clock, holdFor, acceptMany } = await start([telegramTo("chat")]);
      await acceptMany(402, holdFor(groupName));
      await clock.advance(2 * minute);
      expect(chat.silences).toEqual([false, true]);
      expect(chat.texts).toEqual([expect.stringMatching(first), expect.stringMatching(last)]);
      await acceptMany(2, holdFor(groupName));
      await clock.advance(2 * minute);
      expect(chat.silences[2]).toBe(false);
      expect(chat.texts[2]).not.toContain(" of 2");
    },
  );

  it("say how many they are, and ring once, also where two groups or two recipients take turns", async () => {
    const mailboxes = mailTo("mail", ["anna@example.com", "ben@example.com"]);
    const { chat, mail, clock, holdFor, acceptMany } = await start([telegramTo("chat"), mailboxes]);
    const [eth, base] = [holdFor(pools("eth")), holdFor(pools("base"))];
    for (let index = 0; index < 450; index += 1) {
      await acceptMany(1, eth);
      await acceptMany(1, base);
    }
    await clock.advance(2 * minute);
    expect(chat.calls.map(({ text, context }) => `${text.match(/\d+ of \d+/u)} ${context.silent}`)).toEqual([
      ...["200 of 450 false", "300 of 450 false", "250 of 450 true", "150 of 450 true"],
    ]);
    for (const text of mail.texts) expect(text).toMatch(/\d+ of 450 alerts/u);
  });

  it("ring with the first message of a group that says of something that it fires", async () => {
    const { chat, clock, holdFor, acceptMany } = await start([telegramTo("chat")]);
    const held = holdFor("g");
    await acceptMany(400, held, { severity: "critical", status: "resolved" });
    await acceptMany(2, held, { severity: "critical" });
    await clock.advance(2 * minute);
    expect(chat.silences).toEqual([true, false]);
  });

  it("are one message of their group for each recipient, also where there are many and nothing is sent together", async () => {
    const to = Array.from({ length: 10 }, (_, index) => `${index}@example.com`);
    const { mail, clock, holdFor, acceptMany } = await start([mailTo("mail", to, { digestOver: 1000 })]);
    await acceptMany(3, holdFor('["group","all"]'));
    await clock.advance(2 * minute);
    expect(mail.calls.map(({ context }) => context.recipient).sort()).toEqual(to);
  });

  it("ping nobody when all are older than their route allows, and neither does one alone", async () => {
    const { accept, chat, clock } = await startFixture([telegramTo("chat")]);
    const freshness = { planned: { freshnessMs: 15 * minute } };
    chat.script.push(flood(20 * minute));
    await accept({}, freshness);
    await clock.advance(21 * minute);
    expect(chat.silences).toEqual([false, true]);
    expect(chat.texts[1]).toMatch(/20 min late: Telegram asked us to wait/);
    await accept({}, freshness);
    await clock.advance(second);
    expect(chat.silences[2]).toBe(false);
  });
});
