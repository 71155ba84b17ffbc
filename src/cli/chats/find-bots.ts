import { loadConfig } from "../../config/load-config.ts";
import { createEnvReader } from "../../config/read-env.ts";
import { ConfigError, createProblemList } from "../../config/shape/problem-list.ts";
import { AppError } from "../../core/errors.ts";
import type { Destination } from "../../core/rules.ts";
import type { ConfiguredPlace } from "../../vendors/telegram/known-chats.ts";
import { readChatId, type TelegramBot, type TelegramDestination, telegram } from "../../vendors/telegram/vendor.ts";
import type { CliContext } from "../shell/context.ts";

type Env = CliContext["env"];

export interface ConfiguredBot {
  bot: TelegramBot;
  /** The bot of TELEGRAM_BOT_TOKEN, which a destination of the file need not name. */
  isDefault: boolean;
  places: ConfiguredPlace[];
}

export const tokenHint =
  "in Telegram write /newbot to @BotFather, and set TELEGRAM_BOT_TOKEN to the token that it answers with";

/** Mistakes are ignored: the command may find the missing part. @throws AppError `config_invalid` without a bot */
export function findBots({ env, cwd }: Pick<CliContext, "env" | "cwd">) {
  const { bot: ofEnv, chatIds: envChatIds } = readTelegramEnv(env);
  const destinations = readDestinations(env, cwd);
  const bots = new Map<string, ConfiguredBot>();
  const placesOf = (bot: TelegramBot, isDefault: boolean) => {
    const key = `${bot.token.reveal()} ${bot.apiRoot}`;
    const known = bots.get(key) ?? { bot, isDefault, places: [] };
    bots.set(key, known);
    return known.places;
  };
  const isUnread = destinations === undefined;
  if (ofEnv !== undefined) {
    const places = isUnread ? envChatIds.map((chatId) => ({ chatId, name: `telegram:${chatId}` })) : [];
    placesOf(ofEnv, true).push(...places);
  }
  const isOfTelegram = (one: Destination): one is TelegramDestination => one.type === "telegram";
  for (const { bot, chatId, topicId, name } of (destinations ?? []).filter(isOfTelegram))
    placesOf(bot, false).push({ chatId, topicId, name });
  if (bots.size === 0) {
    const message = "there is no bot to ask: TELEGRAM_BOT_TOKEN is not set";
    throw new AppError("config_invalid", message, { hint: tokenHint });
  }
  return {
    bots: [...bots.values()],
    /** The chats of TELEGRAM_CHAT_IDS, which is replaced as a whole. */
    envChatIds,
    names: (destinations ?? []).map(({ name }) => name),
    /** The configuration has mistakes, so only the environment was read. */
    isPartial: isUnread,
  };
}

/** Undefined for a configuration with mistakes. */
function readDestinations(env: Env, cwd: string): Destination[] | undefined {
  try {
    return loadConfig({ env, cwd }).rules.destinations;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** Invalid ids of chats are left out. @throws AppError `config_invalid` for a bot that is set wrongly */
export function readTelegramEnv(env: Env): { bot?: TelegramBot; chatIds: string[] } {
  const problems = createProblemList(String, []);
  const { shared, destinations } = telegram.environment(createEnvReader(env, problems));
  const wrong = problems.problems.find(({ where }) => where !== "TELEGRAM_CHAT_IDS");
  if (wrong === undefined) return { bot: shared.bot, chatIds: destinations.map(({ own }) => own.chatId) };
  throw new AppError("config_invalid", `${wrong.where} ${wrong.message}`, { hint: wrong.instead });
}

export function readChat(option: string, text: string): string {
  const id = readChatId(text);
  if (typeof id === "string") return id;
  throw new AppError("usage", `${option} ${id.message}`, { hint: id.instead });
}
