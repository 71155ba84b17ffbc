import type { Limits } from "../vendor-server.ts";
import { type Bot, botName, chatOf, describeMembership, describeMessage, userOf } from "./describe.ts";
import { badRequest, type Parameters, Refusal } from "./parameters.ts";
import { type FormattedText, readCaption, readText } from "./text.ts";
import { findMessage, type StandInChat, type StandInMessage, sizeOfPng, type World } from "./world.ts";

export interface ChatWorld {
  world: World;
  limits: Limits;
  /** Messages above the vendor's limits are refused. */
  limited: boolean;
}

export interface MethodCall extends ChatWorld {
  bot: Bot;
  parameters: Parameters;
  /** Keyed by the names of their fields. */
  files: ReadonlyMap<string, File>;
  gone: AbortSignal;
}

/** Keyed by lower-case names, as Telegram ignores case. Each throws a `Refusal` where Telegram refuses. */
const methods = new Map<string, (call: MethodCall) => unknown>([
  ["sendmessage", sendMessage],
  ["editmessagetext", editMessageText],
  ["editmessagecaption", editMessageCaption],
  ["editmessagemedia", editMessageMedia],
  ["getme", ({ bot }) => ({ ...userOf(bot), can_join_groups: true, can_read_all_group_messages: false })],
  ["getchat", getChat],
  ["getchatmember", getChatMember],
  ["getupdates", ({ bot, parameters, gone }) => bot.updates.get(parameters, gone)],
  ["getwebhookinfo", ({ bot }) => ({ url: bot.updates.webhook ?? "" })],
]);

export async function runMethod(name: string, call: MethodCall): Promise<unknown> {
  const method = methods.get(name.toLowerCase());
  if (method === undefined) throw new Refusal(404, "Not Found: method not found");
  return method(call);
}

/** Checks in Telegram's order: text, chat, right to write, flood limits, then topic and answered message. */
function sendMessage(call: MethodCall): unknown {
  const { world, bot, parameters } = call;
  const content = readText(parameters);
  const chat = findChat(world, parameters);
  checkPresent(chat);
  const isChannel = chat.kind === "channel";
  if (isChannel && chat.membership !== "administrator")
    throw badRequest("need administrator rights in the channel chat");
  if (chat.membership === "muted") throw badRequest("not enough rights to send text messages to the chat");
  passFlood(call, chat, "message");
  const message = world.addMessage(chat, {
    ...content,
    botId: bot.id,
    from: isChannel ? chat.title : botName,
    topicId: readTopic(chat, parameters),
    replyTo: readReply(chat, parameters),
    silent: parameters.disable_notification,
    previewDisabled: parameters.link_preview_options?.is_disabled === true,
  });
  return describeMessage(chat, message, bot);
}

function editMessageText(call: MethodCall): unknown {
  const content = readText(call.parameters);
  return editWords(call, content, ({ picture }) => {
    if (picture !== undefined) throw badRequest("there is no text in the message to edit");
  });
}

function editMessageCaption(call: MethodCall): unknown {
  const content = readCaption(call.parameters);
  return editWords(call, content, ({ picture }) => {
    if (picture === undefined) throw badRequest("there is no caption in the message to edit");
    picture.isTextFirst = call.parameters.show_caption_above_media;
  });
}

/** A text message becomes a photo. */
async function editMessageMedia(call: MethodCall): Promise<unknown> {
  const { media } = call.parameters;
  if (media === undefined) throw badRequest("can't parse InputMedia");
  const content = readCaption(media);
  const png = await readPhoto(call.files.get(media.media.slice("attach://".length)));
  return edit(call, (message) => call.world.addPicture(message, png, content, media.show_caption_above_media));
}

async function readPhoto(file: File | undefined): Promise<Uint8Array> {
  if (file === undefined) throw badRequest("file must be non-empty");
  const bytes = new Uint8Array(await file.arrayBuffer());
  const { width, height } = sizeOfPng(bytes);
  if (file.name === "" || !file.type.startsWith("image/") || width === 0) throw badRequest("IMAGE_PROCESS_FAILED");
  const isTooLong = Math.max(width / height, height / width) > 20;
  if (width + height > 10_000 || isTooLong) throw badRequest("PHOTO_INVALID_DIMENSIONS");
  return bytes;
}

function edit(call: MethodCall, change: (message: StandInMessage) => void): unknown {
  const { world, bot, parameters } = call;
  const chat = findChat(world, parameters);
  checkPresent(chat);
  passFlood(call, chat, "edit");
  const message = findMessage(chat, parameters.message_id);
  if (message === undefined) throw badRequest("message to edit not found");
  if (message.botId !== bot.id) throw badRequest("message can't be edited");
  change(message);
  return describeMessage(chat, message, bot);
}

function editWords(call: MethodCall, content: FormattedText, check: (message: StandInMessage) => void): unknown {
  const canonical = ({ text, entities }: FormattedText) =>
    JSON.stringify([text, ...entities.map((entity) => Object.entries(entity).sort())]);
  return edit(call, (message) => {
    check(message);
    if (canonical(message) !== canonical(content)) return call.world.editMessage(message, content);
    throw badRequest(
      "message is not modified: specified new message content and reply markup " +
        "are exactly the same as a current content and reply markup of the message",
    );
  });
}

/** A bot may send 30 messages a second, in a chat three at once and then one a second, in a group 20 a minute. */
function passFlood({ limits, limited, bot }: MethodCall, chat: StandInChat, action: "message" | "edit"): void {
  const key = `${bot.id} ${chat.id}`;
  const all = [
    { key: bot.id, spanMs: 1_000, atMost: 30 },
    ...(action === "message" ? [{ key, spanMs: 3_000, atMost: 3 }] : []),
    ...(chat.kind === "channel" ? [] : [{ key: `${key} ${action}`, spanMs: 60_000, atMost: 20 }]),
  ];
  const windows = limited ? all : [];
  const seconds = Math.ceil(limits.waitMs(key, windows) / 1000);
  if (seconds > 0) throw new Refusal(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
  limits.count(windows);
}

function getChat({ world, parameters }: MethodCall): unknown {
  const chat = findChat(world, parameters);
  checkPresent(chat);
  return { ...chatOf(chat), ...(chat.kind !== "channel" && { permissions: { can_send_messages: true } }) };
}

function getChatMember({ world, bot, parameters }: MethodCall): unknown {
  const chat = findChat(world, parameters);
  if (String(parameters.user_id) !== bot.id) throw badRequest("member not found");
  return describeMembership(chat, bot);
}

function findChat(world: World, { chat_id: id = "" }: Parameters): StandInChat {
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

function readTopic(chat: StandInChat, { message_thread_id: id }: Parameters): number | undefined {
  if (id === undefined) return undefined;
  const topic = chat.topics.get(id);
  if (topic === undefined) throw badRequest("message thread not found");
  if (topic.closed && chat.membership !== "administrator") throw badRequest("TOPIC_CLOSED");
  return id;
}

function readReply(chat: StandInChat, { reply_parameters: reply }: Parameters): number | undefined {
  if (reply === undefined || findMessage(chat, reply.message_id) !== undefined) return reply?.message_id;
  if (!reply.allow_sending_without_reply) throw badRequest("message to be replied not found");
  return undefined;
}
