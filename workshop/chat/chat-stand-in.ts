import type { Now } from "../../src/core/clock.ts";
import { createFaults } from "../stand-in.ts";
import { Limits, openVendorServer } from "../vendor-server.ts";
import { readCall, type TelegramFault } from "./endpoint.ts";
import { type Bot, chatOf, describeMembership } from "./methods.ts";
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
  const { now, limited = true } = options;
  const { world, bots, tellService } = openWorld(options);
  const { changed, onChange } = world.changes;
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
    source: viewTelegram({ world, faults, calls: () => calls, onChange }),
    /** The latest requests, oldest first, at most 20,000. A snapshot. */
    calls: () => structuredClone(calls),
    /** A person writes, in a topic or to the whole chat. Returns the id of the message. */
    post: (chatId: string, from: string, text: string, topicId?: number) =>
      post({ world, bots, now }, chatOrThrow(chatId), { from, text, topicId }),
    setMembership: (chatId: string, membership: Membership) => world.setMembership(chatOrThrow(chatId), membership),
    nameTopic(chatId: string, topicId: number, name: string): void {
      const chat = chatOrThrow(chatId);
      const known = chat.topics.get(topicId);
      chat.topics.set(topicId, { id: topicId, name, closed: known?.closed ?? false });
      tellService(chat, {
        ...{ message_thread_id: topicId, is_topic_message: true },
        [known === undefined ? "forum_topic_created" : "forum_topic_edited"]: { name, icon_color: 0 },
      });
    },
    closeTopic(chatId: string, topicId: number): void {
      const chat = chatOrThrow(chatId);
      const topic = chat.topics.get(topicId);
      if (topic === undefined) return;
      topic.closed = true;
      tellService(chat, { ...inTopic(chat, topicId), forum_topic_closed: {} });
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

type Bots = ReadonlyMap<string, Bot>;

const dateOf = (now: Now) => Math.floor(now() / 1000);

function openWorld(options: ChatStandInOptions) {
  const { now } = options;
  const bots: Bots = new Map(options.tokens.map((token) => [token, botOf(token)]));
  const tellMembership = (chat: StandInChat, before: Membership) => {
    for (const bot of bots.values()) {
      const members = {
        old_chat_member: describeMembership(chat, bot, before),
        new_chat_member: describeMembership(chat, bot),
      };
      const from = { id: 1, is_bot: false, first_name: "Owner" };
      bot.updates.add({ my_chat_member: { chat: chatOf(chat), from, date: dateOf(now), ...members } });
    }
  };
  /** Telegram's own messages in a chat, which every bot sees. */
  const tellService = (chat: StandInChat, content: Record<string, unknown>) => {
    const message = { message_id: world.nextMessageId(chat), chat: chatOf(chat), date: dateOf(now), ...content };
    for (const bot of bots.values()) bot.updates.add({ [postIn(chat)]: message });
  };
  const world: World = new World(options.chats, now, (event) => {
    if (event.kind === "membership") return tellMembership(event.chat, event.before);
    tellService(event.chat, { migrate_to_chat_id: Number(event.made.id) });
    tellService(event.made, { migrate_from_chat_id: Number(event.chat.id) });
  });
  // When a bot is added, it gets the ids of its chats. A setup finds them in this way.
  for (const chat of world.chats.values()) tellMembership(chat, "left");
  return { world, bots, tellService };
}

function post(
  { world, bots, now }: { world: World; bots: Bots; now: Now },
  chat: StandInChat,
  { from, text, topicId }: { from: string; text: string; topicId?: number },
): number {
  const lastBot = chat.messages.findLast(({ botId }) => botId !== undefined)?.botId;
  const sent = world.addMessage(chat, { text, entities: [], from, silent: false, previewDisabled: false, topicId });
  const isChannel = chat.kind === "channel";
  const message = {
    message_id: sent.messageId,
    ...(isChannel ? { sender_chat: chatOf(chat) } : { from: { id: 2, is_bot: false, first_name: from } }),
    chat: chatOf(chat),
    date: dateOf(now),
    ...(topicId !== undefined && inTopic(chat, topicId)),
    text,
  };
  for (const bot of bots.values()) {
    if (hears(bot, chat, text, lastBot)) bot.updates.add({ [postIn(chat)]: message });
  }
  return sent.messageId;
}

const postIn = ({ kind }: StandInChat) => (kind === "channel" ? "channel_post" : "message");

/** A message without an own target answers the message that opened its topic. */
function inTopic(chat: StandInChat, topicId: number): Record<string, unknown> {
  const at = { message_thread_id: topicId, is_topic_message: true };
  const opened = { name: chat.topics.get(topicId)?.name ?? "", icon_color: 0 };
  const opening = { message_id: topicId, chat: chatOf(chat), date: 0, ...at, forum_topic_created: opened };
  return { ...at, reply_to_message: opening };
}

/** https://core.telegram.org/bots/features#privacy-mode, without answers to a bot's message. */
function hears(bot: Bot, chat: StandInChat, text: string, lastBot: string | undefined): boolean {
  if (chat.membership === "left" || chat.membership === "kicked") return false;
  if (chat.kind === "channel" || chat.membership === "administrator") return true;
  const [, addressed] = /^\/\w+(?:@(\w+))?/.exec(text) ?? [];
  if (addressed !== undefined) return addressed.toLowerCase() === bot.username.toLowerCase();
  return text.startsWith("/") && lastBot === bot.id;
}

function botOf(token: string): Bot {
  const id = token.split(":")[0] ?? "";
  if (!/^\d+:.+$/.test(token)) throw new Error("a bot token has the shape <digits>:<secret>");
  return { id, username: `tocsin_${id}_bot`, name: "Tocsin", updates: new UpdateQueue() };
}
