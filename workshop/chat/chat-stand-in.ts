import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Now } from "../../src/core/clock.ts";
import { closeServer, listen, urlHostOf, waitFor } from "../stand-in.ts";
import { answerBotRequest, type StandInCall } from "./bot-endpoint.ts";
import { type Bot, chatOf, describeMembership } from "./bot-methods.ts";
import { createFaultQueue, type Faults } from "./faults.ts";
import { createFloodControl, type FloodLimits, vendorLimits } from "./flood.ts";
import { createChatPage } from "./page.tsx";
import { createUpdateQueue } from "./updates.ts";
import { type ChatOptions, createWorld, type Membership, type StandInChat, type StandInMessage } from "./world.ts";

export interface ChatStandInOptions {
  now: Now;
  /** Default 0: any free port. */
  port?: number;
  /** Default `127.0.0.1`. */
  host?: string;
  /** `<digits>:<secret>`; each is a bot of its own. */
  tokens: string[];
  chats: ChatOptions[];
  /** Privacy mode is off, for every bot. Default false. */
  readsAll?: boolean;
  /** Default: the vendor's limits. `Infinity` lifts one. */
  limits?: Partial<FloodLimits>;
}

/** A strict stand-in of the Telegram Bot API, with a page that shows what its readers would see. In memory only. */
export interface ChatStandIn {
  /** For `apiRoot` and for a browser, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** What a reader sees now, oldest first: deleted messages are left out. A snapshot. */
  messages(chatId: string): StandInMessage[];
  /** The latest requests, oldest first, at most 20,000. A snapshot. */
  calls(): StandInCall[];
  readonly faults: Faults;
  /** A person writes, in a topic or to the whole chat; returns the id of the message. */
  post(chatId: string, from: string, text: string, topicId?: number): number;
  setMembership(chatId: string, membership: Membership): void;
  /** A person opens a topic, or gives it another name. */
  nameTopic(chatId: string, topicId: number, name: string): void;
  closeTopic(chatId: string, topicId: number): void;
  /** As if the bot's owner had done it elsewhere; undefined takes it away. */
  setWebhook(token: string, url: string | undefined): void;
  deleteTopic(chatId: string, topicId: number): void;
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
  const bots = new Map(options.tokens.map((token) => [token, botOf(token, options)]));
  const tellAll = (write: (bot: Bot) => Record<string, unknown> | undefined) => {
    for (const bot of bots.values()) {
      const content = write(bot);
      if (content !== undefined) bot.updates.add(content);
    }
  };
  const world = createWorld(options.chats, options.now, (event) => {
    if (event.kind === "membership") return tellAll((bot) => describeChange(event.chat, bot, event.before));
    const { chat, made } = event;
    tellAll(() => describeService(chat, { migrate_to_chat_id: Number(made.id) }));
    tellAll(() => describeService(made, { migrate_from_chat_id: Number(chat.id) }));
  });
  const flood = createFloodControl({ ...vendorLimits, ...options.limits }, options.now);
  const faults = createFaultQueue();
  const calls: StandInCall[] = [];

  const record = (call: StandInCall) => {
    calls.push(call);
    if (calls.length > callsKept) calls.shift();
    if (call.status !== 200) world.changed(call.chatId ?? "");
  };
  // A setup finds the ids of its chats by what a bot learns when it is added.
  for (const chat of world.chats.values()) tellAll((bot) => describeChange(chat, bot, "left"));

  function describeChange(chat: StandInChat, bot: Bot, before: Membership): Record<string, unknown> {
    return {
      my_chat_member: {
        chat: chatOf(chat),
        from: { id: 1, is_bot: false, first_name: "Owner" },
        date: Math.floor(options.now() / 1000),
        old_chat_member: describeMembership(chat, bot, before),
        new_chat_member: describeMembership(chat, bot),
      },
    };
  }

  /** What Telegram itself writes into a chat; every bot is shown it. */
  function describeService(chat: StandInChat, content: Record<string, unknown>): Record<string, unknown> {
    const date = Math.floor(options.now() / 1000);
    const message = { message_id: world.nextMessageId(chat), chat: chatOf(chat), date, ...content };
    return { [chat.kind === "channel" ? "channel_post" : "message"]: message };
  }

  function inTopic(chat: StandInChat, topicId: number): Record<string, unknown> {
    return {
      message_thread_id: topicId,
      is_topic_message: true,
      // A message that answers none answers the one that opened its topic.
      reply_to_message: {
        message_id: topicId,
        chat: chatOf(chat),
        date: 0,
        message_thread_id: topicId,
        is_topic_message: true,
        forum_topic_created: { name: chat.topics.get(topicId)?.name ?? "", icon_color: 0 },
      },
    };
  }

  const page = createChatPage({ world, faults, calls: () => calls });
  const servePage = getRequestListener(page.app.fetch);
  const endpoint = { world, flood, faults, bots, now: options.now, record };
  const server = createServer((request, response) => {
    if (!(request.url ?? "").startsWith("/bot")) {
      void servePage(request, response);
      return;
    }
    answerBotRequest(endpoint, request, response).catch(() => request.socket.destroy());
  });
  const host = options.host ?? "127.0.0.1";
  const port = await listen(server, options.port ?? 0, host);

  const chatOrThrow = (chatId: string): StandInChat => {
    const chat = world.chat(chatId);
    if (chat === undefined) throw new Error(`the stand-in has no chat ${chatId}`);
    return chat;
  };
  const shown = (chatId: string) =>
    structuredClone(chatOrThrow(chatId).messages.filter(({ deletedAt }) => deletedAt === undefined));

  return {
    url: `http://${urlHostOf(host)}:${port}`,
    port,
    faults,
    messages: shown,
    calls: () => structuredClone(calls),
    post(chatId, from, text, topicId) {
      const chat = chatOrThrow(chatId);
      const isChannel = chat.kind === "channel";
      const lastBot = chat.messages.findLast(({ botId }) => botId !== undefined)?.botId;
      const content = { text, entities: [], from, silent: false, previewDisabled: false };
      const { messageId, sentAt } = world.addMessage(chat, {
        ...content,
        ...(topicId === undefined ? {} : { topicId }),
      });
      const message = {
        message_id: messageId,
        ...(isChannel ? { sender_chat: chatOf(chat) } : { from: { id: 2, is_bot: false, first_name: from } }),
        chat: chatOf(chat),
        date: Math.floor(sentAt / 1000),
        ...(topicId === undefined ? {} : inTopic(chat, topicId)),
        text,
      };
      tellAll((bot) =>
        hears(bot, chat, text, lastBot) ? { [isChannel ? "channel_post" : "message"]: message } : undefined,
      );
      return messageId;
    },
    setMembership: (chatId, membership) => world.setMembership(chatOrThrow(chatId), membership),
    nameTopic(chatId, topicId, name) {
      const chat = chatOrThrow(chatId);
      const known = chat.topics.get(topicId);
      chat.topics.set(topicId, { id: topicId, name, closed: known?.closed ?? false });
      const at = { message_thread_id: topicId, is_topic_message: true };
      tellAll(() =>
        describeService(chat, {
          ...at,
          ...(known === undefined
            ? { forum_topic_created: { name, icon_color: 0 } }
            : { forum_topic_edited: { name } }),
        }),
      );
    },
    closeTopic(chatId, topicId) {
      const chat = chatOrThrow(chatId);
      const topic = chat.topics.get(topicId);
      if (topic === undefined) return;
      topic.closed = true;
      tellAll(() => describeService(chat, { ...inTopic(chat, topicId), forum_topic_closed: {} }));
    },
    setWebhook(token, url) {
      const bot = bots.get(token);
      if (bot === undefined) throw new Error("the stand-in has no such bot");
      bot.updates.setWebhook(url);
    },
    deleteTopic(chatId, topicId) {
      chatOrThrow(chatId).topics.delete(topicId);
    },
    deleteMessage(chatId, messageId) {
      const message = chatOrThrow(chatId).messages.find((candidate) => candidate.messageId === messageId);
      if (message !== undefined) world.deleteMessage(message);
    },
    migrate: (chatId) => world.migrate(chatOrThrow(chatId)),
    waitForMessages(chatId, count, timeoutMs = 10_000) {
      const look = () => {
        const messages = shown(chatId);
        return messages.length < count ? undefined : messages;
      };
      const complaint = () => `chat ${chatId} shows ${shown(chatId).length} of ${count} messages`;
      return waitFor(world.onChange, look, timeoutMs, complaint);
    },
    async close() {
      for (const bot of bots.values()) bot.updates.close();
      page.close();
      await closeServer(server);
    },
  };
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
  return { id, username: `tocsin_${id}_bot`, name: "Tocsin", readsAll, updates: createUpdateQueue(now) };
}
