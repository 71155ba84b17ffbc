import { beforeEach, expect, it, onTestFinished } from "vitest";
import { createEmailChannel } from "../../src/vendors/email/send.ts";
import { createAppsStandIn } from "../../workshop/apps/apps-stand-in.ts";
import { openBoard } from "../../workshop/board/board.tsx";
import { createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { createMailboxStandIn } from "../../workshop/mailbox/mailbox-stand-in.ts";
import { destinationBase } from "../support/destinations.ts";
import { sendContext } from "../support/send-context.ts";

const at = Date.UTC(2026, 10, 22, 12, 0, 30);
const now = () => at;
const token = "7:secret";
const chatId = "-1001";

/** Every application, and the board that shows them. */
async function openWorld() {
  const chats = [
    { id: chatId, title: "Desk", topics: [{ id: 5, name: "Alerts" }] },
    { id: "-2", title: "Group" },
  ];
  const chat = await createChatStandIn({ now, tokens: [token], chats });
  const mailbox = await createMailboxStandIn({ now });
  const apps = await createAppsStandIn({ now, limited: false });
  const board = await openBoard([chat.source, mailbox.source, ...apps.sources]);
  onTestFinished(async () => {
    for (const part of [board, chat, mailbox, apps]) await part.close();
  });
  return { chat, mailbox, apps, board };
}

let world: Awaited<ReturnType<typeof openWorld>>;
beforeEach(async () => {
  world = await openWorld();
});

const page = async (query: string) => (await fetch(`${world.board.url}/?${query}`)).text();

async function post(url: string, body: object): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).text();
}

const send = (message: object, method = "sendMessage") =>
  post(`${world.chat.url}/bot${token}/${method}`, { chat_id: chatId, ...message });

async function mail(deliveryId: string, words: { subject: string; text: string; html: string }): Promise<void> {
  const account = { id: "m", host: "127.0.0.1", port: world.mailbox.smtpPort, secure: false };
  const channel = createEmailChannel({
    ...{ ...destinationBase("mail"), type: "email", to: ["ops@example.com"], from: "Tocsin <tocsin@example.com>" },
    account: { ...account, allowInsecureAuth: true, rejectUnauthorized: true },
  });
  const context = sendContext({ recipient: "ops@example.com", deliveryId, threadKey: "usdc" });
  expect(await channel.send({ kind: "email", ...words }, context)).toMatchObject({ kind: "sent" });
  await channel.close();
}

const v10 = () => world.apps.discordUrl.replace("/api/", "/api/v10/");
const slackText = (words: string) => ({ type: "text", text: words });
const slackBlock = (...elements: object[]) => ({
  type: "rich_text",
  elements: [{ type: "rich_text_section", elements }],
});

it("the board shows hostile text as text, everywhere", async () => {
  const skeletonOf = (html: string) => [...html.matchAll(/<\/?[a-z][a-z0-9]*(?=[\s>])/gi)].map(String);
  const show = async (words: string) => {
    world = await openWorld();
    world.chat.post(chatId, words, words);
    await send({ text: words, reply_parameters: { message_id: 1 } });
    await post(world.apps.slackUrl, { text: words, blocks: [slackBlock(slackText(words))] });
    await post(v10(), { content: words, embeds: [{ description: words, title: words }] });
    await post(world.apps.ntfyServer, { topic: world.apps.ntfyTopic, title: words, message: words, tags: [words] });
    await mail("a", { subject: words, text: words, html: words });
    return Promise.all(["telegram", "slack", "discord", "ntfy", "mail"].map((app) => page(`app=${app}`)));
  };
  const bad = await show(`"><script>alert(1)</script><img src=x onerror=alert(1)> [a](<javascript:alert(1)>) **b`);
  const good = await show("[a](<b>) words **b");
  for (const html of bad) expect(html).not.toContain("<script>alert");
  for (const html of good) expect(html).toContain("words");
  expect(bad.map(skeletonOf)).toEqual(good.map(skeletonOf));
});

it("the board breaks what comes next for a person, not for another site, and shows how it was answered", async () => {
  const fault = { app: "telegram", place: chatId, words: "asks to wait 5 seconds (429)" };
  const submit = (origin: string, fields: Record<string, string> = fault) =>
    fetch(`${world.board.url}/faults`, {
      ...{ method: "POST", headers: { origin }, redirect: "manual", body: new URLSearchParams(fields) },
    });
  expect((await submit("https://elsewhere.example")).status).toBe(403);
  expect(world.chat.faults.pending()).toEqual([]);
  expect((await submit(world.board.url)).status).toBe(303);
  expect(world.chat.faults.pending()).toEqual([{ kind: "flood", chat: chatId }]);
  expect(await page("app=telegram")).toContain("Waiting: asks to wait 5 seconds (429)");
  await send({ text: "x" });
  expect(await page("app=telegram")).toContain("Too Many Requests: retry after 5");

  const lost = { app: "mail", place: "ops@example.com", words: "takes the mail and loses the answer" };
  await submit(world.board.url, lost);
  expect(world.mailbox.faults.pending()).toEqual([
    { stage: "mail", kind: "drop", delivered: true, mailbox: "ops@example.com" },
  ]);
  await submit(world.board.url, { ...lost, clear: "yes" });
  expect(world.mailbox.faults.pending()).toEqual([]);
  await submit(world.board.url, { app: "slack", place: "slack", words: "says that the webhook or topic is gone" });
  expect(await post(world.apps.slackUrl, { text: "a" })).toBe("no_service");
});
