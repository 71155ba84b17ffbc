import type { BotDescription } from "./bot-session.ts";
import type { KnownChat, KnownTopic, News } from "./known-chats.ts";

/** The steps in Telegram that make a chat visible to this bot, in several lines. */
export function howToAdd(botId: string, description: BotDescription): string[] {
  const { username, name, readsAll, canJoinGroups, allowedUpdates } = description;
  const at = `@${username}`;
  const lines = [
    `bot ${at} ("${name}", ${botId}). In Telegram, while this runs:`,
    `  group    open it, tap its name, "Add members", ${at}. If the bot is in it already, write there: /start${at}`,
    `  topic    write in the topic: /start${at}`,
    `  channel  open it, tap its name, "Administrators", "Add admin", ${at}, with the right to post messages`,
  ];
  if (!canJoinGroups) lines.push(`  ${at} cannot be added to groups: send /setjoingroups to @BotFather and enable it`);
  if (!readsAll) lines.push(`  its privacy mode is on (good): in a group it sees only messages with ${at} in them`);
  const missing = ["message", "my_chat_member"].filter((kind) => allowedUpdates?.includes(kind) === false);
  if (missing.length > 0) {
    lines.push(
      `  another program has switched off its updates of kind ${missing.join(" and ")}; ` +
        "Tocsin leaves that as it is, so such chats do not show up",
    );
  }
  return lines;
}

export function describeTopic({ id, name, isClosed }: KnownTopic): string {
  const title = name === undefined ? String(id) : `${id} "${name}"`;
  return isClosed === true ? `${title} (closed)` : title;
}

/** One line, with a stranger's title in it. */
export function describeNews({ chat, isChat, topic }: News): string {
  const title = chat.title === undefined ? "" : ` "${chat.title}"`;
  const what = isChat || topic === undefined ? `${chat.type ?? "chat"}${title}: ${chat.rights}` : title.trim();
  const closed =
    topic?.isClosed === true && !chat.managesTopics ? ", closed: the bot needs the right to manage topics there" : "";
  const of = topic === undefined ? "" : `; topic ${describeTopic(topic)}${closed}`;
  return `${what}${of}`;
}

export interface ChatsOfBot {
  botId: string;
  /** The bot of TELEGRAM_BOT_TOKEN, which destinations in the file need not name. */
  isDefault: boolean;
  chats: readonly KnownChat[];
}

export type Proposal = ReturnType<typeof proposeDestinations>;

/**
 * Proposes destinations for seen, writable chats that are not configured.
 * @param envChatIds the ids of TELEGRAM_CHAT_IDS
 * @param names of all destinations, each used once
 */
export function proposeDestinations(
  bots: readonly ChatsOfBot[],
  { envChatIds, names }: { envChatIds: readonly string[]; names: readonly string[] },
) {
  const taken = new Set(names);
  const ids: string[] = [];
  const entries: string[] = [];
  for (const { botId, isDefault, chats } of bots) {
    // Strangers choose titles. Only the letters of a title enter the file, as the destination's name.
    const add = ({ id, title = "" }: KnownChat, topic?: KnownTopic) => {
      const name = freeName(`${title} ${topic?.name ?? topic?.id ?? ""}`, taken);
      const place = topic === undefined ? "" : `    topicId: ${topic.id}\n`;
      const token = isDefault ? "" : `    botToken: \${TOKEN_OF_BOT_${botId}}\n`;
      entries.push(`  ${name}:\n    type: telegram\n    chatId: ${id}\n${place}${token}`);
    };
    for (const chat of chats) {
      if (chat.canPost === false) continue;
      const isNew = chat.isSeen && chat.destinations.length === 0;
      if (isNew && isDefault) ids.push(chat.id);
      if (isNew) add(chat);
      for (const topic of chat.topics) if (topic.destinations.length === 0) add(chat, topic);
    }
  }
  return {
    /** The new value of TELEGRAM_CHAT_IDS with the present ids. Absent without new chats. */
    ...(ids.length > 0 && { chatIds: [...new Set([...envChatIds, ...ids])].join(",") }),
    /** For `tocsin.yaml`. Absent without new chats. */
    ...(entries.length > 0 && { yaml: `destinations:\n${entries.join("")}` }),
  };
}

/** Small letters, digits and `-`, at most 40, beginning with a letter. */
function freeName(text: string, taken: Set<string>): string {
  const plain = text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  const short = plain.slice(0, 40).replace(/^[-0-9]+|(?<!-)-+$/g, "");
  const base = short === "" ? "chat" : short;
  let name = base;
  for (let next = 2; taken.has(name); next += 1) name = `${base}-${next}`;
  taken.add(name);
  return name;
}
