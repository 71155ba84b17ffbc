import type { Now } from "../../src/core/clock.ts";

export type ChatKind = "group" | "supergroup" | "channel";
/** `muted` is in the chat and may not write. */
export type Membership = "administrator" | "member" | "muted" | "left" | "kicked";

export interface ChatOptions {
  /** Starts with `-`. */
  id: string;
  /** Default the id. */
  title?: string;
  /** Default `supergroup` for ids that start with `-100`, else `group`. */
  kind?: ChatKind;
  /** Of every bot. Default `administrator` in channels, else `member`. */
  membership?: Membership;
  /** Makes the chat a forum. */
  topics?: { id: number; name: string; closed?: boolean }[];
}

interface Topic {
  id: number;
  name: string;
  closed: boolean;
}

export interface StandInMessage {
  chatId: string;
  messageId: number;
  /** Absent for a message of a person. */
  botId?: string;
  from: string;
  text: string;
  entities: Entity[];
  /** Epoch milliseconds. */
  sentAt: number;
  /** What the message said before, oldest first; `at` is when it was replaced. */
  edits: { at: number; text: string; entities: Entity[] }[];
  deletedAt?: number;
  replyTo?: number;
  topicId?: number;
  silent: boolean;
  previewDisabled: boolean;
  /** Its text is the caption then. Pixels. */
  picture?: { width: number; height: number; bytes: number; isTextFirst: boolean };
}

export interface StandInChat {
  id: string;
  title: string;
  kind: ChatKind;
  membership: Membership;
  topics: Map<number, Topic>;
  isForum: boolean;
  migratedTo?: string;
  messages: StandInMessage[];
}

/** All that the stand-in knows. Kept in memory; listeners are called on each change. */
export interface World {
  chats: Map<string, StandInChat>;
  chat(id: string): StandInChat | undefined;
  addMessage(chat: StandInChat, message: NewMessage): StandInMessage;
  editMessage(message: StandInMessage, content: FormattedText): void;
  /** Makes a photo of the message, with this text as its caption. */
  addPicture(message: StandInMessage, png: Uint8Array, content: FormattedText, isTextFirst: boolean): void;
  /** Of the latest messages that have one. */
  picture(chatId: string, messageId: number): Uint8Array | undefined;
  deleteMessage(message: StandInMessage): void;
  /** Of every bot, and each is told. */
  setMembership(chat: StandInChat, membership: Membership): void;
  /** Makes a supergroup of a group, tells every bot, and returns its id. */
  migrate(chat: StandInChat): string;
  /** A number for a message that nobody reads, such as "the topic was closed". */
  nextMessageId(chat: StandInChat): number;
  changed(chatId: string): void;
  /** Returns the way to stop listening. */
  onChange(listener: (chatId: string) => void): () => void;
}

type NewMessage = Omit<StandInMessage, "chatId" | "messageId" | "sentAt" | "edits">;

/** What happens to a chat and each bot is told of; `made` is the supergroup that a group has become. */
export type ChatEvent =
  | { kind: "membership"; chat: StandInChat; before: Membership }
  | { kind: "migrated"; chat: StandInChat; made: StandInChat };

/** Older messages of a chat are forgotten beyond this many. */
const messagesKept = 20_000;
const picturesKept = 200;

export function createWorld(chats: readonly ChatOptions[], now: Now, tell: (event: ChatEvent) => void): World {
  const listeners = new Set<(chatId: string) => void>();
  const lastMessageId = new Map<string, number>();
  const pictures = new Map<string, Uint8Array>();

  const world: World = {
    chats: new Map(chats.map((options) => [options.id, createChat(options)])),
    chat: (id) => world.chats.get(id),
    addMessage(chat, content) {
      const messageId = world.nextMessageId(chat);
      const message = { ...content, chatId: chat.id, messageId, sentAt: now(), edits: [] };
      chat.messages.push(message);
      if (chat.messages.length > messagesKept) chat.messages.shift();
      world.changed(chat.id);
      return message;
    },
    editMessage(message, content) {
      message.edits.push({ at: now(), text: message.text, entities: message.entities });
      message.text = content.text;
      message.entities = content.entities;
      world.changed(message.chatId);
    },
    addPicture(message, png, content, isTextFirst) {
      const { width, height } = sizeOfPng(png);
      message.picture = { width, height, bytes: png.length, isTextFirst };
      pictures.set(`${message.chatId} ${message.messageId}`, png);
      for (const oldest of pictures.keys()) {
        if (pictures.size <= picturesKept) break;
        pictures.delete(oldest);
      }
      world.editMessage(message, content);
    },
    picture: (chatId, messageId) => pictures.get(`${chatId} ${messageId}`),
    deleteMessage(message) {
      message.deletedAt = now();
      world.changed(message.chatId);
    },
    nextMessageId(chat) {
      const messageId = (lastMessageId.get(chat.id) ?? 0) + 1;
      lastMessageId.set(chat.id, messageId);
      return messageId;
    },
    setMembership(chat, membership) {
      const before = chat.membership;
      chat.membership = membership;
      tell({ kind: "membership", chat, before });
      world.changed(chat.id);
    },
    migrate(chat) {
      if (chat.migratedTo !== undefined) return chat.migratedTo;
      const id = upgradedIdOf(chat.id, (candidate) => world.chats.has(candidate));
      const made: StandInChat = { ...chat, id, kind: "supergroup", topics: new Map(chat.topics), messages: [] };
      world.chats.set(id, made);
      chat.migratedTo = id;
      tell({ kind: "migrated", chat, made });
      world.changed(chat.id);
      world.changed(id);
      return id;
    },
    changed(chatId) {
      for (const listener of listeners) listener(chatId);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return world;
}

/** Both are 0 for what is no PNG. */
export function sizeOfPng(bytes: Uint8Array): { width: number; height: number } {
  const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
  if (bytes.length < 24 || signature.some((byte, index) => bytes[index] !== byte)) return { width: 0, height: 0 };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

/** Supergroups have ids of their own, which start with `-100`. */
function upgradedIdOf(id: string, isTaken: (candidate: string) => boolean): string {
  let number = BigInt(`100${id.replace(/^-(100)?/, "").padStart(10, "2")}`);
  while (isTaken(`-${number}`)) number++;
  return `-${number}`;
}

function createChat(options: ChatOptions): StandInChat {
  const kind = options.kind ?? (options.id.startsWith("-100") ? "supergroup" : "group");
  const topics = (options.topics ?? []).map(({ id, name, closed = false }) => ({ id, name, closed }));
  return {
    id: options.id,
    title: options.title ?? options.id,
    kind,
    membership: options.membership ?? (kind === "channel" ? "administrator" : "member"),
    topics: new Map(topics.map((topic) => [topic.id, topic])),
    isForum: topics.length > 0,
    messages: [],
  };
}

/** A message entity as the Bot API knows it; offsets and lengths count UTF-16 units. */
export interface Entity {
  type: string;
  offset: number;
  length: number;
  url?: string;
  unix_time?: number;
  date_time_format?: string;
}

export interface FormattedText {
  text: string;
  entities: Entity[];
}
