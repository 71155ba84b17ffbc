import type { BotSession, ChatReport } from "./bot-session.ts";
import type { SeenChat, SeenTopic } from "./read-update.ts";

/** A place of a bot in the configuration. */
export interface ConfiguredPlace {
  chatId: string;
  topicId?: number;
  name: string;
}

export interface KnownChat extends ChatReport {
  botId: string;
  topics: KnownTopic[];
  /** The names of the configured destinations in this chat. */
  destinations: string[];
  /** Somebody wrote there, or the bot's membership changed, during this command or shortly before. */
  isSeen: boolean;
}

export interface KnownTopic {
  id: number;
  name?: string;
  isClosed?: boolean;
  destinations: string[];
}

export interface News {
  chat: KnownChat;
  /** The chat is new, or its rights have changed. */
  isChat: boolean;
  /** A topic that is new, or has a new name. */
  topic?: KnownTopic;
}

/** Anybody can add a bot to any number of groups. */
const mostChats = 200;
const mostTopics = 500;

/** The chats of one bot: from the configuration and from updates. */
export class KnownChats {
  readonly #chats = new Map<string, KnownChat>();
  /** There are more chats than are kept. */
  isFull = false;

  constructor(private readonly session: BotSession) {}

  get all(): KnownChat[] {
    return [...this.#chats.values()];
  }

  async addConfigured(places: readonly ConfiguredPlace[], signal: AbortSignal): Promise<void> {
    for (const { chatId, topicId, name } of places) {
      if (!this.#chats.has(chatId)) await this.#lookAlong(chatId, signal);
      const chat = this.#chats.get(chatId);
      const place = topicId === undefined || chat === undefined ? chat : topicOf(chat, topicId);
      place?.destinations.push(name);
    }
  }

  /** Returns what is new in an update. Asks Telegram about a new chat, and after a change of the bot's membership. */
  async addSeen({ id, isMembership, movedTo, topic }: SeenChat, signal: AbortSignal): Promise<News[]> {
    const before = this.#chats.get(id);
    if (before === undefined && !this.#hasRoom()) return [];
    const isKnown = before?.isSeen === true && !isMembership && movedTo === undefined;
    const news: News[] = [];
    for (const chat of isKnown ? [before] : await this.#lookAlong(id, signal)) {
      const isChat = !chat.isSeen || chat.rights !== before?.rights;
      chat.isSeen = true;
      const noted = chat.id === id && topic !== undefined ? noteTopic(chat, topic) : undefined;
      if (isChat || noted !== undefined) news.push({ chat, isChat, topic: noted });
    }
    return news;
  }

  /** Looks at a group, and at the supergroup that it was upgraded to. */
  async #lookAlong(id: string, signal: AbortSignal): Promise<KnownChat[]> {
    const chat = await this.#look(id, signal);
    if (chat.movedTo === undefined || this.#chats.has(chat.movedTo) || !this.#hasRoom()) return [chat];
    return [chat, await this.#look(chat.movedTo, signal)];
  }

  async #look(id: string, signal: AbortSignal): Promise<KnownChat> {
    const known = this.#chats.get(id);
    const { topics = [], destinations = [], isSeen = false } = known ?? {};
    const report = await this.session.lookAt(id, signal);
    const chat = { ...report, botId: this.session.botId, topics, destinations, isSeen };
    this.#chats.set(id, chat);
    return chat;
  }

  #hasRoom(): boolean {
    this.isFull ||= this.#chats.size >= mostChats;
    return !this.isFull;
  }
}

function topicOf(chat: KnownChat, id: number): KnownTopic | undefined {
  const known = chat.topics.find((topic) => topic.id === id);
  if (known !== undefined || chat.topics.length >= mostTopics) return known;
  const topic = { id, destinations: [] };
  chat.topics.push(topic);
  return topic;
}

/** Returns the topic when it is new or has a new name. */
function noteTopic(chat: KnownChat, seen: SeenTopic): KnownTopic | undefined {
  const isNew = !chat.topics.some(({ id }) => id === seen.id);
  const topic = topicOf(chat, seen.id);
  if (topic === undefined) return undefined;
  const before = JSON.stringify(topic);
  if (seen.isRenamed || topic.name === undefined) topic.name = seen.name ?? topic.name;
  if (seen.isClosed !== undefined) topic.isClosed = seen.isClosed;
  return isNew || before !== JSON.stringify(topic) ? topic : undefined;
}
