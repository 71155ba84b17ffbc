import { expect, it } from "vitest";
import { mailTo, type Step, startFixture, telegramTo } from "./engine-fixture.ts";
import { hour, minute, second } from "./outcomes.ts";

const key = { alertKey: "k", severity: "critical" } as const;
const over = { ...key, status: "resolved" } as const;
const held = { heldForMs: hour };
const ofKey = (alertKey: string, facts: typeof key | typeof over) => ({ ...facts, alertKey });
const notice = (severity: "info" | "warning"): Step => [{ alertKey: severity, severity }, { purpose: "notice" }];

it.each<[string, Step[], string[], RegExp[]?]>([
  [
    "rings nowhere, whether or not anything was sent before; what fires does",
    [over, 2 * minute, key, 2 * minute, over, 2 * minute, key],
    ["send silent", "send", "edit 2 silent", "answer 2 silent", "send"],
  ],
  [
    "rings nowhere as a notice that can wait, and an alert of that severity rings",
    [notice("info"), 10 * second, notice("warning"), 10 * second, { alertKey: "alert", severity: "info" }],
    ["send silent", "send", "send"],
  ],
  ["sounds as any other when a person asks for it again", [[over, { purpose: "resend" }]], ["send"]],
  [
    "rings no longer when everything in a digest is over",
    [[ofKey("a", over), held], [ofKey("b", over), held], hour],
    ["send silent"],
  ],
  ["rings in a digest of something that fires", [[ofKey("a", over), held], [ofKey("b", key), held], hour], ["send"]],
  ...(["auto", "edit", "reply"] as const).map((updates): [string, Step[], string[], RegExp[]] => [
    `rings as new when it fires again while its end waits for the end of quiet hours: updates ${updates}`,
    [
      [key, { planned: { updates } }],
      10 * second,
      [over, { planned: { updates }, ...held }],
      10 * second,
      [key, { planned: { updates } }],
      10 * second,
    ],
    ["send", "send"],
    [/Alert 1/, /^(?![\s\S]*time since)/],
  ]),
  [
    "does not close what fires again since, and says so",
    [key, 10 * second, [over, held], key, 10 * second, hour, minute, over],
    ["send", "send", "send silent", "edit 2 silent", "answer 2 silent"],
    [/^🚨/, /^🚨/, /^✅ Over: [\s\S]*It fires again since/],
  ],
  [
    "closes its message once quiet hours are over",
    [key, 8 * minute, [over, held], hour, minute, key],
    ["send", "edit 1 silent", "answer 1 silent", "send"],
    [/^🚨/, /^🚨 Alert 1\n✅ Over/, /^✅ Over after 8 min: Alert 2\n⏱ 1 h late: quiet hours$/],
  ],
])("an alert that is over %s", async (_what, steps, did, texts = []) => {
  const { play, chat } = await startFixture([telegramTo("chat")]);
  await play(...steps, minute);
  expect(chat.did).toEqual(did);
  for (const [index, text] of texts.entries()) expect(chat.texts[index]).toMatch(text);
});

it("an alert that is over rings in no mailbox", async () => {
  const { play, mail } = await startFixture([mailTo("mail")]);
  await play(over, 2 * minute, key, 2 * minute, over, 2 * minute, key, 2 * minute);
  expect(mail.silences).toEqual([true, false, true, false]);
});

it("an alert that is over is no second message when its later end can change none, and the record says so", async () => {
  const { play, chat, detail } = await startFixture([telegramTo("chat")]);
  const refused = {
    kind: "rejected",
    scope: "message",
    reason: "message_refused",
    detail: "not to be edited",
  } as const;
  await play(key, minute, over, minute);
  const told = chat.calls.length;
  const [id = ""] = await play(refused, [over, { planned: { updates: "later_end" } }], minute);
  expect(chat.calls.slice(told)).toMatchObject([{ action: "edit" }]);
  const attempts = [{ outcome: "rejected" }, { outcome: "sent", detail: expect.stringContaining("no new message") }];
  expect((await detail(id)).deliveries).toMatchObject([{ state: "sent", attempts }]);
});
