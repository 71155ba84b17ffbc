import { beforeEach, expect, it } from "vitest";
import type { TelegramEntity, TelegramMessage } from "../../src/vendors/telegram/render.ts";
import { pngOf } from "../support/png.ts";
import { sayOutcome } from "../support/say-outcome.ts";
import { chatId, context, startTelegram, text } from "./telegram-fixture.ts";

const picture = { png: pngOf(800, 400), alt: "TVL of USDC" };
const bold: TelegramEntity[] = [{ type: "bold", offset: 0, length: 3 }];

let { standIn, channelTo } = {} as Awaited<ReturnType<typeof startTelegram>>;
let channel = {} as ReturnType<typeof channelTo>;
beforeEach(async () => {
  ({ standIn, channelTo } = await startTelegram());
  channel = channelTo();
});

/** Sends it; the reference of the message. */
async function send(message: TelegramMessage): Promise<string> {
  const outcome = await channel.send(message, context());
  if (outcome.kind !== "sent" || outcome.ref === undefined) throw new Error("not sent");
  return outcome.ref;
}

/** Sends it and adds the picture. */
const sendWith = async (message: TelegramMessage, added: object = picture) =>
  channel.illustrate?.(await send(message), message, { ...picture, ...added }, context());

it("a picture joins its message, under the text as it was", async () => {
  const message = text("TVL 24 M, below 25 M", bold);
  expect(await sendWith(message)).toEqual({ kind: "sent", ref: `${chatId}/1` });
  const shown = { width: 800, height: 400, bytes: picture.png.length, isTextFirst: true };
  expect(standIn.messages(chatId)).toMatchObject([
    { messageId: 1, text: message.text, entities: bold, picture: shown },
  ]);
});

it("brings its line where there is room", async () => {
  const line = "1 h −0.4 %, 24 h −3.2 %";
  const long = text("x".repeat(1_020));
  await sendWith(text("TVL 24 M", bold), { line });
  await sendWith(long, { line });
  expect(standIn.messages(chatId)).toMatchObject([
    { text: `TVL 24 M\n\n${line}`, entities: bold },
    { text: long.text, picture: { width: 800 } },
  ]);
});

it("never joins a text that is longer than a caption", async () => {
  const [fits, tooLong] = [text("x".repeat(1_024)), text("x".repeat(1_025))];
  expect([fits, tooLong].map((message) => channel.holdsPicture?.(message))).toEqual([true, false]);
  await sendWith(fits);
  expect(sayOutcome(await sendWith(tooLong))).toBe("rejected message too_long");
  expect(standIn.messages(chatId)).toMatchObject([{ picture: { width: 800 } }, { text: tooLong.text }]);
  expect(standIn.messages(chatId)[1]?.picture).toBeUndefined();
});

it.each(["by the channel that added it", "by one that knows nothing of it"])(
  "stays when the message is edited %s",
  async (how) => {
    await sendWith(text("fires"));
    const ref = `${chatId}/1`;
    if (how.includes("nothing")) channel = channelTo();
    for (let edit = 0; edit < 2; edit += 1)
      expect(await channel.edit?.(ref, text("over", bold), context())).toEqual({ kind: "sent", ref });
    expect(standIn.messages(chatId)).toMatchObject([
      { text: "over", entities: bold, picture: { width: 800, isTextFirst: true } },
    ]);
    const refused = standIn.calls().filter(({ description }) => description?.includes("there is no text"));
    expect(refused).toHaveLength(how.includes("nothing") ? 1 : 0);
  },
);

it("lets no edit shorten a text: one that a caption cannot hold is refused, and what stands there stays", async () => {
  await sendWith(text("fires"));
  expect(await channel.edit?.(`${chatId}/1`, text("x".repeat(1_025)), context())).toMatchObject({
    kind: "rejected",
    scope: "message",
    reason: "too_long",
    detail: "the message has a picture, and with one it holds 1024 characters, not 1025",
  });
  expect(standIn.messages(chatId)).toMatchObject([{ text: "fires" }]);
});

it("is refused with the vendor's words when the message is gone, or it is no picture; the text stands", async () => {
  const ref = await send(text("gone"));
  standIn.deleteMessage(chatId, 1);
  const gone = await channel.illustrate?.(ref, text("gone"), picture, context());
  expect(sayOutcome(gone)).toBe("rejected message edit_target_gone");
  expect(gone).toMatchObject({ detail: expect.stringContaining("message to edit not found") });
  const rubbish = { png: new TextEncoder().encode("--tocsin-part-1\r\nno picture") };
  const refused = { kind: "rejected", detail: expect.stringContaining("IMAGE_PROCESS_FAILED") };
  expect(await sendWith(text("fires"), rubbish)).toMatchObject(refused);
  expect(standIn.messages(chatId)).toMatchObject([{ text: "fires" }]);
});

it("may hang without a text waiting for its connection", async () => {
  const ref = await send(text("fires"));
  standIn.faults.next({ kind: "hang", method: "editMessageMedia" });
  const giveUp = new AbortController();
  const adding = channel.illustrate?.(ref, text("fires"), picture, context({ signal: giveUp.signal }));
  expect(await channel.send(text("another"), context())).toMatchObject({ kind: "sent" });
  giveUp.abort();
  expect(await adding).toMatchObject({ kind: "retry" });
  expect(standIn.messages(chatId).map((message) => message.text)).toEqual(["fires", "another"]);
});
