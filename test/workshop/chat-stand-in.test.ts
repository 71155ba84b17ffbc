import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ChatStandIn, createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";

// What Tocsin meets (flood waits, topics, edits, moved groups, membership) is tried in test/vendors/telegram.test.ts.

const token = "7:first-secret";
const other = "8:other-secret";
let now: number;
let standIn: ChatStandIn;

beforeEach(async () => {
  now = 1_790_000_000_000;
  const topics = [{ id: 5, name: "Alerts" }];
  standIn = await createChatStandIn({
    now: () => now,
    tokens: [token, other],
    chats: [
      { id: "-1001", title: 'Desk <img src=x> "quoted"', topics },
      { id: "-2", title: "Group" },
    ],
  });
});
afterEach(() => standIn.close());

interface Answer {
  status: number;
  body: {
    ok: boolean;
    error_code?: number;
    description?: string;
    parameters?: Record<string, number>;
    result?: Record<string, unknown> & { message_id?: number };
  };
}

async function call(method: string, parameters: Record<string, unknown> = {}, by = token): Promise<Answer> {
  const response = await post(`/bot${by}/${method}`, JSON.stringify(parameters));
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}
const send = (parameters: Record<string, unknown>) => call("sendMessage", { chat_id: "-2", text: "x", ...parameters });

const post = (path: string, body: string) =>
  fetch(standIn.url + path, { method: "POST", headers: { "content-type": "application/json" }, body });
const page = async (path = "/") => (await fetch(standIn.url + path)).text();

const refusal = (code: number, description: string) => ({
  status: code,
  body: { ok: false, error_code: code, description },
});

describe("the stand-in for the Bot API", () => {
  it("accepts JSON, forms, multipart and query, as the vendor does", async () => {
    const address = `${standIn.url}/bot${token}/sendMessage`;
    const entities = [{ type: "bold", offset: 0, length: 4 }];
    const form = new FormData();
    form.set("chat_id", "-2");
    form.set("text", "multipart");
    await send({ chat_id: -2, text: "json" });
    const fields = { chat_id: "-2", text: "form", entities: JSON.stringify(entities) };
    await fetch(address, { method: "POST", body: new URLSearchParams(fields) });
    now += 60_000;
    await fetch(address, { method: "POST", body: form });
    await fetch(`${address}?chat_id=-2&text=query`);
    expect(standIn.messages("-2").map(({ text }) => text)).toEqual(["json", "form", "multipart", "query"]);
    expect(standIn.messages("-2")[1]?.entities).toEqual(entities);
  });

  it("answers with the message as it was taken", async () => {
    const { body } = await send({ chat_id: "-1001", text: "hi", message_thread_id: 5 });
    expect(body.result).toMatchObject({
      message_id: 1,
      date: now / 1000,
      text: "hi",
      message_thread_id: 5,
      chat: { id: -1001, type: "supergroup", is_forum: true },
      from: { id: 7, is_bot: true },
    });
  });

  it("refuses a token that it does not know, and what it does not speak, and keeps no token", async () => {
    expect(await call("getMe", {}, "7:guess")).toEqual(refusal(401, "Unauthorized"));
    expect(await call("setMyCommands")).toEqual(refusal(404, "Not Found: method not found"));
    expect((await fetch(`${standIn.url}/bot${token}`)).status).toBe(404);
    expect((await fetch(`${standIn.url}/bot%zz/getMe`)).status).toBe(401);
    expect(JSON.stringify(standIn.calls())).not.toMatch(/secret|guess/);
  });

  it.each([
    ["chat_id is empty", { chat_id: undefined }],
    ["message text is empty", { text: undefined }],
    ["message to be replied not found", { reply_parameters: { message_id: 9 } }],
    ["unsupported parse_mode", { parse_mode: "XML" }],
  ])("refuses with: %s", async (description, parameters) => {
    expect(await send(parameters)).toEqual(refusal(400, `Bad Request: ${description}`));
    expect(standIn.messages("-2")).toEqual([]);
  });

  it("deletes one's own", async () => {
    await send({});
    expect((await call("deleteMessage", { chat_id: "-2", message_id: 1 }, other)).status).toBe(400);
    expect((await call("deleteMessage", { chat_id: "-2", message_id: 1 })).body).toEqual({ ok: true, result: true });
    expect(standIn.messages("-2")).toEqual([]);
  });

  it("asks to wait when a chat is flooded", async () => {
    for (let sent = 0; sent < 3; sent++) await send({});
    expect(await send({})).toMatchObject({
      status: 429,
      body: { description: "Too Many Requests: retry after 3", parameters: { retry_after: 3 } },
    });
    now += 3_000;
    expect((await send({})).status).toBe(200);
  });

  it("shows a bot what was said to it, until the bot has seen it", async () => {
    standIn.post("-2", "Dana", "/start@tocsin_7_bot");
    const updates = (await call("getUpdates")).body.result as unknown as { update_id: number; message?: unknown }[];
    expect(updates.at(-1)?.message).toMatchObject({ text: "/start@tocsin_7_bot", chat: { id: -2 } });
    const after = await call("getUpdates", { offset: (updates.at(-1)?.update_id ?? 0) + 1 });
    expect(after.body.result).toEqual([]);
  });
});

describe("faults", () => {
  it("hit only the chat and the method that they are for, and once", async () => {
    standIn.faults.next({ kind: "error_500", chat: "-2", method: "sendMessage" });
    expect((await send({ chat_id: "-1001" })).status).toBe(200);
    expect((await call("getChat", { chat_id: "-2" })).status).toBe(200);
    expect([(await send({})).status, (await send({})).status]).toEqual([500, 200]);
    expect(standIn.faults.pending()).toEqual([]);
  });

  it("throw the bot out for good, and turn the group into a supergroup", async () => {
    standIn.faults.next({ kind: "kick" });
    expect([(await send({})).status, (await send({})).status]).toEqual([403, 403]);
    standIn.setMembership("-2", "member");
    standIn.faults.next({ kind: "migrate" });
    expect((await send({})).body.parameters?.migrate_to_chat_id).toBeLessThan(-1_000_000_000_000);
  });

  it("end with the stand-in: a hanging request does not keep it open", async () => {
    standIn.faults.next({ kind: "hang" });
    const hanging = send({}).catch((error: Error) => error.name);
    await expect.poll(() => standIn.calls().length).toBe(1);
    await standIn.close();
    expect(await hanging).toBe("TypeError");
  });
});

describe("the page of the stand-in", () => {
  it("shows entities as a reader sees them, nested ones too", async () => {
    const entities = [
      { type: "blockquote", offset: 0, length: 11 },
      { type: "bold", offset: 0, length: 5 },
      { type: "italic", offset: 3, length: 2 },
      { type: "text_link", offset: 6, length: 5, url: "https://e.org/?a=1&b=2" },
    ];
    await send({ chat_id: "-1001", text: "one & two <b>", entities });
    expect(await page()).toContain(
      '<blockquote><strong>one<em> &amp;</em></strong> <a href="https://e.org/?a=1&amp;b=2" rel="noreferrer noopener" target="_blank">two &lt;</a></blockquote>b&gt;',
    );
  });

  it("shows hostile text as text, wherever it stands, and opens web addresses only", async () => {
    const hostile = `<script>alert(1)</script>"'><svg onload=alert(1)>`;
    const entities = [{ type: "text_link", offset: 0, length: 1, url: "tg://user?id=1" }];
    standIn.post("-1001", hostile, hostile);
    await send({ chat_id: "-1001", text: hostile, reply_parameters: { message_id: 1 } });
    await call("editMessageText", { chat_id: "-1001", message_id: 2, text: `${hostile}!` });
    await send({ chat_id: "-1001", text: "x", entities });
    const html = await page();
    expect(html).not.toMatch(/<script>|<svg|<img/);
    expect(html.split("&lt;script&gt;").length).toBeGreaterThan(4);
    expect(html).toContain('<span class="link">x</span>');
  });

  it("quotes the answered message and marks edits with what was there before", async () => {
    await send({ chat_id: "-1001", text: "fires" });
    await send({ chat_id: "-1001", text: "more", reply_parameters: { message_id: 1 } });
    await call("editMessageText", { chat_id: "-1001", message_id: 1, text: "resolved" });
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
    const reader = (await fetch(`${standIn.url}/events`)).body?.getReader();
    const read = async () => new TextDecoder().decode((await reader?.read())?.value);
    expect(await read()).toContain("event: change");
    await send({});
    expect(await read()).toContain("event: change");
    await standIn.close();
  });

  it("breaks the next request for a person and for a script, not for another site", async () => {
    const submit = (origin: string) =>
      fetch(`${standIn.url}/faults`, {
        method: "POST",
        headers: { origin },
        body: new URLSearchParams({ kind: "flood", chat: "-1001", delivered: "on" }),
        redirect: "manual",
      });
    expect((await submit("https://elsewhere.example")).status).toBe(403);
    expect(standIn.faults.pending()).toEqual([]);
    expect((await submit(standIn.url)).status).toBe(303);
    expect(standIn.faults.pending()).toEqual([{ kind: "flood", chat: "-1001", delivered: true }]);
    expect(await page()).toContain("Waiting: asks to wait 5 seconds");

    expect((await post("/faults", '{"kind":"hang","times":2}')).status).toBe(201);
    expect(standIn.faults.pending()).toHaveLength(3);
    for (const wrong of ['{"kind":"explode"}', "{"]) expect((await post("/faults", wrong)).status).toBe(400);
  });

  it("gives messages and requests to scripts", async () => {
    await send({});
    const read = async (path: string) => ((await (await fetch(standIn.url + path)).json()) as { data: unknown }).data;
    expect(await read("/chats/-2/messages.json")).toMatchObject([{ text: "x", messageId: 1 }]);
    expect(await read("/calls.json")).toMatchObject([{ method: "sendMessage", status: 200 }]);
    expect((await fetch(`${standIn.url}/chats/-9/messages.json`)).status).toBe(404);
  });
});
