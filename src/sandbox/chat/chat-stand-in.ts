import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Now } from "../../core/clock.ts";
import { closeServer, listen, urlHostOf, waitFor } from "../stand-in.ts";
import { answerBotRequest, type StandInCall } from "./bot-endpoint.ts";
import { type Bot, chatOf, describeMembership, userOf } from "./bot-methods.ts";
import { createFaultQueue, type Faults } from "./faults.ts";
import { createFloodControl, type FloodLimits, vendorLimits } from "./flood.ts";
import { createChatPage } from "./page.tsx";
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
  /** A person writes; returns the id of the message. */
  post(chatId: string, from: string, text: string): number;
  setMembership(chatId: string, membership: Membership): void;
  closeTopic(chatId: string, topicId: number): void;
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
  const world = createWorld(options.chats, options.now);
  const flood = createFloodControl({ ...vendorLimits, ...options.limits }, options.now);
  const faults = createFaultQueue();
  const bots = new Map(options.tokens.map((token) => [token, botOf(token)]));
  const calls: StandInCall[] = [];

  const record = (call: StandInCall) => {
    calls.push(call);
    if (calls.length > callsKept) calls.shift();
    if (call.status !== 200) world.changed(call.chatId ?? "");
  };
  for (const bot of bots.values()) announce(bot);

  /** What a bot learns when it is added to a group; a setup finds the ids of its chats by it. */
  function announce(bot: Bot): void {
    for (const chat of world.chats.values()) {
      world.addUpdate({
        my_chat_member: {
          chat: chatOf(chat),
          from: { id: 1, is_bot: false, first_name: "Owner" },
          date: Math.floor(options.now() / 1000),
          old_chat_member: { status: "left", user: userOf(bot) },
          new_chat_member: describeMembership(chat, bot),
        },
      });
    }
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
    post(chatId, from, text) {
      const chat = chatOrThrow(chatId);
      const content = { text, entities: [], from, silent: false, previewDisabled: false };
      const { messageId, sentAt } = world.addMessage(chat, content);
      world.addUpdate({
        message: { message_id: messageId, chat: chatOf(chat), date: Math.floor(sentAt / 1000), text },
      });
      return messageId;
    },
    setMembership(chatId, membership) {
      chatOrThrow(chatId).membership = membership;
      world.changed(chatId);
    },
    closeTopic(chatId, topicId) {
      const topic = chatOrThrow(chatId).topics.get(topicId);
      if (topic !== undefined) topic.closed = true;
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
      page.close();
      await closeServer(server);
    },
  };
}

function botOf(token: string): Bot {
  const id = token.split(":")[0] ?? "";
  if (!/^\d+:.+$/.test(token)) throw new Error("a bot token has the shape <digits>:<secret>");
  return { id, username: `tocsin_${id}_bot`, name: "Tocsin" };
}
