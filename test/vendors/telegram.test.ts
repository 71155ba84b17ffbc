import { createServer, type Socket } from "node:net";
import { beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { TelegramEntity } from "../../src/vendors/telegram/render.ts";
import type { TelegramDestination } from "../../src/vendors/telegram/vendor.ts";
import { findLastingPort } from "../support/lasting-port.ts";
import { listenOnLoopback } from "../support/loopback.ts";
import { sayOutcome } from "../support/say-outcome.ts";
import { chatId, context, groupId, secretPart, startTelegram, text } from "./telegram-fixture.ts";

let { standIn, channelTo, sayFrom } = {} as Awaited<ReturnType<typeof startTelegram>>;
beforeEach(async () => {
  ({ standIn, channelTo, sayFrom } = await startTelegram());
});

/** The address of a server that answers each call so, or with nothing at all. */
async function serve(answer?: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    if (answer !== undefined) socket.on("data", () => answer(socket));
  });
  return (await listenOnLoopback(server)).url;
}
const answerOf = (status: string, body: string) => (socket: Socket) =>
  socket.end(`HTTP/1.1 ${status}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);

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
    await channel.send(text("fires"), context());
    expect(await channel.send(text("resolved"), context({ replyTo: `${chatId}/1` }))).toMatchObject({ kind: "sent" });
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
    const note = "the topic is gone or closed, sent to the group itself";
    expect(outcome).toMatchObject({ kind: "sent", note, degraded: note });
    expect(standIn.messages(chatId)).toHaveLength(1);
    expect(standIn.messages(chatId)[0]?.topicId).toBeUndefined();
  });

  it("reports the outcome of the second call when the topic was gone", async () => {
    standIn.deleteTopic(chatId, 7);
    standIn.faults.next({ kind: "slow", delayMs: 1 });
    standIn.faults.next({ kind: "reset", delivered: true });
    const outcome = await channelTo({ topicId: 7 }).send(text("fires"), context());
    expect(sayOutcome(outcome)).toBe("ambiguous connection_lost");
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
});

describe("what is known when no answer comes", () => {
  it("is that nothing left when there is no secure connection, or its handshake never ends", async () => {
    expect(await sayFrom(standIn.url.replace("http:", "https:"))).toBe("retry tls_failed -");
    const silent = (await serve()).replace("http:", "https:");
    expect(await sayFrom(silent, 0.2)).toBe("retry timeout_before_send -");
  });

  it("is nothing after half an answer", async () => {
    const root = await serve((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{"ok":true,');
      setImmediate(() => socket.resetAndDestroy());
    });
    expect(await sayFrom(root)).toMatch(/^ambiguous/);
  });

  it.each(["null", "[]", "7", "{}"])("is nothing after the answer %s", async (body) => {
    expect(await sayFrom(await serve(answerOf("200 OK", body)))).toBe("ambiguous bad_answer");
  });

  it("is nothing after a redirection, and the token goes to no other address", async () => {
    const seen: string[] = [];
    const elsewhere = await serve(() => seen.push("called"));
    const root = await serve(answerOf(`307 Moved\r\nlocation: ${elsewhere}/`, ""));
    expect(await sayFrom(root)).toBe("ambiguous bad_answer");
    expect(seen).toEqual([]);
  });
});

it("works through a root with a slash at its end", async () => {
  expect(await sayFrom(`${standIn.url}/`)).toBe("sent");
});

describe("editing", () => {
  const ref = `${chatId}/1`;

  it("replaces the text, and takes the same text again as done", async () => {
    const channel = channelTo();
    await channel.send(text("fires"), context());
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
    expect(sayOutcome(outcome)).toBe("rejected message edit_target_gone");
    expect(standIn.messages(movedTo)).toMatchObject([{ text: "second alert", edits: [] }]);
  });

  it.each(["", "1", `${chatId}/`, `${chatId}/0`, `${chatId}/1e3`, `${chatId}/-1`, "x/1"])(
    "does not guess at the reference %j",
    async (wrong) => {
      const outcome = await channelTo().edit?.(wrong, text("x"), context());
      expect(sayOutcome(outcome)).toBe("rejected message edit_target_gone");
      expect(standIn.calls()).toEqual([]);
    },
  );

  it.each([1, 99])("reports that the message %i is somebody else's or gone", async (number) => {
    standIn.post(chatId, "Dana", "mine");
    const outcome = await channelTo().edit?.(`${chatId}/${number}`, text("x"), context());
    expect(sayOutcome(outcome)).toBe("rejected message edit_target_gone");
  });

  it("may be repeated after a lost answer, since nobody can see an edit twice", async () => {
    const channel = channelTo();
    await channel.send(text("fires"), context());
    standIn.faults.next({ kind: "reset", delivered: true });
    expect(sayOutcome(await channel.edit?.(ref, text("resolved"), context()))).toBe("retry connection_lost -");
    expect(await channel.edit?.(ref, text("resolved"), context())).toMatchObject({ kind: "sent" });
    expect(standIn.messages(chatId)[0]?.edits).toHaveLength(1);
  });
});

describe("probing", () => {
  const probe = (recipient = chatId, change: Partial<TelegramDestination> = {}) =>
    channelTo(change).probe(recipient, new AbortController().signal);
  const say = async (...asked: Parameters<typeof probe>) => sayOutcome(await probe(...asked));

  it("reports that delivery could work, and sends nothing", async () => {
    expect(await probe()).toEqual({ kind: "sent", note: 'the bot can write in "Desk"' });
    expect(await say("-1009")).toBe("sent");
    expect(standIn.messages(chatId)).toEqual([]);
  });

  it.each([
    ["kicked", "kicked"],
    ["left", "kicked"],
    ["muted", "no_rights"],
  ] as const)("reports that the bot is %s", async (membership, reason) => {
    standIn.setMembership(chatId, membership);
    expect(await say()).toBe(`rejected destination ${reason}`);
  });

  it("reports that a channel wants an administrator, and a chat that is unknown", async () => {
    standIn.setMembership("-1009", "member");
    expect(await say("-1009")).toBe("rejected destination no_rights");
    expect(await say("-999")).toBe("rejected destination chat_not_found");
  });

  it("reports a topic where there are none, and a moved group", async () => {
    expect(await probe(groupId, { topicId: 7 })).toMatchObject({ note: expect.stringContaining("no topics") });
    const movedTo = standIn.migrate(groupId);
    expect(await probe(groupId)).toMatchObject({ kind: "retry", reason: "address_moved", movedTo });
  });

  it("is only a failed look when no answer comes", async () => {
    standIn.faults.next({ kind: "reset" });
    expect(await say()).toBe("retry connection_lost -");
  });

  it("reports a token that is not accepted", async () => {
    const bot = { id: "42", token: new Secret("42:another"), apiRoot: standIn.url };
    expect(await say(chatId, { bot })).toBe("rejected account auth_failed");
  });
});

it("the bot token appears in no outcome, whatever fails and whatever the other side quotes", async () => {
  const token = `42:${secretPart}`;
  const description = `Bad Request: bot${token} and ${encodeURIComponent(token)} and ${secretPart}`;
  const echo = answerOf("400 x", JSON.stringify({ ok: false, error_code: 400, description }));
  const roots = [
    await serve(echo),
    `http://127.0.0.1:${await findLastingPort()}`,
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
