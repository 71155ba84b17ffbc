import { createServer } from "node:http";
import type { Now } from "../../src/core/clock.ts";
import type { BoardSource } from "../board/source.ts";
import { closeServer, createFaults, type Faults, listen } from "../stand-in.ts";
import { answerBotRequest, type StandInCall, type TelegramFault } from "./endpoint.ts";
import { FloodControl, type FloodLimits } from "./flood.ts";
import { type Bot, chatOf, describeMembership } from "./methods.ts";
import { UpdateQueue } from "./updates.ts";
import { viewTelegram } from "./view.tsx";
import {
  type ChatOptions,
  findMessage,
  type Membership,
  presentIn,
  type StandInChat,
  type StandInMessage,
  World,
} from "./world.ts";

export interface ChatStandInOptions {
  now: Now;
  /** Default 0: any free port. */
  port?: number;
  /** `<digits>:<secret>`; each is a bot of its own. */
  tokens: string[];
  chats: ChatOptions[];
  /** Privacy mode is off, for every bot. Default false. */
  readsAll?: boolean;
  /** Default: the vendor's limits. `Infinity` lifts one. */
  limits?: Partial<FloodLimits>;
}

/** A strict stand-in of the Telegram Bot API. In memory only. */
export interface ChatStandIn {
  /** For `apiRoot`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** For the board. */
  readonly source: BoardSource;
  /** What a reader sees now, oldest first: deleted messages are left out. A snapshot. */
  messages(chatId: string): StandInMessage[];
  /** The latest requests, oldest first, at most 20,000. A snapshot. */
  calls(): StandInCall[];
  readonly faults: Faults<TelegramFault>;
  /** A person writes, in a topic or to the whole chat; returns the id of the message. */
  post(chatId: string, from: string, text: string, topicId?: number): number;
  setMembership(chatId: string, membership: Membership): void;
  /** A person opens a topic, or gives it another name. */
  nameTopic(chatId: string, topicId: number, name: string): void;
  closeTopic(chatId: string, topicId: number): void;
  deleteTopic(chatId: string, topicId: number): void;
  /** As if the bot's owner had done it elsewhere; undefined takes it away. */
  setWebhook(token: string, url: string | undefined): void;
  /** A person deletes a message. */
  deleteMessage(chatId: string, messageId: number): void;
  /** Upgrades a group; returns the id of the supergroup. */
  migrate(chatId: string): string;
  /** Resolves when the chat shows at least `count` messages; rejects after `timeoutMs` (default 10,000). */
  waitForMessages(chatId: string, count: number, timeoutMs?: number): Promise<StandInMessage[]>;
  close(): Promise<void>;
}

const callsKept = 20_000;

export async function createChatStandIn(options: ChatStandInOptions): Promise<ChatStandIn> {
  const { now } = options;
  const bots = new Map(options.tokens.map((token) => [token, botOf(token, options)]));
  const date = () => Math.floor(now() / 1000);
  const tell = (content: Record<string, unknown>) => {
    for (const bot of bots.values()) bot.updates.add(content);
  };
  const tellMembership = (chat: StandInChat, before: Membership) => {
    for (const bot of bots.values()) {
      const members = {
        old_chat_member: describeMembership(chat, bot, before),
        new_chat_member: describeMembership(chat, bot),
      };
      const from = { id: 1, is_bot: false, first_name: "Owner" };
      bot.updates.add({ my_chat_member: { chat: chatOf(chat), from, date: date(), ...members } });
    }
  };
  /** What Telegram itself writes into a chat; every bot is shown it. */
  const tellService = (chat: StandInChat, content: Record<string, unknown>) => {
    const message = { message_id: world.nextMessageId(chat), chat: chatOf(chat), date: date(), ...content };
    tell({ [postIn(chat)]: message });
  };
  const world = new World(options.chats, now, (event) => {
    if (event.kind === "membership") return tellMembership(event.chat, event.before);
    tellService(event.chat, { migrate_to_chat_id: Number(event.made.id) });
    tellService(event.made, { migrate_from_chat_id: Number(event.chat.id) });
  });
  // A setup finds the ids of its chats by what a bot learns when it is added.
  for (const chat of world.chats.values()) tellMembership(chat, "left");

  const { changed, onChange, waitFor } = world.changes;
  const faults = createFaults<TelegramFault>(changed);
  const calls: StandInCall[] = [];
  const endpoint = {
    ...{ world, faults, bots, now },
    flood: new FloodControl(options.limits ?? {}, now),
    record(call: StandInCall) {
      calls.push(call);
      if (calls.length > callsKept) calls.shift();
      if (call.status !== 200) changed();
    },
  };
  // Longer than a client keeps a connection: on a busy machine the end of an idle one would meet the next message.
  const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
    answerBotRequest(endpoint, request, response).catch(() => request.socket.destroy());
  });
  const { url, port } = await listen(server, options.port);

  const chatOrThrow = (chatId: string): StandInChat => {
    const chat = world.chats.get(chatId);
    if (chat === undefined) throw new Error(`the stand-in has no chat ${chatId}`);
    return chat;
  };
  const shown = (chatId: string) => structuredClone(presentIn(chatOrThrow(chatId)));

  return {
    ...{ url, port, faults },
    source: viewTelegram({ world, faults, calls: () => calls, onChange }),
    messages: shown,
    calls: () => structuredClone(calls),
    post(chatId, from, text, topicId) {
      const chat = chatOrThrow(chatId);
      const lastBot = chat.messages.findLast(({ botId }) => botId !== undefined)?.botId;
      const sent = world.addMessage(chat, { text, entities: [], from, silent: false, previewDisabled: false, topicId });
      const isChannel = chat.kind === "channel";
      const message = {
        message_id: sent.messageId,
        ...(isChannel ? { sender_chat: chatOf(chat) } : { from: { id: 2, is_bot: false, first_name: from } }),
        chat: chatOf(chat),
        date: date(),
        ...(topicId !== undefined && inTopic(chat, topicId)),
        text,
      };
      for (const bot of bots.values()) {
        if (hears(bot, chat, text, lastBot)) bot.updates.add({ [postIn(chat)]: message });
      }
      return sent.messageId;
    },
    setMembership: (chatId, membership) => world.setMembership(chatOrThrow(chatId), membership),
    nameTopic(chatId, topicId, name) {
      const chat = chatOrThrow(chatId);
      const known = chat.topics.get(topicId);
      chat.topics.set(topicId, { id: topicId, name, closed: known?.closed ?? false });
      tellService(chat, {
        ...{ message_thread_id: topicId, is_topic_message: true },
        [known === undefined ? "forum_topic_created" : "forum_topic_edited"]: { name, icon_color: 0 },
      });
    },
    closeTopic(chatId, topicId) {
      const chat = chatOrThrow(chatId);
      const topic = chat.topics.get(topicId);
      if (topic === undefined) return;
      topic.closed = true;
      tellService(chat, { ...inTopic(chat, topicId), forum_topic_closed: {} });
    },
    deleteTopic: (chatId, topicId) => void chatOrThrow(chatId).topics.delete(topicId),
    setWebhook(token, webhook) {
      const bot = bots.get(token);
      if (bot === undefined) throw new Error("the stand-in has no such bot");
      bot.updates.setWebhook(webhook);
    },
    deleteMessage(chatId, messageId) {
      const message = findMessage(chatOrThrow(chatId), messageId);
      if (message !== undefined) world.deleteMessage(message);
    },
    migrate: (chatId) => world.migrate(chatOrThrow(chatId)),
    waitForMessages(chatId, count, timeoutMs = 10_000) {
      const look = () => (presentIn(chatOrThrow(chatId)).length < count ? undefined : shown(chatId));
      return waitFor(look, timeoutMs, () => `chat ${chatId} shows ${shown(chatId).length} of ${count} messages`);
    },
    async close() {
      for (const bot of bots.values()) bot.updates.close();
      await closeServer(server);
    },
  };
}

const postIn = ({ kind }: StandInChat) => (kind === "channel" ? "channel_post" : "message");

/** A message that answers none answers the one that opened its topic. */
function inTopic(chat: StandInChat, topicId: number): Record<string, unknown> {
  const at = { message_thread_id: topicId, is_topic_message: true };
  const opened = { name: chat.topics.get(topicId)?.name ?? "", icon_color: 0 };
  const opening = { message_id: topicId, chat: chatOf(chat), date: 0, ...at, forum_topic_created: opened };
  return { ...at, reply_to_message: opening };
}

/** https://core.telegram.org/bots/features#privacy-mode, without the answers to a bot's message. */
function hears(bot: Bot, chat: StandInChat, text: string, lastBot: string | undefined): boolean {
  if (chat.membership === "left" || chat.membership === "kicked") return false;
  if (chat.kind === "channel" || chat.membership === "administrator" || bot.readsAll) return true;
  const [, addressed] = /^\/\w+(?:@(\w+))?/.exec(text) ?? [];
  if (addressed !== undefined) return addressed.toLowerCase() === bot.username.toLowerCase();
  return text.startsWith("/") && lastBot === bot.id;
}

function botOf(token: string, { now, readsAll = false }: ChatStandInOptions): Bot {
  const id = token.split(":")[0] ?? "";
  if (!/^\d+:.+$/.test(token)) throw new Error("a bot token has the shape <digits>:<secret>");
  return { id, username: `tocsin_${id}_bot`, name: "Tocsin", readsAll, updates: new UpdateQueue(now) };
}
