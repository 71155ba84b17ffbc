import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createEmailChannel } from "../../src/vendors/email/send.ts";
import { createAppsStandIn } from "../../workshop/apps/apps-stand-in.ts";
import { openBoard } from "../../workshop/board/board.tsx";
import { createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { createMailboxStandIn } from "../../workshop/mailbox/mailbox-stand-in.ts";
import { destinationBase } from "../support/destinations.ts";
import { pngOf } from "../support/png.ts";
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

describe("what a reader sees", () => {
  it("on Telegram: formatted text, the topic, the answered message, and what a message said before", async () => {
    const entities = [
      { type: "blockquote", offset: 0, length: 11 },
      { type: "bold", offset: 0, length: 5 },
      { type: "italic", offset: 3, length: 2 },
      { type: "text_link", offset: 6, length: 5, url: "https://e.org/?a=1&b=2" },
    ];
    await send({ text: "one & two <b>", entities, message_thread_id: 5, disable_notification: true });
    await send({ text: "more", reply_parameters: { message_id: 1 } });
    await send({ message_id: 2, text: "changed" }, "editMessageText");
    const html = await page(`app=telegram&place=${chatId}`);
    expect(html).toContain(
      '<blockquote><strong>one<em> &amp;</em></strong> <a href="https://e.org/?a=1&amp;b=2" rel="noreferrer noopener" target="_blank">two &lt;</a></blockquote>b&gt;',
    );
    expect(html).toContain("Tocsin # Alerts");
    expect(html).toContain("<span>silent</span>");
    expect(html).toMatch(/class="reply" href="#m1"><b>Tocsin<\/b><span>one &amp; two/);
    expect(html).toContain("1 earlier version");
    expect(html).toContain('<div class="text earlier">more</div>');
    expect(await page("app=telegram&place=-2")).toContain("Nothing here yet");
  });

  it("on Telegram: a picture, and a person's words", async () => {
    await send({ text: "fires" });
    const form = new FormData();
    const media = { type: "photo", media: "attach://picture", caption: "fires", show_caption_above_media: true };
    form.set("chat_id", chatId);
    form.set("message_id", "1");
    form.set("media", JSON.stringify(media));
    form.set("picture", new Blob([pngOf(80, 40)], { type: "image/png" }), "chart.png");
    await fetch(`${world.chat.url}/bot${token}/editMessageMedia`, { method: "POST", body: form });
    world.chat.post(chatId, "Dana", "thanks");
    const html = await page("app=telegram");
    const [, src = ""] = /class="picture" alt="[^"]*" src="([^"]+)"/.exec(html) ?? [];
    expect((await fetch(world.board.url + src)).headers.get("content-type")).toBe("image/png");
    expect(html).toMatch(/class="message person"[^>]*><p class="from">Dana/);
  });

  it("on Slack: blocks with their styles, links, instants and pictures, and what a notification shows", async () => {
    const blocks = [
      slackBlock(
        { ...slackText("TVL fell"), style: { bold: true } },
        slackText(" <!channel> "),
        { type: "link", url: "https://a.example/1", text: "Open" },
        { type: "link", url: "javascript:alert(1)", text: "Run" },
        { type: "date", timestamp: at / 1000, format: "{date_short}, {time_secs}", fallback: "22 Nov" },
      ),
      { type: "rich_text", elements: [{ type: "rich_text_preformatted", elements: [slackText("a\nb")] }] },
      { type: "image", image_url: "http://127.0.0.1:1/a.png", alt_text: "The last day" },
    ];
    expect(await post(world.apps.slackUrl, { text: "TVL &lt;fell&gt;", blocks })).toBe("ok");
    const html = await page("app=slack");
    expect(html).toContain("<strong>TVL fell</strong> &lt;!channel&gt; ");
    expect(html).toContain('target="_blank">Open</a><span class="link">Run</span>');
    expect(html).toContain(`datetime="${new Date(at).toISOString()}"`);
    expect(html).toContain("<pre>a\nb</pre>");
    expect(html).toContain('alt="The last day" src="http://127.0.0.1:1/a.png"');
    expect(html).toContain("What a notification shows</summary>TVL &lt;fell&gt;");
  });

  it("on Discord: markdown, the embed in its colour, and silence", async () => {
    const description = "> quoted\n[Open](<https://a.example/1>) `x` \\*y\\* <t:1763700000:f>\n```\ncode *not*\n```";
    const embeds = [{ description, color: 0xd92d20 }];
    await post(v10(), { content: "**TVL \\_fell\\_**", embeds, flags: 4096, allowed_mentions: { parse: [] } });
    const html = await page("app=discord");
    expect(html).toContain("<strong>TVL _fell_</strong>");
    expect(html).toContain('fill="#d92d20"');
    expect(html).toContain("<blockquote>quoted\n</blockquote>");
    expect(html).toContain('target="_blank">Open</a> <code>x</code> *y* <time');
    expect(html).toContain("<pre>code *not*</pre>");
    expect(html).toContain("<span>silent</span>");
    expect(html).not.toContain("mentions ping");
  });

  it("on a phone with ntfy: title, symbol, priority, and what a tap opens", async () => {
    await post(world.apps.ntfyServer, {
      ...{ topic: world.apps.ntfyTopic, title: "TVL fell", message: "24.3 M USD", priority: 5 },
      ...{ tags: ["rotating_light", "eth"], click: "https://tocsin.example/alerts/1" },
    });
    const html = await page("app=ntfy");
    expect(html).toContain("🚨 TVL fell");
    expect(html).toContain("priority 5");
    expect(html).toContain("Tags: eth");
    expect(html).toContain('href="https://tocsin.example/alerts/1"');
  });

  it("in a mailbox: each mail in a frame that may do nothing, repeats counted, conversations joined", async () => {
    expect(await page("app=mail")).toContain("Nothing has arrived yet");
    await mail("a", { subject: "TVL fell", text: "by 4 %", html: "<p>by 4 %</p><script>top.x = 1</script>" });
    await mail("a", { subject: "TVL fell", text: "by 4 %", html: "" });
    await mail("b", { subject: "TVL is back", text: "now", html: "<p>now</p>" });
    const html = await page("app=mail&place=ops%40example.com");
    expect(html).toContain("1 conversation · 2 messages");
    expect(html).toContain("came 2 times, shown once");
    expect(html).toContain('class="reply" href="#m1"><b>In the conversation of</b><span>TVL fell');
    expect(html).toMatch(/<iframe[^>]* sandbox="allow-popups allow-popups-to-escape-sandbox"/);
    const frame = await fetch(`${world.board.url}/files/mail/1.html`);
    const policy = frame.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'/);
    expect(policy).not.toContain("script");
    expect(await frame.text()).toContain("<script>top.x = 1</script>");
    const source = await fetch(`${world.board.url}/files/mail/1.txt`);
    expect(source.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await source.text()).toContain("Auto-Submitted: auto-generated");
  });
});

describe("the board", () => {
  it("shows hostile text as text, everywhere", async () => {
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

  it("allows nothing but its own script and style, and pictures of this machine", async () => {
    const answer = await fetch(world.board.url);
    const policy = answer.headers.get("content-security-policy");
    expect(policy).toMatch(/default-src 'none'.*script-src 'self'/);
    const html = await answer.text();
    expect(html).not.toMatch(/ style="| on[a-z]+="/);
    for (const [, address] of html.matchAll(/(?:src|href)="(\/board\.[a-z]+)"/g)) {
      expect((await fetch(world.board.url + address)).status).toBe(200);
    }
  });

  it("lets an open page hear of a change, and lets go when it closes", async () => {
    const reader = (await fetch(`${world.board.url}/events`)).body?.getReader();
    const read = async () => new TextDecoder().decode((await reader?.read())?.value);
    expect(await read()).toContain("event: change");
    await send({ text: "x" });
    expect(await read()).toContain("event: change");
    await world.board.close();
  });

  it("breaks what comes next for a person, not for another site, and shows how it was answered", async () => {
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
});
