export type SeenChat = NonNullable<ReturnType<typeof readChat>>;
export type SeenTopic = NonNullable<ReturnType<typeof readTopic>>;

/**
 * Reads one update (https://core.telegram.org/bots/api#update). Undefined for any other value. Its texts are
 * strangers'. An inline query or a poll has no chat.
 */
export function readUpdate(value: unknown): { id: number; chat?: SeenChat } | undefined {
  const update = asRecord(value);
  if (!Number.isSafeInteger(update.update_id)) return undefined;
  const id = update.update_id as number;
  for (const [kind, content] of Object.entries(update)) {
    // A business account's chats are that person's own, also when a bot helps there.
    if (kind.includes("business")) continue;
    const chat = readChat(kind, asRecord(content));
    if (chat !== undefined) return { id, chat };
  }
  return { id };
}

function readChat(kind: string, content: Record<string, unknown>) {
  const message = content.chat === undefined ? asRecord(content.message) : content;
  const chat = asRecord(message.chat);
  const id = chatIdOf(chat.id);
  if (id === undefined) return undefined;
  return {
    id,
    /** A private chat of one person with the bot: Tocsin writes to groups and channels. */
    isPrivate: chat.type === "private",
    /** The bot's rights there have changed. */
    isMembership: kind === "my_chat_member",
    /** The supergroup's id, after the group was upgraded. */
    movedTo: chatIdOf(message.migrate_to_chat_id),
    topic: readTopic(message),
  };
}

/** A thread of answers in a group without topics also has a `message_thread_id`, but is no topic. */
function readTopic(message: Record<string, unknown>) {
  const id = message.message_thread_id;
  if (message.is_topic_message !== true || !Number.isSafeInteger(id)) return undefined;
  const renamed = textOf(asRecord(message.forum_topic_edited).name);
  // In the Bot API a topic's message without an own target answers the message that opened the topic.
  const opening = asRecord(asRecord(message.reply_to_message).forum_topic_created);
  const name = renamed ?? textOf(asRecord(message.forum_topic_created).name) ?? textOf(opening.name);
  const isClosed = "forum_topic_closed" in message ? true : "forum_topic_reopened" in message ? false : undefined;
  return {
    id: id as number,
    name,
    /** The topic has its name since this update. An older message shows an older name. */
    isRenamed: renamed !== undefined,
    /** True when the topic was just closed, false when it was just opened. */
    isClosed,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function chatIdOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

/** Any value but an object becomes an empty object. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
