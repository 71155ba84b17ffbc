import type { Now } from "../../src/core/clock.ts";
import { createChanges } from "../stand-in.ts";
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

/** An event in a chat that each bot gets. `made` is the supergroup that a group has become. */
export type ChatEvent =
  | { kind: "membership"; chat: StandInChat; before: Membership }
  | { kind: "migrated"; chat: StandInChat; made: StandInChat };

/** Above these counts the oldest messages and pictures are dropped. */
const messagesKept = 20_000;
const picturesKept = 200;

export class World {
  readonly chats: Map<string, StandInChat>;
  readonly changes = createChanges();
  readonly #now: Now;
  readonly #tell: (event: ChatEvent) => void;
  readonly #lastMessageIds = new Map<string, number>();
  readonly #pictures = new Map<string, Uint8Array>();

  constructor(chats: readonly ChatOptions[], now: Now, tell: (event: ChatEvent) => void) {
    this.chats = new Map(chats.map((options) => [options.id, createChat(options)]));
    this.#now = now;
    this.#tell = tell;
  }

  addMessage(
    chat: StandInChat,
    content: Omit<StandInMessage, "chatId" | "messageId" | "sentAt" | "edits">,
  ): StandInMessage {
    const place = { chatId: chat.id, messageId: this.nextMessageId(chat) };
    const message = { ...content, ...place, sentAt: this.#now(), edits: [] };
    chat.messages.push(message);
    if (chat.messages.length > messagesKept) chat.messages.shift();
    this.changes.changed();
    return message;
  }

  editMessage(message: StandInMessage, { text, entities }: FormattedText): void {
    message.edits.push({ at: this.#now(), text: message.text, entities: message.entities });
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
    message.deletedAt = this.#now();
    this.changes.changed();
  }

  /** A service message, such as "the topic was closed", takes a number too. */
  nextMessageId(chat: StandInChat): number {
    const messageId = (this.#lastMessageIds.get(chat.id) ?? 0) + 1;
    this.#lastMessageIds.set(chat.id, messageId);
    return messageId;
  }

  setMembership(chat: StandInChat, membership: Membership): void {
    const before = chat.membership;
    chat.membership = membership;
    this.#tell({ kind: "membership", chat, before });
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
    this.#tell({ kind: "migrated", chat, made });
    this.changes.changed();
    return id;
  }
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
  const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
  if (bytes.length < 24 || signature.some((byte, index) => bytes[index] !== byte)) return { width: 0, height: 0 };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { width: view.getUint32(16), height: view.getUint32(20) };
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
