import type { Outcome } from "../../core/delivery.ts";
import type { ChannelCalls, SendContext } from "../../core/ports/channel.ts";
import { oneLine } from "../../ground/text/clean.ts";
import { createRedactor } from "../../ground/text/redact.ts";
import type { Answer, BotApi, BotApiMethod } from "./bot-api.ts";
import { classify, type Optional } from "./classify.ts";
import { judgeMembership } from "./membership.ts";
import type { TelegramMessage } from "./render.ts";
import type { TelegramDestination } from "./vendor.ts";

type Call = (method: BotApiMethod, payload: Record<string, unknown>) => Promise<Answer>;

/**
 * One Telegram chat. A refused reply target or topic is left out at once and said in the note of `sent`; everything
 * else is an outcome and left to the engine, which alone waits and repeats.
 *
 * `timeoutSeconds` (default 25) bounds one `send`, `edit` or `probe` as a whole. A `ref` is `<chat>/<message>`; after a
 * group has moved, refs of the old chat neither edit nor answer anything.
 */
export function createTelegramChannel(
  destination: TelegramDestination,
  options: { timeoutSeconds?: number } = {},
): ChannelCalls<TelegramMessage> {
  const timeoutMs = (options.timeoutSeconds ?? 25) * 1000;
  const redact = createDetailRedactor(destination.bot.token.reveal());
  let loading: Promise<BotApi> | undefined;
  let closed = false;

  /** grammY and undici cost a start 100 ms: they are loaded by whoever sends first. */
  function loadApi(): Promise<BotApi> {
    if (closed) throw new Error("the Telegram channel is closed");
    loading ??= import("./bot-api.ts").then(({ createBotApi }) => createBotApi(destination.bot));
    return loading;
  }

  async function within(signal: AbortSignal, work: (call: Call) => Promise<Outcome>): Promise<Outcome> {
    const limit = { signal, endsAt: performance.now() + timeoutMs };
    const api = await loadApi();
    return redactOutcome(await work((method, payload) => api.call(method, payload, limit)), redact);
  }

  return {
    send: (message, context) => within(context.signal, (call) => sendMessage(call, destination, message, context)),
    edit: (ref, message, context) => within(context.signal, (call) => editMessage(call, ref, message, context)),
    probe: (recipient, signal) => within(signal, (call) => probeChat(call, destination, recipient)),
    async close() {
      closed = true;
      const api = await loading;
      await api?.close();
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

  // Ends: every round but the last leaves out a part that is then never named again.
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

async function editMessage(call: Call, ref: string, message: TelegramMessage, context: SendContext): Promise<Outcome> {
  const chatId = context.recipient;
  const messageId = messageIdIn(chatId, ref);
  if (messageId === undefined) {
    const detail = `the message to edit (${ref}) is not in chat ${chatId}`;
    return { kind: "rejected", scope: "message", reason: "edit_target_gone", detail };
  }
  const answer = await call("editMessageText", { chat_id: chatId, message_id: messageId, ...textOf(message) });
  if (answer.kind === "ok") return { kind: "sent", ref: formatMessageRef({ chatId, messageId }) };
  // The same edit twice is the same edit: nobody can see a repeat, so there is nothing to hold or to mark.
  return outcomeOfHarmless(answer, "message", { kind: "sent", ref: formatMessageRef({ chatId, messageId }) });
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

/** Reading leaves nothing behind, so a lost answer is only a failed look. */
function probeFailure(answer: Exclude<Answer, { kind: "ok" }>): Outcome {
  return outcomeOfHarmless(answer, "destination", { kind: "sent" });
}

/** Of a call that may be made twice: nothing about it is ambiguous. */
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
    ...(typeof messageId === "number" ? { ref: formatMessageRef({ chatId, messageId }) } : {}),
    ...(notes.length === 0 ? {} : { note: notes.join("; ") }),
    ...(degraded === undefined ? {} : { degraded }),
  };
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function redactOutcome(outcome: Outcome, redact: (text: string) => string): Outcome {
  switch (outcome.kind) {
    case "sent":
      return outcome.note === undefined ? outcome : { ...outcome, note: redact(outcome.note) };
    case "retry":
    case "rejected":
    case "ambiguous":
      return { ...outcome, detail: redact(outcome.detail) };
  }
}

/**
 * A message's address for later edits and answers: `<chat>/<message>`, e.g. `-1001234567890/57`.
 *
 * The chat belongs to it because Telegram numbers messages per chat: after a group became a supergroup, number 57 there
 * is somebody else's message, and an edit of it would overwrite another alert.
 */
interface MessageRef {
  chatId: string;
  messageId: number;
}

function formatMessageRef(ref: MessageRef): string {
  return `${ref.chatId}/${ref.messageId}`;
}

/** `undefined` for what is not a reference to a message of this chat. */
function messageIdIn(chatId: string, ref: string): number | undefined {
  const slash = ref.lastIndexOf("/");
  if (slash === -1 || ref.slice(0, slash) !== chatId) return undefined;
  const digits = ref.slice(slash + 1);
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined;
}

/** Hides the token, and its part without the bot's number, in what came back, and cuts to what a page shows. */
export function createDetailRedactor(token: string): (detail: string) => string {
  const redact = createRedactor([token, token.slice(token.indexOf(":") + 1)]);
  return (detail) => oneLine(redact(detail), 300);
}
