import type { Now } from "../../src/core/clock.ts";
import { createChanges } from "../stand-in.ts";
import { type Bot, chatOf, describeMembership, inTopic } from "./describe.ts";
import type { Entity } from "./parameters.ts";
import type { FormattedText } from "./text.ts";

/** `muted`: in the chat, but may not write. */
export type Membership = "administrator" | "member" | "muted" | "left" | "kicked";

export interface ChatOptions {
  id: string;
  title: string;
  /** Default `supergroup` for ids that start with `-100`, else `group`. */
  kind?: "group" | "supergroup" | "channel";
  topics?: { id: number; name: string }[];
}

export interface StandInMessage {
  chatId: string;
  messageId: number;
  botId?: string;
  from: string;
  text: string;
  entities: Entity[];
  sentAt: number;
  /** Earlier versions of the message, oldest first. `at` is the instant of their replacement. */
  edits: { at: number; text: string; entities: Entity[] }[];
  deletedAt?: number;
  replyTo?: number;
  topicId?: number;
  silent: boolean;
  previewDisabled: boolean;
  /** The message is a photo, in pixels, and its text is the caption. */
  picture?: { width: number; height: number; bytes: number; isTextFirst: boolean };
}

export interface StandInChat {
  id: string;
  title: string;
  kind: "group" | "supergroup" | "channel";
  membership: Membership;
  topics: Map<number, { id: number; name: string; closed: boolean }>;
  isForum: boolean;
  migratedTo?: string;
  messages: StandInMessage[];
}

/** Above these counts the oldest messages and pictures are dropped. */
const messagesKept = 20_000;
const picturesKept = 200;

export class World {
  readonly chats: Map<string, StandInChat>;
  readonly changes = createChanges();
  readonly #lastMessageIds = new Map<string, number>();
  readonly #pictures = new Map<string, Uint8Array>();

  constructor(
    chats: readonly ChatOptions[],
    private readonly bots: readonly Bot[],
    private readonly now: Now,
  ) {
    this.chats = new Map(chats.map((options) => [options.id, createChat(options)]));
    // When a bot is added, it gets the ids of its chats. A setup finds them in this way.
    for (const chat of this.chats.values()) this.#tellMembership(chat, "left");
  }

  /** A person writes, in a topic or to the whole chat. Returns the id of the message. */
  post(chat: StandInChat, from: string, text: string, topicId?: number): number {
    const lastBot = chat.messages.findLast(({ botId }) => botId !== undefined)?.botId;
    const content = { text, entities: [], from, silent: false, previewDisabled: false, topicId };
    const { messageId } = this.addMessage(chat, content);
    const isChannel = chat.kind === "channel";
    const message = {
      ...this.#head(chat, messageId),
      ...(isChannel ? { sender_chat: chatOf(chat) } : { from: { id: 2, is_bot: false, first_name: from } }),
      ...(topicId !== undefined && inTopic(chat, topicId)),
      text,
    };
    for (const bot of this.bots) if (hears(bot, chat, text, lastBot)) bot.updates.add({ [postIn(chat)]: message });
    return messageId;
  }

  /** Adds one of Telegram's own messages, which every bot sees. */
  tellService(chat: StandInChat, content: Record<string, unknown>): void {
    const message = { ...this.#head(chat, this.#nextMessageId(chat)), ...content };
    for (const bot of this.bots) bot.updates.add({ [postIn(chat)]: message });
  }

  addMessage(
    chat: StandInChat,
    content: Omit<StandInMessage, "chatId" | "messageId" | "sentAt" | "edits">,
  ): StandInMessage {
    const place = { chatId: chat.id, messageId: this.#nextMessageId(chat) };
    const message = { ...content, ...place, sentAt: this.now(), edits: [] };
    chat.messages.push(message);
    if (chat.messages.length > messagesKept) chat.messages.shift();
    this.changes.changed();
    return message;
  }

  editMessage(message: StandInMessage, { text, entities }: FormattedText): void {
    message.edits.push({ at: this.now(), text: message.text, entities: message.entities });
    Object.assign(message, { text, entities });
    this.changes.changed();
  }

  /** Turns the message into a photo, with this text as its caption. */
  addPicture(message: StandInMessage, png: Uint8Array, content: FormattedText, isTextFirst: boolean): void {
    message.picture = { ...sizeOfPng(png), bytes: png.length, isTextFirst };
    this.#pictures.set(pictureName(message), png);
    const [oldest = ""] = this.#pictures.keys();
    if (this.#pictures.size > picturesKept) this.#pictures.delete(oldest);
    this.editMessage(message, content);
  }

  picture(name: string): Uint8Array | undefined {
    return this.#pictures.get(name);
  }

  deleteMessage(message: StandInMessage): void {
    message.deletedAt = this.now();
    this.changes.changed();
  }

  #tellMembership(chat: StandInChat, before: Membership): void {
    for (const bot of this.bots) {
      const members = {
        old_chat_member: describeMembership(chat, bot, before),
        new_chat_member: describeMembership(chat, bot),
      };
      const from = { id: 1, is_bot: false, first_name: "Owner" };
      bot.updates.add({ my_chat_member: { chat: chatOf(chat), from, date: this.#date(), ...members } });
    }
  }

  #head(chat: StandInChat, messageId: number) {
    return { message_id: messageId, chat: chatOf(chat), date: this.#date() };
  }

  #date(): number {
    return Math.floor(this.now() / 1000);
  }

  /** A service message, such as "the topic was closed", takes a number too. */
  #nextMessageId(chat: StandInChat): number {
    const messageId = (this.#lastMessageIds.get(chat.id) ?? 0) + 1;
    this.#lastMessageIds.set(chat.id, messageId);
    return messageId;
  }

  setMembership(chat: StandInChat, membership: Membership): void {
    const before = chat.membership;
    chat.membership = membership;
    this.#tellMembership(chat, before);
    this.changes.changed();
  }

  /** Returns the supergroup's id. */
  migrate(chat: StandInChat): string {
    if (chat.migratedTo !== undefined) return chat.migratedTo;
    let number = BigInt(`100${chat.id.replace(/^-(100)?/, "").padStart(10, "2")}`);
    while (this.chats.has(`-${number}`)) number++;
    const id = `-${number}`;
    const made: StandInChat = { ...chat, id, kind: "supergroup", topics: new Map(chat.topics), messages: [] };
    this.chats.set(id, made);
    chat.migratedTo = id;
    this.tellService(chat, { migrate_to_chat_id: Number(made.id) });
    this.tellService(made, { migrate_from_chat_id: Number(chat.id) });
    this.changes.changed();
    return id;
  }
}

const postIn = ({ kind }: StandInChat) => (kind === "channel" ? "channel_post" : "message");

/** https://core.telegram.org/bots/features#privacy-mode, without answers to a bot's message. */
function hears(bot: Bot, chat: StandInChat, text: string, lastBot: string | undefined): boolean {
  if (chat.membership === "left" || chat.membership === "kicked") return false;
  if (chat.kind === "channel" || chat.membership === "administrator") return true;
  const [, addressed] = /^\/\w+(?:@(\w+))?/.exec(text) ?? [];
  if (addressed !== undefined) return addressed.toLowerCase() === bot.username.toLowerCase();
  return text.startsWith("/") && lastBot === bot.id;
}

export function pictureName({ chatId, messageId }: StandInMessage): string {
  return `${chatId}.${messageId}.png`;
}

export function presentIn({ messages }: StandInChat): StandInMessage[] {
  return messages.filter(({ deletedAt }) => deletedAt === undefined);
}

export function findMessage(chat: StandInChat, messageId: number | undefined): StandInMessage | undefined {
  return chat.messages.find((message) => message.messageId === messageId && message.deletedAt === undefined);
}

/** Both are 0 for bytes that are no PNG. */
export function sizeOfPng(bytes: Uint8Array): { width: number; height: number } {
  const png = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (png.length < 24 || png.toString("latin1", 0, 8) !== "\x89PNG\r\n\x1a\n") return { width: 0, height: 0 };
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

function createChat({ id, title, topics = [], ...options }: ChatOptions): StandInChat {
  const kind = options.kind ?? (id.startsWith("-100") ? "supergroup" : "group");
  // Every bot has the same.
  const membership = kind === "channel" ? "administrator" : "member";
  return {
    ...{ id, title, kind, membership, isForum: topics.length > 0, messages: [] },
    topics: new Map(topics.map((topic) => [topic.id, { closed: false, ...topic }])),
  };
}
