/**
 * What one update of `getUpdates` says about a chat, as https://core.telegram.org/bots/api#update has it. Pure. The
 * texts are strangers' and may hold anything.
 */
export interface SeenUpdate {
  id: number;
  /** Absent where the update is about no chat (an inline query, a poll). */
  chat?: SeenChat;
}

export interface SeenChat {
  id: string;
  /** One person alone with the bot: Tocsin writes to groups and channels. */
  isPrivate: boolean;
  /** What the bot may do there has changed. */
  isMembership: boolean;
  /** The group was upgraded, and this is its id now. */
  movedTo?: string;
  topic?: SeenTopic;
}

export interface SeenTopic {
  /** `message_thread_id`. */
  id: number;
  name?: string;
  /** The name was changed to this one, so an older message's is out of date. */
  isRenamed: boolean;
  /** True or false when it was just closed or opened. */
  isClosed?: boolean;
}

/** Undefined for what is no update. */
export function readUpdate(value: unknown): SeenUpdate | undefined {
  const update = asRecord(value);
  if (!Number.isSafeInteger(update.update_id)) return undefined;
  const id = update.update_id as number;
  for (const [kind, content] of Object.entries(update)) {
    // A business account's chats are that person's own, whatever bot helps there.
    if (kind.includes("business")) continue;
    const chat = readChat(kind, asRecord(content));
    if (chat !== undefined) return { id, chat };
  }
  return { id };
}

function readChat(kind: string, content: Record<string, unknown>): SeenChat | undefined {
  const message = content.chat === undefined ? asRecord(content.message) : content;
  const chat = asRecord(message.chat);
  const id = chatIdOf(chat.id);
  if (id === undefined) return undefined;
  const movedTo = chatIdOf(message.migrate_to_chat_id);
  const topic = readTopic(message);
  return {
    id,
    isPrivate: chat.type === "private",
    isMembership: kind === "my_chat_member",
    ...(movedTo === undefined ? {} : { movedTo }),
    ...(topic === undefined ? {} : { topic }),
  };
}

/** A thread of answers in a group without topics has a `message_thread_id` as well, and is none. */
function readTopic(message: Record<string, unknown>): SeenTopic | undefined {
  const id = message.message_thread_id;
  if (message.is_topic_message !== true || !Number.isSafeInteger(id)) return undefined;
  const renamed = textOf(asRecord(message.forum_topic_edited).name);
  // A message that answers none answers, to the Bot API, the one that opened the topic.
  const opening = asRecord(asRecord(message.reply_to_message).forum_topic_created);
  const name = renamed ?? textOf(asRecord(message.forum_topic_created).name) ?? textOf(opening.name);
  const isClosed = "forum_topic_closed" in message ? true : "forum_topic_reopened" in message ? false : undefined;
  return {
    id: id as number,
    isRenamed: renamed !== undefined,
    ...(name === undefined ? {} : { name }),
    ...(isClosed === undefined ? {} : { isClosed }),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function chatIdOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

/** What is no object has no members. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
