import { loadConfig } from "../../config/load-config.ts";
import { createEnvReader } from "../../config/read-env.ts";
import { ConfigError, createProblemList } from "../../config/shape/problem-list.ts";
import { AppError } from "../../core/errors.ts";
import type { Destination } from "../../core/rules.ts";
import type { ConfiguredPlace } from "../../vendors/telegram/known-chats.ts";
import { readChatId, type TelegramBot, type TelegramDestination, telegram } from "../../vendors/telegram/vendor.ts";
import type { CliContext } from "../shell/context.ts";

type Env = CliContext["env"];

/** A bot with the places that the configuration has for it. */
export interface ConfiguredBot {
  bot: TelegramBot;
  /** It is the one of TELEGRAM_BOT_TOKEN, which a destination of the file need not name. */
  isDefault: boolean;
  places: ConfiguredPlace[];
}

export const tokenHint =
  "in Telegram write /newbot to @BotFather, and set TELEGRAM_BOT_TOKEN to the token that it answers with";

/**
 * A configuration that is not finished is no hindrance: what this command finds out may be just what is missing in it.
 * @throws AppError `config_invalid` when there is no bot.
 */
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
    /** As TELEGRAM_CHAT_IDS has them, which is replaced as a whole. */
    envChatIds,
    /** Names of all destinations; none may be given twice. */
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

/**
 * The bot of the environment and its chats, whatever else is wrong there: chats that are no ids are left out.
 * @throws AppError `config_invalid` for a bot that is set wrongly
 */
export function readTelegramEnv(env: Env): { bot?: TelegramBot; chatIds: string[] } {
  const problems = createProblemList(String, []);
  const { shared, destinations } = telegram.environment(createEnvReader(env, problems));
  const wrong = problems.problems.find(({ where }) => where !== "TELEGRAM_CHAT_IDS");
  if (wrong === undefined) return { bot: shared.bot, chatIds: destinations.map(({ own }) => own.chatId) };
  throw new AppError("config_invalid", `${wrong.where} ${wrong.message}`, { hint: wrong.instead });
}

/** What was given as the id of a chat. @throws AppError `usage` */
export function readChat(option: string, text: string): string {
  const id = readChatId(text);
  if (typeof id === "string") return id;
  throw new AppError("usage", `${option} ${id.message}`, { hint: id.instead });
}
