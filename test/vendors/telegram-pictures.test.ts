import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { TelegramEntity, TelegramMessage } from "../../src/vendors/telegram/render.ts";
import { createTelegramChannel } from "../../src/vendors/telegram/send.ts";
import { type ChatStandIn, createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { destinationBase } from "../support/destinations.ts";
import { pngOf } from "../support/png.ts";
import { sendContext } from "../support/send-context.ts";

const token = "42:AAE-canary_5f2c9d1e7b";
const chatId = "-1001000000001";
const context = sendContext({ recipient: chatId });
const picture = { png: pngOf(800, 400), alt: "TVL of USDC" };
const bold: TelegramEntity[] = [{ type: "bold", offset: 0, length: 3 }];
const text = (content: string, entities: TelegramEntity[] = []): TelegramMessage => ({
  kind: "telegram",
  text: content,
  entities,
});

let standIn: ChatStandIn;
let channel: ReturnType<typeof open>;

const open = () =>
  createTelegramChannel({
    ...destinationBase("desk"),
    type: "telegram",
    chatId,
    silent: false,
    bot: { id: "42", token: new Secret(token), apiRoot: standIn.url },
  });

beforeEach(async () => {
  const now = 1_790_000_000_000;
  standIn = await createChatStandIn({ now: () => now, tokens: [token], chats: [{ id: chatId, title: "Desk" }] });
  channel = open();
});

afterEach(async () => {
  await channel.close();
  await standIn.close();
});

/** Sends it; the reference of the message. */
async function send(message: TelegramMessage): Promise<string> {
  const outcome = await channel.send(message, context);
  if (outcome.kind !== "sent" || outcome.ref === undefined) throw new Error("not sent");
  return outcome.ref;
}

describe("a picture for a message on Telegram", () => {
  it("joins it, under the text as it was", async () => {
    const message = text("TVL 24 M, below 25 M", bold);
    const ref = await send(message);
    expect(await channel.illustrate?.(ref, message, picture, context)).toEqual({ kind: "sent", ref });
    expect(standIn.messages(chatId)).toMatchObject([
      {
        messageId: 1,
        text: message.text,
        entities: bold,
        picture: { width: 800, height: 400, bytes: picture.png.length, isTextFirst: true },
      },
    ]);
  });

  it("brings its line where there is room", async () => {
    const line = "1 h −0.4 %, 24 h −3.2 %";
    const short = text("TVL 24 M", bold);
    await channel.illustrate?.(await send(short), short, { ...picture, line }, context);
    const long = text("x".repeat(1_020));
    await channel.illustrate?.(await send(long), long, { ...picture, line }, context);
    expect(standIn.messages(chatId)).toMatchObject([
      { text: `TVL 24 M\n\n${line}`, entities: bold },
      { text: long.text, picture: { width: 800 } },
    ]);
  });

  it("never joins a text that is longer than a caption", async () => {
    const [fits, tooLong] = [text("x".repeat(1_024)), text("x".repeat(1_025))];
    expect([fits, tooLong].map((message) => channel.holdsPicture?.(message))).toEqual([true, false]);
    await channel.illustrate?.(await send(fits), fits, picture, context);
    expect(await channel.illustrate?.(await send(tooLong), tooLong, picture, context)).toMatchObject({
      kind: "rejected",
      reason: "too_long",
    });
    expect(standIn.messages(chatId)).toMatchObject([{ picture: { width: 800 } }, { text: tooLong.text }]);
    expect(standIn.messages(chatId)[1]?.picture).toBeUndefined();
  });

  it.each(["by the channel that added it", "by one that knows nothing of it"])(
    "stays when the message is edited %s",
    async (how) => {
      const ref = await send(text("fires"));
      await channel.illustrate?.(ref, text("fires"), picture, context);
      if (how.includes("nothing")) {
        await channel.close();
        channel = open();
      }
      expect(await channel.edit?.(ref, text("over", bold), context)).toEqual({ kind: "sent", ref });
      expect(await channel.edit?.(ref, text("over", bold), context)).toEqual({ kind: "sent", ref });
      expect(standIn.messages(chatId)).toMatchObject([
        { text: "over", entities: bold, picture: { width: 800, isTextFirst: true } },
      ]);
      const refused = standIn.calls().filter(({ description }) => description?.includes("there is no text"));
      expect(refused).toHaveLength(how.includes("nothing") ? 1 : 0);
    },
  );

  it("lets no edit shorten a text: one that a caption cannot hold is refused, and what stands there stays", async () => {
    const ref = await send(text("fires"));
    await channel.illustrate?.(ref, text("fires"), picture, context);
    expect(await channel.edit?.(ref, text("x".repeat(1_025)), context)).toMatchObject({
      kind: "rejected",
      scope: "message",
      reason: "too_long",
      detail: "the message has a picture, and with one it holds 1024 characters, not 1025",
    });
    expect(standIn.messages(chatId)).toMatchObject([{ text: "fires" }]);
  });

  it("is refused with the vendor's words when the message is gone", async () => {
    const ref = await send(text("fires"));
    standIn.deleteMessage(chatId, 1);
    expect(await channel.illustrate?.(ref, text("fires"), picture, context)).toMatchObject({
      kind: "rejected",
      reason: "edit_target_gone",
      detail: expect.stringContaining("message to edit not found"),
    });
  });

  it("is refused when it is no picture, and the text stands", async () => {
    const ref = await send(text("fires"));
    const rubbish = { png: new TextEncoder().encode("--tocsin-part-1\r\nno picture"), alt: "" };
    expect(await channel.illustrate?.(ref, text("fires"), rubbish, context)).toMatchObject({
      kind: "rejected",
      detail: expect.stringContaining("IMAGE_PROCESS_FAILED"),
    });
    expect(standIn.messages(chatId)).toMatchObject([{ text: "fires" }]);
  });

  it("says how long the chat asks to wait", async () => {
    const ref = await send(text("fires"));
    standIn.faults.next({ kind: "flood", method: "editMessageMedia", retryAfterSeconds: 7 });
    expect(await channel.illustrate?.(ref, text("fires"), picture, context)).toMatchObject({
      kind: "retry",
      reason: "rate_limited",
      waitMs: 7_500,
    });
  });

  it("may hang without a text waiting for its connection", async () => {
    const ref = await send(text("fires"));
    standIn.faults.next({ kind: "hang", method: "editMessageMedia" });
    const giveUp = new AbortController();
    const adding = channel.illustrate?.(ref, text("fires"), picture, { ...context, signal: giveUp.signal });
    expect(await channel.send(text("another"), context)).toMatchObject({ kind: "sent" });
    giveUp.abort();
    expect(await adding).toMatchObject({ kind: "retry" });
    expect(standIn.messages(chatId).map((message) => message.text)).toEqual(["fires", "another"]);
  });
});
