import { loadConfig } from "../../config/load-config.ts";
import { envText } from "../../config/server-env.ts";
import { ConfigError } from "../../config/shape/problem-list.ts";
import { AppError } from "../../core/errors.ts";
import type { Destination } from "../../core/rules.ts";
import { readHttpUrl } from "../../ground/shape/field.ts";
import { Refusal } from "../../ground/shape/refusal.ts";
import type { ConfiguredPlace } from "../../vendors/telegram/known-chats.ts";
import {
  defaultApiRoot,
  readChatId,
  readTelegramBot,
  type TelegramBot,
  type TelegramDestination,
} from "../../vendors/telegram/vendor.ts";
import type { CliContext } from "../shell/context.ts";

type Env = CliContext["env"];

/** A bot with the places that the configuration has for it. */
export interface ConfiguredBot {
  bot: TelegramBot;
  /** It is the one of TELEGRAM_BOT_TOKEN, which a destination of the file need not name. */
  isDefault: boolean;
  places: ConfiguredPlace[];
}

export interface FoundBots {
  bots: ConfiguredBot[];
  /** As they stand in TELEGRAM_CHAT_IDS, which is replaced as a whole. */
  envChatIds: string[];
  /** Names of all destinations; none may be given twice. */
  names: string[];
  /** The configuration has mistakes, so only the environment was read. */
  isPartial: boolean;
}

export const tokenHint =
  "in Telegram write /newbot to @BotFather, and set TELEGRAM_BOT_TOKEN to the token that it answers with";

/**
 * A configuration that is not finished is no hindrance: what this command finds out may be just what is missing in it.
 * @throws AppError `config_invalid` when there is no bot.
 */
export function findBots({ env, cwd }: Pick<CliContext, "env" | "cwd">): FoundBots {
  const destinations = readDestinations(env, cwd);
  const envChatIds = readEnvChatIds(env);
  const bots = new Map<string, ConfiguredBot>();
  const placesOf = (bot: TelegramBot, isDefault: boolean) => {
    const key = `${bot.token.reveal()} ${bot.apiRoot}`;
    const known = bots.get(key) ?? { bot, isDefault, places: [] };
    bots.set(key, known);
    return known.places;
  };
  const token = envText(env, "TELEGRAM_BOT_TOKEN");
  const ofEnv = destinations === undefined ? envChatIds.map((chatId) => ({ chatId, name: `telegram:${chatId}` })) : [];
  if (token !== undefined) placesOf(readBot(token, env), true).push(...ofEnv);
  const isOfTelegram = (one: Destination): one is TelegramDestination => one.type === "telegram";
  for (const { bot, chatId, topicId, name } of (destinations ?? []).filter(isOfTelegram))
    placesOf(bot, false).push({ chatId, topicId, name });
  if (bots.size === 0) {
    const message = "there is no bot to ask: TELEGRAM_BOT_TOKEN is not set";
    throw new AppError("config_invalid", message, { hint: tokenHint });
  }
  const names = (destinations ?? []).map(({ name }) => name);
  return { bots: [...bots.values()], envChatIds, names, isPartial: destinations === undefined };
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

/** @throws AppError `config_invalid` for what is set wrongly */
export function readBot(token: string, env: Env): TelegramBot {
  const required = <T>(name: string, value: T | Refusal): T => {
    if (!(value instanceof Refusal)) return value;
    throw new AppError("config_invalid", `${name} ${value.message}`, { hint: value.instead });
  };
  const apiRoot = required("TELEGRAM_API_ROOT", readHttpUrl(envText(env, "TELEGRAM_API_ROOT") ?? defaultApiRoot));
  return required("TELEGRAM_BOT_TOKEN", readTelegramBot(token, apiRoot));
}

/** Those of TELEGRAM_CHAT_IDS that are ids, each once. */
export function readEnvChatIds(env: Env): string[] {
  const parts = (envText(env, "TELEGRAM_CHAT_IDS") ?? "").split(",");
  return [...new Set(parts.map((part) => readChatId(part)).filter((id) => typeof id === "string"))];
}
