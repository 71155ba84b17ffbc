import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ChatStandIn, createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";

// By https://core.telegram.org/bots/api#getting-updates and https://core.telegram.org/bots/features#privacy-mode

const token = "7:first-secret";
const other = "8:other-secret";
let now: number;
let standIn: ChatStandIn;

beforeEach(async () => {
  now = 1_790_000_000_000;
  standIn = await createChatStandIn({ now: () => now, tokens: [token, other], chats: [{ id: "-2", title: "Group" }] });
});
afterEach(() => standIn.close());

interface Answer {
  ok: boolean;
  error_code?: number;
  description?: string;
  result: { update_id: number; [kind: string]: unknown }[];
}

async function call(method: string, parameters: Record<string, unknown> = {}, by = token): Promise<Answer> {
  const body = JSON.stringify(parameters);
  const headers = { "content-type": "application/json" };
  return (await (await fetch(`${standIn.url}/bot${by}/${method}`, { method: "POST", headers, body })).json()) as Answer;
}

/** What waits, without the bot's first words of the chats that it is in. */
async function kinds(parameters: Record<string, unknown> = {}, by = token): Promise<string[]> {
  const { result } = await call("getUpdates", parameters, by);
  return result.map((update) => Object.keys(update).filter((key) => key !== "update_id")[0] ?? "");
}

const conflict = (description: string) => ({
  ok: false,
  error_code: 409,
  description: expect.stringContaining(description),
});

describe("getUpdates of the stand-in", () => {
  it("keeps what no offset has confirmed, for each bot apart, and for a day", async () => {
    const { result } = await call("getUpdates");
    expect(result).toMatchObject([{ my_chat_member: { chat: { id: -2 }, new_chat_member: { user: { id: 7 } } } }]);
    expect((await call("getUpdates")).result).toEqual(result);
    expect((await call("getUpdates", { offset: (result[0]?.update_id ?? 0) + 1 })).result).toEqual([]);
    expect((await call("getUpdates")).result).toEqual([]);
    expect(await kinds({}, other)).toEqual(["my_chat_member"]);
    now += 86_400_000;
    expect(await kinds({}, other)).toEqual([]);
  });

  it("counts a negative offset from the end and forgets what was before it; gives at most the limit, the oldest first", async () => {
    for (const text of ["one", "two", "three"]) standIn.post("-2", "Dana", `/${text}@tocsin_7_bot`);
    const texts = async (parameters: object) =>
      (await call("getUpdates", { ...parameters })).result.map(({ message }) => (message as { text?: string })?.text);
    expect(await texts({ limit: 2 })).toEqual([undefined, "/one@tocsin_7_bot"]);
    expect(await texts({ offset: -2 })).toEqual(["/two@tocsin_7_bot", "/three@tocsin_7_bot"]);
    expect(await texts({})).toEqual(["/two@tocsin_7_bot", "/three@tocsin_7_bot"]);
  });

  it("waits for the next one, and sends the older of two listeners away", async () => {
    await call("getUpdates", { offset: 100 });
    await call("getUpdates", { offset: 2 });
    const first = call("getUpdates", { timeout: 50 });
    await expect.poll(() => standIn.calls().length).toBe(2);
    const second = call("getUpdates", { timeout: 50, offset: 2 });
    // Which of the two came first is the network's affair; the other one hears of it.
    const sentAway = await Promise.race([first, second]);
    expect(sentAway).toMatchObject(conflict("terminated by other getUpdates request"));
    standIn.setMembership("-2", "administrator");
    const answers = await Promise.all([first, second]);
    expect(answers.find(({ ok }) => ok)?.result).toMatchObject([{ my_chat_member: {} }]);
  });

  it("answers 409 while there is a webhook, and getWebhookInfo says which", async () => {
    standIn.setWebhook(token, "https://bots.example.com/x");
    expect(await call("getUpdates")).toMatchObject(conflict("can't use getUpdates method while webhook is active"));
    const info = { url: "https://bots.example.com/x", pending_update_count: 1 };
    expect((await call("getWebhookInfo")).result).toMatchObject(info);
    expect((await call("getWebhookInfo", {}, other)).result).toMatchObject({ url: "" });
    standIn.setWebhook(token, undefined);
    expect(await kinds()).toEqual(["my_chat_member"]);
  });

  it("keeps to the kinds that were asked for last, for what comes from then on", async () => {
    await call("getUpdates", { allowed_updates: ["message"] });
    standIn.setMembership("-2", "administrator");
    standIn.post("-2", "Dana", "hello");
    expect(await kinds()).toEqual(["my_chat_member", "message"]);
    expect((await call("getWebhookInfo")).result).toMatchObject({ allowed_updates: ["message"] });
    await call("getUpdates", { allowed_updates: [] });
    standIn.setMembership("-2", "member");
    expect(await kinds()).toEqual(["my_chat_member", "message", "my_chat_member"]);
  });

  it("shows a bot in privacy mode what names it, and one that administers the group everything", async () => {
    for (const text of ["hello", "/start", "/start@tocsin_8_bot", "/start@TOCSIN_7_bot"])
      standIn.post("-2", "Dana", text);
    expect(await kinds()).toEqual(["my_chat_member", "message"]);
    await call("sendMessage", { chat_id: "-2", text: "hi" });
    standIn.post("-2", "Dana", "/help");
    standIn.setMembership("-2", "administrator");
    standIn.post("-2", "Dana", "hello");
    expect(await kinds()).toEqual(["my_chat_member", "message", "message", "my_chat_member", "message"]);
  });
});
