import { z } from "zod";
import type { Destination } from "../../core/rules.ts";
import { Secret } from "../../core/secret.ts";
import {
  field,
  flag,
  httpUrl,
  optional,
  readHttpUrl,
  secretly,
  text,
  textLike,
  whole,
} from "../../ground/shape/field.ts";
import { Refusal, referTo } from "../../ground/shape/refusal.ts";
import { looksSecret, showValue } from "../../ground/shape/show-value.ts";
import type { BuildContext, EnvReader, Vendor } from "../vendor.ts";
import { renderTelegram, type TelegramMessage } from "./render.ts";

export interface TelegramBot {
  /** Identifies the bot without its token: the digits before the colon. */
  id: string;
  token: Secret;
  /** Default `https://api.telegram.org`. */
  apiRoot: string;
}

export interface TelegramDestination extends Destination {
  type: "telegram";
  /** Starts with `-`: a group, supergroup or channel. */
  chatId: string;
  /** `message_thread_id` of a forum topic. */
  topicId?: number;
  /** Without a sound. Default false. */
  silent: boolean;
  bot: TelegramBot;
}

interface Shared {
  bot?: TelegramBot;
  apiRoot: string;
}

const options = z.object({
  chatId: field(readChatId, { anyOf: [textLike("-\\d+"), { type: "integer", maximum: -1 }] }).describe(
    "a group, supergroup or channel; starts with `-`",
  ),
  topicId: optional(whole(1, 2 ** 31 - 1), "a topic of a forum group (`message_thread_id`)"),
  silent: flag.prefault(false).describe("`true`: without a sound"),
  botToken: optional(
    secretly(text(referTo("TELEGRAM_BOT_TOKEN"))),
    `a reference such as \`${referTo("DESK_BOT_TOKEN")}\``,
    "`TELEGRAM_BOT_TOKEN`",
  ),
  apiRoot: optional(httpUrl, "a Bot API server of your own", "`TELEGRAM_API_ROOT`"),
});
type Options = z.infer<typeof options>;

export const telegram = {
  type: "telegram",
  can: { edits: true, answers: true, plainForm: true, joinsByKey: false, pictures: "added" },
  words: {
    otherSide: "Telegram",
    reasons: { no_rights: "the bot may not post there" },
    repairs: {
      auth_failed: "ask @BotFather for the bot's token and set TELEGRAM_BOT_TOKEN",
      no_rights: "let the bot post there",
    },
  },
  options: options.shape,
  environment: readTelegramEnv,
  complete: findBot,
  build: ({ chatId, topicId, silent }: Options) => ({ chatId, topicId, silent }),
  recipients: ({ chatId }: TelegramDestination) => [chatId],
  addresses: ({ chatId, topicId }: TelegramDestination) => [`telegram ${chatId} ${topicId ?? ""}`],
  shownRecipients: ({ chatId }: TelegramDestination) => [chatId],
  describe: ({ chatId, topicId, bot }: TelegramDestination) =>
    `chat ${chatId}${topicId === undefined ? "" : `, topic ${topicId}`}, by bot ${bot.id}`,
  describeProbe: ({ chatId }: TelegramDestination, note) => `${chatId}: ${note ?? "the bot can write there"}`,
  secrets: ({ bot }: TelegramDestination) => [bot.token],
  account: ({ bot }: TelegramDestination) => `telegram:${bot.id}`,
  paceKey: ({ bot }: TelegramDestination, recipient) => `telegram:${bot.id}:${recipient}`,
  pace: { perSecond: 1, perMinute: 18 },
  settings: ({ telegramBotPace }) => ({ accountPace: telegramBotPace }),
  makesSound: ({ silent }: TelegramDestination) => !silent,
  probeProves: "delivery",
  render: (document, times, { form }) => renderTelegram(document, times, form),
  readableText: ({ text }: TelegramMessage) => text,
  open: async (destination: TelegramDestination) => (await import("./send.ts")).createTelegramChannel(destination),
} satisfies Vendor;

const defaultApiRoot = "https://api.telegram.org";

function readTelegramEnv(env: EnvReader) {
  const apiRoot = env.one("TELEGRAM_API_ROOT", readHttpUrl) ?? defaultApiRoot;
  const bot = env.one("TELEGRAM_BOT_TOKEN", (token) => readTelegramBot(String(token), apiRoot));
  const chatIds = env.list("TELEGRAM_CHAT_IDS", readChatId);
  if (chatIds.length > 0 && !env.has("TELEGRAM_BOT_TOKEN")) {
    const instead = "set TELEGRAM_BOT_TOKEN to the token that @BotFather gave you";
    env.refuse("TELEGRAM_CHAT_IDS", "there is no bot to write to these chats", instead);
  }
  const shared: Shared = { apiRoot, bot };
  const destinations = (bot === undefined ? [] : chatIds).map((chatId) => ({
    name: `telegram:${chatId}`,
    definedAt: "TELEGRAM_CHAT_IDS",
    own: { chatId, silent: false, bot },
  }));
  return { shared, destinations };
}

function findBot(given: Partial<Options>, context: BuildContext): { bot: TelegramBot } | undefined {
  const shared = context.shared as Shared;
  const apiRoot = given.apiRoot ?? shared.apiRoot;
  if (given.botToken === undefined) {
    if (shared.bot !== undefined) return { bot: { ...shared.bot, apiRoot } };
    if (context.wasRefused("TELEGRAM_BOT_TOKEN")) return undefined;
    const instead = `set TELEGRAM_BOT_TOKEN, or write botToken: ${referTo("NAME_OF_A_VARIABLE")}`;
    context.refuse([], new Refusal("there is no bot to write to this chat", instead));
    return undefined;
  }
  const bot = readTelegramBot(given.botToken, apiRoot);
  if (!(bot instanceof Refusal)) return { bot };
  context.refuse(["botToken"], bot);
  return undefined;
}

/** Only the bot's id, the part before the colon, is ever shown. */
function readTelegramBot(token: string, apiRoot: string): TelegramBot | Refusal {
  const [, id] = /^(\d{1,20}):[A-Za-z0-9_-]{10,}$/.exec(token) ?? [];
  if (id !== undefined) return { id, token: new Secret(token), apiRoot };
  return new Refusal(
    "is not a bot token (it is not shown)",
    "copy the whole token that @BotFather gave you: digits, a colon, and about 35 letters",
  );
}

const howToFind = "tocsin chats lists the groups and channels of the bot with their ids";

/** A Telegram group, supergroup or channel: `-` and digits, as text or number. */
export function readChatId(value: unknown): string | Refusal {
  if (value === undefined || value === null || value === "") {
    return new Refusal("is missing", `write the id of the group or channel, e.g. -1001234567890; ${howToFind}`);
  }
  const text = String(value).trim();
  if (/^-[1-9]\d{0,18}$/.test(text)) return text;
  const shown = showValue(typeof value === "string" ? text : value);
  if (looksSecret(text)) {
    return new Refusal("is a bot token, not a chat id", "the token belongs in TELEGRAM_BOT_TOKEN");
  }
  if (/^[1-9]\d*$/.test(text)) {
    const isWhole = text.startsWith("100") && text.length >= 12;
    const candidates = isWhole ? `-${text}` : `-100${text} for a supergroup or channel, or -${text} for a small group`;
    return new Refusal(
      `${shown}: a group or channel id starts with '-'`,
      `write ${candidates}; an id without '-' is a person's`,
    );
  }
  if (/^(@|https?:\/\/t\.me\/|t\.me\/)/.test(text)) {
    return new Refusal(
      `${shown}: names can be given away to others, so the id is needed`,
      `write the id, which starts with '-', e.g. -1001234567890; ${howToFind}`,
    );
  }
  return new Refusal(`${shown} is not a chat id`, `write '-' and digits, e.g. -1001234567890; ${howToFind}`);
}
