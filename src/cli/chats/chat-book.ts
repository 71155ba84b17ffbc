import type { BotSession, ChatReport } from "../../vendors/telegram/bot-session.ts";
import type { SeenChat, SeenTopic } from "../../vendors/telegram/read-update.ts";
import type { ConfiguredPlace } from "./find-bots.ts";

/** One chat of one bot, as far as it is known. */
export interface KnownChat extends ChatReport {
  botId: string;
  topics: KnownTopic[];
  /** The destinations that the configuration has there. */
  destinations: string[];
  /** Something was written there, or the bot's part in it has changed, while this ran or shortly before. */
  isSeen: boolean;
}

export interface KnownTopic {
  id: number;
  name?: string;
  isClosed?: boolean;
  destinations: string[];
}

/** What an update has brought to light. */
export interface News {
  chat: KnownChat;
  /** It was not known before, or its rights have changed. */
  isChat: boolean;
  /** A topic that was not known before, or has another name now. */
  topic?: KnownTopic;
}

export interface ChatBook {
  /** Asks for the chats of the configuration. */
  addConfigured(places: readonly ConfiguredPlace[], signal: AbortSignal): Promise<void>;
  /** What is new by it; a chat is asked for when it is new, and when the bot's part in it has changed. */
  addSeen(seen: SeenChat, signal: AbortSignal): Promise<News[]>;
  chats(): KnownChat[];
  /** People who wrote to the bot in private. */
  privateChats(): number;
  /** More were seen than are kept. */
  isFull(): boolean;
}

/** Whoever likes can add a bot to any number of groups. */
const mostChats = 200;
const mostTopics = 500;

export function createChatBook(session: BotSession): ChatBook {
  const chats = new Map<string, KnownChat>();
  const people = new Set<string>();
  let full = false;

  async function look(id: string, signal: AbortSignal): Promise<KnownChat> {
    const known = chats.get(id);
    const report = await session.lookAt(id, signal);
    const { topics = [], destinations = [], isSeen = false } = known ?? {};
    const chat = { ...report, botId: session.botId, topics, destinations, isSeen };
    chats.set(id, chat);
    return chat;
  }

  /** A group that was upgraded, and the one that it is now. */
  async function lookAlong(id: string, signal: AbortSignal): Promise<KnownChat[]> {
    const chat = await look(id, signal);
    if (chat.movedTo === undefined || chats.has(chat.movedTo) || isCrowded()) return [chat];
    return [chat, await look(chat.movedTo, signal)];
  }

  function isCrowded(): boolean {
    full ||= chats.size >= mostChats;
    return full;
  }

  return {
    async addConfigured(places, signal) {
      for (const { chatId, topicId, name } of places) {
        if (!chats.has(chatId)) await lookAlong(chatId, signal);
        const chat = chats.get(chatId);
        if (chat === undefined) continue;
        if (topicId === undefined) chat.destinations.push(name);
        else topicOf(chat, topicId)?.destinations.push(name);
      }
    },

    async addSeen({ id, isPrivate, isMembership, movedTo, topic }, signal) {
      if (isPrivate) {
        if (people.size < mostChats) people.add(id);
        return [];
      }
      const before = chats.get(id);
      if (before === undefined && isCrowded()) return [];
      const isKnown = before?.isSeen === true && !isMembership && movedTo === undefined;
      const looked = isKnown ? [before] : await lookAlong(id, signal);
      const news: News[] = [];
      for (const chat of looked) {
        const isChat = !chat.isSeen || chat.rights !== before?.rights;
        chat.isSeen = true;
        const noted = chat.id === id && topic !== undefined ? noteTopic(chat, topic) : undefined;
        if (isChat || noted !== undefined) news.push({ chat, isChat, topic: noted });
      }
      return news;
    },

    chats: () => [...chats.values()],
    privateChats: () => people.size,
    isFull: () => full,
  };
}

function topicOf(chat: KnownChat, id: number): KnownTopic | undefined {
  const known = chat.topics.find((topic) => topic.id === id);
  if (known !== undefined || chat.topics.length >= mostTopics) return known;
  const topic = { id, destinations: [] };
  chat.topics.push(topic);
  return topic;
}

/** The topic, when there is something new about it. */
function noteTopic(chat: KnownChat, seen: SeenTopic): KnownTopic | undefined {
  const isNew = !chat.topics.some(({ id }) => id === seen.id);
  const topic = topicOf(chat, seen.id);
  if (topic === undefined) return undefined;
  const before = JSON.stringify(topic);
  if (seen.isRenamed || topic.name === undefined) topic.name = seen.name ?? topic.name;
  if (seen.isClosed !== undefined) topic.isClosed = seen.isClosed;
  return isNew || before !== JSON.stringify(topic) ? topic : undefined;
}
