import { onTestFinished } from "vitest";
import type { SendContext } from "../../src/core/ports/channel.ts";
import { Secret } from "../../src/core/secret.ts";
import type { TelegramEntity, TelegramMessage } from "../../src/vendors/telegram/render.ts";
import { createTelegramChannel } from "../../src/vendors/telegram/send.ts";
import type { TelegramDestination } from "../../src/vendors/telegram/vendor.ts";
import { createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { destinationBase } from "../support/destinations.ts";
import { sayOutcome } from "../support/say-outcome.ts";
import { sendContext } from "../support/send-context.ts";

export const secretPart = "AAE-canary_5f2c9d1e7b";
const token = `42:${secretPart}`;
export const chatId = "-1001000000001";
export const groupId = "-500";

export const text = (content: string, entities: TelegramEntity[] = []): TelegramMessage => ({
  kind: "telegram",
  text: content,
  entities,
});

export const context = (change: Partial<SendContext> = {}) => sendContext({ recipient: chatId, ...change });

/** A Bot API with a forum, a group and a channel, and channels to its chats. All end with the test. */
export async function startTelegram() {
  const now = 1_790_000_000_000;
  const standIn = await createChatStandIn({
    now: () => now,
    tokens: [token],
    limited: false,
    chats: [
      { id: chatId, title: "Desk", topics: [{ id: 7, name: "Alerts" }] },
      { id: groupId, title: "Old group" },
      { id: "-1009", title: "Board", kind: "channel" },
    ],
  });
  onTestFinished(() => standIn.close());
  function channelTo(change: Partial<TelegramDestination> = {}, apiRoot = standIn.url, timeoutSeconds = 240) {
    const bot = { id: "42", token: new Secret(token), apiRoot };
    const destination = {
      ...destinationBase("desk"),
      type: "telegram",
      chatId,
      silent: false,
      bot,
      ...change,
    } as const;
    const channel = createTelegramChannel(destination, { timeoutSeconds });
    onTestFinished(() => channel.close());
    return channel;
  }
  /** Sends to a chat at this root; what came of it. */
  const sayFrom = async (apiRoot: string, timeoutSeconds?: number) =>
    sayOutcome(await channelTo({}, apiRoot, timeoutSeconds).send(text("x"), context()));
  return { standIn, channelTo, sayFrom };
}
