import type { FloodControl } from "./flood.ts";
import { badRequest, createParameters, type Parameters, Refusal } from "./parameters.ts";
import { type FormattedText, readCaption, readText } from "./text.ts";
import type { UpdateQueue } from "./updates.ts";
import { findMessage, type Membership, type StandInChat, type StandInMessage, sizeOfPng, type World } from "./world.ts";

export interface Bot {
  id: string;
  username: string;
  name: string;
  /** Privacy mode is off: the bot sees every message of its groups. */
  readsAll: boolean;
  /** Updates for `getUpdates` until the bot confirms them. */
  updates: UpdateQueue;
}

export interface MethodCall {
  world: World;
  flood: FloodControl;
  bot: Bot;
  parameters: Parameters;
  gone: AbortSignal;
}

/** Keyed by lower-case names, as Telegram ignores case. Each throws a `Refusal` where Telegram refuses. */
const methods = new Map<string, (call: MethodCall) => unknown>([
  ["sendmessage", sendMessage],
  ["editmessagetext", editMessageText],
  ["editmessagecaption", editMessageCaption],
  ["editmessagemedia", editMessageMedia],
  ["getme", ({ bot }) => ({ ...userOf(bot), can_join_groups: true, can_read_all_group_messages: bot.readsAll })],
  ["getchat", getChat],
  ["getchatmember", getChatMember],
  ["getupdates", ({ bot, parameters, gone }) => bot.updates.get(parameters, gone)],
  ["getwebhookinfo", ({ bot }) => bot.updates.webhookInfo()],
]);

export async function runMethod(name: string, call: MethodCall): Promise<unknown> {
  const method = methods.get(name.toLowerCase());
  if (method === undefined) throw new Refusal(404, "Not Found: method not found");
  return method(call);
}

/** Checks in Telegram's order: text, chat, right to write, flood limits, then topic and answered message. */
function sendMessage({ world, flood, bot, parameters }: MethodCall): unknown {
  const content = readText(parameters);
  const chat = findChat(world, parameters);
  checkPresent(chat);
  const isChannel = chat.kind === "channel";
  if (isChannel && chat.membership !== "administrator")
    throw badRequest("need administrator rights in the channel chat");
  if (chat.membership === "muted") throw badRequest("not enough rights to send text messages to the chat");
  const done = passFlood(flood, bot, chat, "message");
  const message = world.addMessage(chat, {
    ...content,
    botId: bot.id,
    from: isChannel ? chat.title : bot.name,
    topicId: readTopic(chat, parameters),
    replyTo: readReply(chat, parameters),
    silent: parameters.flag("disable_notification"),
    previewDisabled: objectOf(parameters, "link_preview_options").is_disabled === true,
  });
  done();
  return describeMessage(chat, message, bot);
}

function editMessageText(call: MethodCall): unknown {
  const content = readText(call.parameters);
  return edit(call, (message) => {
    if (message.picture !== undefined) throw badRequest("there is no text in the message to edit");
    refuseUnmodified(message, content);
    call.world.editMessage(message, content);
  });
}

function editMessageCaption(call: MethodCall): unknown {
  const content = readCaption(call.parameters);
  return edit(call, (message) => {
    if (message.picture === undefined) throw badRequest("there is no caption in the message to edit");
    refuseUnmodified(message, content);
    call.world.editMessage(message, content);
    message.picture.isTextFirst = call.parameters.flag("show_caption_above_media");
  });
}

/** Only photos that are uploaded with the request. A text message becomes a photo. */
async function editMessageMedia(call: MethodCall): Promise<unknown> {
  const media = createParameters(objectOf(call.parameters, "media"));
  if (media.text("type") !== "photo") throw badRequest("can't parse InputMedia: type must be photo here");
  const content = readCaption(media);
  const png = await readPhoto(call.parameters, media.text("media") ?? "");
  return edit(call, (message) => call.world.addPicture(message, png, content, media.flag("show_caption_above_media")));
}

async function readPhoto(parameters: Parameters, address: string): Promise<Uint8Array> {
  const [, name] = /^attach:\/\/([\w-]{1,64})$/.exec(address) ?? [];
  if (name === undefined) throw badRequest("wrong file identifier/HTTP URL specified");
  const file = parameters.file(name);
  if (file === undefined) throw badRequest("file must be non-empty");
  const bytes = new Uint8Array(await file.arrayBuffer());
  const { width, height } = sizeOfPng(bytes);
  if (file.name === "" || !file.type.startsWith("image/") || width === 0 || height === 0)
    throw badRequest("IMAGE_PROCESS_FAILED");
  const isTooLong = Math.max(width / height, height / width) > 20;
  if (width + height > 10_000 || isTooLong) throw badRequest("PHOTO_INVALID_DIMENSIONS");
  return bytes;
}

function edit({ world, flood, bot, parameters }: MethodCall, change: (message: StandInMessage) => void): unknown {
  const chat = findChat(world, parameters);
  checkPresent(chat);
  const done = passFlood(flood, bot, chat, "edit");
  const message = findMessage(chat, parameters.integer("message_id"));
  if (message === undefined) throw badRequest("message to edit not found");
  if (message.botId !== bot.id) throw badRequest("message can't be edited");
  change(message);
  done();
  return describeMessage(chat, message, bot);
}

function refuseUnmodified(message: StandInMessage, content: FormattedText): void {
  const canonical = ({ text, entities }: FormattedText) =>
    JSON.stringify([text, ...entities.map((entity) => Object.entries(entity).sort())]);
  if (canonical(message) !== canonical(content)) return;
  throw badRequest(
    "message is not modified: specified new message content and reply markup " +
      "are exactly the same as a current content and reply markup of the message",
  );
}

/** Returns a function that counts the executed request. */
function passFlood(flood: FloodControl, bot: Bot, chat: StandInChat, action: "message" | "edit"): () => void {
  const request = { botId: bot.id, chatId: chat.id, isGroup: chat.kind !== "channel", action };
  const seconds = flood.check(request);
  if (seconds === undefined) return () => flood.count(request);
  throw new Refusal(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
}

function getChat({ world, parameters }: MethodCall): unknown {
  const chat = findChat(world, parameters);
  checkPresent(chat);
  return { ...chatOf(chat), ...(chat.kind !== "channel" && { permissions: { can_send_messages: true } }) };
}

function getChatMember({ world, bot, parameters }: MethodCall): unknown {
  const chat = findChat(world, parameters);
  if (String(parameters.integer("user_id")) !== bot.id) throw badRequest("member not found");
  return describeMembership(chat, bot);
}

function findChat(world: World, parameters: Parameters): StandInChat {
  const id = parameters.text("chat_id") ?? "";
  if (id === "") throw badRequest("chat_id is empty");
  const chat = world.chats.get(id);
  if (chat === undefined) throw badRequest("chat not found");
  if (chat.migratedTo === undefined) return chat;
  const parameterOf = { migrate_to_chat_id: Number(chat.migratedTo) };
  throw new Refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", parameterOf);
}

function checkPresent({ membership, kind }: StandInChat): void {
  if (membership === "kicked") throw new Refusal(403, `Forbidden: bot was kicked from the ${kind} chat`);
  if (membership === "left") throw new Refusal(403, `Forbidden: bot is not a member of the ${kind} chat`);
}

function readTopic(chat: StandInChat, parameters: Parameters): number | undefined {
  const id = parameters.integer("message_thread_id");
  if (id === undefined) return undefined;
  const topic = chat.topics.get(id);
  if (topic === undefined) throw badRequest("message thread not found");
  if (topic.closed && chat.membership !== "administrator") throw badRequest("TOPIC_CLOSED");
  return id;
}

function readReply(chat: StandInChat, parameters: Parameters): number | undefined {
  const { message_id: id, allow_sending_without_reply: isOptional } = objectOf(parameters, "reply_parameters");
  if (id === undefined) return undefined;
  if (findMessage(chat, Number(id)) !== undefined) return Number(id);
  if (isOptional !== true) throw badRequest("message to be replied not found");
  return undefined;
}

function objectOf(parameters: Parameters, name: string): Record<string, unknown> {
  const given = parameters.json(name);
  return typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
}

function describeMessage(chat: StandInChat, message: StandInMessage, bot: Bot): Record<string, unknown> {
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
  const user = userOf(bot);
  switch (membership) {
    case "administrator":
      return { status: membership, user, ...(chat.kind === "channel" && { can_post_messages: true }) };
    case "muted":
      return { status: "restricted", user, is_member: true, can_send_messages: false, until_date: 0 };
    case "member":
    case "left":
      return { status: membership, user };
    case "kicked":
      return { status: membership, user, until_date: 0 };
  }
}

export function chatOf({ id, title, kind, isForum }: StandInChat): Record<string, unknown> {
  return { id: Number(id), title, type: kind, ...(isForum && { is_forum: true }) };
}

function userOf(bot: Bot): Record<string, unknown> {
  return { id: Number(bot.id), is_bot: true, first_name: bot.name, username: bot.username };
}
