import { describe, expect, it } from "vitest";
import { nameGroup } from "../../src/core/group.ts";
import { mailTo, ntfyTo, type Step, startFixture, telegramTo } from "./engine-fixture.ts";
import { flood, hour, lost, minute } from "./outcomes.ts";
import { many, tellScenesOf } from "./tell-scene.ts";

/** How an alert is planned that waits for a minute, for others of its group or in quiet hours. */
const holdIn = (groupName?: string) => ({ heldForMs: minute, planned: { groupName } });
const pools = (chain: string) => nameGroup("group", "pools", [["chain", chain]]);
const all = nameGroup("group", "all", []);
const fresh: Step = [{}, { planned: { freshnessMs: 15 * minute } }];
const critical = { severity: "critical" } as const;
const night = { heldForMs: 8 * hour };

describe("alerts that are sent together", () => {
  tellScenesOf([telegramTo("chat")])([
    [
      "are repeated as they were sent, while newer ones of the key wait",
      [lost, { alertKey: "k", value: "1" }, 29_000, "stop", { alertKey: "k", value: "2" }, 10_000, "restart", 5_000],
    ],
    ...[pools("eth"), undefined].map((name): [string, Step[]] => [
      `ring once for ${name ? "a group" : "quiet hours"} where that takes several messages, and for what is due later`,
      [many(402, holdIn(name)), 2 * minute, many(2, holdIn(name)), 2 * minute],
    ]),
    [
      "ring with the first message of a group that says of something that it fires",
      [many(400, holdIn(all), { ...critical, status: "resolved" }), many(2, holdIn(all), critical), 2 * minute],
    ],
    ["ping nobody when all are older than their route allows", [flood(20 * minute), fresh, 21 * minute, fresh, 1_000]],
  ]);
  tellScenesOf([telegramTo("chat"), ntfyTo("hook")])([
    [
      "during quiet hours are one digest at their end, and say so; one alone says why it is late",
      [many(2, { ...night, to: ["chat"] }), [{}, { ...night, to: ["hook"] }], 8 * hour - minute, minute],
    ],
  ]);

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

  const to = Array.from({ length: 10 }, (_, index) => `${index}@example.com`);
  tellScenesOf([mailTo("mail", to, { digestOver: 1000 })])([
    ["are one message of their group for each recipient, also for many", [many(3, holdIn(all)), 2 * minute]],
  ]);
});
