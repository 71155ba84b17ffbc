import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SendContext } from "../../src/core/ports/channel.ts";
import { Secret } from "../../src/core/secret.ts";
import type { TelegramEntity } from "../../src/vendors/telegram/render.ts";
import { createTelegramChannel } from "../../src/vendors/telegram/send.ts";
import type { TelegramDestination } from "../../src/vendors/telegram/vendor.ts";
import { type ChatStandIn, createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import type { KnownChannel as Channel, KnownMessage as Message } from "../support/known-vendors.ts";
import { findClosedPort, listenOnLoopback } from "../support/loopback.ts";
import { sendContext } from "../support/send-context.ts";

const secretPart = "AAE-canary_5f2c9d1e7b";
const token = `42:${secretPart}`;
const chatId = "-1001000000001";
const groupId = "-500";

let standIn: ChatStandIn;
let now = 1_790_000_000_000;
const closers: (() => Promise<void>)[] = [];

beforeEach(async () => {
  now = 1_790_000_000_000;
  standIn = await createChatStandIn({
    now: () => now,
    tokens: [token],
    limits: { chatBurst: Number.POSITIVE_INFINITY, botPerSecond: Number.POSITIVE_INFINITY },
    chats: [
      { id: chatId, title: "Desk", topics: [{ id: 7, name: "Alerts" }] },
      { id: groupId, title: "Old group" },
      { id: "-1009", title: "Board", kind: "channel" },
    ],
  });
  closers.push(() => standIn.close());
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function channelTo(change: Partial<TelegramDestination> = {}, apiRoot = standIn.url, timeoutSeconds = 240): Channel {
  const channel = createTelegramChannel(
    {
      name: "desk",
      type: "telegram",
      chatId,
      silent: false,
      bot: { id: "42", token: new Secret(token), apiRoot },
      timeZone: "UTC",
      onAmbiguous: "retry",
      digestOver: 10,
      pace: {},
      definedAt: "test",
      ...change,
    },
    { timeoutSeconds },
  );
  closers.push(() => channel.close());
  return channel;
}

function context(change: Partial<SendContext> = {}): SendContext {
  return sendContext({ recipient: chatId, receivedAt: now, ...change });
}

const text = (content: string, entities: TelegramEntity[] = []): Message => ({
  kind: "telegram",
  text: content,
  entities,
});

async function silentServer(onData?: (socket: import("node:net").Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    if (onData !== undefined) socket.on("data", () => onData(socket));
  });
  return (await listenOnLoopback(server)).port;
}

describe("sending to a Telegram chat", () => {
  it("delivers text and entities as they are, without a preview, and names the message with its chat", async () => {
    const entities: TelegramEntity[] = [
      { type: "bold", offset: 3, length: 3 },
      { type: "date_time", offset: 7, length: 5, unix_time: 1_790_000_000, date_time_format: "wDT" },
    ];
    const outcome = await channelTo().send(text("🔥 TVL 12:00 <b>&amp;</b>", entities), context());
    expect(outcome).toEqual({ kind: "sent", ref: `${chatId}/1` });
    expect(standIn.messages(chatId)).toMatchObject([
      { text: "🔥 TVL 12:00 <b>&amp;</b>", entities, previewDisabled: true, silent: false },
    ]);
  });

  it("is silent when the destination or the delivery asks for it", async () => {
    await channelTo({ silent: true }).send(text("one"), context());
    await channelTo().send(text("two"), context({ silent: true }));
    expect(standIn.messages(chatId).map(({ silent }) => silent)).toEqual([true, true]);
  });

  it("answers an earlier message inside the topic", async () => {
    const channel = channelTo({ topicId: 7 });
    const first = await channel.send(text("fires"), context());
    const ref = first.kind === "sent" ? first.ref : undefined;
    expect(await channel.send(text("resolved"), context({ replyTo: ref }))).toMatchObject({ kind: "sent" });
    expect(standIn.messages(chatId)).toMatchObject([{ topicId: 7 }, { topicId: 7, replyTo: 1 }]);
  });

  it("sends on its own when the answered message was deleted", async () => {
    const channel = channelTo();
    await channel.send(text("fires"), context());
    standIn.deleteMessage(chatId, 1);
    expect(await channel.send(text("resolved"), context({ replyTo: `${chatId}/1` }))).toMatchObject({ kind: "sent" });
    expect(standIn.messages(chatId)).toMatchObject([{ text: "resolved" }]);
  });

  it("never answers a message of the same number in another chat", async () => {
    standIn.post(chatId, "Dana", "unrelated");
    const outcome = await channelTo().send(text("resolved"), context({ replyTo: `${groupId}/1` }));
    expect(outcome).toMatchObject({ kind: "sent", note: "the answered message is in another chat" });
    expect(standIn.messages(chatId).at(-1)?.replyTo).toBeUndefined();
  });

  it.each(["deleted", "closed"])("sends to the group itself when the topic is %s, and says so", async (how) => {
    if (how === "deleted") standIn.deleteTopic(chatId, 7);
    else standIn.closeTopic(chatId, 7);
    const outcome = await channelTo({ topicId: 7 }).send(text("fires"), context());
    expect(outcome).toMatchObject({
      kind: "sent",
      note: "the topic is gone or closed, sent to the group itself",
      degraded: "the topic is gone or closed, sent to the group itself",
    });
    expect(standIn.messages(chatId)).toHaveLength(1);
    expect(standIn.messages(chatId)[0]?.topicId).toBeUndefined();
  });

  it("reports the outcome of the second call when the topic was gone", async () => {
    standIn.deleteTopic(chatId, 7);
    standIn.faults.next({ kind: "slow", delayMs: 1 });
    standIn.faults.next({ kind: "reset", delivered: true });
    const outcome = await channelTo({ topicId: 7 }).send(text("fires"), context());
    expect(outcome).toMatchObject({ kind: "ambiguous", reason: "connection_lost" });
    expect(standIn.messages(chatId)).toHaveLength(1);
  });

  it("reports the supergroup that a group became, and delivers there", async () => {
    const channel = channelTo({ chatId: groupId });
    const movedTo = standIn.migrate(groupId);
    const outcome = await channel.send(text("fires"), context({ recipient: groupId }));
    expect(outcome).toMatchObject({ kind: "retry", reason: "address_moved", movedTo, waitMs: 0 });
    expect(await channel.send(text("fires"), context({ recipient: movedTo }))).toMatchObject({ kind: "sent" });
    expect(standIn.messages(movedTo)).toHaveLength(1);
  });

  it("obeys the flood wait in full", async () => {
    standIn.faults.next({ kind: "flood", retryAfterSeconds: 97 });
    expect(await channelTo().send(text("x"), context())).toMatchObject({
      kind: "retry",
      reason: "rate_limited",
      waitMs: 97_500,
      countsAsAttempt: false,
    });
    now += 96_999;
    expect(await channelTo().send(text("x"), context())).toMatchObject({ kind: "retry", waitMs: 1_500 });
    now += 1;
    expect(await channelTo().send(text("x"), context())).toMatchObject({ kind: "sent" });
  });

  it("reports a destination that is closed until a human acts", async () => {
    const rejected = (reason: string) => ({ kind: "rejected", scope: "destination", reason });
    const channel = channelTo();
    expect(await channel.send(text("x"), context({ recipient: "-999" }))).toMatchObject(rejected("chat_not_found"));
    standIn.setMembership(chatId, "muted");
    expect(await channel.send(text("x"), context())).toMatchObject(rejected("no_rights"));
    standIn.setMembership(chatId, "kicked");
    expect(await channel.send(text("x"), context())).toMatchObject(rejected("kicked"));
  });
});

describe("what is known when no answer comes", () => {
  it("is certain that nothing left when there is no secure connection", async () => {
    const root = standIn.url.replace("http:", "https:");
    expect(await channelTo({}, root).send(text("x"), context())).toMatchObject({ kind: "retry", reason: "tls_failed" });
  });

  it("is certain that nothing left when the handshake never ends", async () => {
    const port = await silentServer();
    const outcome = await channelTo({}, `https://127.0.0.1:${port}`, 0.2).send(text("x"), context());
    expect(outcome).toMatchObject({ kind: "retry", reason: "timeout_before_send" });
  });

  it("does not know after half an answer", async () => {
    const port = await silentServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{"ok":true,');
      setImmediate(() => socket.resetAndDestroy());
    });
    const outcome = await channelTo({}, `http://127.0.0.1:${port}`).send(text("x"), context());
    expect(outcome).toMatchObject({ kind: "ambiguous" });
  });

  it.each(["null", "[]", "7", "{}"])("does not know after the answer %s", async (body) => {
    const port = await silentServer((socket) => {
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
    });
    const outcome = await channelTo({}, `http://127.0.0.1:${port}`).send(text("x"), context());
    expect(outcome).toMatchObject({ kind: "ambiguous", reason: "bad_answer" });
  });

  it("takes the token to no other address", async () => {
    const seen: string[] = [];
    const elsewhere = await silentServer(() => seen.push("called"));
    const port = await silentServer((socket) => {
      socket.end(
        `HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.1:${elsewhere}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
      );
    });
    const outcome = await channelTo({}, `http://127.0.0.1:${port}`).send(text("x"), context());
    expect(outcome).toMatchObject({ kind: "ambiguous", reason: "bad_answer" });
    expect(seen).toEqual([]);
  });

  it("repeats nothing by itself", async () => {
    standIn.faults.next({ kind: "error_500" });
    await channelTo().send(text("x"), context());
    expect(standIn.calls()).toHaveLength(1);
  });

  it("works through a root with a slash at its end", async () => {
    expect(await channelTo({}, `${standIn.url}/`).send(text("x"), context())).toMatchObject({ kind: "sent" });
  });
});

describe("editing", () => {
  it("replaces the text, and takes the same text again as done", async () => {
    const channel = channelTo();
    await channel.send(text("fires"), context());
    const ref = `${chatId}/1`;
    expect(await channel.edit?.(ref, text("resolved"), context())).toEqual({ kind: "sent", ref });
    expect(await channel.edit?.(ref, text("resolved"), context())).toEqual({ kind: "sent", ref });
    expect(standIn.messages(chatId)).toMatchObject([{ text: "resolved", edits: [{ text: "fires" }] }]);
  });

  it("never overwrites the message of the same number in another chat", async () => {
    const channel = channelTo({ chatId: groupId });
    await channel.send(text("first alert"), context({ recipient: groupId }));
    const movedTo = standIn.migrate(groupId);
    await channel.send(text("second alert"), context({ recipient: movedTo }));
    const outcome = await channel.edit?.(`${groupId}/1`, text("first resolved"), context({ recipient: movedTo }));
    expect(outcome).toMatchObject({ kind: "rejected", scope: "message", reason: "edit_target_gone" });
    expect(standIn.messages(movedTo)).toMatchObject([{ text: "second alert", edits: [] }]);
  });

  it.each(["", "1", `${chatId}/`, `${chatId}/0`, `${chatId}/1e3`, `${chatId}/-1`, "x/1"])(
    "does not guess at the reference %j",
    async (ref) => {
      const outcome = await channelTo().edit?.(ref, text("x"), context());
      expect(outcome).toMatchObject({ kind: "rejected", reason: "edit_target_gone" });
      expect(standIn.calls()).toEqual([]);
    },
  );

  it("reports that the message is gone or somebody else's", async () => {
    standIn.post(chatId, "Dana", "mine");
    for (const number of [1, 99]) {
      const outcome = await channelTo().edit?.(`${chatId}/${number}`, text("x"), context());
      expect(outcome).toMatchObject({ kind: "rejected", scope: "message", reason: "edit_target_gone" });
    }
  });

  it("may be repeated after a lost answer, since nobody can see an edit twice", async () => {
    const channel = channelTo();
    await channel.send(text("fires"), context());
    standIn.faults.next({ kind: "reset", delivered: true });
    const ref = `${chatId}/1`;
    expect(await channel.edit?.(ref, text("resolved"), context())).toMatchObject({
      kind: "retry",
      reason: "connection_lost",
    });
    expect(await channel.edit?.(ref, text("resolved"), context())).toMatchObject({ kind: "sent" });
    expect(standIn.messages(chatId)[0]?.edits).toHaveLength(1);
  });
});

describe("probing", () => {
  const probe = (recipient = chatId, change: Partial<TelegramDestination> = {}) =>
    channelTo(change).probe(recipient, new AbortController().signal);

  it("reports that delivery could work, and sends nothing", async () => {
    expect(await probe()).toEqual({ kind: "sent", note: 'the bot can write in "Desk"' });
    expect(await probe("-1009")).toMatchObject({ kind: "sent" });
    expect(standIn.messages(chatId)).toEqual([]);
  });

  it.each([
    ["kicked", "kicked"],
    ["left", "kicked"],
    ["muted", "no_rights"],
  ] as const)("reports that the bot is %s", async (membership, reason) => {
    standIn.setMembership(chatId, membership);
    expect(await probe()).toMatchObject({ kind: "rejected", scope: "destination", reason });
  });

  it("reports that a channel wants an administrator", async () => {
    standIn.setMembership("-1009", "member");
    expect(await probe("-1009")).toMatchObject({ kind: "rejected", reason: "no_rights" });
  });

  it("reports an unknown chat, a moved group, a topic where there are none", async () => {
    expect(await probe("-999")).toMatchObject({ kind: "rejected", reason: "chat_not_found" });
    expect(await probe(groupId, { topicId: 7 })).toMatchObject({ note: expect.stringContaining("no topics") });
    const movedTo = standIn.migrate(groupId);
    expect(await probe(groupId)).toMatchObject({ kind: "retry", reason: "address_moved", movedTo });
  });

  it("is only a failed look when no answer comes", async () => {
    standIn.faults.next({ kind: "reset" });
    expect(await probe()).toMatchObject({ kind: "retry", reason: "connection_lost" });
  });

  it("reports a token that is not accepted", async () => {
    const bot = { id: "42", token: new Secret("42:another"), apiRoot: standIn.url };
    expect(await probe(chatId, { bot })).toMatchObject({ kind: "rejected", scope: "account", reason: "auth_failed" });
  });
});

describe("the bot token", () => {
  it("appears in no outcome, whatever fails and whatever the other side quotes", async () => {
    const echo = await silentServer((socket) => {
      const body = JSON.stringify({
        ok: false,
        error_code: 400,
        description: `Bad Request: bot${token} and ${encodeURIComponent(token)} and ${secretPart}`,
      });
      socket.end(`HTTP/1.1 400 x\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
    });
    const dead = await findClosedPort();
    const roots = [
      `http://127.0.0.1:${echo}`,
      `http://127.0.0.1:${dead}`,
      standIn.url.replace("http:", "https:"),
      "http://127.0.0.1:1",
      "not an address",
    ];
    for (const root of roots) {
      const outcome = await channelTo({}, root).send(text("x"), context()).catch(String);
      expect(JSON.stringify(outcome)).not.toContain(secretPart);
      expect(outcome).toHaveProperty("kind");
    }
  });
});
