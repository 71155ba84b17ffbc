import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ChatStandIn, createChatStandIn } from "../../src/sandbox/chat/chat-stand-in.ts";

const token = "7:first-secret";
let standIn: ChatStandIn;

beforeEach(async () => {
  standIn = await createChatStandIn({
    now: () => 1_790_000_000_000,
    tokens: [token],
    chats: [
      { id: "-1", title: 'Desk <img src=x> "quoted"' },
      { id: "-2", title: "Second" },
    ],
  });
});
afterEach(() => standIn.close());

async function send(parameters: Record<string, unknown>, method = "sendMessage") {
  const response = await fetch(`${standIn.url}/bot${token}/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ chat_id: "-1", ...parameters }),
  });
  expect(response.status).toBe(200);
}

const page = async (path = "/") => (await fetch(standIn.url + path)).text();

describe("the page of the stand-in", () => {
  it("shows entities as a reader sees them, nested ones too", async () => {
    const entities = [
      { type: "blockquote", offset: 0, length: 11 },
      { type: "bold", offset: 0, length: 5 },
      { type: "italic", offset: 3, length: 2 },
      { type: "text_link", offset: 6, length: 5, url: "https://e.org/?a=1&b=2" },
    ];
    await send({ text: "one & two <b>", entities: entities.map((entity) => ({ ...entity })) });
    expect(await page()).toContain(
      '<blockquote><strong>one<em> &amp;</em></strong> <a href="https://e.org/?a=1&amp;b=2" rel="noreferrer noopener" target="_blank">two &lt;</a></blockquote>b&gt;',
    );
  });

  it("shows hostile text as text, wherever it stands", async () => {
    const hostile = `<script>alert(1)</script>"'><svg onload=alert(1)>`;
    standIn.post("-1", hostile, hostile);
    await send({ text: hostile, reply_parameters: { message_id: 1 } });
    await send({ message_id: 2, text: `${hostile}!` }, "editMessageText");
    const html = await page();
    expect(html).not.toMatch(/<script>|<svg|<img/);
    expect(html.split("&lt;script&gt;").length).toBeGreaterThan(4);
  });

  it("opens web addresses only", async () => {
    await send({ text: "x", entities: [{ type: "text_link", offset: 0, length: 1, url: "tg://user?id=1" }] });
    expect(await page()).toContain('<span class="link">x</span>');
  });

  it("quotes the answered message and marks edits with what was there before", async () => {
    await send({ text: "fires" });
    await send({ text: "more", reply_parameters: { message_id: 1 } });
    await send({ message_id: 1, text: "resolved" }, "editMessageText");
    const html = await page();
    expect(html).toMatch(/class="reply" href="#m1"><b>Tocsin<\/b><span>resolved</);
    expect(html).toMatch(/edited <time/);
    expect(html).toContain("1 earlier version");
    expect(html).toContain('<div class="text earlier">fires</div>');
  });

  it("allows nothing but its own script and style", async () => {
    const response = await fetch(standIn.url);
    expect(response.headers.get("content-security-policy")).toMatch(/default-src 'none'.*script-src 'self'/);
    const html = await response.text();
    expect(html).not.toMatch(/ style="| on[a-z]+="/);
    for (const [, address] of html.matchAll(/(?:src|href)="(\/page\.[a-z]+)"/g)) {
      expect((await fetch(standIn.url + address)).status).toBe(200);
    }
  });

  it("lets an open page hear of a change, and lets go when it closes", async () => {
    const response = await fetch(`${standIn.url}/events`);
    const reader = response.body?.getReader();
    const read = async () => new TextDecoder().decode((await reader?.read())?.value);
    expect(await read()).toContain("event: change");
    await send({ text: "x" });
    expect(await read()).toContain("event: change");
    await standIn.close();
  });

  it("breaks the next request for a person, not for another site", async () => {
    const post = (origin: string) =>
      fetch(`${standIn.url}/faults`, {
        method: "POST",
        headers: { origin },
        body: new URLSearchParams({ kind: "flood", chat: "-1", delivered: "on" }),
        redirect: "manual",
      });
    expect((await post("https://elsewhere.example")).status).toBe(403);
    expect(standIn.faults.pending()).toEqual([]);
    expect((await post(standIn.url)).status).toBe(303);
    expect(standIn.faults.pending()).toEqual([{ kind: "flood", chat: "-1", delivered: true }]);
    expect(await page()).toContain("Waiting: asks to wait 5 seconds");
  });

  it("takes faults from scripts and says what it does not understand", async () => {
    const post = (body: string) =>
      fetch(`${standIn.url}/faults`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
    expect((await post('{"kind":"hang","times":2}')).status).toBe(201);
    expect(standIn.faults.pending()).toHaveLength(2);
    expect((await post('{"kind":"explode"}')).status).toBe(400);
    expect((await post("{")).status).toBe(400);
  });

  it("gives messages and requests to scripts", async () => {
    await send({ text: "x" });
    const messages = (await (await fetch(`${standIn.url}/chats/-1/messages.json`)).json()) as {
      data: unknown[];
    };
    expect(messages.data).toMatchObject([{ text: "x", messageId: 1 }]);
    const calls = (await (await fetch(`${standIn.url}/calls.json`)).json()) as { data: unknown[] };
    expect(calls.data).toMatchObject([{ method: "sendMessage", status: 200 }]);
    expect((await fetch(`${standIn.url}/chats/-9/messages.json`)).status).toBe(404);
  });
});
