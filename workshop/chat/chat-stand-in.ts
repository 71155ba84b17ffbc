import type { Now } from "../../src/core/clock.ts";
import { createFaults } from "../stand-in.ts";
import { Limits, openVendorServer } from "../vendor-server.ts";
import { type Bot, inTopic } from "./describe.ts";
import { readCall, type TelegramFault } from "./endpoint.ts";
import { UpdateQueue } from "./updates.ts";
import { viewTelegram } from "./view.tsx";
import { type ChatOptions, findMessage, type Membership, presentIn, type StandInChat, World } from "./world.ts";

export interface ChatStandInOptions {
  now: Now;
  /** `<digits>:<secret>`. Each is a bot of its own. */
  tokens: string[];
  chats: ChatOptions[];
  /** Answers 429 to messages above the vendor's limits. Default true. */
  limited?: boolean;
}

export type ChatStandIn = Awaited<ReturnType<typeof createChatStandIn>>;

/** A strict stand-in for the Telegram Bot API. In memory only. */
export async function createChatStandIn(options: ChatStandInOptions) {
  const { now, limited = true, chats } = options;
  const bots = new Map(options.tokens.map((token) => [token, botOf(token)]));
  const world = new World(chats, [...bots.values()], now);
  const { changed } = world.changes;
  const faults = createFaults<TelegramFault>(changed);
  const endpoint = { world, limits: new Limits(now), limited, faults, bots };
  const { url, calls, close } = await openVendorServer(now, changed, (request) => readCall(endpoint, request));

  const chatOrThrow = (chatId: string): StandInChat => {
    const chat = world.chats.get(chatId);
    if (chat === undefined) throw new Error(`the stand-in has no chat ${chatId}`);
    return chat;
  };
  /** The messages that a reader sees now, oldest first, without deleted ones. A snapshot. */
  const messages = (chatId: string) => structuredClone(presentIn(chatOrThrow(chatId)));

  return {
    /** `url`: for `apiRoot`, without a trailing slash. */
    ...{ url, faults, messages },
    source: viewTelegram(world, faults, () => calls),
    /** The latest requests, oldest first, at most 20,000. A snapshot. */
    calls: () => structuredClone(calls),
    /** A person writes, in a topic or to the whole chat. Returns the id of the message. */
    post: (chatId: string, from: string, text: string, topicId?: number) =>
      world.post(chatOrThrow(chatId), from, text, topicId),
    setMembership: (chatId: string, membership: Membership) => world.setMembership(chatOrThrow(chatId), membership),
    nameTopic(chatId: string, topicId: number, name: string): void {
      const chat = chatOrThrow(chatId);
      const known = chat.topics.get(topicId);
      chat.topics.set(topicId, { id: topicId, name, closed: known?.closed ?? false });
      world.tellService(chat, {
        ...{ message_thread_id: topicId, is_topic_message: true },
        [known === undefined ? "forum_topic_created" : "forum_topic_edited"]: { name, icon_color: 0 },
      });
    },
    closeTopic(chatId: string, topicId: number): void {
      const chat = chatOrThrow(chatId);
      const topic = chat.topics.get(topicId);
      if (topic === undefined) return;
      topic.closed = true;
      world.tellService(chat, { ...inTopic(chat, topicId), forum_topic_closed: {} });
    },
    deleteTopic: (chatId: string, topicId: number) => void chatOrThrow(chatId).topics.delete(topicId),
    /** Acts as the bot's owner elsewhere. Undefined removes the webhook. */
    setWebhook(token: string, webhook: string | undefined): void {
      const bot = bots.get(token);
      if (bot === undefined) throw new Error("the stand-in has no such bot");
      bot.updates.webhook = webhook;
      bot.updates.wake("webhook");
    },
    deleteMessage(chatId: string, messageId: number): void {
      const message = findMessage(chatOrThrow(chatId), messageId);
      if (message !== undefined) world.deleteMessage(message);
    },
    migrate: (chatId: string) => world.migrate(chatOrThrow(chatId)),
    async close(): Promise<void> {
      for (const bot of bots.values()) bot.updates.wake("closed");
      await close();
    },
  };
}

function botOf(token: string): Bot {
  const id = token.split(":")[0] ?? "";
  if (!/^\d+:.+$/.test(token)) throw new Error("a bot token has the shape <digits>:<secret>");
  return { id, username: `tocsin_${id}_bot`, updates: new UpdateQueue() };
}
