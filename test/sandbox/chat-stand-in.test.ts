import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ChatStandIn, createChatStandIn } from "../../src/sandbox/chat/chat-stand-in.ts";

const token = "7:first-secret";
const other = "8:other-secret";
let now = 1_790_000_000_000;
let standIn: ChatStandIn;

beforeEach(async () => {
  now = 1_790_000_000_000;
  standIn = await createChatStandIn({
    now: () => now,
    tokens: [token, other],
    chats: [
      {
        id: "-1001",
        title: "Desk",
        topics: [
          { id: 5, name: "Alerts" },
          { id: 6, name: "Old", closed: true },
        ],
      },
      { id: "-2", title: "Group" },
      { id: "-1003", title: "Board", kind: "channel", membership: "member" },
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
  const response = await fetch(`${standIn.url}/bot${by}/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(parameters),
  });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

const refusal = (code: number, description: string) => ({
  status: code,
  body: { ok: false, error_code: code, description },
});

describe("the stand-in for the Bot API", () => {
  it("accepts JSON, forms, multipart and query, as the vendor does", async () => {
    const address = `${standIn.url}/bot${token}/sendMessage`;
    const entities = JSON.stringify([{ type: "bold", offset: 0, length: 4 }]);
    const form = new FormData();
    form.set("chat_id", "-1001");
    form.set("text", "multipart");
    await call("sendMessage", { chat_id: -1001, text: "json" });
    now += 60_000;
    await fetch(address, {
      method: "POST",
      body: new URLSearchParams({ chat_id: "-1001", text: "form", entities }),
    });
    await fetch(address, { method: "POST", body: form });
    await fetch(`${address}?chat_id=-1001&text=query`);
    expect(standIn.messages("-1001").map(({ text }) => text)).toEqual(["json", "form", "multipart", "query"]);
    expect(standIn.messages("-1001")[1]?.entities).toEqual([{ type: "bold", offset: 0, length: 4 }]);
  });

  it("answers with the message as it was taken", async () => {
    const { body } = await call("sendMessage", { chat_id: "-1001", text: "hi", message_thread_id: 5 });
    expect(body.result).toMatchObject({
      message_id: 1,
      date: now / 1000,
      text: "hi",
      message_thread_id: 5,
      chat: { id: -1001, title: "Desk", type: "supergroup", is_forum: true },
      from: { id: 7, is_bot: true },
    });
  });

  it("refuses a token that it does not know, and what it does not speak", async () => {
    expect(await call("getMe", {}, "7:guess")).toEqual(refusal(401, "Unauthorized"));
    expect(await call("setMyCommands")).toEqual(refusal(404, "Not Found: method not found"));
    const response = await fetch(`${standIn.url}/bot${token}`);
    expect([response.status, await response.json()]).toEqual([404, refusal(404, "Not Found").body]);
    const broken = await fetch(`${standIn.url}/bot%zz/getMe`);
    expect(broken.status).toBe(401);
  });

  it.each([
    [{ chat_id: "-404", text: "x" }, 400, "Bad Request: chat not found"],
    [{ text: "x" }, 400, "Bad Request: chat_id is empty"],
    [{ chat_id: "-1001" }, 400, "Bad Request: message text is empty"],
    [{ chat_id: "-1001", text: "x", message_thread_id: 9 }, 400, "Bad Request: message thread not found"],
    [{ chat_id: "-1001", text: "x", message_thread_id: 6 }, 400, "Bad Request: TOPIC_CLOSED"],
    [
      { chat_id: "-1001", text: "x", reply_parameters: { message_id: 9 } },
      400,
      "Bad Request: message to be replied not found",
    ],
    [{ chat_id: "-1003", text: "x" }, 400, "Bad Request: need administrator rights in the channel chat"],
    [{ chat_id: "-1001", text: "x", parse_mode: "XML" }, 400, "Bad Request: unsupported parse_mode"],
  ])("refuses %j", async (parameters, code, description) => {
    expect(await call("sendMessage", parameters)).toEqual(refusal(code, description));
    expect(standIn.messages("-1001")).toEqual([]);
  });

  it.each([
    ["kicked", 403, "Forbidden: bot was kicked from the group chat"],
    ["left", 403, "Forbidden: bot is not a member of the group chat"],
    ["muted", 400, "Bad Request: not enough rights to send text messages to the chat"],
  ] as const)("refuses a bot that is %s", async (membership, code, description) => {
    standIn.setMembership("-2", membership);
    expect(await call("sendMessage", { chat_id: "-2", text: "x" })).toEqual(refusal(code, description));
  });

  it("answers a missing message when that is allowed", async () => {
    const reply_parameters = { message_id: 9, allow_sending_without_reply: true };
    expect((await call("sendMessage", { chat_id: "-2", text: "x", reply_parameters })).status).toBe(200);
    expect(standIn.messages("-2")[0]?.replyTo).toBeUndefined();
  });

  it("edits only what is there, one's own, and different", async () => {
    await call("sendMessage", { chat_id: "-2", text: "one" });
    const edit = (more: Record<string, unknown>, by = token) => call("editMessageText", { chat_id: "-2", ...more }, by);
    expect(await edit({ message_id: 4, text: "x" })).toEqual(refusal(400, "Bad Request: message to edit not found"));
    expect(await edit({ message_id: 1, text: "x" }, other)).toEqual(
      refusal(400, "Bad Request: message can't be edited"),
    );
    expect((await edit({ message_id: 1, text: "one" })).body.description).toMatch(/message is not modified/);
    now += 5_000;
    expect((await edit({ message_id: 1, text: "two" })).body.result).toMatchObject({ edit_date: now / 1000 });
    expect(standIn.messages("-2")).toMatchObject([{ text: "two", edits: [{ at: now, text: "one" }] }]);
  });

  it("deletes one's own", async () => {
    await call("sendMessage", { chat_id: "-2", text: "one" });
    expect((await call("deleteMessage", { chat_id: "-2", message_id: 1 }, other)).status).toBe(400);
    expect((await call("deleteMessage", { chat_id: "-2", message_id: 1 })).body).toEqual({
      ok: true,
      result: true,
    });
    expect(await call("deleteMessage", { chat_id: "-2", message_id: 1 })).toEqual(
      refusal(400, "Bad Request: message to delete not found"),
    );
    expect(standIn.messages("-2")).toEqual([]);
  });

  it("asks to wait when a chat is flooded, and again during the wait", async () => {
    for (let sent = 0; sent < 3; sent++) await call("sendMessage", { chat_id: "-2", text: `${sent}` });
    const refused = await call("sendMessage", { chat_id: "-2", text: "x" });
    expect(refused).toMatchObject({
      status: 429,
      body: { description: "Too Many Requests: retry after 3", parameters: { retry_after: 3 } },
    });
    now += 1_000;
    expect((await call("sendMessage", { chat_id: "-2", text: "x" })).body.parameters).toEqual({
      retry_after: 2,
    });
    now += 2_000;
    expect((await call("sendMessage", { chat_id: "-2", text: "x" })).status).toBe(200);
  });

  it("points to the supergroup that a group became, which counts its messages anew", async () => {
    await call("sendMessage", { chat_id: "-2", text: "before" });
    const movedTo = standIn.migrate("-2");
    const refused = await call("sendMessage", { chat_id: "-2", text: "x" });
    expect(refused.body).toEqual({
      ok: false,
      error_code: 400,
      description: "Bad Request: group chat was upgraded to a supergroup chat",
      parameters: { migrate_to_chat_id: Number(movedTo) },
    });
    const moved = await call("sendMessage", { chat_id: movedTo, text: "after" });
    expect(moved.body.result).toMatchObject({ message_id: 1 });
    expect(standIn.migrate("-2")).toBe(movedTo);
  });

  it("answers a bot who it is and where it was added", async () => {
    expect((await call("getMe")).body.result).toMatchObject({
      id: 7,
      is_bot: true,
      username: "tocsin_7_bot",
    });
    expect((await call("getChat", { chat_id: "-1001" })).body.result).toMatchObject({ type: "supergroup" });
    expect((await call("getChatMember", { chat_id: "-2", user_id: 7 })).body.result).toMatchObject({
      status: "member",
    });
    standIn.post("-2", "Dana", "/start");
    const updates = (await call("getUpdates")).body.result as unknown as {
      update_id: number;
      message?: unknown;
    }[];
    expect(updates.at(-1)?.message).toMatchObject({ text: "/start", chat: { id: -2 } });
    const after = await call("getUpdates", { offset: (updates.at(-1)?.update_id ?? 0) + 1 });
    expect(after.body.result).toEqual([]);
  });
});

describe("faults", () => {
  it("hit only the chat and the method that they are for, and once", async () => {
    standIn.faults.next({ kind: "error_500", chat: "-2", method: "sendMessage" });
    expect((await call("sendMessage", { chat_id: "-1001", text: "x" })).status).toBe(200);
    expect((await call("getChat", { chat_id: "-2" })).status).toBe(200);
    expect((await call("sendMessage", { chat_id: "-2", text: "x" })).status).toBe(500);
    expect((await call("sendMessage", { chat_id: "-2", text: "x" })).status).toBe(200);
    expect(standIn.faults.pending()).toEqual([]);
  });

  it("deliver and lose the answer when asked to", async () => {
    standIn.faults.next({ kind: "reset", delivered: true });
    await expect(call("sendMessage", { chat_id: "-2", text: "arrived" })).rejects.toThrow();
    standIn.faults.next({ kind: "reset" });
    await expect(call("sendMessage", { chat_id: "-2", text: "lost" })).rejects.toThrow();
    expect(standIn.messages("-2").map(({ text }) => text)).toEqual(["arrived"]);
    expect(standIn.calls().map(({ fault, status }) => [fault, status])).toEqual([
      ["reset", 200],
      ["reset", 0],
    ]);
  });

  it("throw the bot out for good", async () => {
    standIn.faults.next({ kind: "kick" });
    expect((await call("sendMessage", { chat_id: "-2", text: "x" })).status).toBe(403);
    expect((await call("sendMessage", { chat_id: "-2", text: "x" })).status).toBe(403);
  });

  it("turn the group into a supergroup", async () => {
    standIn.faults.next({ kind: "migrate" });
    const { body } = await call("sendMessage", { chat_id: "-2", text: "x" });
    expect(body.parameters?.migrate_to_chat_id).toBeLessThan(-1_000_000_000_000);
  });

  it("end with the stand-in: a hanging request does not keep it open", async () => {
    standIn.faults.next({ kind: "hang" });
    const hanging = call("sendMessage", { chat_id: "-2", text: "x" }).catch((error: Error) => error.name);
    await expect.poll(() => standIn.calls().length).toBe(1);
    await standIn.close();
    expect(await hanging).toBe("TypeError");
  });
});

describe("inspection", () => {
  it("waits for messages, and gives up with what it has", async () => {
    const waiting = standIn.waitForMessages("-2", 2);
    await call("sendMessage", { chat_id: "-2", text: "one" });
    await call("sendMessage", { chat_id: "-2", text: "two" });
    expect((await waiting).map(({ text }) => text)).toEqual(["one", "two"]);
    await expect(standIn.waitForMessages("-2", 3, 1)).rejects.toThrow("shows 2 of 3 messages");
  });

  it("gives snapshots that nobody can spoil", async () => {
    await call("sendMessage", { chat_id: "-2", text: "one" });
    const [message] = standIn.messages("-2");
    if (message !== undefined) message.text = "spoiled";
    expect(standIn.messages("-2")[0]?.text).toBe("one");
  });

  it("holds no token", async () => {
    await call("sendMessage", { chat_id: "-2", text: "one" });
    await call("getMe", {}, "7:guess");
    expect(JSON.stringify(standIn.calls())).not.toMatch(/secret|guess/);
  });
});
