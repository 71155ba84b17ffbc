import { AppError } from "../../core/errors.ts";
import { oneLine } from "../../ground/text/clean.ts";
import { type Answer, type BotApiMethod, createBotApi } from "./bot-api.ts";
import { classify } from "./classify.ts";
import { type ChatFacts, judgeMembership, type MemberFacts } from "./membership.ts";
import { asRecord } from "./read-update.ts";
import { createDetailRedactor } from "./send.ts";
import type { TelegramBot } from "./vendor.ts";

export type BotSession = ReturnType<typeof openBotSession>;

export type BotDescription = Awaited<ReturnType<BotSession["describe"]>>;

export interface ChatReport {
  id: string;
  /** `group`, `supergroup` or `channel`. Absent when the question failed. */
  type?: string;
  title?: string;
  /** The name of a public chat, without its @. */
  username?: string;
  isForum: boolean;
  /** `administrator`, `member`, `restricted`, `left` or `kicked`. */
  role?: string;
  /** null: Telegram did not say. */
  canPost: boolean | null;
  /** The bot may also write in closed topics. */
  managesTopics: boolean;
  /** The bot's rights, or the fault and its repair: one clause. */
  rights: string;
  /** The supergroup's id, after the group was upgraded. */
  movedTo?: string;
}

export type Polled = { updates: unknown[] } | { why: string; waitMs: number };

/** Telegram's limit for one look. */
export const mostUpdates = 100;

/** Enough for a hundred messages, each with the message that it answers. */
const maxAnswerBytes = 16 * 1024 * 1024;
const timeoutMs = 20_000;
const retryMs = 2_000;

/** Asks Telegram for `tocsin chats`. Only `poll` with an `offset` changes anything there. Texts may be strangers'. */
export function openBotSession(bot: TelegramBot) {
  const api = createBotApi(bot, { maxAnswerBytes });
  const redact = createDetailRedactor(bot.token.reveal());

  function call(method: BotApiMethod, payload: Record<string, unknown>, signal: AbortSignal, withinMs = timeoutMs) {
    return api.call(method, payload, { signal, endsAt: performance.now() + withinMs });
  }

  async function ask(method: BotApiMethod, signal: AbortSignal): Promise<Record<string, unknown>> {
    const answer = await call(method, {}, signal);
    if (answer.kind === "ok") return asRecord(answer.result);
    signal.throwIfAborted();
    throw failureOf(bot, answer, redact);
  }

  /** Describes the chat, and whether the bot can write there. Never throws for Telegram's answers. */
  async function lookAt(chatId: string, signal: AbortSignal): Promise<ChatReport> {
    const asked = await call("getChat", { chat_id: chatId }, signal);
    if (asked.kind !== "ok") return unknownChat(chatId, asked, redact);
    const chat = asRecord(asked.result) as ChatFacts;
    const { type, title, username } = chat;
    const known = { id: chatId, type, title, username, isForum: chat.is_forum === true };
    const answer = await call("getChatMember", { chat_id: chatId, user_id: Number(bot.id) }, signal);
    if (answer.kind !== "ok") return { ...unknownChat(chatId, answer, redact), ...known };
    const member = asRecord(answer.result) as MemberFacts;
    const outcome = judgeMembership(chat, member, undefined);
    const isAdmin = member.status === "administrator" || member.status === "creator";
    return {
      ...known,
      role: member.status,
      canPost: outcome.kind === "sent",
      managesTopics: isAdmin && member.can_manage_topics === true,
      rights: outcome.kind === "sent" ? `can post${isAdmin ? ", as administrator" : ""}` : redact(outcome.detail),
    };
  }

  return {
    botId: bot.id,
    /** @throws AppError `upstream_…` when Telegram does not know the token, or does not answer */
    async describe(signal: AbortSignal) {
      const me = await ask("getMe", signal);
      const webhook = await ask("getWebhookInfo", signal);
      const url = typeof webhook.url === "string" ? webhook.url : "";
      const { allowed_updates: allowed } = webhook;
      return {
        /** Without its @. */
        username: String(me.username ?? ""),
        name: String(me.first_name ?? ""),
        /** Privacy mode is off: the bot sees every message of its groups. */
        readsAll: me.can_read_all_group_messages === true,
        /** @BotFather allows adding the bot to groups. */
        canJoinGroups: me.can_join_groups !== false,
        /** The host of the bot's webhook, which prevents listening. The rest of the address may be a secret. */
        ...(url !== "" && { webhookHost: hostOf(url) }),
        /** The kinds of updates that the last listener asked for. Absent: the default. */
        ...(Array.isArray(allowed) && { allowedUpdates: allowed.map(String) }),
      };
    },
    lookAt,
    /**
     * Returns at most `mostUpdates` waiting updates, or why there was no useful answer and when to try again.
     * @param timeoutS how long Telegram waits for an update when there is none
     * @throws AppError `upstream_conflict` when another program takes the updates, and for Telegram's refusals
     */
    async poll({ offset, timeoutS }: { offset?: number; timeoutS: number }, signal: AbortSignal): Promise<Polled> {
      // Leaves `allowed_updates` unchanged: a value here would also apply to the next listener.
      const payload = { limit: mostUpdates, timeout: timeoutS, ...(offset === undefined ? {} : { offset }) };
      const answer = await call("getUpdates", payload, signal, timeoutMs + timeoutS * 1_000);
      if (answer.kind === "ok") return { updates: Array.isArray(answer.result) ? answer.result : [] };
      if (answer.kind === "refused" && answer.errorCode === 409)
        throw /webhook/i.test(answer.description) ? webhookSet() : listenedTo();
      const verdict = classify(answer);
      if (verdict.kind === "rejected") throw failureOf(bot, answer, redact);
      const why = "detail" in verdict ? redact(verdict.detail) : "Telegram did not answer as it should";
      return { why, waitMs: ("waitMs" in verdict && verdict.waitMs) || retryMs };
    },
    close: api.close,
  };
}

type NoAnswer = Exclude<Answer, { kind: "ok" }>;

function failureOf(bot: TelegramBot, answer: NoAnswer, redact: (text: string) => string): AppError {
  if (answer.kind === "refused" && (answer.errorCode === 401 || answer.errorCode === 404)) {
    return new AppError("upstream_unauthorized", `Telegram does not know the token of bot ${bot.id}`, {
      hint: "ask @BotFather for it (/mybots, then API Token) and set TELEGRAM_BOT_TOKEN",
    });
  }
  const verdict = classify(answer);
  const detail = "detail" in verdict ? redact(verdict.detail) : "";
  if (answer.kind === "refused") {
    return new AppError("upstream_rejected", `Telegram refuses to describe bot ${bot.id}: ${detail}`, {
      hint: "try again in a minute",
    });
  }
  const root = hostOf(bot.apiRoot);
  const itself = `Tocsin asks ${root} itself, through no HTTPS_PROXY; TELEGRAM_API_ROOT names another Bot API server`;
  return new AppError("upstream_unreachable", `${root} did not answer: ${detail}`, {
    hint: `check the network of this machine. ${itself}`,
  });
}

function unknownChat(id: string, answer: NoAnswer, redact: (text: string) => string): ChatReport {
  const verdict = classify(answer);
  const movedTo = verdict.kind === "retry" ? verdict.movedTo : undefined;
  const detail = "detail" in verdict ? redact(verdict.detail) : "";
  const isSure = movedTo !== undefined || verdict.kind === "rejected";
  const unknown = { id, isForum: false, canPost: isSure ? false : null, managesTopics: false };
  if (movedTo === undefined) return { ...unknown, rights: detail };
  return { ...unknown, rights: `the group was upgraded, its id is ${movedTo} now`, movedTo };
}

/** Tocsin deletes nobody's webhook: the program behind it would get no more updates. */
const otherBot =
  "make Tocsin a bot of its own (/newbot at @BotFather). " +
  "Sending is not touched by this, and the chats of the configuration are shown all the same";

/** @param host of the webhook, if known @param instead a further possibility, with ", or " after it */
export function webhookSet(host?: string, instead = ""): AppError {
  const to = host === undefined ? "" : ` to ${host}`;
  return new AppError("upstream_conflict", `a webhook sends this bot's updates${to}, so nobody can listen`, {
    hint: `${instead}${otherBot}`,
  });
}

function listenedTo(): AppError {
  return new AppError("upstream_conflict", "another program listens on this bot, and only one can", {
    hint: `stop it for as long as this runs. Or ${otherBot}`,
  });
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : oneLine(url.split(/[/?#]/, 1)[0] ?? "", 100);
}
