import type { UpdateQueue } from "./updates.ts";
import type { Membership, StandInChat, StandInMessage } from "./world.ts";

/** How the Bot API describes bots, chats and messages. */

export interface Bot {
  id: string;
  username: string;
  /** Updates for `getUpdates` until the bot confirms them. */
  updates: UpdateQueue;
}

/** The name of every bot. */
export const botName = "Tocsin";

/** A message without an own target answers the message that opened its topic. */
export function inTopic(chat: StandInChat, topicId: number): Record<string, unknown> {
  const at = { message_thread_id: topicId, is_topic_message: true };
  const opened = { name: chat.topics.get(topicId)?.name ?? "", icon_color: 0 };
  const opening = { message_id: topicId, chat: chatOf(chat), date: 0, ...at, forum_topic_created: opened };
  return { ...at, reply_to_message: opening };
}

export function describeMessage(chat: StandInChat, message: StandInMessage, bot: Bot): Record<string, unknown> {
  const { messageId, sentAt, topicId, text, picture } = message;
  return {
    message_id: messageId,
    ...(chat.kind === "channel" ? { sender_chat: chatOf(chat) } : { from: userOf(bot) }),
    chat: chatOf(chat),
    date: Math.floor(sentAt / 1000),
    ...(topicId !== undefined && { message_thread_id: topicId, is_topic_message: true }),
    ...(picture === undefined ? { text } : { caption: text }),
  };
}

export function describeMembership(chat: StandInChat, bot: Bot, membership: Membership = chat.membership): object {
  const more = {
    administrator: chat.kind === "channel" ? { can_post_messages: true } : {},
    muted: { status: "restricted", is_member: true, can_send_messages: false, until_date: 0 },
    kicked: { until_date: 0 },
    ...{ member: {}, left: {} },
  };
  return { status: membership, user: userOf(bot), ...more[membership] };
}

export function chatOf({ id, title, kind, isForum }: StandInChat): Record<string, unknown> {
  return { id: Number(id), title, type: kind, ...(isForum && { is_forum: true }) };
}

export function userOf(bot: Bot): Record<string, unknown> {
  return { id: Number(bot.id), is_bot: true, first_name: botName, username: bot.username };
}
