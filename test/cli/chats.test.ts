import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { type ChatStandInOptions, createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { startTocsin } from "../support/cli.ts";
import { expectWords } from "../support/expect-words.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startFakeService } from "../upstream/fake-service.ts";

const token = "7700:canary-bot-token-0123456789abcdefghij";
const otherToken = "8800:canary-other-token-0123456789abcdefghij";
const desk = "-1001700000001";
const channel = "-1001700000002";
const small = "-5";

async function createWorld(options: Partial<ChatStandInOptions> = {}) {
  const cwd = makeTempFolder();
  const chat = await createChatStandIn({
    now: Date.now,
    tokens: [token, otherToken],
    chats: [
      { id: desk, title: "Desk", topics: [{ id: 42, name: "Alerts" }] },
      { id: channel, title: "News", kind: "channel" },
      { id: small, title: "Friends" },
    ],
    ...options,
  });
  onTestFinished(() => chat.close());
  const env = { TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_ROOT: chat.url };
  /** Asks as another program of the bot does. */
  const ask = async (method: string, parameters: Record<string, unknown> = {}) => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(parameters) };
    const answer = await fetch(`${chat.url}/bot${token}/${method}`, init);
    return (await answer.json()) as { error_code?: number; result?: unknown[] };
  };
  const start = (argv: string[] = [], more: Record<string, string | undefined> = {}) =>
    startTocsin(["chats", ...argv], { cwd, env: { ...env, ...more } as Record<string, string> });
  return { chat, env, ask, start };
}

it("tocsin chats shows what waits already, and then what is written, with topics and rights, until Ctrl-C", async () => {
  const { chat, start } = await createWorld();
  const running = start(["--for", "1h"]);
  await running.shows(/-1001700000001 +supergroup "Desk": can post\n[\s\S]*channel "News": can post, as administrator/);
  chat.post(desk, "Dana", "/start@tocsin_7700_bot", 42);
  await running.shows(/topic 42 "Alerts"/);
  chat.nameTopic(desk, 42, "Loud");
  await running.shows(/topic 42 "Loud"/);
  chat.closeTopic(desk, 42);
  await running.shows(/topic 42 "Loud" \(closed\), closed: the bot needs the right to manage topics/);
  chat.setMembership(channel, "member");
  await running.shows(/channel "News": the bot may not post in the channel "News"; make it an administrator/);
  const { status, stdout, stderr } = await running.stop();
  expect(status).toBe(0);
  expect(stderr).toMatch(/@tocsin_7700_bot \("Tocsin", 7700\)[\s\S]*"Add members"[\s\S]*\/start@tocsin_7700_bot/);
  expect(stderr).toContain("Nothing is marked as read");
  expectWords(stdout, [/3 chats seen in \d/, "TELEGRAM_CHAT_IDS=-1001700000001,-5\n"]);
  expect(stdout + stderr).not.toContain("canary");
});

it("tocsin chats gives lines that the configuration takes as they are", async () => {
  const { chat, start, env } = await createWorld();
  chat.post(desk, "Dana", "/start@tocsin_7700_bot", 42);
  const { status, json } = await start(["--for", "0s", "--json"], { TELEGRAM_CHAT_IDS: small }).ended;
  expect(status).toBe(0);
  const { chatIds, yaml, chats, seen, ended } = json().data;
  expect([chatIds, seen, ended]).toEqual([`${small},${desk},${channel}`, 3, "time"]);
  const topics = [{ id: 42, name: "Alerts", destinations: [] }];
  const forum = { id: desk, type: "supergroup", title: "Desk", isForum: true, canPost: true, topics };
  expect(chats).toContainEqual(expect.objectContaining(forum));
  const cwd = makeTempFolder();
  writeFileSync(join(cwd, "tocsin.yaml"), yaml);
  const config = loadConfig({ env: { ...env, TELEGRAM_CHAT_IDS: chatIds }, cwd });
  expect(config.rules.destinations).toMatchObject([
    { name: `telegram:${small}` },
    { name: `telegram:${desk}` },
    { name: `telegram:${channel}` },
    { name: "desk", chatId: desk },
    { name: "desk-alerts", chatId: desk, topicId: 42 },
    { name: "news", chatId: channel },
  ]);
});

it("tocsin chats asks at once for the chats that the configuration names", async () => {
  const { chat, start } = await createWorld();
  const yaml = `destinations:
  risk: { type: telegram, chatId: ${desk}, topicId: 42 }
  gone: { type: telegram, chatId: -1009 }
  news: { type: telegram, chatId: ${channel} }
`;
  const file = join(makeTempFolder(), "tocsin.yaml");
  writeFileSync(file, yaml);
  chat.setMembership(channel, "kicked");
  const running = start(["--for", "1h", "--config", file]);
  await running.shows(/-1001700000001 +supergroup +Desk +42 +can post +risk/);
  await running.shows(/-1009 .*chat not found.* gone/);
  expect((await running.stop()).stdout).toMatch(/-1001700000002 .*kicked.* news/);
});

it("tocsin chats follows a group that was upgraded", async () => {
  const { chat, start } = await createWorld();
  const running = start(["--for", "1h"]);
  await running.shows(/"Friends"/);
  const moved = chat.migrate(small);
  await running.shows(new RegExp(`^${small} .*the group was upgraded, its id is ${moved} now`, "m"));
  await running.shows(new RegExp(`^${moved} +supergroup "Friends": can post`, "m"));
  expect((await running.stop()).stdout).toMatch(new RegExp(`TELEGRAM_CHAT_IDS=${desk},${channel},${moved}\n`));
});

it("tocsin chats marks nothing as read, changes no setting and no webhook; with --confirm what was shown is forgotten", async () => {
  const { chat, start, ask } = await createWorld();
  await start(["--for", "0s"]).ended;
  expect((await ask("getUpdates")).result).toHaveLength(3);
  const methods = new Set(chat.calls().map(({ method }) => method));
  expect([...methods].sort()).toEqual(["getChat", "getChatMember", "getMe", "getUpdates", "getWebhookInfo"]);
  const asked = chat.calls().filter(({ method, parameters }) => method === "getUpdates" && "limit" in parameters);
  for (const { parameters } of asked) expect(Object.keys(parameters).sort()).toEqual(["limit", "timeout"]);

  const { stderr, stdout } = await start(["--for", "0s", "--confirm"]).ended;
  expect(stdout).toContain("3 chats seen");
  expect(await ask("getUpdates")).toMatchObject({ result: [] });
  expect(stderr).not.toContain("still gets all of it");
});

it("tocsin chats says that newer ones are out of sight where a hundred wait, and comes to them with --confirm", async () => {
  const { chat, start } = await createWorld();
  for (let count = 0; count < 97; count += 1) chat.post(channel, "News", `post ${count}`);
  chat.post(desk, "Dana", "/start@tocsin_7700_bot", 42);
  const blind = await start(["--for", "0s"]).ended;
  expect(blind.stderr).toMatch(/100 updates wait[\s\S]*tocsin chats --confirm/);
  expect(blind.stdout).not.toContain("Alerts");
  const running = start(["--for", "1h", "--confirm"]);
  await running.shows(/topic 42 "Alerts"/);
  await running.stop();
});

it("tocsin chats says what a webhook means, names its host alone, and leaves it there", async () => {
  const { chat, start, ask } = await createWorld();
  chat.setWebhook(token, "https://bots.example.com/secret-path");
  const { status, stdout, stderr } = await start(["--for", "1h"], { TELEGRAM_CHAT_IDS: small }).ended;
  expect(status).toBe(1);
  expect(stdout).toMatch(/-5 +group +Friends +can post +telegram:-5/);
  expect(stderr).toMatch(
    /a webhook sends this bot's updates to bots\.example\.com, so nobody can listen[\s\S]*a bot of its own/,
  );
  expect(stdout + stderr).not.toContain("secret-path");
  expect((await ask("getWebhookInfo")).result).toMatchObject({ url: "https://bots.example.com/secret-path" });
  const json = await start(["--json"]).ended;
  expect(json.json().data.bots).toMatchObject([{ id: "7700", problem: { code: "upstream_conflict" } }]);
});

it("tocsin chats gives way to another program that listens, at once", async () => {
  const { chat, start, ask } = await createWorld({ chats: [] });
  const running = start(["--for", "1h"]);
  await running.shows(/Listening for/);
  await expect.poll(() => chat.calls().filter(({ method }) => method === "getUpdates").length).toBeGreaterThan(0);
  let isOver = false;
  const ended = running.ended.finally(() => {
    isOver = true;
  });
  // The stand-in ends the call that waits when another comes, which may be a moment before it waits.
  for (let other = 0; !isOver && other < 100; other += 1) await ask("getUpdates", { timeout: 1 });
  const { status, stderr } = await ended;
  expect(status).toBe(1);
  expect(stderr).toMatch(/another program listens on this bot, and only one can[\s\S]*stop it for as long/);
});

const unknownBot = /does not know the token of bot 7700[\s\S]*@BotFather/;
const noAnswer = /127\.0\.0\.1:9 did not answer[\s\S]*connection refused[\s\S]*HTTPS_PROXY/;
it.each([
  ["no token", { TELEGRAM_BOT_TOKEN: undefined }, 2, /there is no bot to ask[\s\S]*\/newbot to @BotFather/],
  ["half a token", { TELEGRAM_BOT_TOKEN: "canary" }, 2, /TELEGRAM_BOT_TOKEN is not a bot token \(it is not shown\)/],
  ["a wrong token", { TELEGRAM_BOT_TOKEN: "7700:canary-guess-0123456789" }, 1, unknownBot],
  ["nobody there", { TELEGRAM_API_ROOT: "http://127.0.0.1:9" }, 1, noAnswer],
  ["a root that is none", { TELEGRAM_API_ROOT: "telegram" }, 2, /TELEGRAM_API_ROOT/],
])("tocsin chats ends with one line and the mend: %s", async (_, env, wanted, says) => {
  const { start } = await createWorld();
  const { status, stdout, stderr } = await start([], env).ended;
  expect([status, stdout]).toEqual([wanted, ""]);
  expectWords(stderr, says, { not: "canary" });
});

it("tocsin chats works with a configuration that is not finished, which may lack just what this shows", async () => {
  const { start } = await createWorld();
  const file = join(makeTempFolder(), "tocsin.yaml");
  writeFileSync(file, "destinations:\n  desk: { type: telegram }\n");
  const { status, stdout, stderr } = await start(["--for", "0s", "--config", file], { TELEGRAM_CHAT_IDS: `5,${small}` })
    .ended;
  expect(status).toBe(0);
  expect(stderr).toContain("the configuration has mistakes");
  expectWords(stdout, [/-5 +group +Friends/, '"Desk": can post']);
});

it("tocsin chats shows hostile titles as text, and makes harmless names of them", async () => {
  const hostile = "\u001b[31mDesk\u202e\n  evil: {}";
  const { chat, start } = await createWorld({ chats: [{ id: desk, title: hostile, topics: [] }] });
  chat.nameTopic(desk, 7, hostile);
  const people = await start(["--for", "0s"]).ended;
  const said = people.stdout + people.stderr;
  expectWords(said, String.raw`\x1b[31mDesk\u{202e}`, { not: ["\u001b", "\u202e", "\n  evil"] });
  const { json } = await start(["--for", "0s", "--json"]).ended;
  expect(json().data.yaml).toMatch(/^destinations:\n {2}31mdesk-evil:|^destinations:\n {2}mdesk-evil:\n/);
});

it("tocsin chats asks each bot for itself, and goes on with the others when one cannot be listened to", async () => {
  const { start, chat } = await createWorld();
  const file = join(makeTempFolder(), "tocsin.yaml");
  writeFileSync(file, `destinations:\n  two: { type: telegram, chatId: ${small}, botToken: "\${OTHER}" }\n`);
  chat.setWebhook(token, "https://bots.example.com/x");
  const { status, json, stderr } = await start(["--for", "0s", "--json", "--config", file], { OTHER: otherToken })
    .ended;
  expect(status).toBe(1);
  expect(stderr).toContain("error: bot 7700: a webhook sends");
  expect(json().data.bots).toMatchObject([{ id: "7700", problem: {} }, { id: "8800" }]);
  expect(json().data.yaml).toContain(`chatId: ${desk}\n    botToken: \${TOKEN_OF_BOT_8800}`);
  expect(json().data).not.toHaveProperty("chatIds");
});

it("tocsin chats goes on listening when Telegram fails for a while, and says so once", async () => {
  const { chat, start } = await createWorld();
  chat.faults.next({ kind: "bad_gateway", method: "getUpdates", times: 1 });
  const running = start(["--for", "1h"]);
  await running.shows(/HTTP 502.*trying on/);
  await running.shows(/"Desk": can post/);
  expect((await running.stop()).status).toBe(0);
});

it("tocsin chats survives updates of any shape", async () => {
  const member = { id: 99, type: "private" };
  const inTopic = { chat: { id: -7 }, message_thread_id: 3, is_topic_message: "yes" };
  const odd: unknown[] = [
    ...[null, 7, "x", [], {}, { update_id: "1" }, { update_id: 1 }, { update_id: 2, message: null }],
    { update_id: 3, message: { chat: "desk" } },
    { update_id: 4, message: { chat: { id: "-7", type: "group" } } },
    { update_id: 5, message: { chat: { id: 1e300 } } },
    { update_id: 6, poll: { id: "1" } },
    { update_id: 7, message: { chat: member, text: "hello" } },
    { update_id: 8, callback_query: { message: inTopic } },
    { update_id: 9, business_message: { chat: { id: -8 } } },
    JSON.parse('{"update_id":10,"__proto__":{"x":1},"constructor":{"chat":{"id":-9}}}'),
  ];
  const getMe = { id: 7700, username: "x_bot", first_name: "X" };
  const answers: Record<string, unknown> = { getMe, getWebhookInfo: { url: "" }, getUpdates: odd };
  const unknown = { ok: false, error_code: 400, description: "Bad Request: chat not found" };
  const { url: TELEGRAM_API_ROOT } = await startFakeService(({ path }) => {
    const result = answers[path.split("/").at(-1) ?? ""];
    return { json: result === undefined ? unknown : { ok: true, result } };
  });
  const { start } = await createWorld();
  const { status, stderr, json } = await start(["--for", "0s", "--json"], { TELEGRAM_API_ROOT }).ended;
  expect(status).toBe(0);
  expect(stderr).toContain("Somebody wrote to the bot in private");
  expect(json().data.chats).toMatchObject([
    { id: "-7", canPost: false, topics: [] },
    { id: "-9", canPost: false },
  ]);
});
