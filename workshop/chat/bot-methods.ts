import type { FloodControl } from "./flood.ts";
import { readCaption, readFormattedText } from "./formatted-text.ts";
import { badRequest, forbidden, Refusal, tooManyRequests, upgraded } from "./refusal.ts";
import { createParameters, type Parameters } from "./request-parameters.ts";
import type { UpdateQueue } from "./updates.ts";
import {
  type FormattedText,
  type Membership,
  type StandInChat,
  type StandInMessage,
  sizeOfPng,
  type World,
} from "./world.ts";

export interface Bot {
  id: string;
  username: string;
  name: string;
  /** Privacy mode is off: it is shown every message of its groups. */
  readsAll: boolean;
  /** What it was told and has not confirmed. */
  updates: UpdateQueue;
}

export interface MethodDeps {
  world: World;
  flood: FloodControl;
  /** The caller went away. */
  gone: AbortSignal;
}

type Method = (deps: MethodDeps, bot: Bot, parameters: Parameters) => unknown;

/** The methods it knows, by their lower-case names: the vendor ignores case. */
const methods = new Map<string, Method>([
  ["sendmessage", sendMessage],
  ["editmessagetext", editMessageText],
  ["editmessagecaption", editMessageCaption],
  ["editmessagemedia", editMessageMedia],
  ["deletemessage", deleteMessage],
  ["getme", (_deps, bot) => ({ ...userOf(bot), can_join_groups: true, can_read_all_group_messages: bot.readsAll })],
  ["getchat", getChat],
  ["getchatmember", getChatMember],
  ["getupdates", ({ gone }, bot, parameters) => bot.updates.get(parameters, gone)],
  ["getwebhookinfo", (_deps, bot) => bot.updates.webhookInfo()],
]);

/** Runs a method and returns its `result`, or a promise of it; throws a `Refusal` where the vendor would refuse. */
export function runMethod(deps: MethodDeps, bot: Bot, name: string, parameters: Parameters): unknown {
  const method = methods.get(name.toLowerCase());
  if (method === undefined) throw new Refusal(404, "Not Found: method not found");
  return method(deps, bot, parameters);
}

/** In the vendor's order: the text, the chat, the right to write, the flood limits, then topic and answered message. */
function sendMessage(deps: MethodDeps, bot: Bot, parameters: Parameters): unknown {
  const content = readFormattedText(parameters);
  const chat = findChat(deps.world, parameters);
  checkMayWrite(chat);
  const flood = {
    botId: bot.id,
    chatId: chat.id,
    isGroup: chat.kind !== "channel",
    action: "message",
  } as const;
  refuseFlood(deps.flood.check(flood));
  const topicId = readTopic(chat, parameters);
  const replyTo = readReply(chat, parameters);
  const message = deps.world.addMessage(chat, {
    ...content,
    botId: bot.id,
    from: chat.kind === "channel" ? chat.title : bot.name,
    ...(replyTo === undefined ? {} : { replyTo }),
    ...(topicId === undefined ? {} : { topicId }),
    silent: parameters.flag("disable_notification"),
    previewDisabled: isPreviewDisabled(parameters),
  });
  deps.flood.count(flood);
  return describeMessage(chat, message, bot);
}

function editMessageText(deps: MethodDeps, bot: Bot, parameters: Parameters): unknown {
  const content = readFormattedText(parameters);
  return edit(deps, bot, parameters, (message) => {
    if (message.picture !== undefined) throw badRequest("there is no text in the message to edit");
    refuseUnmodified(message, content);
    deps.world.editMessage(message, content);
  });
}

function editMessageCaption(deps: MethodDeps, bot: Bot, parameters: Parameters): unknown {
  const content = readCaption(parameters);
  return edit(deps, bot, parameters, (message) => {
    if (message.picture === undefined) throw badRequest("there is no caption in the message to edit");
    refuseUnmodified(message, content);
    deps.world.editMessage(message, content);
    message.picture.isTextFirst = parameters.flag("show_caption_above_media");
  });
}

/** Photos alone, uploaded with the request. A text message becomes one. */
function editMessageMedia(deps: MethodDeps, bot: Bot, parameters: Parameters): unknown {
  const given = parameters.json("media");
  if (typeof given !== "object" || given === null) throw badRequest("media not found");
  const media = createParameters(given as Record<string, unknown>);
  if (media.text("type") !== "photo") throw badRequest("can't parse InputMedia: type must be photo here");
  const content = readCaption(media);
  const png = readPhoto(parameters, media.text("media") ?? "");
  return edit(deps, bot, parameters, (message) =>
    deps.world.addPicture(message, png, content, media.flag("show_caption_above_media")),
  );
}

function readPhoto(parameters: Parameters, address: string): Uint8Array {
  const [, name] = /^attach:\/\/([\w-]{1,64})$/.exec(address) ?? [];
  if (name === undefined) throw badRequest("wrong file identifier/HTTP URL specified");
  const file = parameters.file(name);
  if (file === undefined) throw badRequest("file must be non-empty");
  if (file.filename === "" || !file.contentType.startsWith("image/")) throw badRequest("IMAGE_PROCESS_FAILED");
  const { width, height } = sizeOfPng(file.bytes);
  if (width === 0 || height === 0) throw badRequest("IMAGE_PROCESS_FAILED");
  if (width + height > 10_000 || Math.max(width / height, height / width) > 20) {
    throw badRequest("PHOTO_INVALID_DIMENSIONS");
  }
  return file.bytes;
}

/** What every way to edit has in common. */
function edit(deps: MethodDeps, bot: Bot, parameters: Parameters, change: (message: StandInMessage) => void): unknown {
  const chat = findChat(deps.world, parameters);
  checkPresent(chat);
  const flood = { botId: bot.id, chatId: chat.id, isGroup: chat.kind !== "channel", action: "edit" } as const;
  refuseFlood(deps.flood.check(flood));
  const message = findMessage(chat, parameters.integer("message_id"));
  if (message === undefined) throw badRequest("message to edit not found");
  if (message.botId !== bot.id) throw badRequest("message can't be edited");
  change(message);
  deps.flood.count(flood);
  return describeMessage(chat, message, bot);
}

function refuseUnmodified(message: StandInMessage, content: FormattedText): void {
  if (message.text !== content.text || !sameEntities(message.entities, content.entities)) return;
  throw badRequest(
    "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
  );
}

function deleteMessage(deps: MethodDeps, bot: Bot, parameters: Parameters): unknown {
  const chat = findChat(deps.world, parameters);
  checkPresent(chat);
  const message = findMessage(chat, parameters.integer("message_id"));
  if (message === undefined) throw badRequest("message to delete not found");
  if (message.botId !== bot.id && chat.membership !== "administrator") {
    throw badRequest("message can't be deleted");
  }
  deps.world.deleteMessage(message);
  return true;
}

function getChat(deps: MethodDeps, _bot: Bot, parameters: Parameters): unknown {
  const chat = findChat(deps.world, parameters);
  checkPresent(chat);
  return {
    ...chatOf(chat),
    ...(chat.kind === "channel" ? {} : { permissions: { can_send_messages: true } }),
    accent_color_id: 0,
    max_reaction_count: 11,
  };
}

function getChatMember(deps: MethodDeps, bot: Bot, parameters: Parameters): unknown {
  const chat = findChat(deps.world, parameters);
  if (String(parameters.integer("user_id")) !== bot.id) throw badRequest("member not found");
  return describeMembership(chat, bot);
}

function findChat(world: World, parameters: Parameters): StandInChat {
  const id = parameters.text("chat_id") ?? "";
  if (id === "") throw badRequest("chat_id is empty");
  const chat = world.chat(id);
  if (chat === undefined) throw badRequest("chat not found");
  if (chat.migratedTo !== undefined) throw upgraded(chat.migratedTo);
  return chat;
}

function checkPresent(chat: StandInChat): void {
  if (chat.membership === "kicked") throw forbidden(`bot was kicked from the ${chat.kind} chat`);
  if (chat.membership === "left") throw forbidden(`bot is not a member of the ${chat.kind} chat`);
}

function checkMayWrite(chat: StandInChat): void {
  checkPresent(chat);
  if (chat.kind === "channel" && chat.membership !== "administrator") {
    throw badRequest("need administrator rights in the channel chat");
  }
  if (chat.membership === "muted") throw badRequest("not enough rights to send text messages to the chat");
}

function refuseFlood(waitSeconds: number | undefined): void {
  if (waitSeconds !== undefined) throw tooManyRequests(waitSeconds);
}

function readTopic(chat: StandInChat, parameters: Parameters): number | undefined {
  const id = parameters.integer("message_thread_id");
  if (id === undefined || id === 0) return undefined;
  const topic = chat.topics.get(id);
  if (topic === undefined) throw badRequest("message thread not found");
  if (topic.closed && chat.membership !== "administrator") throw badRequest("TOPIC_CLOSED");
  return id;
}

function readReply(chat: StandInChat, parameters: Parameters): number | undefined {
  const given = parameters.json("reply_parameters");
  const reply = typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
  const id = Number(reply.message_id ?? parameters.integer("reply_to_message_id") ?? 0);
  if (id === 0) return undefined;
  if (findMessage(chat, id) !== undefined) return id;
  const optional = reply.allow_sending_without_reply === true || parameters.flag("allow_sending_without_reply");
  if (!optional) throw badRequest("message to be replied not found");
  return undefined;
}

function findMessage(chat: StandInChat, messageId: number | undefined): StandInMessage | undefined {
  return chat.messages.find((message) => message.messageId === messageId && message.deletedAt === undefined);
}

function isPreviewDisabled(parameters: Parameters): boolean {
  const given = parameters.json("link_preview_options");
  const disabled = typeof given === "object" && given !== null && "is_disabled" in given && given.is_disabled;
  return disabled === true || parameters.flag("disable_web_page_preview");
}

function sameEntities(a: StandInMessage["entities"], b: StandInMessage["entities"]): boolean {
  const canonical = (entities: StandInMessage["entities"]) =>
    JSON.stringify(entities.map((entity) => Object.entries(entity).sort()));
  return canonical(a) === canonical(b);
}

function describeMessage(chat: StandInChat, message: StandInMessage, bot: Bot): Record<string, unknown> {
  const answered = findMessage(chat, message.replyTo);
  return {
    message_id: message.messageId,
    ...(chat.kind === "channel" ? { sender_chat: chatOf(chat) } : { from: userOf(bot) }),
    chat: chatOf(chat),
    date: Math.floor(message.sentAt / 1000),
    ...(message.edits.length === 0 ? {} : { edit_date: Math.floor((message.edits.at(-1)?.at ?? 0) / 1000) }),
    ...(message.topicId === undefined ? {} : { message_thread_id: message.topicId, is_topic_message: true }),
    ...(answered === undefined
      ? {}
      : { reply_to_message: describeMessage(chat, { ...answered, replyTo: undefined }, bot) }),
    ...contentOf(message),
    ...(message.previewDisabled ? { link_preview_options: { is_disabled: true } } : {}),
  };
}

function contentOf({ text, entities, picture }: StandInMessage): Record<string, unknown> {
  if (picture === undefined) return { text, ...(entities.length === 0 ? {} : { entities }) };
  const { width, height, bytes } = picture;
  return {
    photo: [{ file_id: "photo", file_unique_id: "photo", width, height, file_size: bytes }],
    caption: text,
    ...(entities.length === 0 ? {} : { caption_entities: entities }),
    ...(picture.isTextFirst ? { show_caption_above_media: true } : {}),
  };
}

export function describeMembership(
  chat: StandInChat,
  bot: Bot,
  membership: Membership = chat.membership,
): Record<string, unknown> {
  const user = userOf(bot);
  switch (membership) {
    case "administrator":
      return {
        status: "administrator",
        user,
        ...(chat.kind === "channel" ? { can_post_messages: true } : {}),
      };
    case "muted":
      return { status: "restricted", user, is_member: true, can_send_messages: false, until_date: 0 };
    case "member":
    case "left":
      return { status: membership, user };
    case "kicked":
      return { status: "kicked", user, until_date: 0 };
  }
}

export function chatOf(chat: StandInChat): Record<string, unknown> {
  return {
    id: Number(chat.id),
    title: chat.title,
    type: chat.kind,
    ...(chat.isForum ? { is_forum: true } : {}),
  };
}

export function userOf(bot: Bot): Record<string, unknown> {
  return { id: Number(bot.id), is_bot: true, first_name: bot.name, username: bot.username };
}
