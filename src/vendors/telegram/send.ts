import type { Outcome } from "../../core/delivery.ts";
import type { CallBounds, ChannelCalls, SendContext } from "../../core/ports/channel.ts";
import type { Illustration } from "../../core/ports/illustration.ts";
import { RecentMap } from "../../ground/recent-map.ts";
import { oneLine } from "../../ground/text/clean.ts";
import { createRedactor } from "../../ground/text/redact.ts";
import type { MultipartFile } from "../http/multipart.ts";
import { rewordOutcome } from "../http/redact.ts";
import type { Answer, BotApi, BotApiMethod } from "./bot-api.ts";
import { classify, type Optional } from "./classify.ts";
import { judgeMembership } from "./membership.ts";
import { asRecord } from "./read-update.ts";
import type { TelegramMessage } from "./render.ts";
import type { TelegramDestination } from "./vendor.ts";

type Call = (method: BotApiMethod, payload: Record<string, unknown>, file?: MultipartFile) => Promise<Answer>;

/**
 * Sends to one Telegram chat. A refused reply target or topic is left out at once, and the note of `sent` says so.
 * Other failures are left to the engine. `timeoutSeconds` (default 25) bounds a whole `send`, `edit` or `probe`.
 */
export function createTelegramChannel(
  destination: TelegramDestination,
  options: { timeoutSeconds?: number } = {},
): ChannelCalls<TelegramMessage> {
  const timeoutMs = (options.timeoutSeconds ?? 25) * 1000;
  const redact = createDetailRedactor(destination.bot.token.reveal());
  /** The latest messages with a picture, which Telegram edits by another method. Its error reveals a forgotten one. */
  const illustrated = new RecentMap<string, true>(1_000);
  /** Pictures have their own connections, so a slow picture never blocks the warm connection of a text. */
  const apis = new Map<"texts" | "pictures", Promise<BotApi>>();
  let closed = false;

  /** Loaded on first use: grammY and undici cost 100 ms. */
  function loadApi(of: "texts" | "pictures"): Promise<BotApi> {
    if (closed) throw new Error("the Telegram channel is closed");
    const loading = apis.get(of) ?? import("./bot-api.ts").then(({ createBotApi }) => createBotApi(destination.bot));
    apis.set(of, loading);
    return loading;
  }

  async function within(
    { signal, mayCall }: CallBounds,
    work: (call: Call) => Promise<Outcome>,
    of: "texts" | "pictures" = "texts",
  ): Promise<Outcome> {
    const limit = { signal, mayCall, endsAt: performance.now() + timeoutMs };
    const api = await loadApi(of);
    return rewordOutcome(await work((method, payload, file) => api.call(method, payload, limit, file)), redact);
  }

  return {
    prepare: async () => loadApi("texts"),
    send: (message, context) => within(context, (call) => sendMessage(call, destination, message, context)),
    edit: (ref, message, context) => within(context, (call) => editMessage(call, ref, message, context, illustrated)),
    illustrate: (ref, message, illustration, context) =>
      within(context, (call) => addPicture(call, ref, message, illustration, context, illustrated), "pictures"),
    holdsPicture: ({ text }) => text.length <= maxCaptionUnits,
    probe: (recipient, signal) => within({ signal }, (call) => probeChat(call, destination, recipient)),
    async close() {
      closed = true;
      for (const loading of apis.values()) await (await loading).close();
    },
  };
}

const topicGone = "the topic is gone or closed, sent to the group itself";

async function sendMessage(
  call: Call,
  destination: TelegramDestination,
  message: TelegramMessage,
  context: SendContext,
): Promise<Outcome> {
  const chatId = context.recipient;
  const notes: string[] = [];
  let degraded: string | undefined;
  let topicId = destination.topicId;
  let replyTo = context.replyTo === undefined ? undefined : messageIdIn(chatId, context.replyTo);
  if (context.replyTo !== undefined && replyTo === undefined) notes.push("the answered message is in another chat");

  // The loop ends: every round but the last leaves out a part for good.
  for (;;) {
    const answer = await call("sendMessage", {
      chat_id: chatId,
      ...textOf(message),
      ...(topicId === undefined ? {} : { message_thread_id: topicId }),
      ...(replyTo === undefined
        ? {}
        : { reply_parameters: { message_id: replyTo, allow_sending_without_reply: true } }),
      ...(destination.silent || context.silent ? { disable_notification: true } : {}),
    });
    if (answer.kind === "ok") return sentOutcome(chatId, answer.result, notes, degraded);
    const verdict = classify(answer);
    if (verdict.kind === "done") return sentOutcome(chatId, undefined, notes, degraded);
    if (verdict.kind !== "without") return verdict;
    if (verdict.part === "topic" && topicId !== undefined) {
      topicId = undefined;
      notes.push(topicGone);
      degraded = topicGone;
    } else if (verdict.part === "reply" && replyTo !== undefined) {
      replyTo = undefined;
      notes.push("the answered message is gone, sent on its own");
    } else {
      return refusedPart(verdict.part, "destination");
    }
  }
}

/** Telegram's limit for the text of a message with a picture, in UTF-16 units. */
const maxCaptionUnits = 1024;

async function editMessage(
  call: Call,
  ref: string,
  message: TelegramMessage,
  context: SendContext,
  illustrated: RecentMap<string, true>,
): Promise<Outcome> {
  const chatId = context.recipient;
  const messageId = messageIdIn(chatId, ref);
  if (messageId === undefined) return goneFrom(chatId, ref);
  const edited: Outcome = { kind: "sent", ref };
  const target = { chat_id: chatId, message_id: messageId };
  if (!illustrated.has(ref)) {
    const answer = await call("editMessageText", { ...target, ...textOf(message) });
    if (answer.kind === "ok") return edited;
    // A repeated edit changes nothing, so it is never ambiguous.
    if (!isWithPicture(answer)) return outcomeOfHarmless(answer, "message", edited);
    illustrated.set(ref, true);
  }
  if (message.text.length > maxCaptionUnits) {
    const detail = `the message has a picture, and with one it holds ${maxCaptionUnits} characters, not ${message.text.length}`;
    return { kind: "rejected", scope: "message", reason: "too_long", detail };
  }
  const answer = await call("editMessageCaption", { ...target, ...captionOf(message.text, message) });
  return answer.kind === "ok" ? edited : outcomeOfHarmless(answer, "message", edited);
}

function isWithPicture(answer: Answer): boolean {
  return answer.kind === "refused" && answer.description.toLowerCase().includes("there is no text in the message");
}

/** The message becomes a photo with its text as caption. Telegram adds media to text messages since Bot API 7.11. */
async function addPicture(
  call: Call,
  ref: string,
  message: TelegramMessage,
  { png, line }: Illustration,
  context: SendContext,
  illustrated: RecentMap<string, true>,
): Promise<Outcome> {
  const chatId = context.recipient;
  const messageId = messageIdIn(chatId, ref);
  if (messageId === undefined) return goneFrom(chatId, ref);
  if (message.text.length > maxCaptionUnits) {
    const detail = `with a picture a message holds ${maxCaptionUnits} characters, not ${message.text.length}`;
    return { kind: "rejected", scope: "message", reason: "too_long", detail };
  }
  const withLine = line === undefined ? message.text : `${message.text}\n\n${line}`;
  const caption = withLine.length <= maxCaptionUnits ? withLine : message.text;
  const media = { type: "photo", media: "attach://picture", ...captionOf(caption, message) };
  const payload = { chat_id: chatId, message_id: messageId, media };
  const file = { name: "picture", filename: "chart.png", contentType: "image/png", bytes: png };
  const answer = await call("editMessageMedia", payload, file);
  const joined: Outcome = { kind: "sent", ref };
  const outcome = answer.kind === "ok" ? joined : outcomeOfHarmless(answer, "message", joined);
  if (outcome.kind === "sent") illustrated.set(ref, true);
  return outcome;
}

/** Shows the caption above the picture, where the text was before. */
function captionOf(caption: string, { entities }: TelegramMessage): Record<string, unknown> {
  return {
    caption,
    ...(entities.length === 0 ? {} : { caption_entities: entities }),
    show_caption_above_media: true,
  };
}

function goneFrom(chatId: string, ref: string): Outcome {
  const detail = `the message to edit (${ref}) is not in chat ${chatId}`;
  return { kind: "rejected", scope: "message", reason: "edit_target_gone", detail };
}

async function probeChat(call: Call, destination: TelegramDestination, recipient: string): Promise<Outcome> {
  const me = await call("getMe", {});
  if (me.kind !== "ok") return probeFailure(me);
  const chat = await call("getChat", { chat_id: recipient });
  if (chat.kind !== "ok") return probeFailure(chat);
  const botId = asRecord(me.result).id;
  const member = await call("getChatMember", { chat_id: recipient, user_id: botId });
  if (member.kind !== "ok") return probeFailure(member);
  return judgeMembership(asRecord(chat.result), asRecord(member.result), destination.topicId);
}

/** A probe changes nothing, so a lost answer is only a failed look. */
function probeFailure(answer: Exclude<Answer, { kind: "ok" }>): Outcome {
  return outcomeOfHarmless(answer, "destination", { kind: "sent" });
}

/** The outcome of a call that may be made twice: never ambiguous. */
function outcomeOfHarmless(
  answer: Exclude<Answer, { kind: "ok" }>,
  scope: "message" | "destination",
  done: Outcome,
): Outcome {
  const verdict = classify(answer);
  switch (verdict.kind) {
    case "done":
      return done;
    case "without":
      return refusedPart(verdict.part, scope);
    case "ambiguous":
      return { ...verdict, kind: "retry" };
    default:
      return verdict;
  }
}

function refusedPart(part: Optional, scope: "message" | "destination"): Outcome {
  const reason = part === "topic" ? "topic_gone" : "reply_target_gone";
  const detail = `Telegram refused the ${part === "topic" ? "topic" : "answer"} of a message that has none`;
  return { kind: "rejected", scope, reason, detail };
}

function textOf(message: TelegramMessage): Record<string, unknown> {
  return {
    text: message.text,
    ...(message.entities.length === 0 ? {} : { entities: message.entities }),
    link_preview_options: { is_disabled: true },
  };
}

function sentOutcome(chatId: string, result: unknown, notes: readonly string[], degraded: string | undefined): Outcome {
  const messageId = asRecord(result).message_id;
  return {
    kind: "sent",
    ...(typeof messageId === "number" ? { ref: `${chatId}/${messageId}` } : {}),
    ...(notes.length === 0 ? {} : { note: notes.join("; ") }),
    ...(degraded === undefined ? {} : { degraded }),
  };
}

/**
 * The message number in a ref `<chat>/<message>`, e.g. `-1001234567890/57`. Undefined for a ref of another chat.
 * Telegram numbers messages per chat: in a supergroup that was a group, number 57 is another message, and an edit would
 * overwrite another alert.
 */
function messageIdIn(chatId: string, ref: string): number | undefined {
  const slash = ref.lastIndexOf("/");
  if (slash === -1 || ref.slice(0, slash) !== chatId) return undefined;
  const digits = ref.slice(slash + 1);
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined;
}

/** Hides the token, and its part after the bot's number, in answers, and cuts them to the page's length. */
export function createDetailRedactor(token: string): (detail: string) => string {
  const redact = createRedactor([token, token.slice(token.indexOf(":") + 1)]);
  return (detail) => oneLine(redact(detail), 300);
}
